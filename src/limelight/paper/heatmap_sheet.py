"""Several heat maps on one SVG sheet, in columns like the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from ..reading.colours import LIGHT, levels
from ..reading.pieces import printable
from ..reading.wrap import ems

_SIZE, _LEADING, _MARGIN = 14.0, 24.0, 24.0
_CHARACTER = 1.06  # typefaces differ: a little more room than Helvetica needs


@dataclass(frozen=True)
class Map:
    """Words, a weight for each, and what they show."""

    caption: str
    words: Sequence[str]
    weights: np.ndarray  # (n,)


def sheet(columns: Sequence[tuple[str, Sequence[Map]]], width: float = 520.0) -> str:
    """Columns with their titles; in every map, the strongest word has the strongest colour.

    >>> svg = sheet([("without penalty", [Map("Row 1", ["Good", "soup"], np.array([0.9, 0.1]))])])
    >>> svg.count("<rect"), "Good" in svg
    (3, True)
    """
    drawn = [
        _column(title, maps, _MARGIN + k * (width + _MARGIN), width)
        for k, (title, maps) in enumerate(columns)
    ]
    height = max(bottom for _, bottom in drawn) + _MARGIN
    across = _MARGIN + len(columns) * (width + _MARGIN)
    inside = "".join(part for parts, _ in drawn for part in parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{across:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {across:.0f} {height:.0f}" font-family="Helvetica,Arial,sans-serif" '
        f'font-size="{_SIZE:g}"><rect width="100%" height="100%" fill="{LIGHT.paper}"/>{inside}</svg>\n'
    )


def _column(title: str, maps: Sequence[Map], x: float, width: float) -> tuple[list[str], float]:
    parts, y = [_text(x, 36, title, LIGHT.ink, 17)], 60.0
    for each in maps:
        parts.append(_text(x, y, each.caption, LIGHT.muted, 12))
        drawn, y = _map(each, x, y + 20, width)
        parts += drawn
    return parts, y


def _map(each: Map, x: float, y: float, width: float) -> tuple[list[str], float]:
    parts, at = [], 0.0
    even = float(each.weights.sum()) / max(len(each.weights), 1)
    # at least three even shares: even attention looks pale
    steps = levels(each.weights, max(float(each.weights.max(initial=0.0)), min(3, len(each.weights)) * even))
    for word, step in zip(map(printable, each.words), steps.tolist(), strict=True):
        wide = _SIZE * _CHARACTER * ems(word)
        if at and at + wide > width:
            at, y = 0.0, y + _LEADING
        if step > 0:
            box = f'x="{x + at - 2:.1f}" y="{y - 15:.1f}" width="{wide + 4:.1f}" height="20"'
            parts.append(f'<rect {box} rx="3" fill="{LIGHT.warm[step]}"/>')
        parts.append(_text(x + at, y, word, LIGHT.ink, _SIZE))
        at += wide + 5
    return parts, y + _LEADING + 12


def _text(x: float, y: float, text: str, colour: str, size: float) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{colour}">{escape(text)}</text>'
