"""Whether a page's figures are those of the results: cells of tables by name, prose by the words around."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

Source = Callable[[str], str]  # from the text of the page with the results to the figure there

# Shares, factors, decimals and thousands; small whole numbers are mostly settings ("with 500 sentences").
FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?(?=\s?%| times\b|×)|\d+\.\d+|\d{1,3}(?:,\d{3})+")


class Table(NamedTuple):
    columns: list[str]
    rows: list[list[str]]


def cell(section: str, row: str, column: str) -> Source:
    """The figure in one cell of a section's table; `row` has the first cells of its row, with | between."""

    def find(page: str) -> str:
        names = [plain(name) for name in row.split("|")]
        found = [
            cells[table.columns.index(column)]
            for table in tables(sections(page)[section])
            if column in table.columns
            for cells in table.rows
            if cells[: len(names)] == names
        ]
        assert len(found) == 1, f"{len(found)} rows {row!r} with a column {column!r} in {section!r}"
        return mean(found[0])

    return find


def said(section: str, words: str) -> Source:
    """The figure in a section's prose, at the place of {} in these words."""

    def find(page: str) -> str:
        text = " ".join(sections(page)[section].split())
        return text[slice(*span(words, text))]

    return find


def wrong_in_prose(page: str, results: str, sources: Mapping[str, Source]) -> list[str]:
    """What is wrong with a page's prose; `sources` has words of it, with {} for a figure, and its source."""
    text = prose(page)
    wrong, traced = [], set()
    for words, source in sources.items():
        try:
            place, expected = span(words, text), source(results)
        except (AssertionError, KeyError) as problem:
            wrong.append(f"{words!r}: {problem}")
            continue
        traced.add(place)
        if text[slice(*place)] != expected:
            wrong.append(f"{words!r} has {text[slice(*place)]}; the results have {expected}")
    for match in FIGURE.finditer(text):
        if match.span() not in traced:
            around = text[max(match.start() - 40, 0) : match.end() + 20]
            wrong.append(f"nothing says where {match[0]} comes from: {around!r}")
    return wrong


def wrong_in_tables(page: str, results: str) -> list[str]:
    """Rows with figures that no row of the results has, with the same name and under the same columns."""
    known = tables(results)
    return [
        f"no table of the results has this row: {' | '.join(cells)}"
        for table in tables(page)
        for cells in table.rows
        if any(re.search(r"\d", value) for value in cells[1:])
        and not any(_agrees(table.columns, cells, other) for other in known)
    ]


def _agrees(columns: list[str], cells: list[str], other: Table) -> bool:
    if not set(columns[1:]) <= set(other.columns):
        return False
    places = [other.columns.index(column) for column in columns[1:]]
    rows = [[row[k] for k in places] for row in other.rows if row[0] == cells[0]]
    return any(cells[1:] in (row, [mean(value) for value in row]) for row in rows)


def sections(page: str) -> dict[str, str]:
    """The text under each heading, up to the next one of any level."""
    heads = [*re.finditer(r"^#+ (.+)$", page, re.MULTILINE)]
    ends = [*(head.start() for head in heads[1:]), len(page)]
    return {head[1]: page[head.end() : end] for head, end in zip(heads, ends, strict=True)}


def tables(text: str) -> list[Table]:
    found: list[Table] = []
    for above, line in pairwise(["", *text.splitlines()]):
        if re.fullmatch(r"\|(?:\s*:?-+:?\s*\|)+", line.strip()):
            found.append(Table(_cells(above), []))
        elif line.startswith("|") and above.startswith("|") and found:
            found[-1].rows.append(_cells(line))
    return found


def prose(page: str) -> str:
    """A page on one line, without its blocks of code, tables, addresses and names in code."""
    text = re.sub(r"^```.*?^```$|^\|.*?$", "", page, flags=re.MULTILINE | re.DOTALL)
    return " ".join(re.sub(r"\]\([^)]*\)|`[^`]*`", "", text).split())


def span(words: str, text: str) -> tuple[int, int]:
    """Where the figure stands that these words have {} for."""
    before, after = map(re.escape, words.split("{}"))
    found = [*re.finditer(f"{before}({FIGURE.pattern}){after}", text)]
    assert len(found) == 1, f"stands there {len(found)} times"
    return found[0].span(1)


def plain(value: str) -> str:
    return value.replace("**", "").strip()


def mean(value: str) -> str:
    """Without its spread."""
    return value.split(" ± ")[0]


def _cells(line: str) -> list[str]:
    return [plain(each) for each in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
