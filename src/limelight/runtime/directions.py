"""The encoder on two threads, one for each direction of the LSTM; they never wait for each other."""

from __future__ import annotations

from concurrent.futures import Executor

import numpy as np

from ..config.recipe import ModelRecipe
from ..network.onnx.export import direction_graph, pooling_graph
from ..network.quantise import SCALE, Weights, quantise, values
from .session import Session

WORDS = ("words.weight", "words.weight" + SCALE)


class Directions:
    """Computes what the encoder's session does, for one batch, with each direction in its own thread.

    ONNX Runtime's operator for both directions runs them one after the other, however many threads it has.
    """

    def __init__(self, weights: Weights, recipe: ModelRecipe, int8: bool) -> None:
        self.words = {name: weights[name] for name in WORDS if name in weights}
        self.rounded = int8 and len(self.words) == 1
        self.projection = weights.get("projection.W"), weights.get("projection.b")
        self.layers = [
            [Session(direction_graph(weights, k, way, int8)) for way in ("forward", "reverse")]
            for k in range(recipe.layers)
        ]
        self.pooling = Session(pooling_graph(weights, recipe, int8))

    def run(self, pool: Executor, feed: dict[str, np.ndarray], *outputs: str) -> list[np.ndarray]:
        """ids, lengths -> M, A and H, as named. One direction runs in this thread, the other in the pool.

        Word vectors X in `feed` take the place of the table's.
        """
        below = [feed["X"] if "X" in feed else self._words(feed["ids"].T)]  # (n, batch, d)
        for forward, reverse in self.layers:
            given = {"X": np.concatenate(below, axis=2), "lengths": feed["lengths"]}
            backward = pool.submit(reverse.run, given, "Y")
            ahead = forward.run(given, "Y")
            Y = np.concatenate([*ahead, *backward.result()], axis=1)  # (n, 2, batch, u)
            below.append(Y.transpose(0, 2, 1, 3).reshape(*Y.shape[::2], -1))
        return self.pooling.run({"Y": Y, "ids": feed["ids"], "lengths": feed["lengths"]}, *outputs)

    def _words(self, ids: np.ndarray) -> np.ndarray:
        """The word vectors; in int8, unless in 4 bits, rounded as in the int8 table, each with its own scale."""
        found = {name: table[ids.ravel()] for name, table in self.words.items()}
        rows = values(found, "words.weight").reshape(*ids.shape, -1)
        if self.rounded:
            integers, scale = quantise(rows)
            rows = np.asarray(integers * scale)
        W, b = self.projection
        return rows if W is None else np.maximum(rows @ W.T + b, 0)
