"""`limelight search`: the texts of an index that are nearest to a query, in meaning and words."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import conflict, no_rows, warn
from ..tables import WRITABLE
from ._output import check_out, output_format
from ._parser import add_flag, add_shared, check_least
from ._rows import standard_input

if TYPE_CHECKING:
    from ..search.hit_words import Hit
    from ..search.words import WordRules

HELP = "search an index by meaning and words"
DESCRIPTION = """\
Print the texts of an index that are nearest to a query, best first. The score is 0.4 times that
by meaning (the cosine: 1 for the same meaning, 0 for nothing in common) plus 0.6 times that by words (BM25
from 0 to 1: rare words of the query count most). Each hit shows the words that make up both. Without a query,
every line of standard input is one.

  limelight search reviews.index "the soup was cold"
  limelight search reviews.index "the soup was cold" --where hotel=Ritz --where "stars>=4"
  limelight search reviews.index "the soup was cold" --out results.html
  limelight search reviews.index "the soup was cold" --top 100 --out hits.xlsx"""

TABLES = ("csv", "tsv", "parquet", "xlsx")
FORMATS = ("text", "html", "jsonl", *TABLES)
OUT = f".txt, .html, {WRITABLE}"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "index", "INDEX", "folder made by limelight index")
    add_flag(parser, "query", "QUERY", "text (default: lines of standard input)", nargs="*")
    add_flag(parser, "--top", "N", "hits of a query", 10)
    from ..search.ranking import SCORERS

    add_flag(parser, "--by", SCORERS, "what to go by (default: both, if the index has words)")
    about = "only rows whose column is this, or != this, or <, >, <=, >= a number; may be repeated"
    add_flag(parser, "--where", "COLUMN=VALUE", about, action="append")
    add_flag(parser, "--per-row", "", "in an index of sentences, only the best of each row")
    add_flag(parser, "--no-words", "", "leave out the words that made the match")
    add_flag(parser, "--model", "MODEL", "where the index's model is now, if it was moved")
    add_flag(parser, "--out", "FILE", f"{OUT} (default: standard output)")
    add_flag(parser, "--format", FORMATS, "output format, unless --out implies it")
    add_flag(parser, "--json", "", "the same as --format jsonl")
    add_flag(parser, "--encoding", "NAME", "encoding of standard input, such as cp1252 (default: UTF-8)")
    add_shared(parser, "--escape-formulas", "--overwrite")


def run(args: argparse.Namespace) -> None:
    from ..search.index import Index
    from ..storage.files import write_file
    from ..tables.writers import format_of, require_format

    suffix = Path(args.out or "").suffix.lower()
    implied = {".txt": "text", ".html": "html"}.get(suffix) or format_of(args.out or "")
    form = output_format(args, implied, OUT) or "text"
    if implied and form != implied:
        raise conflict(f"{args.out} would be {implied}, but {form} is asked for; change one of them")
    check_least(args, top=1)
    check_out(args)
    if args.out and form in TABLES:
        require_format(args.out)
    queries = args.query or [line for line in standard_input("query", "query") if line.strip()]
    if not queries:
        raise no_rows("no query; give one as an argument or on standard input")
    index = Index.open(args.index, model=args.model)
    for source in index.config.sources:
        if not source.finished:
            warn(f"{source.name} is in {args.index} only in part; finish it with limelight index --add")
    results = index.search(
        queries, args.top, by=args.by, where=args.where, words=not args.no_words,
        per_row=args.per_row or None,
    )  # fmt: skip
    if form in TABLES:
        from ..search.results import write_hits

        write_hits(args.out, form, queries, results, overwrite=args.overwrite, escaped=args.escape_formulas)
        return
    text = _render(form, queries, results, Path(args.index).name, index.word_rules)
    if args.out:
        write_file(args.out, text, args.overwrite)
    else:
        print(text, end="")


def _render(
    form: str, queries: Sequence[str], results: Sequence[Sequence[Hit]], title: str, rules: WordRules | None
) -> str:
    if form == "html":
        from ..search.results import results_page

        return results_page(queries, results, f"Search in {title}", rules)
    if form == "jsonl":
        numbered = [
            {"query": query, "rank": rank, **hit.to_dict()}
            for query, hits in zip(queries, results, strict=True)
            for rank, hit in enumerate(hits, 1)
        ]
        return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in numbered)
    shown = [_text(query, hits, len(queries) > 1) for query, hits in zip(queries, results, strict=True)]
    return "\n".join(shown)


def _text(query: str, hits: Sequence[Hit], several: bool) -> str:
    """The hits of a query, each with its score, its place and the pairs of words that count most."""
    lines = [query] if several else []
    for hit in hits:
        lines.append(f"{hit.score:.3f}  {' '.join(hit.text.split())}")
        parts = "; ".join(_parts(hit))
        key = "" if hit.key in (None, hit.row) else f", key {hit.key}"
        lines.append(f"       {hit.source}, row {hit.row}{key}{f': {parts}' if parts else ''}")
    if not hits:
        lines.append("nothing found")
    return "\n".join(lines) + "\n"


def _parts(hit: Hit) -> Iterator[str]:
    """What its score is made of: by meaning and by words."""
    if hit.meaning_weight and hit.words:
        pairs = [(f"{word} – {other}", share) for word, other, share in hit.top_pairs(3) if share > 0]
        yield _part("meaning", hit.meaning, pairs)
    if hit.matches:
        yield _part("words", hit.score - hit.meaning, hit.top_matches())


def _part(name: str, total: float, parts: Sequence[tuple[str, float]]) -> str:
    rest = total - sum(share for _, share in parts)
    parts = [*parts, ("others", rest)] if parts and abs(rest) >= 0.005 else parts
    shown = ", ".join(f"{word} {share:.2f}" for word, share in parts)
    return f"{name} {total:.2f}{f' ({shown})' if shown else ''}"
