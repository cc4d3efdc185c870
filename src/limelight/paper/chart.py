"""A line chart as an SVG file of its own: the plot of the reports, with a title, axes and colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from ..explain.plots import curves_plot

_WIDTH, _HEIGHT = 720, 440
# From dark blue through green to orange: ordered, and distinguishable by the colour-blind.
_SCALE = ("#352a87", "#0c74dc", "#07a9c2", "#4dbd8b", "#a5be4a", "#e8b32d", "#f08a24", "#c8452c")
_STYLE = (
    "text{font:12px Helvetica,Arial,sans-serif;fill:#222222}.mid{text-anchor:middle}.end{text-anchor:end}"
    ".title{font-size:17px}.rule{stroke:#dddddd}polyline{fill:none;stroke-width:2}"
)


def line_chart(
    title: str, x: str, y: str, lines: Mapping[str, Sequence[float]], ticks: Sequence[object] | None = None
) -> str:
    """One line per name, in the order given, over the numbers from 1 or over `ticks`.

    >>> svg = line_chart("Accuracy", "epoch", "per cent", {"r = 1": [50, 60], "r = 30": [55]})
    >>> svg.count("<polyline"), "r = 30" in svg
    (2, True)
    """
    plot = curves_plot(title, lines, x, ticks, size=(540, 320)).replace("<svg", '<svg x="32" y="44"', 1)
    colours = [_colour(k, len(lines)) for k in range(len(lines))]
    each = "".join(f".line{k}{{stroke:{c}}}text.dot{k},.dot{k}{{fill:{c}}}" for k, c in enumerate(colours))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}"><style>{_STYLE}{each}</style>'
        f'<rect width="100%" height="100%" fill="#ffffff"/><text x="64" y="28" class="title">{escape(title)}'
        f'</text>{plot}<text x="{_WIDTH / 2}" y="{_HEIGHT - 12}" class="mid">{escape(x)}</text>'
        f'<text transform="translate(22 {_HEIGHT / 2}) rotate(-90)" class="mid">{escape(y)}</text></svg>\n'
    )


def _colour(number: int, count: int) -> str:
    """The colour of a line, evenly spaced along the scale."""
    place = number * (len(_SCALE) - 1) / max(count - 1, 1)
    low = int(min(place, len(_SCALE) - 2))
    first, second = (np.array(list(bytes.fromhex(_SCALE[k][1:]))) for k in (low, low + 1))
    return f"#{bytes(np.rint(first + (place - low) * (second - first)).astype(np.uint8).tolist()).hex()}"
