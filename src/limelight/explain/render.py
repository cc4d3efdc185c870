"""A page of this package, from its template: without a model, and so without PyTorch."""

from shlex import quote
from typing import Any

from ..aspects.seeds import plain_name
from ..reading import captions
from ..reading.html import render_style, style, templates
from ..reading.pieces import printable


def render_page(template: str, *, own_style: str = "", **given: Any) -> str:
    """A page of this package, in the style of the pictures and the reports, or in its own."""
    environment = templates(__package__)
    environment.filters["quoted"] = lambda text: quote(printable(text))  # for a shell
    environment.filters["plain"] = plain_name
    sheet = render_style(environment, own_style or "report.css.jinja")
    sheet = sheet if own_style else style() + sheet
    return environment.get_template(template).render(style=sheet, captions=captions, **given)
