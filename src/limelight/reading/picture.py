"""What a picture shows, whether in HTML, SVG or a terminal: the heat maps and their scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import LimelightError
from .colours import levels
from .comparison import Comparison
from .links import Links, make_links
from .pieces import Pieces, printable, split_pieces
from .row_groups import group_rows, mean_row

if TYPE_CHECKING:
    from .comparison import ComparedText, Drawable
    from .reading import Reading

Weights = Mapping[str, Any]  # name -> (n,), or for a pair name -> ((n,), (m,))
MOST_GROUPS = 8  # shown at once, all rows of the preset light; in a page, the others are one click away
MOST_CLASSES = 6  # with more classes the most probable are shown first
LONG = 100  # words; the rows of a longer text are shown as passages


@dataclass(frozen=True)
class HeatMap:
    """One colouring of the text, or of both texts of a pair."""

    name: str
    weights: tuple[np.ndarray, ...]  # (pieces,) for every text
    top: float  # the weight with the strongest colour
    rows: tuple[int, ...] = ()  # of A, counted from 0; empty for the overall map
    signed: bool = False

    @cached_property
    def levels(self) -> tuple[np.ndarray, ...]:
        """(pieces,) for every text: the colour levels."""
        return tuple(levels(weights, self.top) for weights in self.weights)

    def most_read(self, texts: Sequence[Pieces]) -> list[tuple[str, float]]:
        """The few words with the most weight, strongest first; for a pair, those of each text."""
        found = []
        for text, weights in zip(texts, self.weights, strict=True):
            strongest = np.argsort(-np.abs(weights), kind="stable")[: 5 if len(texts) == 1 else 3]
            found += [(text.words[k], float(weights[k])) for k in strongest]
        return found


@dataclass(frozen=True)
class Picture:
    """Everything a picture shows."""

    texts: tuple[Pieces, ...]  # one; two for a pair
    labels: tuple[str, ...]
    probabilities: tuple[float, ...]
    main: tuple[HeatMap, ...]  # other attributions, if any, then the overall attention
    groups: tuple[HeatMap, ...]  # the mean of each group's rows, the most informative group first
    rows: tuple[HeatMap, ...]  # every row, in the order of the groups
    links: Links | None = None  # between the texts of a comparison

    @cached_property
    def predicted(self) -> int:
        """The index of the predicted class."""
        return int(np.argmax(self.probabilities))

    @property
    def classes(self) -> list[tuple[str, float, bool]]:
        """(label, probability, is it predicted): in the model's order or, if many, most probable first."""
        found = [
            (label, probability, place == self.predicted)
            for place, (label, probability) in enumerate(zip(self.labels, self.probabilities, strict=True))
        ]
        return found if len(found) <= MOST_CLASSES else sorted(found, key=lambda each: -each[1])

    @cached_property
    def number(self) -> Callable[[float], str]:
        """Formats a weight with enough digits to show half an even share of the longest text."""
        longest = max(len(text.spans) for text in self.texts)
        return f"{{:.{max(3, len(str(longest)) + 2)}f}}".format

    @property
    def has_unknown_words(self) -> bool:
        """Whether any word is outside the model's vocabulary."""
        return not all(known for text in self.texts for known in text.known)

    @property
    def is_long(self) -> bool:
        """Whether rows are shown as passages rather than the whole text."""
        return max(len(text.spans) for text in self.texts) > LONG


def make_picture(reading: Drawable, weights: Weights | None = None) -> Picture:
    """Make the picture of a reading or a comparison; `weights` adds other attributions by name.

    >>> from limelight.reading import Reading
    >>> picture = make_picture(Reading(
    ...     text="Good soup", offsets=np.array([[0, 4], [5, 9]]), known=np.ones(2, bool),
    ...     attention=np.array([[0.9, 0.1], [0.8, 0.2]]), embedding=np.zeros((2, 4)),
    ...     labels=("bad", "good"), probabilities=np.array([0.2, 0.8])))
    >>> [(group.rows, group.weights[0].round(2).tolist()) for group in picture.groups]
    [((0, 1), [0.85, 0.15])]
    """
    if not hasattr(reading, "sides"):
        raise LimelightError(
            f"expected a reading from model.read or a comparison, not {type(reading).__name__}"
        )
    if weights is not None and not isinstance(weights, Mapping):
        raise LimelightError(
            'weights must be a mapping from names to arrays, such as {"Leave one out": weights[0]}'
        )
    texts = tuple(split_pieces(each) for each in reading.sides)
    if isinstance(reading, Comparison):
        return _comparison_picture(reading, texts, weights or {})
    readings = reading.sides
    attentions = tuple(each.attention for each in readings)
    overall = _heat_map("Overall attention", texts, tuple(each.overall for each in readings))
    max_row = attentions[0].shape[0] - 1 if readings[0].max_row else None
    groups, rows = _row_maps(texts, attentions, max_row)
    return Picture(
        texts=texts,
        labels=tuple(printable(str(label)) for label in reading.labels),
        probabilities=tuple(float(p) for p in reading.probabilities),
        main=(*_attributions(texts, readings, weights or {}), overall),
        groups=tuple(groups),
        rows=tuple(rows),
    )


def _comparison_picture(comparison: Comparison, texts: tuple[Pieces, ...], weights: Weights) -> Picture:
    effects = {Links.EFFECTS: tuple(side.effects for side in comparison.sides)}
    maps = _attributions(texts, comparison.sides, {**effects, **weights})
    return Picture(texts, (), (), tuple(maps), (), (), links=make_links(comparison, texts))


def row_ranges(rows: Sequence[int]) -> str:
    """Row numbers as people count them, from 1.

    >>> row_ranges((0, 1, 2, 6))
    '1–3, 7'
    """
    spans: list[list[int]] = []
    for row in (row + 1 for row in rows):
        if spans and row == spans[-1][-1] + 1:
            spans[-1][1:] = [row]
        else:
            spans.append([row])
    return ", ".join("–".join(map(str, span)) for span in spans)


def share_scale(pictures: Sequence[Picture]) -> list[Picture]:
    """Give the pictures one colour scale, to make them comparable."""
    top = max((picture.main[-1].top for picture in pictures), default=0.0)
    rows_top = max((row.top for picture in pictures for row in picture.rows), default=0.0)
    return [
        replace(
            picture,
            main=(*picture.main[:-1], replace(picture.main[-1], top=top)),
            groups=tuple(replace(group, top=rows_top) for group in picture.groups),
            rows=tuple(replace(row, top=rows_top) for row in picture.rows),
        )
        for picture in pictures
    ]


def _row_maps(
    texts: tuple[Pieces, ...], attentions: tuple[np.ndarray, ...], max_row: int | None
) -> tuple[list[HeatMap], list[HeatMap]]:
    """The maps of the groups and of the single rows, all on one scale; `max_row` is the max-pooled row."""
    drawn = tuple(
        np.stack([text.weights(row) for row in A]) for text, A in zip(texts, attentions, strict=True)
    )
    top = max(_top(A, len(text.spans)) for text, A in zip(texts, drawn, strict=True))
    groups = [group.rows for group in group_rows(attentions)]
    maps = [_mean_map(drawn, rows, top, max_row) for rows in groups]
    return maps, [_mean_map(drawn, (row,), top, max_row) for rows in groups for row in rows]


def _mean_map(
    drawn: tuple[np.ndarray, ...], rows: tuple[int, ...], top: float, max_row: int | None
) -> HeatMap:
    name = f"Row {rows[0] + 1}" if len(rows) == 1 else f"{len(rows)} rows"
    if rows == (max_row,):
        name += ", max"
    return HeatMap(name, tuple(mean_row(A, rows) for A in drawn), top, rows)


def _heat_map(name: str, texts: tuple[Pieces, ...], weights: tuple[np.ndarray, ...]) -> HeatMap:
    drawn = tuple(text.weights(each) for text, each in zip(texts, weights, strict=True))
    return HeatMap(name, drawn, max(_top(w, len(w)) for w in drawn))


def _top(weights: np.ndarray, n: int) -> float:
    """The weight with the strongest colour: at least three even shares, to keep even attention pale."""
    return max(float(weights.max(initial=0.0)), min(1.0, 3 / max(n, 1)))


def _attributions(
    texts: tuple[Pieces, ...], readings: Sequence[Reading | ComparedText], weights: Weights
) -> list[HeatMap]:
    """The maps of other attributions, each on its own scale."""
    maps = []
    for name, given in weights.items():
        arrays = [np.asarray(each, dtype=float) for each in (given if len(readings) == 2 else (given,))]
        expected = [(len(reading.offsets),) for reading in readings]
        if [array.shape for array in arrays] != expected or not all(np.isfinite(a).all() for a in arrays):
            raise LimelightError(
                f"weights {name!r} have the shape {' and '.join(str(a.shape) for a in arrays)}; "
                f"give one finite number per word: {' and '.join(map(str, expected))}"
            )
        drawn = tuple(text.weights(array) for text, array in zip(texts, arrays, strict=True))
        top = max(float(np.abs(array).max(initial=0.0)) for array in drawn)
        maps.append(
            HeatMap(printable(str(name)), drawn, top, signed=any((array < 0).any() for array in drawn))
        )
    return maps
