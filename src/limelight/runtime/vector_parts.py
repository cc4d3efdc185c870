"""From M to the vector that texts are compared by, and from M without each word."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..config.recipe import ModelRecipe
from ..network.onnx.layers import linear_graph
from ..network.parts import rows_of
from .session import Session
from .word_parts import Without


class VectorParts:
    """A reader's vector is a linear map of M; a classifier's is M, flat.

    Rows of means are reduced by the map that all share before a word is left out: they are smaller than M.
    Products are ONNX Runtime's: numpy's threads spin, and slow each other down where there are few cores.
    """

    def __init__(
        self, weights: Mapping[str, np.ndarray], recipe: ModelRecipe, threads: int, without: Without
    ) -> None:
        self.without, self.max_rows = without, rows_of(recipe).maxima
        self.maps = [
            Session(linear_graph(weights, f"vector.{name}"), threads)
            for name in ("W_shared", "W_rows")
            if recipe.is_reader
        ]

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
