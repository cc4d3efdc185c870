"""Millions of rows: one class for every engine, and folders of tables to folders of Parquet, exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from .job import Summary, run
    from .predictor import Predictor

__all__ = ["Predictor", "Summary", "run"]

__getattr__, __dir__ = lazy(__name__, {"job": "Summary run", "predictor": "Predictor"})
