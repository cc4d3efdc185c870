"""Shards of given vectors, and what a search over them must give, in float64."""

from __future__ import annotations

import numpy as np

from limelight.search.nearest import split_query
from limelight.search.shards import ZERO, Shard, quantise


def shards_of(V: np.ndarray, size: int) -> list[Shard]:
    """Shards of `size` vectors, without texts."""
    nothing = np.zeros(0, np.uint8), np.zeros(0, np.int64)
    return [Shard(*quantise(V[at : at + size]), *nothing) for at in range(0, len(V), size)]


def brute_force(V: np.ndarray, Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Every score in float64, from the vectors and queries as they are rounded; the first of equals first."""
    found, scales = quantise(V)
    planes, steps = split_query(Q)
    high, low = np.split(planes.astype(np.int64), 2, axis=1)
    whole = (found.astype(np.int64) - ZERO) @ (127 * high + low)  # (n, queries)
    scores = whole.astype(np.float32).T * scales  # rounded as the search rounds: ties must stay ties
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores.astype(float), order, 1) * steps[:, None], order
