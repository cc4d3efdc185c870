"""The labels as a table: beside all the columns of the one that the texts came from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import LimelightError
from ..tables.cells import KeptColumns
from ..tables.columns import choose_columns
from ..tables.rows import Row, chunks, open_rows
from ..tables.table import open_table
from ..tables.writers import LISTS, NewColumn, require_format, write_table

if TYPE_CHECKING:
    from .session import LabelSession

SEPARATOR = "|"  # between labels where a cell has no lists
NAMES = ("by", "when", "marks", "note", "chosen")


def save_labels(
    session: LabelSession,
    path: str | Path,
    table: str | Path | None,
    text: str | None,
    everything: bool,
    overwrite: bool,
) -> int:
    """Write what was said as the first columns; count the rows."""
    form = require_format(path)
    lists = session.several and form in LISTS
    label = NewColumn("labels", "labels", "text") if lists else NewColumn("label", "label", "text")
    new = [label, *(NewColumn(name, "label", "text") for name in NAMES)]
    with ExitStack() as stack:
        if table is None:
            rows: Iterator[Row] = (Row(text, cells=[text]) for text in session.texts)
            kept = KeptColumns(["text"], ["text"], str(path))
        else:
            opened = stack.enter_context(open_table(table))
            columns = choose_columns(table, text, None, None, False, False, opened.names)
            rows, kept = open_rows(opened, columns, "skip")
        writer = stack.enter_context(write_table(path, form, new, kept, overwrite=overwrite))
        count = 0
        for chunk in chunks(_wanted(session, rows, everything)):
            writer.append(
                chunk, list(zip(*(_cells(session, row.label, lists) for row in chunk), strict=True))
            )
            count += len(chunk)
    return count


def _wanted(session: LabelSession, rows: Iterator[Row], everything: bool) -> Iterator[Row]:
    """The rows to write, each with its number in place of its label."""
    number = -1
    for number, row in enumerate(rows):
        if number >= len(session.texts) or session.texts[number] != row.text:
            raise _changed(number)
        said = session.said(number)
        if everything or (said is not None and said.labels is not None):
            yield row._replace(label=number)
    if number + 1 != len(session.texts):
        raise _changed(number + 1)


def _changed(number: int) -> LimelightError:
    return LimelightError(
        f"row {number + 1} of the table is not the text that was labelled", code="table-changed"
    )


def _cells(session: LabelSession, row: int, lists: bool) -> Sequence[Any]:
    """The label, then one text for each of `NAMES`."""
    said, marks = session.said(row), session.marks(row)
    spans = json.dumps([list(span) for span in marks]) if marks else ""
    labels: Any = said.labels if said and said.labels else ()
    cell = list(labels) if lists else SEPARATOR.join(labels)
    if said is None:
        return [cell, "", "", spans, session.noted(row), ""]
    chosen = said.chosen if said.labels is not None else said.status
    return [cell, said.by, said.when, spans, session.noted(row), chosen]
