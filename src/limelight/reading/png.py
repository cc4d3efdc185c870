"""Heat maps as PNG: the SVG picture, drawn by resvg with the fonts of this machine."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from ..errors import LimelightError
from .picture import Weights
from .svg import to_svg

if TYPE_CHECKING:
    from .reading import AnyReading

_TALLEST = 16_000  # pixels; a long text is drawn at a smaller scale rather than as a picture nothing can open


def to_png(reading: AnyReading, *, weights: Weights | None = None) -> bytes:
    """A reading as a PNG picture, at twice the size of its SVG for sharp screens.

    >>> to_png(reading)[1:4]  # doctest: +SKIP
    b'PNG'
    """
    return svg_to_png(to_svg(reading, weights=weights))


def svg_to_png(svg: str) -> bytes:
    """Any SVG that says its height, as PNG at twice its size.

    >>> svg_to_png('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')[1:4]  # doctest: +SKIP
    b'PNG'
    """
    resvg = _resvg()
    height = int(re.search(r'height="(\d+)"', svg)[1])  # type: ignore[index]
    return bytes(resvg.svg_to_bytes(svg_string=svg, zoom=min(2.0, _TALLEST / height)))


@cache
def _resvg() -> Any:
    """The renderer, once it has shown that it finds a font: without one it would draw no words, silently."""
    try:
        import resvg_py
    except ImportError:
        raise LimelightError("a PNG picture needs resvg_py: pip install 'limelight[pictures]'") from None
    frame = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">{}</svg>'
    letter = frame.format('<text y="16" font-family="Helvetica,Arial,sans-serif">x</text>')
    if resvg_py.svg_to_bytes(svg_string=letter) == resvg_py.svg_to_bytes(svg_string=frame.format("<g/>")):
        raise LimelightError(
            "a PNG picture needs a font and this machine has none: install one (fonts-dejavu, fonts-noto), "
            "or write .html or .svg"
        )
    return resvg_py
