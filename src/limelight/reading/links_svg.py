"""Lines between the words of two texts, as SVG: two columns of words, in reading order."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from .colours import colour_class
from .links import Links, signed, word_name
from .picture import HeatMap, Picture
from .wrap import ems, shorten

_SIZE, _LINE = 15.0, 30.0  # of the letters; from word to word
_GAP = 190.0  # between the columns
_MAX_WORD_EMS = 12.0
_MAX_THICKNESS = 16.0  # of a line
_NUMBERED_FROM = 0.25  # of the strongest pair: its number stands on the line


class Drawing(NamedTuple):
    """SVG elements, and the space they take from 0, 0 on."""

    parts: list[str]
    width: float
    height: float


def draw_links(picture: Picture, links: Links) -> Drawing:
    """The words of the pairs and the lines between them."""
    words = [
        {k: shorten(word_name(picture.texts[side], k), _MAX_WORD_EMS, ems) for k in column}
        for side, column in enumerate(links.columns())
    ]
    widths = [_SIZE * max(map(ems, column.values()), default=0.0) for column in words]
    height = _LINE * max(map(len, words))
    left, right = 6 + widths[0], 6 + widths[0] + _GAP
    heights = [_spread(list(column), height) for column in words]
    lines = [
        _line(picture, links, pair, (left + 4, heights[0][pair[0]]), (right - 4, heights[1][pair[1]]))
        for pair in reversed(links.pairs)  # the strongest on top
    ]
    labels = _labels(links, (left + right) / 2, heights)
    heat = picture.first
    boxes = [
        _word(heat, side, k, word, (left - _SIZE * ems(word)) if side == 0 else right, heights[side][k])
        for side, column in enumerate(words)
        for k, word in column.items()
    ]
    return Drawing([*lines, *labels, *boxes], right + widths[1] + 6, height)


def _spread(column: Sequence[int], height: float) -> dict[int, float]:
    """The middle of each word, evenly over the height."""
    step = height / max(len(column), 1)
    return {k: step * (place + 0.5) for place, k in enumerate(column)}


def _line(
    picture: Picture,
    links: Links,
    pair: tuple[int, int, float],
    start: tuple[float, float],
    end: tuple[float, float],
) -> str:
    s, t, weight = pair
    (x, y), (x2, y2) = start, end
    bend = (x2 - x) * 0.45
    thick = max(1.0, _MAX_THICKNESS * abs(weight) / links.top)
    name = f"{word_name(picture.texts[0], s)} – {word_name(picture.texts[1], t)}: {signed(weight)}"
    return (
        f'<path class="{"binds" if weight > 0 else "apart"}" stroke-width="{thick:.1f}" '
        f'd="M{x:.1f} {y:.1f}C{x + bend:.1f} {y:.1f} {x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}">'
        f"<title>{escape(name)}</title></path>"
    )


def _labels(links: Links, x: float, heights: Sequence[dict[int, float]]) -> list[str]:
    """The numbers of the thick lines, where one does not hide another."""
    found: dict[float, str] = {}
    for s, t, weight in links.pairs:
        y = (heights[0][s] + heights[1][t]) / 2
        if weight > _NUMBERED_FROM * links.top and all(abs(y - other) > _SIZE for other in found):
            number = signed(weight)
            found[y] = (
                f'<text class="number" x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{number}</text>'
            )
    return list(found.values())


def _word(heat: HeatMap, side: int, piece: int, word: str, x: float, y: float) -> str:
    level, wide = int(heat.levels[side][piece]), _SIZE * ems(word)
    kind = colour_class(level) or "paper"
    box = f'x="{x - 4:.1f}" y="{y - _SIZE * 0.8:.1f}" width="{wide + 8:.1f}" height="{_SIZE * 1.6:.1f}"'
    fit = f' textLength="{wide:.1f}" lengthAdjust="spacingAndGlyphs"' if wide else ""
    return (
        f'<rect class="{kind}" {box} rx="3"/>'
        f'<text class="small" x="{x:.1f}" y="{y + _SIZE * 0.35:.1f}"{fit}>{escape(word)}</text>'
    )
