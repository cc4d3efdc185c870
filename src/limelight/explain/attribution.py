"""Which words a prediction rests on, by several methods; all of them can be drawn in the same pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..aspects.seeds import Aspects
from ..aspects.sums import clauses_of
from ..errors import check_choice
from ..reading.reading import AnyReading, PairReading, Reading
from ..runtime.model import Model
from .variants import ReadTexts, as_model

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
