"""Plots as inline SVG in the colours of the page, which follow dark mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape

import numpy as np

from ..reading.colours import LEVELS
from ..reading.pieces import printable
from ..reading.wrap import shorten
from .calibration import BINS, Calibration
from .intervals import Mean

MAX_CONFUSION_CLASSES = 20  # in a plot: their names fit beside it
_MAX_NAME_LENGTH = 30  # characters of a class's name
_STEEP = 0.64  # the sine of 40 degrees, by which names below the plot are turned if they are long


def confusion_plot(confusion: np.ndarray, labels: Sequence[str]) -> str:
    """Rows are the true classes, columns the predicted ones; darker means a larger share of the true class.

    >>> "<title>bad predicted as good: 1 of 4 (25.0%)</title>" in confusion_plot(
    ...     np.array([[3, 1], [0, 2]]), ["bad", "good"])
    True
    """
    totals, k = confusion.sum(axis=1), len(labels)
    side = min(56.0, max(9.0, 330 / k))
    names = [shorten(label, _MAX_NAME_LENGTH, len) for label in labels]
    widest = 6.6 * max(map(len, names))
    left = 26 + widest
    turned = widest > side
    shares = confusion / np.maximum(totals[:, None], 1)
    parts = [_words(left + k * side / 2, 12, "predicted", "mid"), _vertical(12, 28 + k * side / 2, "true")]
    for i in range(k):
        x, y = left + (i + 0.5) * side, 28 + (i + 0.5) * side
        parts += [_words(left - 6, y + 4, names[i], "end", labels[i])]
        parts += [_words(x, 28 + k * side + 15, names[i], "end" if turned else "mid", labels[i], turned)]
        for j in range(k):
            what = f"{labels[i]} predicted {f'as {labels[j]}' if i != j else 'correctly'}"
            title = f"{what}: {confusion[i, j]:,} of {totals[i]:,} ({shares[i, j]:.1%})"
            x, y = left + j * side, 28 + i * side
            parts.append(_cell(x, y, side, shares[i, j], title, f"{confusion[i, j]:,}" if side >= 26 else ""))
    below = 24 + (widest * _STEEP if turned else 0)
    return _svg(left + k * side + 8, 28 + k * side + below, "Confusion matrix", parts)


def reliability_plot(calibration: Calibration) -> str:
    """Accuracy by confidence, the diagonal of perfect calibration, and the number of texts per bin.

    >>> from limelight.explain.calibration import measure_calibration
    >>> calibration = measure_calibration(np.array([0.95]), np.array([True]))
    >>> "confidence 0.9 to 1.0" in reliability_plot(calibration)
    True
    """
    left, top, width, height, below = 38.0, 10.0, 300.0, 230.0, 44.0
    bar, most = width / BINS, max(int(calibration.counts.max()), 1)
    base = top + height
    parts = _grid(left, top, width, height)
    for k, count in enumerate(calibration.counts.tolist()):
        if not count:
            continue
        confidence, accuracy = float(calibration.confidence[k]), float(calibration.accuracy[k])
        means = f"mean confidence {confidence:.3f}, accuracy {accuracy:.3f}"
        title = f"confidence {k / BINS:.1f} to {(k + 1) / BINS:.1f}: {count:,} texts, {means}"
        x, up = left + k * bar + 2, below * count / most
        high = _bar(x, base, bar - 4, height * accuracy, "bar")
        parts.append(f"<g><title>{title}</title>{high}{_bar(x, base + 24 + below, bar - 4, up, 'count')}</g>")
    parts.append(f'<path class="ideal" d="M{left} {base}L{left + width} {top}"/>')
    parts.append(_words(left + width / 2, base + below + 42, "confidence; below, number of texts", "mid"))
    parts.append(_vertical(10, top + height / 2, "accuracy"))
    return _svg(left + width + 12, base + below + 50, "Reliability diagram", parts)


def _grid(left: float, top: float, width: float, height: float) -> list[str]:
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = top + height * (1 - share)
        parts.append(f'<path class="rule" d="M{left} {y:.1f}h{width}"/>')
        parts.append(_words(left - 6, y + 4, f"{share:.2g}", "end"))
        parts.append(_words(left + width * share, top + height + 15, f"{share:.2g}", "mid"))
    return parts


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
            f"<title>{_escape(f'{label}, {x} {tick}')}: {value:.4g}</title></circle>"
            for (cx, cy), tick, value in zip(points, ticks, line, strict=False)
        ]
        parts.append(_words(points[-1][0] + 9, end + 4, label, f"dot{number}"))
    room = max(58.0, 12 + 6.2 * max(map(len, curves)))  # for the widest name
    return _svg(left + width + room, top + height + 26, name, parts)


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


def _svg(width: float, height: float, name: str, parts: Sequence[str]) -> str:
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    inside = "".join(parts)
    return f'<svg class="plot" {size} role="img" aria-label="{_escape(name)}">{inside}</svg>'


def _bar(x: float, base: float, width: float, height: float, kind: str) -> str:
    at = f'x="{x:.1f}" y="{base - height:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect class="{kind}" {at} rx="2"/>'


def _cell(x: float, y: float, side: float, share: float, title: str, value: str) -> str:
    level = int(np.clip(round(share * LEVELS), 0, LEVELS))
    fill = f"var(--h{level})" if level else "var(--faint)"
    at, inner = f'x="{x + 0.75:.1f}" y="{y + 0.75:.1f}"', f"{side - 1.5:.1f}"
    rect = f'<rect {at} width="{inner}" height="{inner}" rx="{min(3, side / 8):.1f}" fill="{fill}"/>'
    number = _words(x + side / 2, y + side / 2 + 4, value, "mid ink") if value else ""
    return f"<g><title>{_escape(title)}</title>{rect}{number}</g>"


def _words(x: float, y: float, text: str, kind: str = "start", whole: str = "", turned: bool = False) -> str:
    """A text; if it is shortened from `whole`, the whole text is its tooltip."""
    title = f"<title>{_escape(whole)}</title>" if whole and whole != text else ""
    turn = f' transform="rotate(-40 {x:.1f} {y:.1f})"' if turned else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}"{turn}>{title}{_escape(text)}</text>'


def _vertical(x: float, y: float, text: str) -> str:
    return f'<text transform="translate({x:.1f} {y:.1f}) rotate(-90)" class="mid">{_escape(text)}</text>'


def _escape(text: str) -> str:
    return escape(printable(text))
