"""The pairs of words that bind two texts, or keep them apart, and lines between them as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import NamedTuple

import numpy as np

from .colours import HeatMap, colour_class
from .comparison import Comparison
from .pieces import Pieces
from .wrap import ems, shorten

_MAX_PAIRS_DRAWN = 9
_DRAWN_FROM = 0.15  # of the strongest pair: a fainter one is not drawn
_SIZE, _LINE = 15.0, 30.0  # of the letters; from word to word
_GAP = 190.0  # between the columns
_MAX_WORD_EMS = 12.0
_MAX_THICKNESS = 16.0  # of a line
_NUMBERED_FROM = 0.25  # of the strongest pair: its number stands on the line


@dataclass(frozen=True)
class Links:
    """The similarity of two texts and the pairs of words that belong together."""

    SCALE_NOTE = "1: the same meaning, 0: nothing in common"
    EFFECTS = "What binds the texts, and what keeps them apart"
    EFFECTS_NOTE = "Without an orange word the texts would be less similar; without a blue one, more."
    EFFECTS_PLAIN = "A word's number: how much less similar the texts would be without it."
    PAIRS = "Words that belong together"
    PAIRS_NOTE = (
        "Lines join each other's nearest words: orange adds to the similarity, blue takes from it, "
        "thicker is more."
    )

    similarity: float
    matrix: np.ndarray  # (pieces of the first text, pieces of the second): what each pair contributes
    nearest: np.ndarray  # the same shape: True for words that belong together

    @cached_property
    def pairs(self) -> list[tuple[int, int, float]]:
        """(piece, piece of the other text, contribution) of those that belong together, the largest first."""
        strength = np.where(self.nearest, np.abs(self.matrix), 0)
        order = np.argsort(-strength, axis=None, kind="stable")[:_MAX_PAIRS_DRAWN]
        kept = order[strength.flat[order] > _DRAWN_FROM * strength.max(initial=0.0)]
        places = zip(*np.unravel_index(kept, self.matrix.shape), strict=True)
        found = [(int(s), int(t), float(self.matrix[s, t])) for s, t in places]
        return sorted(found, key=lambda pair: -pair[2])

    @property
    def top(self) -> float:
        return max((abs(weight) for _, _, weight in self.pairs), default=0.0)

    @property
    def total(self) -> str:
        """What the pairs drawn add up to, and all pairs."""
        shown, others = sum(weight for _, _, weight in self.pairs), self.matrix.size - len(self.pairs)
        if not others:
            return f"Together {signed(self.similarity)}."
        these = "This pair adds" if len(self.pairs) == 1 else f"These {len(self.pairs)} pairs add"
        sums = f"{signed(shown)}, the other {others:,} to {signed(self.similarity - shown)}"
        return f"{these} up to {sums}: {signed(self.similarity)} in all."

    def columns(self) -> tuple[list[int], list[int]]:
        """The pieces of each text that a pair is drawn for, in reading order."""
        return sorted({s for s, _, _ in self.pairs}), sorted({t for _, t, _ in self.pairs})


def make_links(comparison: Comparison, texts: Sequence[Pieces]) -> Links:
    """The links of a comparison; words that are drawn as one piece count together."""
    first, second = texts
    both = comparison.matrix, comparison.nearest.astype(int)
    matrix, nearest = (second.weights(first.weights(each).T).T for each in both)
    return Links(comparison.similarity, matrix, nearest > 0)


def word_name(text: Pieces, piece: int) -> str:
    """A word as a list of pairs shows it; a text without words is one empty piece."""
    return text.words[piece] or "(no words)"


def signed(number: float) -> str:
    """A number with its sign, as people write it."""
    text = f"{abs(number):.3f}"
    return f"−{text}" if number < 0 and float(text) else text


Point = tuple[float, float]


class Drawing(NamedTuple):
    """SVG elements, and the space they take from 0, 0 on."""

    parts: list[str]
    width: float
    height: float


def draw_links(texts: Sequence[Pieces], heat: HeatMap, links: Links) -> Drawing:
    words = [
        {k: shorten(word_name(texts[side], k), _MAX_WORD_EMS, ems) for k in column}
        for side, column in enumerate(links.columns())
    ]
    widths = [_SIZE * max(map(ems, column.values()), default=0.0) for column in words]
    height = _LINE * max(map(len, words))
    left, right = 6 + widths[0], 6 + widths[0] + _GAP
    heights = [_spread(list(column), height) for column in words]
    lines = [
        _line(texts, links, pair, (left + 4, heights[0][pair[0]]), (right - 4, heights[1][pair[1]]))
        for pair in reversed(links.pairs)  # the strongest on top
    ]
    labels = _labels(links, (left + right) / 2, heights)
    boxes = [
        _word(heat, side, k, word, right if side else left - _SIZE * ems(word), heights[side][k])
        for side, column in enumerate(words)
        for k, word in column.items()
    ]
    return Drawing([*lines, *labels, *boxes], right + widths[1] + 6, height)


def _spread(column: Sequence[int], height: float) -> dict[int, float]:
    """The middle of each word, evenly over the height."""
    step = height / max(len(column), 1)
    return {k: step * (place + 0.5) for place, k in enumerate(column)}


def _line(
    texts: Sequence[Pieces], links: Links, pair: tuple[int, int, float], start: Point, end: Point
) -> str:
    (s, t, weight), (x, y), (x2, y2) = pair, start, end
    bend = (x2 - x) * 0.45
    thick = max(1.0, _MAX_THICKNESS * abs(weight) / links.top)
    name = f"{word_name(texts[0], s)} – {word_name(texts[1], t)}: {signed(weight)}"
    return (
        f'<path class="{"binds" if weight > 0 else "apart"}" stroke-width="{thick:.1f}" '
        f'd="M{x:.1f} {y:.1f}C{x + bend:.1f} {y:.1f} {x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}">'
        f"<title>{escape(name)}</title></path>"
    )


def _labels(links: Links, x: float, heights: Sequence[dict[int, float]]) -> list[str]:
    found: dict[float, str] = {}
    for s, t, weight in links.pairs:
        y = (heights[0][s] + heights[1][t]) / 2
        if weight > _NUMBERED_FROM * links.top and all(abs(y - other) > _SIZE for other in found):
            at = f'x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle"'
            found[y] = f'<text class="number" {at}>{signed(weight)}</text>'
    return list(found.values())


def _word(heat: HeatMap, side: int, piece: int, word: str, x: float, y: float) -> str:
    level, wide = int(heat.levels[side][piece]), _SIZE * ems(word)
    kind = colour_class(level) or "paper"
    box = f'x="{x - 4:.1f}" y="{y - _SIZE * 0.8:.1f}" width="{wide + 8:.1f}" height="{_SIZE * 1.6:.1f}"'
    return f'<rect class="{kind}" {box} rx="3"/>' + fitted("small", x, y + _SIZE * 0.35, wide, word)


def fitted(kind: str, x: float, y: float, wide: float, word: str) -> str:
    """A word at its measured width; `textLength` makes any font keep to it."""
    fit = f' textLength="{wide:.1f}" lengthAdjust="spacingAndGlyphs"' if wide else ""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{fit}>{escape(word)}</text>'
