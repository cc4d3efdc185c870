"""Which text to label next: one that is uncertain, unlike those labelled, and not like the others chosen."""

from __future__ import annotations

import numpy as np

RANDOM_SHARE = 0.5  # of the labels: those of texts drawn at random
CANDIDATES = 2000  # texts that are looked at for each choice
MEASURED = 2000  # texts by which it is seen how they vary
DIRECTIONS = 64
NOISE = 0.3  # of a label, where a text's vector has the length 1


def uncertain(logits: np.ndarray, several: bool) -> np.ndarray:
    """(n,), from 0 to 1: how close the two best classes are; with several labels, one to a half.

    >>> uncertain(np.array([[3.0, 3.0, 0.0], [9.0, 0.0, 0.0]]), several=False).round(3).tolist()
    [1.0, 0.0]
    """
    if several:
        gap = np.abs(logits).min(axis=1)
    elif logits.shape[1] < 2:
        return np.ones(len(logits))
    else:
        top = np.partition(logits, -2, axis=1)
        gap = top[:, -1] - top[:, -2]
    return np.asarray(2 / (1 + np.exp(np.minimum(gap, 50))))


class Surroundings:
    """What a label tells about the texts around it: the matrix of all vectors, and `rows` that stand for all.

    Labels are taken for noisy measurements of a linear function of the directions in which texts vary most.
    Each reduces the variance of the function's value elsewhere, in closed form: more where there are many
    texts like it, less where some of them have a label already.
    """

    def __init__(self, matrix: np.ndarray, rows: np.ndarray) -> None:
        self._matrix = matrix
        rows = rows[:MEASURED]
        self._centre = matrix[rows].mean(axis=0) if len(rows) else np.zeros(matrix.shape[1], np.float32)
        D = matrix[rows] - self._centre
        values, directions = np.linalg.eigh(D.T @ D)
        self._basis = directions[:, np.argsort(-values)[:DIRECTIONS]].astype(np.float32)
        self._places = np.full((len(matrix), self._basis.shape[1]), np.nan, np.float32)

    def gain(self, rows: np.ndarray, weights: np.ndarray, labelled: np.ndarray) -> np.ndarray:
        """(rows,): by how much a label of each would reduce the variance at all of them, by their weights."""
        D, L = self._places_of(rows), self._places_of(labelled)
        V = np.linalg.inv(np.eye(D.shape[1]) + L.T @ L / NOISE).astype(np.float32)  # the variance so far
        DV = D @ V
        S = (D * weights[:, None].astype(np.float32)).T @ D
        return np.asarray(((DV @ S) * DV).sum(axis=1) / (NOISE + (DV * D).sum(axis=1)))

    def _places_of(self, rows: np.ndarray) -> np.ndarray:
        """(rows, directions), each computed once."""
        new = rows[np.isnan(self._places[rows, 0])]
        self._places[new] = (self._matrix[new] - self._centre) @ self._basis
        return np.asarray(self._places[rows])


def pick(useful: np.ndarray, X: np.ndarray, count: int) -> list[int]:
    """The most useful `count` texts X (n, size), each the less useful the more it is like one picked before.

    >>> pick(np.array([1.0, 0.9, 0.5]), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), 2)
    [0, 2]
    """
    left, found = useful.astype(np.float64), list[int]()
    while len(found) < min(count, len(left)):
        if found:
            left *= 1 - np.clip(X @ X[found[-1]], 0, 1) ** 2
            left[found] = -1
        found.append(int(np.argmax(left)))
    return found
