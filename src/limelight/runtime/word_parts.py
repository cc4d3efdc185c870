"""The share of each word in a text's vector: parts that add up to it exactly.

Leave word t out and keep the states H of the others: each row of attention shares its weight among the words
that are left, each unit of a max-pooled row falls to the next best word, and the vector v has another
direction. With unit vectors, e = v / |v| and e_t without word t, the part of word t is

    e - e_t + (e - sum_s (e - e_s)) / n

What leaving out single words does not explain, because several words stand for it, is shared evenly. The dot
product of two vectors is therefore a sum over pairs of words: parts_a @ parts_b.T. Its row sums rank words as
deleting them and reading the text again does, at a fraction of the cost (docs/results.md); the plain terms of
the sum, A_rt W_r h_t, rank them far less well (docs/log/2026-11-16-compare.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..config.recipe import ModelRecipe

_LITTLE_ATTENTION = 1e-3  # on all words but one


@dataclass(frozen=True, eq=False)
class TextParts:
    """A text with the share of each of its words in its vector.

    >>> effects = np.array([[0.6, -0.2], [-0.4, 0.8]])
    >>> places, known, M = np.array([[0, 4], [5, 9]]), np.ones(2, bool), np.zeros((1, 2))
    >>> text = TextParts("Good soup", places, known, M, vector=np.array([1.0, 0.0]), effects=effects)
    >>> text.parts.round(3).tolist(), text.parts.sum(axis=0).round(6).tolist()
    ([[1.0, -0.5], [0.0, 0.5]], [1.0, 0.0])
    """

    text: str
    offsets: np.ndarray  # (n, 2)
    known: np.ndarray  # (n,): False where the word is outside the vocabulary
    M: np.ndarray  # (r, 2u)
    vector: np.ndarray  # (size,): e, of length 1
    effects: np.ndarray  # (n, size): e - e_t

    @property
    def parts(self) -> np.ndarray:
        """(n, size): they add up to the vector."""
        return np.asarray(self.effects + (self.vector - self.effects.sum(axis=0)) / len(self.effects))


class VectorParts:
    """From M to the vector that texts are compared by: by a reader's linear map; a classifier's is M, flat.

    The rows are reduced by the map that all share before a word is left out: they are smaller than M.
    """

    def __init__(self, weights: Mapping[str, np.ndarray], recipe: ModelRecipe) -> None:
        self.maps, self.attends, self.max_rows = (
            recipe.head == "vector",
            recipe.attention_rows,
            recipe.max_rows,
        )
        if self.maps:
            self.W_shared, self.W_rows = weights["vector.W_shared"], weights["vector.W_rows"]

    def reduce(self, M: np.ndarray) -> np.ndarray:
        """M (..., 2u) -> (..., rank)."""
        return M @ self.W_shared.T if self.maps else M

    def states(self, H: np.ndarray) -> np.ndarray:
        """H (texts, n, 2u) as `without_words` takes it."""
        return self.reduce(H) if self.attends else H

    def without_words(self, states: np.ndarray, A: np.ndarray) -> np.ndarray:
        """(n, r, rank): the rows of M without each word, reduced; from H (n, 2u), reduced, and A (r, n)."""
        if not self.maps:
            return matrix_without(states, A, self.max_rows)
        return rows_without(states, A) if self.attends else self.reduce(max_without(states))

    def map_rows(self, M: np.ndarray) -> np.ndarray:
        """(texts, size) from reduced rows (texts, r, rank)."""
        flat = M.reshape(len(M), -1)
        return flat @ self.W_rows.T if self.maps else flat

    def row_products(self, M: np.ndarray, M2: np.ndarray) -> np.ndarray:
        """(r, r): each row's share in one unit vector times each row's share in the other."""
        rows, rows2 = (self.map_rows(_one_by_one(self.reduce(each))) for each in (M, M2))  # (r, size)
        length, length2 = (np.linalg.norm(each.sum(axis=0)) for each in (rows, rows2))
        return np.asarray(rows @ rows2.T / max(length * length2, np.finfo(np.float32).tiny))


def _one_by_one(M: np.ndarray) -> np.ndarray:
    """(r, r, k): each row of M (r, k) alone, with zeros in place of the others."""
    rows = np.zeros((len(M), *M.shape), M.dtype)
    rows[np.arange(len(M)), np.arange(len(M))] = M
    return rows


def effects_of(vector: np.ndarray, without: np.ndarray) -> np.ndarray:
    """(n, size): e - e_t, from v (size,) and v without each word (n, size)."""
    if len(without) == 1:  # a single word is all of its text
        return unit(vector)[None]
    return np.asarray(unit(vector) - unit(without))


def matrix_without(H: np.ndarray, A: np.ndarray, max_rows: int = 0, words: slice = slice(None)) -> np.ndarray:
    """(n, r, 2u): M without each of the `words`, from H (n, 2u) and A (r, n); the last `max_rows`, 0 or
    1, are max-pooled.

    >>> matrix_without(np.array([[1.0], [3.0]]), np.array([[0.5, 0.5], [0.0, 1.0]]), max_rows=1)[0].tolist()
    [[3.0], [3.0]]
    """
    rows = rows_without(H, A[: len(A) - max_rows], words)
    return np.concatenate([rows, max_without(H)[words]], axis=1) if max_rows else rows


def rows_without(states: np.ndarray, A: np.ndarray, words: slice = slice(None)) -> np.ndarray:
    """(n, r, k): A @ states without each word, the attention on the others scaled to add up to 1.

    With `words`, only without each of these: a long text can be taken in parts.

    >>> rows_without(np.array([[1.0], [2.0], [4.0]]), np.array([[0.5, 0.25, 0.25]]))[:, 0, 0].tolist()
    [3.0, 2.0, 1.33...]
    """
    left = A.sum(axis=1, dtype=float) - A.T[words].astype(float)  # (n, r): the attention on all other words
    terms = A.T[words, :, None] * states[words, None]  # (n, r, k)
    found: np.ndarray = np.subtract(A @ states, terms, out=terms)
    found /= np.maximum(left, _LITTLE_ATTENTION)[:, :, None].astype(found.dtype)
    for t, r in np.argwhere(
        left < _LITTLE_ATTENTION
    ):  # a small difference of large numbers: summed up instead
        others = np.arange(len(states)) != t + (words.start or 0)
        weights = A[r, others].astype(float)
        found[t, r] = weights @ states[others] / (weights.sum() or 1)
    return found


def max_without(H: np.ndarray) -> np.ndarray:
    """(n, 1, 2u): the maximum of each unit without each word; without the only one, 0.

    >>> max_without(np.array([[1.0, 5.0], [2.0, 3.0]]))[:, 0].tolist()
    [[2.0, 3.0], [1.0, 5.0]]
    """
    if len(H) == 1:
        return np.zeros((1, *H.shape), H.dtype)
    second, first = np.partition(H, -2, axis=0)[-2:]  # (2u,)
    winners = H.argmax(axis=0)
    return np.asarray(np.where(winners == np.arange(len(H))[:, None], second, first)[:, None])


def unit(v: np.ndarray) -> np.ndarray:
    """Vectors (..., size) of length 1; zeros stay zeros.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    return np.asarray(v / np.where(length > 0, length, 1))
