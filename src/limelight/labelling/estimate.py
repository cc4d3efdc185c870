"""How accurate the model is, from the labels themselves: honest about how their texts were chosen."""

from __future__ import annotations

from math import sqrt

import numpy as np

from .views import Point

Z = 1.959964
LEAST = 10  # labels of texts drawn at random, before there is an estimate


def estimate(correct: np.ndarray) -> tuple[float, float, float]:
    """Share, and the ends of its 95% interval (Wilson), from texts drawn at random, each left out in turn."""
    n, share = len(correct), float(np.mean(correct))
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return share, max(0.0, middle - half), min(1.0, middle + half)


def expected_gain(history: list[Point], more: int = 50) -> float | None:
    """What `more` labels are expected to add."""
    return None
