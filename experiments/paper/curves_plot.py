"""Lines over epochs as an SVG picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np


def curves_plot(
    name: str, curves: Mapping[str, Sequence[float]], x: str = "epoch", ticks: Sequence[object] | None = None,
    size: tuple[float, float] = (180.0, 130.0),
) -> str:  # fmt: skip
    """Lines over epochs from 1, or over `ticks` of `x`, named at their ends; `size` is of the inner plot.

    >>> "<title>dev, epoch 2: 0.7</title>" in curves_plot("Accuracy", {"dev": [0.6, 0.7]})
    True
    """
    (width, height), top = size, 12.0
    values = np.concatenate([np.asarray(line, float) for line in curves.values()])
    low, high = float(values.min()), float(values.max())
    low, high = (low, high) if high > low else (low - 0.5, high + 0.5)
    count = max(map(len, curves.values()))
    ticks = ticks or range(1, count + 1)
    rules = _round_numbers(low, high, height // 40)
    left = 10 + 6.5 * max(map(len, rules.values()))  # room for the widest number, in pixels

    def at(k: int, value: float) -> tuple[float, float]:
        across = k / max(count - 1, 1)
        return left + width * across, top + height * (1 - (value - low) / (high - low))

    parts = []
    for value, shown in rules.items():
        parts.append(f'<path class="rule" d="M{left} {at(0, value)[1]:.1f}h{width}"/>')
        parts.append(_words(left - 6, at(0, value)[1] + 4, shown, "end"))
    for k in sorted({round(k) for k in np.linspace(0, count - 1, int(width // 54))}):
        parts.append(_words(at(k, low)[0], top + height + 18, str(ticks[k]), "mid"))
    ends = _apart([at(len(line) - 1, line[-1])[1] for line in curves.values()], top + height)
    for number, ((label, line), end) in enumerate(zip(curves.items(), ends, strict=True)):
        points = [at(k, value) for k, value in enumerate(line)]
        path = " ".join(f"{cx:.1f},{cy:.1f}" for cx, cy in points)
        parts.append(f'<polyline class="line{number}" points="{path}"/>')
        parts += [
            f'<circle class="dot{number}" cx="{cx:.1f}" cy="{cy:.1f}" r="3">'
            f"<title>{escape(f'{label}, {x} {tick}')}: {value:.4g}</title></circle>"
            for (cx, cy), tick, value in zip(points, ticks, line, strict=False)
        ]
        parts.append(_words(points[-1][0] + 9, end + 4, label, f"dot{number}"))
    room = max(58.0, 12 + 6.2 * max(map(len, curves)))  # for the widest name
    width, height = left + width + room, top + height + 26
    box = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return f'<svg {box} role="img" aria-label="{escape(name)}">{"".join(parts)}</svg>'


def _round_numbers(low: float, high: float, most: float) -> dict[float, str]:
    """Round numbers from `low` to `high`, at least two and about `most`, with digits to tell them apart.

    >>> _round_numbers(41.2, 55.0, 4)
    {45.0: '45', 50.0: '50', 55.0: '55'}
    """
    power = 10 ** np.floor(np.log10((high - low) / most))
    found: dict[float, str] = {}
    for step in (10 * power, 5 * power, 2 * power, power):
        if len(found) < 2 or (high - low) / step <= most:
            digits = max(0, -int(np.floor(np.log10(step) + 1e-9)))
            numbers = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step
            found = {float(each): f"{each:.{digits}f}" for each in numbers}
    return found


def _apart(heights: list[float], bottom: float, least: float = 14.0) -> list[float]:
    """The heights of labels, moved apart where they would overlap, and kept above `bottom`."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    placed, before, below = list(heights), -np.inf, bottom + least
    for k in order:
        placed[k] = before = max(placed[k], before + least)
    for k in reversed(order):
        placed[k] = below = min(placed[k], below - least)
    return placed


def _words(x: float, y: float, text: str, kind: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(text)}</text>'
