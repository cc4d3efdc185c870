"""The texts of the explorer's data that are nearest to a text, and which words bind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...network.outputs import unit
from ...runtime.model import Model
from ...runtime.reader import Reader
from ..http.bodies import Item
from .explored import ExploredData, embed_items, shorten

NEIGHBOURS = 8
CANDIDATES = 24  # by short vectors; the best of them are compared in full
MAX_WORDS_COMPARED = 300  # of a text whose words are compared: the work grows with words times numbers


@dataclass(frozen=True, eq=False)
class ReaderNeighbours:
    """Among the rows of the data, by meaning: as a reader reads them; of a pair, its first text."""

    reader: Reader
    data: ExploredData
    vectors: np.ndarray  # (rows, 384), of length 1
    where: str = "the data, as the bundled reader reads them"

    @classmethod
    def read(cls, reader: Reader, data: ExploredData, progress: bool = False) -> ReaderNeighbours:
        return cls(reader, data, reader.encode([item[0] for item in data.items], show_progress_bar=progress))

    def find(self, item: Item) -> list[dict[str, Any]]:
        """Those whose vectors point the same way."""
        scores = self.vectors @ self.reader.encode(item[0])
        return _best(self.reader, self.data, item, scores, _nearest(self.data, item, scores, NEIGHBOURS))


@dataclass(frozen=True, eq=False)
class ModelNeighbours:
    """Among the rows of the data, as the model itself reads them."""

    model: Model
    data: ExploredData
    where: str = "the data, as the model reads them"

    def find(self, item: Item) -> list[dict[str, Any]]:
        """Those whose embeddings point the same way."""
        scores = self.data.vectors @ shorten(embed_items(self.model, [item]), self.data.directions)[0]
        rows = _nearest(self.data, item, scores, CANDIDATES)
        if not self.model.pair:  # by all of M rather than by its short vector
            M = unit(self.model.embed([item[0], *(self.data.items[k][0] for k in rows)], flat=True))
            rows = [rows[k] for k in np.argsort(-(M[1:] @ M[0]), kind="stable")]
        return _best(None if self.model.pair else self.model, self.data, item, scores, rows[:NEIGHBOURS])


def _nearest(data: ExploredData, item: Item, scores: np.ndarray, count: int) -> list[int]:
    """The rows with the largest scores, but not the text itself."""
    order = np.argsort(-scores, kind="stable")[: count + CANDIDATES]
    return [int(k) for k in order if data.items[k] != item][:count]


def _best(
    embedder: Model | Reader | None, data: ExploredData, item: Item, scores: np.ndarray, rows: list[int]
) -> list[dict[str, Any]]:
    """The rows, with the words that bind them, unless there are too many words or no one to compare them."""
    found: list[dict[str, Any]] = [
        {"texts": list(data.items[k]), "row": k, "similarity": float(scores[k])} for k in rows
    ]
    texts = [each["texts"][0] for each in found]
    if embedder is None or any(
        len(embedder.tokenizer.split(text)) > MAX_WORDS_COMPARED for text in (item[0], *texts)
    ):
        return found
    compared = embedder.compare_many([item[0]] * len(rows), texts)
    for each, comparison in zip(found, compared, strict=True):
        each["similarity"] = comparison.similarity
        each["offsets"] = comparison.second.offsets.tolist()
        each["effects"] = comparison.second.effects.tolist()
        each["pairs"] = [pair for pair in comparison.top_pairs(3) if pair[2] > 0]
    return found


Neighbours = ReaderNeighbours | ModelNeighbours
