"""Fit, choose by the development set, stop, resume."""

from .fit import Fitted, fit

__all__ = ["Fitted", "fit"]
