"""The texts nearest to a text, and which words bind them: among the explorer's data, or in an index."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ..reading.comparison import Comparison
from ..runtime.model import Model
from ..runtime.word_parts import unit
from ..similar.index import Index
from .batching import Item
from .explored import ExploredData, embed_items

COUNT = 8
LOOKED_AT = 24  # by a few directions; the best of them are compared in full
MOST_WORDS = 300  # of a text whose words are compared: the work grows with words times numbers


class Neighbours(Protocol):
    """Where to look."""

    @property
    def where(self) -> str:
        """What the page calls it."""
        ...

    def find(self, item: Item) -> list[dict[str, Any]]:
        """The nearest first: texts, row, similarity, and the words that bind them."""
        ...


@dataclass(frozen=True, eq=False)
class DataNeighbours:
    """Among the rows of the data, as the model reads them."""

    model: Model
    data: ExploredData
    where: str = "the data"

    @cached_property
    def _directions(self) -> np.ndarray:
        """(rows, directions): of length 1."""
        return unit(self.data.vectors)

    def find(self, item: Item) -> list[dict[str, Any]]:
        """Those whose embeddings point the same way."""
        v = self.data.plane.project(embed_items(self.model, [item]))[0]
        scores = self._directions @ unit(v)
        near = np.argsort(-scores, kind="stable")[:LOOKED_AT]
        rows = [int(k) for k in near if self.data.items[k] != item]
        texts = [item[0], *(self.data.items[k][0] for k in rows)]
        if self.model.pair or max(len(self.model.tokenizer.split(text)) for text in texts) > MOST_WORDS:
            return [_neighbour(self.data.items[k], k, float(scores[k])) for k in rows[:COUNT]]
        return self._compared(item[0], rows)

    def _compared(self, text: str, rows: list[int]) -> list[dict[str, Any]]:
        M = unit(self.model.embed([text, *(self.data.items[k][0] for k in rows)], flat=True))
        best = [rows[k] for k in np.argsort(-(M[1:] @ M[0]), kind="stable")[:COUNT]]
        others = [self.data.items[k][0] for k in best]
        found = self.model.compare_many([text] * len(best), others, by_rows=False)
        return [_neighbour(self.data.items[k], k, c.similarity, c) for k, c in zip(best, found, strict=True)]


@dataclass(frozen=True, eq=False)
class IndexNeighbours:
    """In an index, as its own model reads them; of a pair, the first text."""

    index: Index

    @property
    def where(self) -> str:
        """The folder's name."""
        return self.index.folder.name

    def find(self, item: Item) -> list[dict[str, Any]]:
        """The hits of a search."""
        if not self.index.model.tokenizer.split(item[0]):
            return []
        return [
            _neighbour((hit.text,), None, hit.score, hit.comparison)
            for hit in self.index.search(item[0], COUNT)
        ]


def _neighbour(
    item: Item, row: int | None, score: float, comparison: Comparison | None = None
) -> dict[str, Any]:
    found: dict[str, Any] = {"texts": list(item), "row": row, "similarity": score}
    if comparison is not None:
        other = comparison.second
        found["offsets"], found["effects"] = other.offsets.tolist(), other.effects.tolist()
        found["pairs"] = [pair for pair in comparison.top_pairs(3) if pair[2] > 0]
    return found
