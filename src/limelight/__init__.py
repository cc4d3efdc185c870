"""Limelight: sentence embeddings that show what they read."""

from .errors import LimelightError
from .reading import PairReading, Reading
from .recipe import Recipe

__version__ = "0.1.0"
__all__ = ["LimelightError", "PairReading", "Reading", "Recipe"]
