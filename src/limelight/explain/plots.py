"""Plots as inline SVG in the colours of the page, which follow dark mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from ..reading.pieces import printable
from .intervals import Mean


def effects_plot(
    name: str, labels: Sequence[str], means: Sequence[Mean], scale: tuple[float, float],
    signed: Callable[[float | None], str], least: int,
) -> str:  # fmt: skip
    """Bars from 0 with their intervals, one for each period; pale ones are of fewer than `least` texts.

    >>> "<title>2012-05: +0.5 (2 texts)</title>" in effects_plot(
    ...     "rooms", ["2012-05"], [Mean(2, 0.5)], (0.0, 1.0), lambda x: f"{x:+}", 10)
    True
    """
    left, top, width, height = 52.0, 8.0, 300.0, 84.0
    low, high = scale if scale[1] > scale[0] else (0.0, 1.0)
    step = width / len(labels)
    thick = min(0.72 * step, 26.0)

    def at(value: float) -> float:
        return top + height * (high - min(max(value, low), high)) / (high - low)

    parts = []
    for value in dict.fromkeys((high, 0.0, low)):
        parts.append(f'<path class="rule" d="M{left} {at(value):.1f}h{width}"/>')
        if not value or abs(at(value) - at(0)) > 12:
            parts.append(_words(left - 6, at(value) + 4, signed(value), "end"))
    for k, (label, mean) in enumerate(zip(labels, means, strict=True)):
        if mean.mean is None:
            continue
        x, ends = left + (k + 0.5) * step, sorted((at(mean.mean), at(0.0)))
        kind = f"{'up' if mean.mean >= 0 else 'down'}{' few' if mean.n < least else ''}"
        count = f"{mean.n:,} text{'' if mean.n == 1 else 's'}"
        bar = _bar(x - thick / 2, ends[1], thick, max(ends[1] - ends[0], 0.75), kind)
        if mean.low is not None and mean.high is not None and mean.n >= least:
            bar += f'<path class="reach" d="M{x:.1f} {at(mean.low):.1f}V{at(mean.high):.1f}"/>'
        title = _escape(f"{label}: {signed(mean.mean)} ({count})")
        parts.append(f"<g><title>{title}</title>{bar}</g>")
    parts.append(_words(left, top + height + 16, labels[0]))
    parts.append(_words(left + width, top + height + 16, labels[-1], "end"))
    return _svg(left + width + 2, top + height + 22, f"Effect of {name} over time", parts)


def _svg(width: float, height: float, name: str, parts: Sequence[str]) -> str:
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    inside = "".join(parts)
    return f'<svg class="plot" {size} role="img" aria-label="{_escape(name)}">{inside}</svg>'


def _bar(x: float, base: float, width: float, height: float, kind: str) -> str:
    at = f'x="{x:.1f}" y="{base - height:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect class="{kind}" {at} rx="2"/>'


def _words(x: float, y: float, text: str, kind: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{_escape(text)}</text>'


def _escape(text: str) -> str:
    return escape(printable(text))
