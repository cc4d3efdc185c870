"""Pictures of what a model reads, made from Readings wherever they were computed."""

from __future__ import annotations

from .data import to_json
from .html import compare_html, to_html, to_page
from .png import to_png
from .save import save_picture
from .svg import to_svg
from .terminal import to_terminal

__all__ = ["compare_html", "save_picture", "to_html", "to_json", "to_page", "to_png", "to_svg", "to_terminal"]
