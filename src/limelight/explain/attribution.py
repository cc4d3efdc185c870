"""Which words a prediction rests on, by several methods; all of them can be drawn in the same pictures.

For some, texts are read without some of their words. A word is removed from the sequence, as if it had never
been written: a shorter text remains. (Zeros in its place would show the network something it never saw in
training.) No PyTorch.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..aspects.seeds import Aspects
from ..aspects.sums import clauses_of
from ..errors import LimelightError, check_choice
from ..reading.reading import AnyReading, PairReading, Reading
from ..runtime.model import Model
from ..runtime.runner import progress_bar
from ..text.tokenizer import UNKNOWN

NAMES = {  # `by` -> what pictures and tables call it
    "effect": "What decided",
    "attention": "Overall attention",
    "leave-one-out": "Leave one out",
}
METHODS = tuple(NAMES)
# What a reading has of the usual way, which explains several labels, and of no other.
_USUAL_WAY: dict[str, Any] = {
    "trust": "", "decided_further": (), "bias": None, "bias_further": (), "versus": None, "row_weights": None,
    "scores": None,
}  # fmt: skip
Variants = tuple["TokenIds", np.ndarray]  # of one text: its words, and which of them each variant keeps
_NO_WORDS = np.array([UNKNOWN], np.int32)  # a text without words is one unknown, as in the tokenizer
_MAX_BYTES = 2**27  # of M in memory at once
_MAX_WORDS = 2**16  # of variants at once: about a second, after which a bar moves


@dataclass(frozen=True, eq=False)
class TokenIds:
    sides: tuple[np.ndarray, ...]  # (n,), and for a pair (m,)

    def __len__(self) -> int:
        return sum(map(len, self.sides))

    def keep(self, mask: np.ndarray) -> tuple[np.ndarray, ...]:
        """The ids of each text where `mask` (n + m,) is True."""
        parts = zip(self.sides, self.split(mask), strict=True)
        return tuple(side[part] if part.any() else _NO_WORDS for side, part in parts)

    def split(self, weights: np.ndarray) -> tuple[np.ndarray, ...]:
        """Split weights (n + m,) of all words into one array for each text."""
        return tuple(np.split(weights, np.cumsum([len(side) for side in self.sides])[:-1]))


@dataclass(frozen=True, eq=False)
class ReadTexts:
    """Texts that a model has read, to be read again without some of their words."""

    model: Model
    readings: Sequence[AnyReading]
    progress: bool = False

    @cached_property
    def ids(self) -> list[TokenIds]:
        """The word ids of each text, truncated where the model truncated it."""
        locate = self.model.tokenizer.locate
        ids = ([locate(side.text)[0][: len(side.offsets)] for side in each.sides] for each in self.readings)
        return [TokenIds(tuple(sides)) for sides in ids]

    def predict(self, masks: Iterable[np.ndarray], name: str) -> list[np.ndarray]:
        """Probabilities (variants, classes) for each text; its mask (variants, n) is True for words to keep.

        The variants of many texts are batched by length, and equal ones are computed once. The progress bar,
        if any, has this name.
        """
        predictions: list[np.ndarray] = []
        with progress_bar(len(self.ids), disable=not self.progress, name=name) as bar:
            for group in _group_by_memory(zip(self.ids, masks, strict=True)):
                predictions += _predict_group(self.model, group)
                bar.update(len(group))
        return predictions

    def drops(self, masks: Iterable[np.ndarray], name: str) -> list[np.ndarray]:
        """(variants,) for each text: how much lower the probability of the class that is explained is."""
        drops = []
        for each, P in zip(self.readings, self.predict(masks, name), strict=True):
            before = float(each.sides[0].probabilities[each.target])
            drops.append(np.asarray(before - P[:, each.target].astype(float)))
        return drops


def count_words(reading: AnyReading) -> int:
    """The number of words in a text, or in both texts of a pair."""
    return sum(len(side.offsets) for side in reading.sides)


def as_model(given: Any) -> Model:
    """The model itself, or the model of a trained classifier."""
    model = getattr(given, "model_", given)
    if not isinstance(model, Model):
        kind = type(given).__name__
        raise LimelightError(f"expected a model or a trained classifier, not {kind}", code="argument-type")
    return model


def _group_by_memory(texts: Iterable[Variants]) -> Iterator[list[Variants]]:
    """Group neighbouring texts whose variants fit in memory together; a very long text is alone."""
    group: list[Variants] = []
    size = 0
    for text, mask in texts:
        if group and size + mask.size > _MAX_WORDS:
            yield group
            group, size = [], 0
        group.append((text, mask))
        size += mask.size
    if group:
        yield group


def _predict_group(model: Model, texts: list[Variants]) -> list[np.ndarray]:
    variants = [text.keep(row) for text, mask in texts for row in mask]
    rows, size = model.embedding_shape
    at_once = max(1, _MAX_BYTES // (4 * rows * size))
    parts = [_predict_distinct(model, variants[k : k + at_once]) for k in range(0, len(variants), at_once)]
    P = np.concatenate([np.empty((0, len(model.labels)), np.float32), *parts])
    return np.split(P, np.cumsum([len(mask) for _, mask in texts])[:-1])


def _predict_distinct(model: Model, variants: Sequence[tuple[np.ndarray, ...]]) -> np.ndarray:
    """(variants, classes), each different text encoded once and each different pair classified once."""
    ids: dict[bytes, tuple[int, np.ndarray]] = {}  # each different text with its number
    places = [[ids.setdefault(each.tobytes(), (len(ids), each))[0] for each in sides] for sides in variants]
    distinct, inverse = np.unique(places, axis=0, return_inverse=True)
    M = model.embed_ids([each for _, each in ids.values()])
    return model.classify(*(M[side] for side in distinct.T))[inverse.reshape(-1)]


def attribute_readings(read: ReadTexts, by: str) -> list[np.ndarray]:
    """(n + m,) for each reading: how much its prediction rests on each word.

    - "effect": what decided, as in every picture: the word's share in the predicted class's probability,
      exact for a linear head; in a pair, how far it falls when no row reads the word (runtime/decided.py);
    - "attention": the overall attention, the rows of A summed: what was read, not what it was read for;
    - "leave-one-out": how much the predicted class's probability drops without the word; a text of n words
      is read n times, which takes a while for a very long one.

    All but the attention are signed: a negative word speaks against the prediction.
    """
    check_choice("by", by, METHODS)
    if by == "attention":
        return [np.concatenate([side.overall for side in each.sides]) for each in read.readings]
    if by == "effect":
        return [np.concatenate([side.supporting for side in each.sides]) for each in read.readings]
    return read.drops((~np.eye(len(text), dtype=bool) for text in read.ids), NAMES[by])


def explain_by(model: Model, reading: AnyReading, by: str) -> AnyReading:
    """The same reading with what decided found in another way: "leave-one-out" or "phrase".

    >>> explain_by(model, model.read("Good soup"), "leave-one-out").decided  # doctest: +SKIP
    array([0.61, 0.02])
    """
    if by == "effect":
        return reading
    model = as_model(model)
    if by == "phrase":
        parts = [_by_phrase(side) for side in reading.sides]
        return PairReading(*parts) if model.pair else parts[0]
    read = ReadTexts(model, [reading])
    (weights,) = attribute_readings(read, by)
    sides = [
        replace(side, decided=part, decided_by=by, **_USUAL_WAY)
        for side, part in zip(reading.sides, read.ids[0].split(weights), strict=True)
    ]
    return PairReading(*sides) if model.pair else sides[0]


def _by_phrase(side: Reading) -> Reading:
    """What decided, spread evenly over each clause, as people mark phrases; the sum is the same."""
    assert side.decided is not None
    places = [(start, end) for start, end in side.offsets.tolist()]
    clauses = list(clauses_of(Aspects(), side.text, places))

    def spread(weights: np.ndarray) -> np.ndarray:
        found = np.array(weights)
        for start, end, _ in clauses:
            found[start:end] = found[start:end].mean()
        return found

    further = tuple((k, spread(weights)) for k, weights in side.decided_further)
    decided = spread(side.decided)
    return replace(side, decided=decided, decided_by="phrase", trust="", decided_further=further, scores=None)
