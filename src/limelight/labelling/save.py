"""The labels as a table: beside all the columns of the one that the texts came from.

Below its rows stand the labelled texts that it no longer has, with the columns of the labels alone.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import LimelightError
from ..tables.cells import KeptColumns, NewColumn
from ..tables.columns import choose_columns
from ..tables.rows import Row, chunks, open_rows
from ..tables.table import open_table
from ..tables.writers import LISTS, require_format, write_table
from .state import Said

SEPARATOR = "|"  # between labels where a cell has no lists
NAMES = ("by", "when", "marks", "note", "chosen")


class Labelled(NamedTuple):
    """What was said about texts, as it stood at one moment. Texts are named by their keys."""

    texts: Sequence[str]
    keys: Sequence[str]  # of the texts
    gone: Mapping[str, str]  # labelled texts that the table no longer has
    said: Mapping[str, Said]
    marks: Mapping[str, Sequence[tuple[int, int]]]
    notes: Mapping[str, str]
    several: bool


def save_labels(labelled: Labelled, path: str | Path, table: str | Path | None, text: str | None) -> int:
    """Write what was said as the first columns; count the rows."""
    form = require_format(path)
    lists = labelled.several and form in LISTS
    label = NewColumn("labels", "labels", "text") if lists else NewColumn("label", "label", "text")
    new = [label, *(NewColumn(name, "label", "text") for name in NAMES)]
    with ExitStack() as stack:
        column = "text"
        if table is None:
            rows: Iterator[Row] = (Row(text, cells=[text]) for text in labelled.texts)
            kept = KeptColumns(["text"], ["text"], str(path))
        else:
            opened = stack.enter_context(open_table(table))
            columns = choose_columns(opened, text, need_label=False)
            rows, kept = open_rows(opened, columns, "skip")
            column = columns.text
        writer = stack.enter_context(write_table(path, form, new, kept, overwrite=True))
        carried = (Row(text, key, cells={column: text}) for key, text in labelled.gone.items())
        count = 0
        for chunk in chain(chunks(_wanted(labelled, rows)), chunks(carried)):
            cells = (_cells(labelled, row.label, lists) for row in chunk)
            writer.append(chunk, list(zip(*cells, strict=True)))
            count += len(chunk)
    return count


def _wanted(labelled: Labelled, rows: Iterator[Row]) -> Iterator[Row]:
    """The rows to write, each with its key in place of its label."""
    given = zip(labelled.texts, labelled.keys, strict=True)
    for number, (row, (text, key)) in enumerate(zip_longest(rows, given, fillvalue=(None, "")), 1):
        if not isinstance(row, Row) or row.text != text:
            fault = f"row {number} of the table is not the text that was labelled"
            todo = "it was changed since the start; start again"
            raise LimelightError(f"{fault}: {todo}", code="table-changed")
        said = labelled.said.get(key)
        if said and said.labels is not None:
            yield row._replace(label=key)


def _cells(labelled: Labelled, key: str, lists: bool) -> Sequence[Any]:
    """The label, then one text for each of `NAMES`."""
    said, marks = labelled.said[key], labelled.marks.get(key)
    spans = json.dumps([list(span) for span in marks]) if marks else ""
    labels = list(said.labels or ())
    if not lists and labelled.several and (name := next((each for each in labels if SEPARATOR in each), "")):
        fault = f"the class {name!r} has a {SEPARATOR}, which stands between several labels of a cell"
        raise LimelightError(f"{fault}; rename it, or give an --out in .jsonl", code="class-name")
    cell = labels if lists else SEPARATOR.join(labels)
    return [cell, said.by, said.when, spans, labelled.notes.get(key, ""), said.chosen]
