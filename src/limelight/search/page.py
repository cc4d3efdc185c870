"""What searches found, as a page: each hit with the words that made the match."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from ..reading.colours import LEVELS
from ..reading.heat_map import HeatMap
from ..reading.html import WordPainter, render_style, style, templates
from ..reading.picture import Picture
from ..reading.pieces import split_pieces
from .index import Hit


def results_page(queries: Sequence[str], results: Sequence[Sequence[Hit]], title: str) -> str:
    """A page of queries and their hits; it needs no network and no script.

    >>> hit = Hit(0.5, "<b>Cold</b> soup", "menu.csv", 0, 3, None, {"price": 4})
    >>> page = results_page(["broth"], [[hit]], "menu")
    >>> "&lt;b&gt;Cold" in page, "row 3" in page
    (True, True)
    """
    environment = templates(__package__)
    found = [
        (query, list(zip(hits, _paint(hits), strict=True)))
        for query, hits in zip(queries, results, strict=True)
    ]
    return environment.get_template("results.html.jinja").render(
        title=title,
        results=found,
        levels=LEVELS,
        style=style() + render_style(environment, "results.css.jinja"),
    )


def _paint(hits: Sequence[Hit]) -> list[Markup | None]:
    """The coloured texts of the hits of one query, all on one scale; None where the words are not known."""
    effects = [hit.comparison.second.effects for hit in hits if hit.comparison]
    top = float(max((np.abs(each).max(initial=0) for each in effects), default=0))
    return [_paint_hit(hit, top) for hit in hits]


def _paint_hit(hit: Hit, top: float) -> Markup | None:
    if hit.comparison is None:
        return None
    pieces = split_pieces(hit.comparison.second)  # type: ignore[arg-type]
    weights = pieces.weights(hit.comparison.second.effects)
    heat = HeatMap("What makes it similar", (weights,), top, signed=True)
    painter = WordPainter(Picture((pieces,), heat))
    return painter.maps(heat, brief=False)
