"""Millions of rows: one class for every engine, and folders of tables to folders of Parquet, exactly once."""

from .job import Summary, run
from .predictor import Predictor

__all__ = ["Predictor", "Summary", "run"]
