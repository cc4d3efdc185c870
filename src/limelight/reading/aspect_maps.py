"""What a picture shows of aspects: each that is mentioned, with its clauses, and what they add up to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..aspects.sums import AspectShare, AspectSum
from ..text.tasks import find_task
from . import captions
from .heat_map import HeatMap
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
    found, unit = reading.aspect_sum, unit_of(reading)
    mentioned = [share for share in found.aspects if share.mentioned]
    bias, *effects, rest = shown_parts(found, mentioned, unit)
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
        tuple(maps), captions.aspect_sum_line(bias, terms, answer, unit), captions.not_mentioned(others),
        in_stars=unit == "stars" and not find_task(reading.task).is_ordered,
    )  # fmt: skip


def unit_of(reading: Reading) -> str:
    """The unit of the effects, as `captions.UNITS` has it; "" for that of a number."""
    return {"mean": "stars", "probability": "points", "number": ""}[reading.aspect_sum.unit]


def shown_parts(found: AspectSum, mentioned: list[AspectShare], unit: str) -> list[str]:
    return captions.aspect_effects([found.bias, *(share.effect for share in mentioned), found.rest], unit)


def _clauses(share: AspectShare, pieces: Pieces) -> tuple[tuple[int, int], ...]:
    """The pieces of each clause; those of the strongest clauses, if there are many."""
    strongest = sorted(share.clauses, key=lambda each: -abs(each.effect))[:MAX_CLAUSES_DRAWN]
    return tuple(_pieces_of(pieces, *span) for span in sorted(each.span for each in strongest))


def _pieces_of(pieces: Pieces, start: int, end: int) -> tuple[int, int]:
    inside = [k for k, (first, last) in enumerate(pieces.spans) if first < end and last > start]
    return (inside[0], inside[-1] + 1) if inside else (0, 0)
