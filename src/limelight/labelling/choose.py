"""Which text to label next: one that is uncertain, unlike those labelled, and not like the others chosen."""

from __future__ import annotations

import numpy as np

DRAWN = 5  # one in so many labels is of a text drawn at random
CANDIDATES = 4000  # texts that are looked at for each choice


def uncertain(P: np.ndarray, several: bool) -> np.ndarray:
    """(n,), from 0 to 1: how close the two most probable classes are, or the nearest to a half."""
    if several:
        return np.asarray(1 - 2 * np.abs(P - 0.5).min(axis=1))
    if P.shape[1] < 2:
        return np.ones(len(P))
    top = np.partition(P, -2, axis=1)[:, -2:]
    return np.asarray(1 - (top[:, 1] - top[:, 0]))


def pick(usefulness: np.ndarray, X: np.ndarray, count: int) -> list[int]:
    """The most useful `count`, each less useful by its likeness to those picked before."""
    left, found = usefulness.astype(float), []
    for _ in range(min(count, len(left))):
        best = int(np.argmax(left))
        found.append(best)
        left = left - np.maximum(X @ X[best], 0) * np.abs(usefulness)
        left[best] = -np.inf
    return found
