"""A page of this package, from its template: without a model, and so without PyTorch."""

from __future__ import annotations

from shlex import quote
from typing import Any

from ..reading import captions
from ..reading.html import render_style, style, templates
from ..reading.pieces import printable


def render_page(template: str, **given: Any) -> str:
    """A page of this package, in the style of the pictures and the reports."""
    environment = templates(__package__)
    environment.filters["quoted"] = lambda text: quote(printable(text))  # for a shell
    sheet = style() + render_style(environment, "report.css.jinja")
    return environment.get_template(template).render(style=sheet, captions=captions, **given)
