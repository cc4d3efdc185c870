"""What searches found, as a table: a row for each hit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..tables.cells import KeptColumns, NewColumn, find_type
from ..tables.rows import Row
from ..tables.writers import Values, write_table
from .hit import Hit


def write_hits(
    path: str | Path | None,
    form: str,
    queries: Sequence[str],
    results: Sequence[Sequence[Hit]],
    overwrite: bool = False,
    escaped: bool = False,
) -> None:
    """Write the hits of each query, best first, each with its row's other columns; print them without a path.

    With `escaped`, csv and tsv have ' before what a spreadsheet would run.

    >>> hit = Hit(0.5, "Cold soup", "menu.csv", 0, 3, None, {"price": 4}, matches=(("cold", 0.5),), key=3)
    >>> write_hits(None, "csv", ["cold broth"], [[hit]])
    query,rank,score,text,source,row,key,matches,pairs,price
    cold broth,1,0.5,Cold soup,menu.csv,3,3,cold +0.500,,4
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
        NewColumn("pairs", "words"): [_pairs(hit) for hit in hits],
    }
    rows = [Row(hit.text, cells=hit.columns) for hit in hits]
    kept = KeptColumns(names, types, "the index")
    with write_table(path, form, list(columns), kept, escaped=escaped, overwrite=overwrite) as writer:
        writer.append(rows, list(columns.values()))


def _pairs(hit: Hit) -> list[tuple[str, float]]:
    """The pairs of words that make the meanings similar, each as one."""
    return [(f"{word} – {other}", share) for word, other, share in hit.top_pairs()]
