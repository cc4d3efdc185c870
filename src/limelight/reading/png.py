"""Heat maps as PNG: the SVG picture, drawn by resvg in the bundled typeface."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..bundled import FONT_FAMILY, font_files
from ..errors import LimelightError
from .svg import to_svg

if TYPE_CHECKING:
    from .comparison import Drawable

_MAX_HEIGHT = (
    16_000  # pixels; a long text is drawn at a smaller scale rather than as a picture nothing can open
)


def to_png(reading: Drawable) -> bytes:
    """A reading as a PNG picture, at twice the size of its SVG for sharp screens.

    >>> to_png(reading)[1:4]  # doctest: +SKIP
    b'PNG'
    """
    return svg_to_png(to_svg(reading))


def svg_to_png(svg: str) -> bytes:
    """Any SVG that says its height, as PNG at twice its size.

    >>> svg_to_png('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')[1:4]  # doctest: +SKIP
    b'PNG'
    """
    height = int(re.search(r'height="(\d+)"', svg)[1])  # type: ignore[index]
    return bytes(_resvg().svg_to_bytes(svg_string=svg, zoom=min(2.0, _MAX_HEIGHT / height), **_fonts()))


def _resvg() -> Any:
    try:
        import resvg_py
    except ImportError:
        raise LimelightError(
            "a PNG picture needs resvg_py: pip install '.[pictures]'", code="needs-extra"
        ) from None
    return resvg_py


def _fonts() -> dict[str, Any]:
    """The bundled typeface in place of any other, so that a picture is the same on every machine.

    The machine's own fonts stay within reach, for letters that it lacks: Arabic, Chinese, emoji.
    """
    everywhere = f"*{{font-family:'{FONT_FAMILY}' !important}}"
    return {"font_files": [str(path) for path in font_files()], "style_sheet": everywhere}
