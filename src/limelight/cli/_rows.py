"""Texts in: the rows of a table, a sample of them, or the lines of standard input."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import LimelightError, conflict, warn, wrong_model, wrong_task
from ._output import on_terminal
from ._parser import on_bad

if TYPE_CHECKING:
    from ..runtime.model import Model
    from ..runtime.reader import Reader
    from ..tables.cells import KeptColumns
    from ..tables.columns import Columns
    from ..tables.formats import BoundedLines
    from ..tables.rows import Row, TableRows
    from ..tables.table import Table
    from ..text.labels import LabelColumn


def read_rows(args: argparse.Namespace, pair: bool) -> tuple[Iterator[Row], KeptColumns]:
    """The texts to work on, from a table with its other columns or from lines of standard input."""
    from ..tables.cells import KeptColumns
    from ..tables.rows import open_rows

    if args.data in (None, "-"):
        names = ["text", "text2"] if pair else ["text"]
        return read_lines(args, pair), KeptColumns(names, ["text"] * len(names))
    table, columns = open_data(args, pair, need_label=False)
    rows, kept = open_rows(table, columns, on_bad(args), on_terminal())
    return _to_the_end(table, rows), kept


def _to_the_end(table: Table, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows of a table, which is closed after them."""
    with table:
        yield from rows


def read_lines(args: argparse.Namespace, pair: bool) -> Iterator[Row]:
    if args.text or getattr(args, "text2", None) or getattr(args, "label", None):
        raise conflict("--text is the column of a table; standard input has no columns")
    return _rows_of(standard_input("text", "table"), pair, args.skip_bad)


def _rows_of(lines: Iterator[str], pair: bool, skip_bad: bool) -> Iterator[Row]:
    """One text per line; for pairs, two texts separated by a tab.

    A blank line counts as a text without words, so that there are as many answers as lines.
    """
    from ..tables.rows import Row

    number = skipped = blank = 0
    for number, line in enumerate(lines, 1):
        parts = line.split("\t") if pair else [line]
        empty = not all(part.strip() for part in parts)
        if skip_bad and (len(parts) != 1 + pair or empty):
            skipped += 1
            continue
        if len(parts) != 1 + pair:
            tabs = f"{len(parts) - 1} tabs" if len(parts) > 2 else "no tab"
            fault = f"standard input, line {number}: {tabs}; separate the two texts of a pair by one tab"
            raise LimelightError(fault, code="pair-separator")
        blank += empty
        yield Row(parts[0], None, parts[1] if pair else None, parts)
    if blank:
        warn(f"standard input: {blank:,} of {number:,} lines are blank; add --skip-bad to skip them")
    if skipped:
        warn(f"standard input: skipped {skipped:,} of {number:,} lines, which cannot be used")


def standard_input(what: str, instead: str) -> Iterator[str]:
    from ..tables.encoding import stated_encoding
    from ..tables.formats import BoundedLines

    if sys.stdin is None:
        raise LimelightError(f"standard input is closed; give a {instead}", code="stream-closed")
    if sys.stdin.isatty():
        print(f"one {what} per line; end with Ctrl-D", file=sys.stderr)
    return _decoded(BoundedLines(sys.stdin.buffer, "standard input"), stated_encoding())


def _decoded(lines: BoundedLines[bytes], encoding: str | None) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        lines.start_row()
        try:
            text = line.decode(encoding or ("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeError:
            wrong = f"standard input, line {number}: not {encoding or 'UTF-8'}"
            raise LimelightError(f"{wrong}; name its encoding with --encoding", code="not-utf8") from None
        yield text.rstrip("\r\n")


def open_data(
    args: argparse.Namespace, pair: bool, need_label: bool = True, table: Table | None = None
) -> tuple[Table, Columns]:
    """The table DATA, which may be open already, and its columns for a model; guessed ones are printed."""
    from ..tables.columns import Columns, choose_columns
    from ..tables.table import open_table

    label, text2 = getattr(args, "label", None), getattr(args, "text2", None)
    if text2 and not pair:
        raise wrong_task(f"this model reads single texts; --text2 {text2} is for models of pairs")
    table = table or open_table(args.data)
    columns = choose_columns(table, args.text, label, text2, need_label, pair)
    if on_terminal() and columns != Columns(args.text or "", label, text2):
        print(f"{columns} (guessed)", file=sys.stderr)
    return table, columns


def table_rows(
    args: argparse.Namespace,
    model: Model | Reader,
    need_label: bool = True,
    skip: bool = False,
    further: Sequence[str] = (),
    table: Table | None = None,
) -> TableRows:
    """The rows of DATA, or of an open `table`, for a model, with labels as it reads them."""
    from ..runtime.reader import Reader
    from ..tables.rows import TableRows
    from ..text.tasks import LabelFormat

    table, columns = open_data(args, model.pair, need_label, table)
    labels = LabelFormat() if isinstance(model, Reader) else model.label_format
    how = {"on_bad": "skip" if skip else on_bad(args), "parse_label": labels.parse}
    return TableRows(table, columns, further=further, **how)  # type: ignore[arg-type]


def sample(
    args: argparse.Namespace, model: Model, most: int, need_label: bool = True, guessed: bool = False,
    further: Sequence[str] = (), table: Table | None = None,
) -> tuple[list[Row], int, LimelightError | None]:  # fmt: skip
    """A sample of DATA, how many rows there are, and what is wrong with their labels.

    A label that the model does not know is an error at once; but if the column of labels is `guessed`, the
    rows come without them. `further` are columns whose values come along in the cells of the rows.
    """
    from ..tables.table import open_table

    table, fault = table or open_table(args.data), None
    if guessed:
        table.hold()
    if need_label:
        try:
            read = table_rows(args, model, further=further, table=table)
            rows, labels, count = sample_rows(read, most, model.task)
            labels.index(model.labels, read.name_row)
            return rows, count, None
        except LimelightError as error:
            if not guessed:
                raise
            fault = error
    given = argparse.Namespace(**{**vars(args), "label": None})
    read = table_rows(given, model, need_label=False, further=further, table=table)
    rows, _, count = sample_rows(read, most, model.task)
    return rows, count, fault


def sample_rows(read: TableRows, most: int, task: str) -> tuple[list[Row], LabelColumn, int]:
    """A random sample of at most `most` rows, in order; all labels; the number of rows, read once."""
    from ..text.tasks import find_task

    kept: list[tuple[int, Row]] = []
    rng, labels, number = random.Random(0), find_task(task).column(), 0
    for number, row in enumerate(read, 1):
        if row.label is not None:
            labels.append(row.label)
        if number <= most:
            kept.append((number, row))
        elif (place := rng.randrange(number)) < most:
            kept[place] = (number, row)
    return [row for _, row in sorted(kept, key=lambda each: each[0])], labels, number


def load_models(*given: str | None) -> tuple[list[str], list[Model]]:
    """Models of the folders given, which all read pairs or all single texts, and their names.

    Two folders of one name get as much of their paths as tells them apart.
    """
    from ..runtime.model import Model

    folders = [folder for folder in given if folder]
    models = [Model.load(folder) for folder in folders]
    if len({model.pair for model in models}) > 1:
        pairs, single = folders if models[0].pair else reversed(folders)
        raise wrong_model(f"{pairs} reads pairs and {single} single texts; compare models of one task")
    paths = [Path(folder).resolve().parts for folder in folders]
    lengths = range(1, max(map(len, paths)) + 1)
    names = (["/".join(path[-length:]) for path in paths] for length in lengths)
    return next((each for each in names if len(set(each)) == len(set(paths))), folders), models
