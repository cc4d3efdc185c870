"""How sure a model can be of what it has learnt: linear heads refitted to resampled training texts.

Each is a ridge regression of the numbers that the texts were labelled with over the mean row
m = sum_t a_t h_t of M, on as many training texts drawn with replacement. A word's share by such a head is
a_t <w, h_t>, so whatever is summed from words has as many second opinions. The texts and the network's states
are the same: how far they are from what the network itself says is what its own error adds to an interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..config.recipe import ModelRecipe
from ..errors import damaged
from ..network.outputs import EncodedText
from ..network.parts import rows_of, state_size

REFITS = 8
MIN_ROWS, MAX_ROWS = 50, 4000  # that they are fitted to: fewer say nothing, more are read for little
STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # of the ridge, in texts of mean length
HELD_OUT = 5  # every fifth row chooses the strength
DIGITS = 4  # that are kept of a weight


def fit_refits(X: np.ndarray, y: np.ndarray, seed: int = 0) -> np.ndarray:
    """W (refits, 2u) from the mean rows X (n, 2u) of training texts and their numbers y (n,)."""
    held = np.arange(len(y)) % HELD_OUT == 0
    X = X.astype(float)
    heads = _fit(X[~held], y[~held], STRENGTHS)
    errors = [((X[held] @ W + b - y[held]) ** 2).sum() for W, b in heads]
    strength = STRENGTHS[int(np.argmin(errors))]
    rng = np.random.default_rng(seed)
    draws = (rng.integers(0, len(y), len(y)) for _ in range(REFITS))
    return np.stack([_fit(X[rows], y[rows], [strength])[0][0] for rows in draws])


def _fit(X: np.ndarray, y: np.ndarray, strengths: Sequence[float]) -> list[tuple[np.ndarray, float]]:
    """The ridge regression of y (n,) over X (n, 2u) with each strength: w (2u,) and a bias."""
    n, x = len(y), X.sum(axis=0)
    mean, middle = x / n, y.sum() / n
    centred, products = X.T @ X - n * np.outer(mean, mean), X.T @ y - x * middle
    found = []
    for strength in strengths:
        ridge = strength * np.trace(centred) / n + 1e-9
        W = np.linalg.solve(centred + ridge * np.eye(len(mean)), products)
        found.append((W, float(middle - mean @ W)))
    return found


def refit_shares(W: np.ndarray, text: EncodedText, recipe: ModelRecipe) -> np.ndarray:
    """(n, refits): the share of each word by each of them."""
    rows = text.A[: rows_of(recipe).attention] if rows_of(recipe).attention else text.A
    states = text.H * rows.mean(axis=0)[:, None]  # (n, 2u): a_t h_t
    return np.asarray(states @ W.T)


def refits_to_json(W: np.ndarray) -> list[list[float]]:
    return [[float(f"{x:.{DIGITS}g}") for x in row] for row in W.tolist()]


def saved_refits(fact: Any, recipe: ModelRecipe) -> np.ndarray | None:
    """W (refits, 2u) of config.json, checked; None of a model that has none."""
    if fact is None:
        return None
    try:
        W: np.ndarray = np.array(fact, np.float32)
    except (TypeError, ValueError, OverflowError):
        W = np.zeros(0, np.float32)
    if W.ndim != 2 or W.shape[1] != state_size(recipe) or not 2 <= len(W) <= 100 or not np.isfinite(W).all():
        raise damaged("the refits in config.json are not as Limelight writes them; train the model again")
    return W
