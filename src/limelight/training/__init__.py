"""Fit, choose by the development set, stop, resume."""

from .fit import fit
from .run import Fitted

__all__ = ["Fitted", "fit"]
