"""What the other texts of a labelled table say about each text's label, without that text.

Two opinions, both in closed form over the reader's vectors: the classifier of refit.py, fitted without the
text, and the labels of the nearest texts. They are pooled log-linearly. How much each counts is chosen by the
Brier score against the labels as they stand: unlike the likelihood, it is not ruled by the few labels that
are wrong.

If one label in twenty is wrong, evenly over the classes, each class has at least 0.05 / (classes - 1) in
probabilities that tell how labels are given. A label is suspected if it has little more than that where
another class is clear, or less whatever the others have, by the classifier alone and by both opinions. With
5% of wrong labels at least half of those suspected are wrong (experiments/benchmarks/few_label_errors.py).
"""

from typing import NamedTuple

import numpy as np

from ..text.questions import softmax
from .refit import Space, fit

CLEAR = 0.8  # probability of a class that leaves little doubt
MAX_BESIDE_CLEAR = 0.1  # probability of a suspected label beside such a class, times (classes - 1)
MAX_PROBABILITY = 0.03  # and beside any other, times (classes - 1)
MIN_CLASS = 5  # texts of a class, before its labels can be suspected
NEAR = 300  # texts around a text whose labels count
SHARPNESS = 20.0  # how much more a text counts that is nearer: exp(SHARPNESS * cosine)
UNSEEN = 3.0  # texts of the classes' frequencies, added to those around
BLOCK = 512  # texts whose neighbours are looked for at once
CLASS_WEIGHTS, NEAR_WEIGHTS = (0.3, 0.5, 0.8, 1.0), (0.0, 0.15, 0.3, 0.6, 1.0)  # weights to choose from


class Neighbours(NamedTuple):
    """(n, k): the nearest texts of each text, the nearest first, and their cosines."""

    rows: np.ndarray
    cosines: np.ndarray


def find_neighbours(X: np.ndarray, most: int = NEAR) -> Neighbours:
    """Among unit vectors X (n, size); no text is its own neighbour."""
    k = min(most, len(X) - 1)
    rows, cosines = np.empty((len(X), k), int), np.empty((len(X), k), np.float32)
    for start in range(0, len(X), BLOCK):
        S = X[start : start + BLOCK] @ X.T
        here = np.arange(len(S))
        S[here, start + here] = -np.inf
        nearest = np.argpartition(-S, k - 1, axis=1)[:, :k]
        found = np.take_along_axis(S, nearest, 1)
        order = np.lexsort((nearest, -found), axis=1)
        rows[start : start + BLOCK] = np.take_along_axis(nearest, order, 1)
        cosines[start : start + BLOCK] = np.take_along_axis(found, order, 1)
    return Neighbours(rows, cosines)


class Judged(NamedTuple):
    """What the others say of each text: the classifier alone, and pooled with the labels of the nearest."""

    by_class: np.ndarray  # (n, classes)
    P: np.ndarray  # (n, classes)
    W: np.ndarray  # (classes, size): the classifier's weights

    def suspected(self, y: np.ndarray) -> np.ndarray:
        """(n,): whether each of the labels y is suspected."""
        enough = np.bincount(y, minlength=len(self.W))[y] >= MIN_CLASS
        return np.asarray(enough & _unlikely(self.by_class, y) & _unlikely(self.P, y))


def judge(X: np.ndarray, y: np.ndarray, classes: int, near: Neighbours) -> Judged:
    """For each unit vector of X (n, size), what the others say with their labels y (n,)."""
    fitted = fit(X, np.eye(classes, dtype=np.float32)[y], Space.of(X))
    by_class = softmax(fitted.left_out.astype(np.float64))
    a_class, around = np.log(np.maximum(by_class, 1e-300)), np.log(_around(y, classes, near))
    pools = (softmax(a * a_class + b * around) for a in CLASS_WEIGHTS for b in NEAR_WEIGHTS)
    own = np.arange(len(y)), y
    best = min(pools, key=lambda P: float((P**2).sum(axis=1).mean() - 2 * P[own].mean()))  # the Brier score
    return Judged(by_class, best, fitted.W)


def _unlikely(P: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(n,): whether each label y is, by the probabilities P (n, classes)."""
    share = P[np.arange(len(y)), y] * (P.shape[1] - 1)
    return np.asarray((share < MAX_PROBABILITY) | ((share < MAX_BESIDE_CLEAR) & (P.max(axis=1) >= CLEAR)))


def _around(y: np.ndarray, classes: int, near: Neighbours) -> np.ndarray:
    """Probabilities (n, classes) by the labels of the nearest texts."""
    weights = np.exp(SHARPNESS * near.cosines.astype(np.float64))
    found = np.zeros((len(y), classes))
    for rows, own in zip(near.rows.T, weights.T, strict=True):
        found[np.arange(len(y)), y[rows]] += own
    count, usual = near.rows.shape[1], np.bincount(y, minlength=classes) / len(y)
    found = found / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300) * count
    return np.asarray((found + UNSEEN * usual + 1e-12) / (count + UNSEEN))
