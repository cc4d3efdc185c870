"""What the other texts of a labelled table say about each text's label, without that text.

Two opinions, both in closed form over the reader's vectors: linear discriminant analysis, fitted to the other
folds, and the labels of the nearest texts. They are pooled log-linearly. How much each counts is chosen by
the Brier score against the labels as they stand: unlike the likelihood, it is not ruled by the few labels
that are wrong.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..text.questions import softmax

FOLDS = 5
SHRINK = 0.6  # of the covariance, towards that of a sphere
AT_CENTRE = 1.0  # texts that each class has at the centre of all, so that one with few texts is not extreme
NEAR = 300  # texts around a text whose labels count
SHARPNESS = 20.0  # how much more a text counts that is nearer: exp(SHARPNESS * cosine)
UNSEEN = 3.0  # texts of the classes' frequencies, added to those around
BLOCK = 512  # texts whose neighbours are looked for at once
CLASS_WEIGHTS, NEAR_WEIGHTS = (0.15, 0.3, 0.5, 0.8), (0.0, 0.15, 0.3, 0.6, 1.0)  # weights to choose from


class Neighbours(NamedTuple):
    """(n, k): the nearest texts of each text, the nearest first, and their cosines."""

    rows: np.ndarray
    cosines: np.ndarray


def split_folds(y: np.ndarray, seed: int, folds: int = FOLDS) -> np.ndarray:
    """(n,): each class spread evenly over the folds.

    >>> np.bincount(split_folds(np.zeros(10, int), seed=0)).tolist()
    [2, 2, 2, 2, 2]
    """
    order = np.random.default_rng(seed).permutation(len(y))
    fold = np.empty(len(y), int)
    fold[order[np.argsort(y[order], kind="stable")]] = np.arange(len(y)) % folds
    return fold


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


def fit_classes(X: np.ndarray, y: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Linear discriminant analysis of centred vectors X (n, size): W (classes, size) and b (classes,)."""
    Y = np.eye(classes)[y]
    counts = Y.sum(axis=0)
    means = (Y.T @ X + AT_CENTRE * X.mean(axis=0)) / (counts + AT_CENTRE)[:, None]
    R = X - means[y]
    C = R.T @ R / len(X)
    C = (1 - SHRINK) * C + SHRINK * max(np.trace(C) / len(C), 1e-12) * np.eye(len(C))
    W = np.linalg.solve(C, means.T).T
    return W, np.log((counts + 0.5) / (counts + 0.5).sum()) - (W * means).sum(axis=1) / 2


def left_out_probabilities(
    X: np.ndarray, y: np.ndarray, classes: int, near: Neighbours, seed: int = 0
) -> np.ndarray:
    """(n, classes): for each unit vector of X (n, size), what the others say with their labels y (n,)."""
    by_class = _by_class(X, y, classes, split_folds(y, seed))
    around = np.log(_around(y, classes, near))
    pools = (softmax(a * by_class + b * around) for a in CLASS_WEIGHTS for b in NEAR_WEIGHTS)
    return np.asarray(min(pools, key=lambda P: _brier(P, y)))


def _by_class(X: np.ndarray, y: np.ndarray, classes: int, fold: np.ndarray) -> np.ndarray:
    """Log-probabilities (n, classes) by the texts of the other folds."""
    D = (X - X.mean(axis=0)).astype(np.float64)
    found = np.empty((len(X), classes))
    for k in np.unique(fold):
        W, b = fit_classes(D[fold != k], y[fold != k], classes)
        found[fold == k] = D[fold == k] @ W.T + b
    return np.asarray(np.log(np.maximum(softmax(found), 1e-300)))


def _around(y: np.ndarray, classes: int, near: Neighbours) -> np.ndarray:
    """Probabilities (n, classes) by the labels of the nearest texts."""
    weights = np.exp(SHARPNESS * near.cosines.astype(np.float64))
    found = np.zeros((len(y), classes))
    for rows, own in zip(near.rows.T, weights.T, strict=True):
        found[np.arange(len(y)), y[rows]] += own
    count, usual = near.rows.shape[1], np.bincount(y, minlength=classes) / len(y)
    found = found / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300) * count
    return np.asarray((found + UNSEEN * usual + 1e-12) / (count + UNSEEN))


def _brier(P: np.ndarray, y: np.ndarray) -> float:
    return float((P**2).sum(axis=1).mean() - 2 * P[np.arange(len(y)), y].mean())
