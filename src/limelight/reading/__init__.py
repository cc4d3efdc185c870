"""A Reading, what a model computed for a text, and its pictures: HTML, SVG, PNG, terminal. Needs no model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from .comparison import ComparedText, Comparison
    from .html import to_html, to_page
    from .reading import PairReading, Reading
    from .save import save_picture, to_json, to_png
    from .svg import to_svg
    from .terminal import to_terminal

__all__ = [
    "ComparedText", "Comparison", "PairReading", "Reading", "save_picture", "to_html",
    "to_json", "to_page", "to_png", "to_svg", "to_terminal",
]  # fmt: skip

__getattr__, __dir__ = lazy(
    __name__,
    {
        "comparison": "ComparedText Comparison",
        "html": "to_html to_page",
        "reading": "PairReading Reading",
        "save": "save_picture to_json to_png",
        "svg": "to_svg",
        "terminal": "to_terminal",
    },
)
