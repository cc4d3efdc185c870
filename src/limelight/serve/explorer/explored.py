"""Rows of data as models read them: what the explorer lists, sorts and counts, its map, the nearest texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...aspects.sums import AspectSum
from ...config.recipe import DEFAULT_TASK
from ...network.outputs import unit
from ...runtime.batches import chunks
from ...runtime.held_out import HeldOut
from ...runtime.model import READ_AT_ONCE, Model
from ...runtime.reader import Reader
from ...runtime.runner import progress_bar
from ...text.questions import are_numbers, class_values
from ...text.tasks import find_task
from ..api.batching import columns
from ..http.bodies import Item
from ..page.packed_arrays import pack_arrays
from ..page.plane import Plane, spread

DIRECTIONS = 96  # of the short vectors, by which the nearest texts are looked for
NEIGHBOURS = 8
CANDIDATES = 24  # by short vectors; the best of them are compared in full
MAX_WORDS_COMPARED = 300  # of a text whose words are compared: the work grows with words times numbers


@dataclass(frozen=True, eq=False)
class ExploredAspects:
    """For each row and aspect the effect and the clause that carries it; of one not there, an empty span."""

    names: tuple[str, ...]
    unit: str  # of the effects: "stars", "points" or, of a number's own, "number"
    sums: np.ndarray  # (rows, 2): the bias, and the rest
    effects: np.ndarray  # (rows, aspects)
    clause_effects: np.ndarray  # (rows, aspects): of the clause alone
    spans: np.ndarray  # (rows, aspects, 2)

    def put(self, row: int, found: AspectSum) -> None:
        self.sums[row] = found.bias, found.rest
        for k, share in enumerate(found.aspects):
            if share.span is not None:
                self.effects[row, k], self.clause_effects[row, k] = share.effect, share.strongest.effect
                self.spans[row, k] = share.span


def collect_aspects(model: Model, rows: int) -> ExploredAspects:
    """The aspects of a model, with room for this many rows."""
    names = tuple(aspect.name for aspect in model.aspects)
    effects, clause_effects = np.zeros((2, rows, len(names)), np.float32)
    spans = np.zeros((rows, len(names), 2), np.int32)
    unit = "stars" if are_numbers(model.labels) else "points"
    unit = "number" if find_task(model.task).is_number else unit
    return ExploredAspects(names, unit, np.zeros((rows, 2), np.float32), effects, clause_effects, spans)


@dataclass(frozen=True, eq=False)
class ExploredData:
    """Texts or pairs, and what one or two models predict for them."""

    name: str
    items: list[Item]
    labels: list[str]  # of all models
    truth: np.ndarray | None  # (rows,) int32: the index of the true class in `labels`; else as `predicted`
    predicted: np.ndarray  # (models, rows) int32; of several labels (models, rows, labels) uint8; or numbers
    # (models, rows), of several labels (models, rows, labels): NaN for one that a model lacks; numbers: none
    confidence: np.ndarray | None
    places: np.ndarray  # (rows, 2): on the map, as the first model reads them
    directions: np.ndarray  # (2u, directions): of the short vectors
    vectors: np.ndarray  # (rows, directions): of length 1
    of_rows: int  # that the data has; some may have been left out
    aspects: ExploredAspects | None = None  # of the first model, if it has any
    task: str = DEFAULT_TASK
    means: np.ndarray | None = None  # (models, rows): of ordered classes
    values: list[float] | None = None  # (labels,): what ordered classes count as
    seen: HeldOut | None = None  # the rows that the models learnt from

    def pack(self, in_page: bool = False) -> bytes:
        """For the page: a header and typed arrays; the texts and short vectors, too, if it has no server."""
        header = {
            "name": self.name, "rows": len(self.items), "ofRows": self.of_rows, "labels": self.labels,
            "models": len(self.predicted), "texts": self.items if in_page else None,
            "aspects": None, "task": self.task, "values": self.values, "told": "",
        }  # fmt: skip
        arrays = {"places": self.places.astype(np.float32)}
        arrays |= {f"predicted{k}": predicted for k, predicted in enumerate(self.predicted)}
        for name, by_model in (("confidence", self.confidence), ("mean", self.means)):
            if by_model is not None:
                arrays |= {f"{name}{k}": each.astype(np.float32) for k, each in enumerate(by_model)}
        if self.truth is not None:
            arrays["truth"] = self.truth
        if self.seen is not None:
            is_whole = self.truth is not None and not self.seen.is_mixed
            header["told"] = self.seen.sentences() if is_whole else self.seen.share
        if self.seen is not None and self.seen.is_mixed:
            arrays["learnt"] = self.seen.learnt.astype(np.uint8)
        if (found := self.aspects) is not None:
            header["aspects"] = {"names": found.names, "unit": found.unit}
            arrays |= {"aspectSums": found.sums, "aspectEffects": found.effects}
            arrays |= {"clauseEffects": found.clause_effects, "clauseSpans": found.spans}
        if in_page:
            arrays["directions"] = self.directions.T.astype(np.float32)
            arrays["vectors"] = np.rint(127 * self.vectors).astype(np.int8)
        return pack_arrays(header, arrays)

    def find(self, words: str) -> list[int]:
        words = words.lower()
        return [k for k, item in enumerate(self.items) if any(words in text.lower() for text in item)]


def explore_data(
    models: Sequence[Model], items: Sequence[Item], truth: np.ndarray | None = None, *,
    name: str = "data", of_rows: int | None = None, progress: bool = False,
) -> ExploredData:  # fmt: skip
    """Read every text once with each model, all of one task and for single texts, or all for pairs.

    `truth` has what `text/tasks.py` makes of the true labels.
    """
    first, *others = models
    flat, directions = _fit(first, [items[k] for k in spread(len(items))])
    aspects = collect_aspects(first, len(items)) if first.aspects else None
    read = _read_aspects(first, items, progress, aspects) if aspects else _read(first, items, progress)
    parts = zip(*((P, flat.project(X), shorten(X, directions)) for P, X in read), strict=True)
    own, places, vectors = map(np.concatenate, parts)
    names = ("The first model", "The second model") if others else ("This model",)
    known = [model.learnt_rows for model in models]
    learnt = [None if each is None else each.has(*columns(items)) for each in known]
    seen = HeldOut.of(dict(zip(names, learnt, strict=True)), len(items))
    P = [own, *(other.predict_proba(*columns(items), progress=progress) for other in others)]
    return ExploredData(
        name=name, items=list(items), places=places, directions=directions, vectors=vectors,
        of_rows=len(items) if of_rows is None else of_rows, aspects=aspects, task=first.task,
        seen=seen, **_predictions(models, P, truth),
    )  # fmt: skip


def _predictions(models: Sequence[Model], P: list[np.ndarray], truth: np.ndarray | None) -> dict[str, Any]:
    """What the models predict, and the truth, by the labels of all models; P has the outputs of each."""
    answers = find_task(models[0].task)
    labelled = (zip(model.labels, class_values(model.labels), strict=True) for model in models)
    values = {str(label): value for each in labelled for label, value in each}
    is_ordered = answers.is_ordered
    labels = sorted(values, key=values.__getitem__) if is_ordered else list(values)
    places = [np.array([labels.index(str(x)) for x in model.labels], np.int32) for model in models]
    decided = [model.decide(p) for model, p in zip(models, P, strict=True)]

    def by_all_labels(found: np.ndarray, own: np.ndarray) -> np.ndarray:
        if answers.is_number:
            return found.astype(np.float32)
        if answers.is_class:
            return np.asarray(own[found])
        return _place(found.astype(np.uint8), own, len(labels), 0)

    confidence = means = None
    if answers.has_several:
        confidence = np.stack([_place(p, own, len(labels), np.nan) for p, own in zip(P, places, strict=True)])
    elif answers.is_class:
        confidence = np.stack([p[np.arange(len(p)), k] for p, k in zip(P, decided, strict=True)])
    if is_ordered:
        means = np.stack([p @ class_values(m.labels) for m, p in zip(models, P, strict=True)])
    return {
        "labels": labels, "truth": None if truth is None else by_all_labels(truth, places[0]),
        "predicted": np.stack(list(map(by_all_labels, decided, places))), "confidence": confidence,
        "means": means, "values": [values[label] for label in labels] if is_ordered else None,
    }  # fmt: skip


def _place(found: np.ndarray, own: np.ndarray, labels: int, missing: float) -> np.ndarray:
    """(rows, labels): what a model says of its own labels, and `missing` for those that it does not have."""
    placed = np.full((len(found), labels), missing, found.dtype)
    placed[:, own] = found
    return placed


def shorten(X: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """(texts, directions), of length 1: the sum of the rows of each M, which X (texts, r * 2u) has flat."""
    return unit(X.reshape(len(X), -1, len(directions)).sum(axis=1) @ directions)


def _fit(model: Model, items: Sequence[Item]) -> tuple[Plane, np.ndarray]:
    """The two directions of the map, in which the predicted classes differ most, and those of short vectors.

    Plain principal components are about topics, and mix the classes (docs/log/2026-11-16-explorer.md).
    """
    parts = list(_read(model, items, progress=False))
    P, X = (np.concatenate(each) for each in zip(*parts, strict=True))
    groups = find_task(model.task).column.strata(model.decide(P))  # of numbers, their tenths
    plane = Plane.fit(X)
    means = np.stack([X[groups == k].mean(axis=0) for k in np.unique(groups)])
    both = np.concatenate([Plane.fit(means).basis, plane.basis], axis=1)[:, :2]  # two classes differ in one
    basis, signs = np.linalg.qr(both)
    flat = np.zeros((X.shape[1], 2), np.float32)
    flat[:, : both.shape[1]] = basis * np.sign(np.diag(signs))
    sums = X.reshape(len(X), *model.embedding_shape).sum(axis=1).astype(np.float64)  # (texts, 2u)
    directions = np.linalg.eigh(sums.T @ sums)[1][:, : -DIRECTIONS - 1 : -1]
    return Plane(plane.mean, flat), directions.astype(np.float32)


def _read_aspects(
    model: Model, items: Sequence[Item], progress: bool, aspects: ExploredAspects
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """What `_read` gives, while `aspects` is filled in: reading a text once is enough for both."""
    (texts,) = columns(items)
    start = 0
    for some in chunks(model.read_stream(texts, progress=progress), READ_AT_ONCE):
        for k, reading in enumerate(some, start):
            aspects.put(k, reading.sides[0].aspect_sum)
        start += len(some)
        X = np.stack([reading.sides[0].embedding for reading in some])
        yield np.stack([reading.sides[0].probabilities for reading in some]), X.reshape(len(X), -1)


def _read(model: Model, items: Sequence[Item], progress: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Probabilities (some, classes) and embeddings (some, size) of some items at a time."""
    with progress_bar(len(items), disable=not progress) as bar:
        for M in zip(*map(model.embed_stream, columns(items)), strict=True):
            X = np.abs(M[0] - M[1]) if model.pair else M[0]
            yield model.classify(*M), X.reshape(len(X), -1)
            bar.update(len(X))


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
        scores = self.vectors @ self.reader.encode(item[0])
        return _best(self.reader, self.data, item, scores, _nearest(self.data, item, scores, NEIGHBOURS))


@dataclass(frozen=True, eq=False)
class ModelNeighbours:
    """Among the rows of the data, as the model itself reads them."""

    model: Model
    data: ExploredData
    where: str = "the data, as the model reads them"

    def find(self, item: Item) -> list[dict[str, Any]]:
        ((_, X),) = _read(self.model, [item], progress=False)
        scores = self.data.vectors @ shorten(X, self.data.directions)[0]
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
    found: list[dict[str, Any]]
    found = [{"texts": list(data.items[k]), "row": k, "similarity": float(scores[k])} for k in rows]
    texts = [data.items[k][0] for k in rows]
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
