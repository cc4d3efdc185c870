"""What a picture shows of aspects: each that is mentioned, with its clauses, and what they add up to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..aspects.sums import AspectShare
from ..text.tasks import find_task
from . import captions
from .colours import HeatMap
from .pieces import Pieces, printable

if TYPE_CHECKING:
    from .reading import Reading

MAX_CLAUSES_DRAWN = 8  # of an aspect; of more, those with the largest effects


@dataclass(frozen=True)
class AspectMaps:
    maps: tuple[HeatMap, ...]  # one for each aspect that is mentioned, in the model's order
    sum_line: str
    not_mentioned: str  # in a sentence; empty if all are mentioned
    in_stars: bool  # while what decided is a probability


def aspect_maps(reading: Reading, pieces: Pieces) -> AspectMaps | None:
    """The maps of a reading; None if its model has no aspects."""
    if not reading.has_aspect_sum:
        return None
    found = reading.aspect_sum
    unit = {"mean": "stars", "probability": "points", "number": ""}[found.unit]
    mentioned = [share for share in found.aspects if share.mentioned]
    parts = [found.bias, *(share.effect for share in mentioned), found.rest]
    bias, *effects, rest = captions.aspect_effects(parts, unit)
    names = [printable(share.name) for share in mentioned]
    weights = [pieces.weights(share.weights) for share in mentioned]
    top = max((float(np.abs(own).max(initial=0.0)) for own in weights), default=0.0)
    maps = [
        HeatMap(
            name, (own,), top, signed=True, clauses=_clauses(share, pieces),
            note=f"{effect}{captions.UNITS.get(unit, '')}",
        )
        for share, name, own, effect in zip(mentioned, names, weights, effects, strict=True)
    ]  # fmt: skip
    (answer,) = captions.aspect_effects([found.answer], unit)
    terms = [*zip(names, effects, strict=True), ("rest", rest)]
    others = [printable(share.name) for share in found.aspects if not share.mentioned]
    return AspectMaps(
        tuple(maps), captions.aspect_sum_line(bias, terms, answer, unit),
        f"Not mentioned: {', '.join(others)}." if others else "",
        in_stars=unit == "stars" and not find_task(reading.task).is_ordered,
    )  # fmt: skip


def _clauses(share: AspectShare, pieces: Pieces) -> tuple[tuple[int, int], ...]:
    """The pieces of each clause; those of the strongest clauses, if there are many."""
    strongest = sorted(share.clauses, key=lambda each: -abs(each.effect))[:MAX_CLAUSES_DRAWN]
    return tuple(_pieces_of(pieces, *span) for span in sorted(each.span for each in strongest))


def _pieces_of(pieces: Pieces, start: int, end: int) -> tuple[int, int]:
    inside = [k for k, (first, last) in enumerate(pieces.spans) if first < end and last > start]
    return (inside[0], inside[-1] + 1) if inside else (0, 0)
