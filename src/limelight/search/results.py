"""What searches found, as a page with the words of each match, or as a table with a row a hit."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from markupsafe import Markup

from ..reading.colours import LEVELS, HeatMap
from ..reading.comparison import ComparedText
from ..reading.html import WordPainter, render_style, style, templates
from ..reading.picture import Picture
from ..reading.pieces import split_pieces
from ..tables.cells import KeptColumns, NewColumn, find_type
from ..tables.rows import Row
from ..tables.writers import Values, write_table
from .hit_words import Hit
from .words import WordRules

Results = Sequence[Sequence[Hit]]  # of each query


def results_page(queries: Sequence[str], results: Results, title: str, rules: WordRules | None = None) -> str:
    """A page of queries and their hits; it needs no network and no script. `rules` are those of the index."""
    environment, rules = templates(__package__), rules or WordRules()
    pairs = zip(queries, results, strict=True)
    found = [(query, list(zip(hits, _paint(hits, rules), strict=True))) for query, hits in pairs]
    sheet = style() + render_style(environment, "results.css.jinja")
    page = environment.get_template("results.html.jinja")
    return page.render(title=title, results=found, levels=LEVELS, style=sheet)


def _paint(hits: Sequence[Hit], rules: WordRules) -> list[Markup | None]:
    """The coloured texts of the hits of one query, all on one scale; None where the words are not known."""
    sides = [_effects(hit, rules) for hit in hits]
    top = float(max((np.abs(side.effects).max(initial=0) for side in sides if side), default=0))

    def paint(side: ComparedText) -> Markup:
        pieces = split_pieces(side)
        heat = HeatMap("What makes it similar", (pieces.weights(side.effects),), top, signed=True)
        return WordPainter(Picture((pieces,), heat)).maps(heat, brief=False)

    return [None if side is None else paint(side) for side in sides]


def _effects(hit: Hit, rules: WordRules) -> ComparedText | None:
    """The text, and how much lower its score would be without each word: by meaning, by words or by both."""
    words = rules.find(hit.text)
    shares = {rules.normal_form(word): share for word, share in hit.matches}
    counts = Counter(normal for _, _, normal in words)
    parts = [(start, shares[normal] / counts[normal]) for start, _, normal in words if normal in shares]
    side = hit.words.text if hit.words else None
    if side is None:
        if not hit.matches:
            return None
        offsets = np.array([(start, end) for start, end, _ in words])
        side = ComparedText(hit.text, offsets, np.ones(len(words), bool), np.zeros(len(words)))
    effects = hit.meaning_weight * side.effects
    for start, share in parts:  # the reader may take several words as one, such as top-up
        effects[max(0, int(np.searchsorted(side.offsets[:, 0], start, side="right")) - 1)] += share
    return replace(side, effects=effects)


def write_hits(
    path: str | Path | None, form: str, queries: Sequence[str], results: Results, **options: bool
) -> None:
    """Write the hits of each query, best first, each with its row's other columns; print them without a path.

    Options are those of `write_table`; with `escaped`, csv and tsv have ' before what a spreadsheet runs.
    """
    hits = [hit for found in results for hit in found]
    asked = [query for query, found in zip(queries, results, strict=True) for _ in found]
    ranks = [rank for found in results for rank, _ in enumerate(found, 1)]
    names = list(dict.fromkeys(name for hit in hits for name in hit.columns))
    types = [find_type(hit.columns.get(name) for hit in hits) for name in names]
    columns: dict[NewColumn, Values] = {
        NewColumn("query", "label", "text"): asked,
        NewColumn("rank", "label", "int"): ranks,
        NewColumn("score", "number"): [hit.score for hit in hits],
        NewColumn("text", "label", "text"): [hit.text for hit in hits],
        NewColumn("source", "label", "text"): [hit.source for hit in hits],
        NewColumn("row", "label", "int"): [hit.row for hit in hits],
        NewColumn("key", "label", find_type(hit.key for hit in hits)): [hit.key for hit in hits],
        NewColumn("matches", "words"): [hit.top_matches() for hit in hits],
        NewColumn("pairs", "words"): [[(f"{a} – {b}", x) for a, b, x in hit.top_pairs()] for hit in hits],
    }
    rows = [Row(hit.text, cells=hit.columns) for hit in hits]
    kept = KeptColumns(names, types, "the index")
    with write_table(path, form, list(columns), kept, **options) as writer:
        writer.append(rows, list(columns.values()))
