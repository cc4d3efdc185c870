"""The rows of a table: csv, tsv, jsonl or parquet, read one by one however large the file is.

Rows are numbered from 1, without the header. An error about a row is one line with its number;
`on_bad="skip"` skips the rows that cannot be used, such as those without text or label, and counts them.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import LimelightError
from ..tables.columns import Columns, check_column
from ..tables.formats import BadRowError, column_names, read_values, shorten
from .tasks import LabelFormat, is_missing

ANY_LABELS = LabelFormat()


class Row(NamedTuple):
    """One row of a table: a text, its label, for a pair the second text; all its cells if they are kept."""

    text: str
    label: Any = None  # a tuple where a text may have several, a float in regression
    text2: str | None = None
    cells: Any = None  # for cells.list_cells


class TableRows(Iterator[Row]):
    """The rows of a table, one after the other, checked; `number` is the last one's, `skipped` a count.

    A text must be a string with more than spaces in it. A label from csv or tsv is a string without the
    spaces around it; jsonl and parquet keep its type. An empty label, null or NaN counts as missing. With
    `keep`, rows come with all their cells. `labels` says how labels are written.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "reviews.csv")
    >>> _ = path.write_text("stars,text\\n1,\\n5,Good soup.\\n")
    >>> rows = TableRows(path, Columns("text", "stars"), on_bad="skip")
    >>> next(rows), rows.number, rows.skipped
    (Row(text='Good soup.', label='5', text2=None, cells=None), 2, 1)
    """

    def __init__(
        self,
        path: str | Path,
        columns: Columns,
        *,
        on_bad: str = "error",
        keep: bool = False,
        labels: LabelFormat = ANY_LABELS,
    ) -> None:
        if on_bad not in ("error", "skip"):
            raise LimelightError(f"on_bad is {on_bad!r}; it must be 'error' or 'skip'")
        self.number = self.skipped = 0
        self._path, self._columns, self._skip = Path(path), columns, on_bad == "skip"
        self._keep, self._labels = keep, labels
        self._wanted = (columns.text, columns.label, columns.text2)
        names = column_names(self._path)
        for name in self._wanted:
            if name is not None:
                check_column(path, name, names)
        self._rows = self._checked()

    def __next__(self) -> Row:
        return next(self._rows)

    def _checked(self) -> Iterator[Row]:
        for values in read_values(self._path, self._wanted, self._keep):
            self.number += 1
            try:
                row = _check_row(values, self._columns, self._labels)
            except BadRowError as error:
                self._reject(error)
            else:
                yield row
        if self.number == 0:
            raise LimelightError(f"{self._path} has no rows; it needs at least one below its header")
        if self.number == self.skipped:
            raise LimelightError(
                f"{self._path}: none of its {self.number} rows can be used; check the columns"
            )
        if self.skipped:
            what = f"skipped {self.skipped:,} of its {self.number:,} rows, which cannot be used"
            warnings.warn(f"{self._path}: {what}", UserWarning, stacklevel=2)

    def _reject(self, error: BadRowError) -> None:
        if not self._skip:
            raise LimelightError(
                f"{self._path}, row {self.number}: {error}; correct it, or skip such rows "
                "with --skip-bad (in Python: on_bad='skip')"
            ) from None
        self.skipped += 1


def chunks(rows: Iterable[Row], size: int = 1000, characters: int = 1_000_000) -> Iterator[list[Row]]:
    """Yield lists of rows, each ended by `size` rows or by `characters` of text, whichever comes first.

    >>> [len(chunk) for chunk in chunks([Row("good soup")] * 5, size=2)]
    [2, 2, 1]
    """
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
    """The first texts and, for pairs, the second ones; `seen` is called with each row.

    >>> first, second = text_columns([Row("Hello.", text2="Hi!")], pair=True)
    >>> next(first), next(second)
    ('Hello.', 'Hi!')
    """
    seconds = deque[str]()

    def first() -> Iterator[str]:
        for row in rows:
            seen(row)
            if row.text2 is not None:
                seconds.append(row.text2)
            yield row.text

    def second() -> Iterator[str]:
        while seconds:
            yield seconds.popleft()

    return first(), second() if pair else None


def without_skipped(name: str, skipped: int) -> str:
    """The name of a table for a message whose row number does not count the skipped rows.

    >>> without_skipped("test.csv", 2)
    'test.csv without the 2 skipped'
    """
    return f"{name} without the {skipped:,} skipped" if skipped else name


def check_text(text: Any, where: str) -> None:
    """Raise unless a text is a string with more than spaces in it, and without NUL characters."""
    if isinstance(text, str) and text and not text.isspace():
        if "\0" in text:  # of binary data, or of a file in another encoding
            raise BadRowError(f"a NUL character in {where}")
        return
    if is_missing(text):
        raise BadRowError(f"no text in {where}")
    if isinstance(text, str):
        raise BadRowError(f"only spaces in {where}")
    raise BadRowError(f"{shorten(repr(text))} in {where} is not text")


def _check_row(values: Sequence[Any] | BadRowError, columns: Columns, labels: LabelFormat) -> Row:
    if isinstance(values, BadRowError):
        raise values
    text, label, text2, *cells = values
    check_text(text, f"column {columns.text!r}")
    if columns.text2 is not None:
        check_text(text2, f"column {columns.text2!r}")
    if columns.label is not None:
        label = label.strip() if isinstance(label, str) else label
        label = labels.parse(label, f"column {columns.label!r}")
    return Row(text, label, text2, *cells)
