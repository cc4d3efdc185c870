"""A line chart as a self-contained SVG; needs no drawing package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

Line = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT = 720, 440
_LEFT, _TOP, _RIGHT, _BOTTOM = 64.0, 52.0, 96.0, 48.0  # margins; the lines' names are on the right
# From dark blue through green to orange: ordered, and distinguishable by the colour-blind.
_SCALE = ("#352a87", "#0c74dc", "#07a9c2", "#4dbd8b", "#a5be4a", "#e8b32d", "#f08a24", "#c8452c")


def line_chart(title: str, x: str, y: str, lines: Mapping[str, Line], log: bool = False) -> str:
    """One line per name, in the order given, over whole numbers; `log` makes both axes logarithmic.

    >>> svg = line_chart("Accuracy", "epoch", "per cent", {"r = 1": [(1, 50), (2, 60)], "r = 30": [(1, 55)]})
    >>> svg.count("<polyline"), "r = 30" in svg
    (2, True)
    """
    points = np.array([point for line in lines.values() for point in line], dtype=float)
    points = np.log10(points) if log else points
    low, high = points.min(axis=0), points.max(axis=0)
    high = np.where(high > low, high, low + 1)
    inner = np.array([_WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM])

    def place(line: Line) -> np.ndarray:
        values = np.log10(line) if log else np.array(line, dtype=float)
        share = (values.reshape(-1, 2) - low) / (high - low)
        return np.stack([_LEFT + share[:, 0] * inner[0], _HEIGHT - _BOTTOM - share[:, 1] * inner[1]], axis=1)

    parts = [_text(_LEFT, 28, title, "start", 17), *_axes(x, y)]
    for name, axis in (("x", 0), ("y", 1)):
        for tick in _ticks(low[axis], high[axis], log, least=(1.0, 0.0)[axis]):
            at = place([(tick, 10 ** low[1] if log else low[1])] if axis == 0 else
                       [(10 ** low[0] if log else low[0], tick)])[0]  # fmt: skip
            parts += _tick(name, at, f"{tick:g}")
    ends = _apart([float(place(line)[-1, 1]) for line in lines.values()])
    for number, ((name, line), end) in enumerate(zip(lines.items(), ends, strict=True)):
        parts += _draw_line(name, place(line), _colour(number, len(lines)), end)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="Helvetica,Arial,sans-serif">'
        f'<rect width="100%" height="100%" fill="#ffffff"/>{"".join(parts)}</svg>\n'
    )


def _axes(x: str, y: str) -> list[str]:
    middle = _TOP + (_HEIGHT - _TOP - _BOTTOM) / 2
    upwards = f'<text transform="translate(18 {middle:.0f}) rotate(-90)" text-anchor="middle" font-size="13">'
    across = _text(_LEFT + (_WIDTH - _LEFT - _RIGHT) / 2, _HEIGHT - 12, x, "middle", 13)
    return [across, f"{upwards}{escape(y)}</text>"]


def _ticks(low: float, high: float, log: bool, least: float) -> list[float]:
    """Round numbers inside the range: about six, at least `least` apart; or powers of two or ten."""
    if log:
        base = 2.0 if high - low < 4 else 10.0
        first, last = np.ceil(low / np.log10(base) - 1e-9), np.floor(high / np.log10(base) + 1e-9)
        return [float(base**k) for k in np.arange(first, last + 1)]
    raw = max((high - low) / 6, least)
    step = next(s for k in (1, 2, 5, 10) if (s := k * 10 ** np.floor(np.log10(raw))) >= raw)
    return [float(round(t, 10)) for t in np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step]


def _tick(axis: str, at: np.ndarray, label: str) -> list[str]:
    if axis == "x":
        return [_text(at[0], _HEIGHT - _BOTTOM + 18, label, "middle", 12)]
    rule = f'<path stroke="#dddddd" d="M{_LEFT} {at[1]:.1f}H{_WIDTH - _RIGHT}"/>'
    return [rule, _text(_LEFT - 8, at[1] + 4, label, "end", 12)]


def _draw_line(name: str, points: np.ndarray, colour: str, end: float) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    line = f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>'
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in points]
    return [line, *dots, _text(points[-1, 0] + 8, end + 4, name, "start", 12, colour)]


def _apart(heights: list[float], least: float = 13.0) -> list[float]:
    """The heights of the names, moved apart where they would overlap, and kept on the sheet."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    placed, before = list(heights), -np.inf
    for k in order:
        placed[k] = before = max(placed[k], before + least)
    below = _HEIGHT - _BOTTOM + least
    for k in reversed(order):
        placed[k] = below = min(placed[k], below - least)
    return placed


def _colour(number: int, count: int) -> str:
    """The colour of a line, evenly spaced along the scale."""
    place = number * (len(_SCALE) - 1) / max(count - 1, 1)
    low = int(min(place, len(_SCALE) - 2))
    first, second = (np.array(list(bytes.fromhex(_SCALE[k][1:]))) for k in (low, low + 1))
    return f"#{bytes(np.rint(first + (place - low) * (second - first)).astype(np.uint8).tolist()).hex()}"


def _text(x: float, y: float, text: str, anchor: str, size: int, colour: str = "#222222") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}"'
    return f"<text {place}>{escape(text)}</text>"
