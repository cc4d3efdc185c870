"""A table's health from a file, and to one: a page, or a table with a row for each finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..errors import LimelightError, no_rows
from ..explain.render import render_page
from ..storage.files import check_output_file, write_file
from ..tables import WRITABLE
from ..tables.cells import KeptColumns, NewColumn
from ..tables.columns import Columns
from ..tables.formats import BadRowError
from ..tables.rows import Row, TableRows, show_reading
from ..tables.table import Table
from ..tables.writers import format_of, require_format, write_table
from .health import Health

SHOWN = 100  # findings of each kind on the page
PAGES = (".html", ".htm")
NEW = tuple(NewColumn(name, "label", "text") for name in ("row", "issue", "label", "suggested", "about"))
KINDS = {"empty": "Empty", "no label": "Without a label", "language": "In another language"}


def read_labelled(
    table: Table, columns: Columns, on_bad: str = "error", progress: bool = False
) -> tuple[list[Any], list[Any], list[int]]:
    """The texts and labels of a table as they are, and the numbers of the rows.

    A row that cannot be read at all is an error. With `on_bad="skip"`, every row that others could not use is
    skipped.
    """
    if on_bad == "skip":
        rows = TableRows(table, columns, on_bad=on_bad)
        read: Iterable[Any] = ((row.text, row.label) for row in rows)
    else:
        read = table.rows([columns.text, columns.label])
    texts, labels, numbers = list[Any](), list[Any](), list[int]()
    for values in show_reading(read, table.path, progress):
        if isinstance(values, BadRowError):
            todo = "correct it, or skip such rows with --skip-bad"
            raise LimelightError(f"{table.place}: {values}; {todo}", code="row-unusable")
        texts.append(values[0])
        labels.append(values[1])
        numbers.append(table.number)
    if not texts:
        raise no_rows(f"{table.path} has no rows to check")
    return texts, labels, numbers


def check_health_file(path: str | Path, overwrite: bool) -> None:
    """Raise before the work unless the file can be written."""
    if Path(path).suffix.lower() not in PAGES:
        if format_of(path) is None:
            raise LimelightError(f"{path} should end in .html, {WRITABLE}", code="file-suffix")
        require_format(path)
    check_output_file(path, overwrite)


def save_health(
    health: Health, path: str | Path, *, data: str = "the table", overwrite: bool = False
) -> None:
    """Write the page, or by the file's name the table."""
    check_health_file(path, overwrite)
    if Path(path).suffix.lower() in PAGES:
        write_file(path, health_page(health, data), overwrite)
        return
    kept = KeptColumns(["text"], ["text"], str(path))
    with write_table(path, str(format_of(path)), NEW, kept, overwrite=overwrite) as writer:
        for row, *cells in findings(health):
            text = health.texts[row]
            shown = Row(str(text or ""), cells=[str(text or "")])
            writer.append([shown], [[cell] for cell in (str(health.number(row)), *cells)])


def findings(health: Health) -> Iterator[tuple[int, str, str, str, str]]:
    """(row, issue, label, suggested label, about) of everything found in a text."""
    for each in health.suspects:
        words = ", ".join(word for word, _ in each.words)
        around = f"{each.share:.0%} of the texts around it are {each.around}"
        about = f"chance {each.chance:.1%} by the other texts; {around}{f'; words: {words}' if words else ''}"
        yield each.row, "label", each.label, each.suggested, about
    for pair in health.duplicates:
        about = f"nearly the same as row {health.number(pair.row2)}, which is {pair.label2}"
        yield pair.row, "duplicate", pair.label, "", about
    for issue in health.issues:
        yield issue.row, issue.kind, health.labels[issue.row], "", issue.about


def health_page(health: Health, data: str) -> str:
    kinds = {
        title: [each for each in health.issues if each.kind == kind] for kind, title in KINDS.items()
    }  # fmt: skip
    return render_page(
        "check.html.jinja", title=f"The labels of {data}", health=health, shown=SHOWN,
        kinds={title: found for title, found in kinds.items() if found},
    )  # fmt: skip
