"""The rows of a table one by one, however large the file is: a text, its label, for a pair the second text.

Rows have the numbers that people see who open the file: in csv and xlsx as a spreadsheet shows them, the
header and empty rows and all; of jsonl and lines of text, those of the lines. An error about a row is one
line with its number; `on_bad="skip"` skips the rows that cannot be used, such as those without text or label.
"""

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from itertools import tee
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import LimelightError, check_choice, no_rows, warn
from .cells import KeptColumns, as_text
from .columns import Columns, check_column
from .formats import BadRowError, shorten
from .table import Table, Values, open_table

PLAIN = (bool, int, float, Decimal, date, time, timedelta)  # what is a text where texts are expected
MAX_DIGITS = 300  # of a label that is an integer: a float can hold as much
TOO_LARGE = 10**MAX_DIGITS
SHOWN = 5  # skipped rows that are named


class Row(NamedTuple):
    """One row of a table: a text, its label, for a pair the second text; all its cells if they are kept."""

    text: str
    label: Any = None  # a tuple where a text may have several, a float in regression
    text2: str | None = None
    cells: Any = None  # for cells.list_cells; or the values of the further columns that were asked for
    reasons: Any = None  # what is marked in the text, as in text/reasons.py


def check_text(text: Any, where: str) -> str:
    """The text of a cell, which must have more than spaces in it, and no NUL characters.

    A number, a boolean or a date is the text that csv would have for it.
    """
    if isinstance(text, str) and text and not text.isspace():
        if "\0" in text:  # of binary data, or of a file in another encoding
            raise BadRowError(f"a NUL character in {where}")
        return text
    if is_missing(text):
        raise BadRowError(f"no text in {where}")
    if isinstance(text, str):
        raise BadRowError(f"only spaces in {where}")
    if isinstance(text, PLAIN):
        return as_text(text)
    raise BadRowError(f"{shorten(repr(text))} in {where} is not text")


def texts_of(values: Iterable[Any]) -> list[Any]:
    """A column of texts in which numbers, booleans and dates are their text, as in `check_text`."""
    return [as_text(x) if isinstance(x, PLAIN) and not is_missing(x) else x for x in values]


def check_label(label: Any, where: str) -> Any:
    """The label, if it is a string, a number or a boolean."""
    if is_missing(label):
        raise BadRowError(f"no label in {where}")
    if is_too_large(label):
        raise BadRowError(f"an integer of more than {MAX_DIGITS} digits in {where}: write it as text")
    if not isinstance(label, (str, int, float)) or label in (math.inf, -math.inf):
        raise BadRowError(f"{shorten(repr(label))} in {where} is not a label")
    return label


def is_too_large(label: Any) -> bool:
    return isinstance(label, int) and abs(label) >= TOO_LARGE


def is_missing(value: Any) -> bool:
    """Whether a cell holds nothing: None, an empty text, NaN, or NA or NaT of pandas."""
    if isinstance(value, str):
        return not value
    # NA is the one value that cannot be compared, and NaN and NaT differ from themselves
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


class RowNumbers:
    """The numbers of many rows in their table; memory is taken only where there are gaps."""

    def __init__(self) -> None:
        self._places, self._first, self._next, self._count = list[int](), list[int](), 0, 0

    def append(self, number: int) -> None:
        if number != self._next:
            self._places.append(self._count)
            self._first.append(number)
        self._next, self._count = number + 1, self._count + 1

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: int) -> int:
        run = bisect_right(self._places, place) - 1
        return self._first[run] + place - self._places[run]


class TableRows(Iterator[Row]):
    """The rows of a table, one after the other, checked; `numbers` has theirs, `skipped` is a count.

    A text must have more than spaces in it. A label from csv or tsv is a string without the spaces around it;
    jsonl and parquet keep its type. An empty label, null or NaN counts as missing. With `keep`, rows come
    with all their cells, with `further` with those of these columns. `parse_label` turns what is in a cell
    into a label. A table that is open already stays open.
    """

    def __init__(
        self,
        table: str | Path | Table,
        columns: Columns,
        *,
        on_bad: str = "error",
        keep: bool = False,
        parse_label: Callable[[Any, str], Any] = check_label,
        parse_reasons: Callable[[Row], Row] | None = None,
        further: Sequence[str] = (),
    ) -> None:
        check_choice("on_bad", on_bad, ("error", "skip"))
        self.numbers, self.skipped, self._first_skipped = RowNumbers(), 0, list[int]()
        self._columns, self._skip, self._parse_label = columns, on_bad == "skip", parse_label
        self._parse_reasons, self._further = parse_reasons, len(further)
        self._table = table if isinstance(table, Table) else open_table(table)
        self._path, self._stays_open = self._table.path, self._table is table
        wanted = [columns.text, columns.label, columns.text2]
        if parse_reasons:
            wanted += [columns.reasons, columns.not_reasons]
        wanted += further
        self._where = [f"column {name!r}" for name in wanted]
        for name in wanted:
            if name is not None:
                check_column(self._path, name, self._table.names)
        self._rows = self._checked(self._table.rows(wanted, keep))

    def __next__(self) -> Row:
        return next(self._rows)

    @property
    def number(self) -> int:
        return self._table.number

    def name_row(self, place: int) -> str:
        """The file and number of a row that was given, by its place among them."""
        return f"{self._path}, {self._table.unit} {self.numbers[place]}"

    def _checked(self, rows: Iterator[Values]) -> Iterator[Row]:
        table, number = self._table, self.numbers.append
        for values in rows:
            try:
                row = self._check_row(values)
            except BadRowError as error:
                self._reject(error)
            else:
                number(table.number)
                yield row
        if not self._stays_open:
            self._table.close()
        count = len(self.numbers) + self.skipped
        if count == 0:
            raise no_rows(f"{self._path} has no rows; it needs at least one below its header")
        if count == self.skipped:
            raise no_rows(f"{self._path}: none of its {count:,} rows can be used; check the columns")
        if self.skipped:
            which = ", ".join(map(str, self._first_skipped)) + (", ..." if self.skipped > SHOWN else "")
            which = f"{self._table.unit}{'s' if self.skipped > 1 else ''} {which}"
            skipped = f"{self._path}: skipped {self.skipped:,} of its {count:,} rows"
            warn(f"{skipped}, which cannot be used: {which}")

    def _check_row(self, values: Values) -> Row:
        if isinstance(values, BadRowError):
            raise values
        text, label, text2, *cells = values
        columns, where = self._columns, self._where
        text = check_text(text, where[0])
        if columns.text2 is not None:
            text2 = check_text(text2, where[2])
        if columns.label is not None:
            label = label.strip() if isinstance(label, str) else label
            label = self._parse_label(label, where[1])
        if self._parse_reasons:
            further = cells[2:] if self._further else None
            return self._parse_reasons(Row(text, label, text2, further, cells[:2]))
        if self._further:
            return Row(text, label, text2, cells[: self._further])
        return Row(text, label, text2, *cells)

    def _reject(self, error: BadRowError) -> None:
        if not self._skip:
            raise LimelightError(
                f"{self._table.place}: {error}; correct it, or skip such rows with --skip-bad "
                "(in Python: on_bad='skip')",
                code="row-unusable",
            ) from None
        self.skipped += 1
        if self.skipped <= SHOWN:
            self._first_skipped.append(self.number)


def open_rows(
    table: Table, columns: Columns, on_bad: str, progress: bool = False
) -> tuple[TableRows, KeptColumns]:
    """The rows of a table with all their cells; unless they are skipped, unusable rows are an error now."""
    if on_bad == "error":
        table.hold()
        deque(show_reading(TableRows(table, columns), table.path, progress), maxlen=0)
    return TableRows(table, columns, on_bad=on_bad, keep=True), table.columns()


def show_reading(rows: Iterable[Any], path: Path, progress: bool) -> Any:
    """The same rows, counted on a terminal while a table is read that is worked on later."""
    from tqdm import tqdm  # not in what predicts

    return tqdm(rows, f"reading {path.name}", unit=" rows", leave=False, disable=None if progress else True)


def chunks(rows: Iterable[Row], size: int = 1000, characters: int = 1_000_000) -> Iterator[list[Row]]:
    """Yield lists of rows, each ended by `size` rows or by `characters` of text, whichever comes first."""
    chunk: list[Row] = []
    held = 0
    for row in rows:
        chunk.append(row)
        held += len(row.text) + len(row.text2 or "")
        if len(chunk) >= size or held >= characters:
            yield chunk
            chunk, held = [], 0
    if chunk:
        yield chunk


def text_columns(
    rows: Iterable[Row], pair: bool, seen: Callable[[Row], Any] = lambda row: None
) -> tuple[Iterator[str], Iterator[str] | None]:
    """The first texts and, for pairs, the second ones; `seen` is called with each row."""

    def noted() -> Iterator[Row]:
        for row in rows:
            seen(row)
            yield row

    if not pair:
        return (row.text for row in noted()), None
    first, second = tee(noted())
    return (row.text for row in first), (row.text2 or "" for row in second)
