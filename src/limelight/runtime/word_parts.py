"""The share of each word in a text's vector: parts that add up to it exactly.

Leave word t out and keep the states H of the others: each row of attention shares its weight among the words
that are left, each unit of a max-pooled row falls to the next best word, and the vector v has another
direction. With unit vectors, e = v / |v| and e_t without word t, the part of word t is

    e - e_t + (e - sum_s (e - e_s)) / n

What leaving out single words does not explain, because several words stand for it, is shared evenly. The dot
product of two vectors is therefore a sum over pairs of words: parts_a @ parts_b.T. Its row sums rank words as
deleting them and reading the text again does, at a fraction of the cost (docs/results.md); the plain terms of
the sum, A_rt W_r h_t, rank them far less well (docs/log/2026-11-16-compare.md).

Which words of two texts belong together is another question: two words may be alike and add little. The
cosine of their states H, each with a bit of its neighbours' because people align phrases, answers it far
better (docs/trust.md).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..config.recipe import ModelRecipe
from ..network.onnx.layers import linear_graph
from ..network.outputs import unit
from ..network.parts import rows_of
from .session import Session

Without = Callable[..., np.ndarray]  # H (n, 2u), A (r, n), words=slice: M without each of them (k, r, 2u)
_LITTLE_ATTENTION = 1e-3  # on all words but one
_OF_NEIGHBOURS = 0.2  # more agrees with people on phrases, and blurs single words


@dataclass(frozen=True, eq=False)
class TextParts:
    """A text with the share of each of its words in its vector."""

    text: str
    offsets: np.ndarray  # (n, 2)
    known: np.ndarray  # (n,): False where the word is outside the vocabulary
    vector: np.ndarray  # (size,): e, of length 1
    effects: np.ndarray  # (n, size): e - e_t
    states: np.ndarray  # (n, 2u): of length 1, with a bit of the neighbours'

    @property
    def parts(self) -> np.ndarray:
        """(n, size): they add up to the vector."""
        return np.asarray(self.effects + (self.vector - self.effects.sum(axis=0)) / len(self.effects))


def effects_of(vector: np.ndarray, without: np.ndarray) -> np.ndarray:
    """(n, size): e - e_t, from v (size,) and v without each word (n, size)."""
    if len(without) == 1:  # a single word is all of its text
        return unit(vector)[None]
    return np.asarray(unit(vector) - unit(without))


def with_neighbours(H: np.ndarray) -> np.ndarray:
    """(n, k): the direction of each state H (n, k) and a bit of its neighbours.

    >>> with_neighbours(np.array([[1.0, 0.0], [0.0, 1.0]])).round(3).tolist()
    [[0.981, 0.196], [0.196, 0.981]]
    """
    found = H.copy()
    found[1:] += _OF_NEIGHBOURS * H[:-1]
    found[:-1] += _OF_NEIGHBOURS * H[1:]
    return unit(found)


def matrix_without(H: np.ndarray, A: np.ndarray, max_rows: int = 0, words: slice = slice(None)) -> np.ndarray:
    """(n, r, 2u): M without each of the `words`, from H (n, 2u) and A (r, n); the last `max_rows`, 0 or
    1, are max-pooled.
    """
    rows = rows_without(H, A[: len(A) - max_rows], words)
    return np.concatenate([rows, max_without(H)[words]], axis=1) if max_rows else rows


def rows_without(states: np.ndarray, A: np.ndarray, words: slice = slice(None)) -> np.ndarray:
    """(n, r, k): A @ states without each word, the attention on the others scaled to add up to 1.

    With `words`, only without each of these: a long text can be taken in parts.
    """
    left = A.sum(axis=1, dtype=float) - A.T[words].astype(float)  # (n, r): the attention on all other words
    terms = A.T[words, :, None] * states[words, None]  # (n, r, k)
    found: np.ndarray = np.subtract(A @ states, terms, out=terms)
    found /= np.maximum(left, _LITTLE_ATTENTION)[:, :, None].astype(found.dtype)
    # a small difference of large numbers is summed up instead
    for t, r in np.argwhere(left < _LITTLE_ATTENTION):
        others = np.arange(len(states)) != t + (words.start or 0)
        weights = A[r, others].astype(float)
        found[t, r] = weights @ states[others] / (weights.sum() or 1)
    return found


def max_without(H: np.ndarray) -> np.ndarray:
    """(n, 1, 2u): the maximum of each unit without each word; without the only one, 0."""
    if len(H) == 1:
        return np.zeros((1, *H.shape), H.dtype)
    second, first = np.partition(H, -2, axis=0)[-2:]  # (2u,)
    winners = H.argmax(axis=0)
    return np.asarray(np.where(winners == np.arange(len(H))[:, None], second, first)[:, None])


class VectorParts:
    """From M to the vectors that texts are compared by: a linear map of M, or without one M, flat.

    Rows of means are reduced by the map that all share before a word is left out: they are smaller than M.
    Products are ONNX Runtime's: numpy's threads spin, and slow each other down where there are few cores.
    """

    def __init__(
        self, weights: Mapping[str, np.ndarray], recipe: ModelRecipe, threads: int, without: Without
    ) -> None:
        self.without, self.max_rows = without, rows_of(recipe).maxima
        names = ("W_shared", "W_rows") if recipe.is_reader else ()
        self.maps = [Session(linear_graph(weights, f"vector.{name}"), threads) for name in names]

    def reduce(self, M: np.ndarray) -> np.ndarray:
        """M (..., 2u) -> (..., rank)."""
        if not self.maps:
            return M
        (reduced,) = self.maps[0].run({"X": M.reshape(-1, M.shape[-1])}, "Y")
        return np.asarray(reduced.reshape(*M.shape[:-1], -1))

    def states(self, H: np.ndarray) -> np.ndarray:
        """H (texts, n, 2u) as `without_words` takes it."""
        return H if self.max_rows or not self.maps else self.reduce(H)

    def without_words(self, states: np.ndarray, A: np.ndarray) -> np.ndarray:
        """(n, r, rank): the rows of M without each word, reduced; from H (n, 2u), reduced, and A (r, n)."""
        without = self.without(states, A)
        return self.reduce(without) if self.max_rows else without

    def map_rows(self, M: np.ndarray) -> np.ndarray:
        """(texts, size) from reduced rows (texts, r, rank)."""
        flat = M.reshape(len(M), -1)
        return self.maps[1].run({"X": flat}, "Y")[0] if self.maps else flat
