"""Sheets of .xlsx files. Needs openpyxl."""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import LimelightError, warn
from ..storage.compression import tidy_reading
from .abstract import Table, Values
from .cells import KeptColumns, as_text, find_type
from .formats import BadRowError, join_names, max_row, split_sheet

MAX_BYTES = 2**30  # of a book when it is unpacked: the library holds all its different texts in memory
_ERRORS = frozenset(("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"))


class ExcelTable(Table):
    """The first sheet of a book, or the one after `#`. Its first row that is not empty names the columns."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        file, sheet = split_sheet(path)
        self._file = _open_book(file)
        try:
            self._sheet = _choose_sheet(self._file, file, sheet)
            with _tidy(path):
                self.names = self._header()
        except BaseException:
            self.close()
            raise

    def rows(self, wanted: Sequence[str | None], keep: bool = False) -> Iterator[Values]:
        positions = [None if name is None else self.names.index(name) for name in wanted]
        width, limit = len(self.names), max_row()
        with _tidy(self.path):
            records = self._records()
            next(records)
            for cells in records:
                if any(each is not None for each in cells[width:]):
                    yield BadRowError(f"it has cells to the right of the {width} columns of the header")
                    continue
                row = (*cells[:width], *[None] * (width - len(cells)))
                found = [None if k is None else row[k] for k in positions]
                if sum(len(each) for each in found if isinstance(each, str)) > limit:
                    yield BadRowError(f"more than {limit:,} characters (LIMELIGHT_MAX_ROW)")
                else:
                    yield [*found, row] if keep else found

    def columns(self) -> KeptColumns:
        types = [""] * len(self.names)
        for values in self.rows(self.names):
            if not isinstance(values, BadRowError):
                types = [find_type([value], before) for value, before in zip(values, types, strict=True)]
        return KeptColumns(self.names, types, str(self.path))

    def _header(self) -> list[str]:
        names = [as_text(each).strip() for each in next(self._records(), ())]
        while names and not names[-1]:
            names.pop()
        if not names:
            wrong = f"{self.path} is empty; the first row of its sheet must name the columns"
            raise LimelightError(wrong, code="no-rows")
        return names

    def _records(self) -> Iterator[list[Any]]:
        """Every row that is not empty."""
        for row in self._sheet.iter_rows(values_only=True):
            cells = [_value(each) for each in row]
            if any(each is not None for each in cells):
                yield cells


def _value(cell: Any) -> Any:
    """Dates as text, errors as nothing.

    >>> _value(datetime.datetime(2026, 5, 1)), _value("#N/A"), _value(4)
    ('2026-05-01', None, 4)
    """
    if isinstance(cell, datetime.datetime | datetime.date | datetime.time):
        return cell.isoformat().removesuffix("T00:00:00")
    if isinstance(cell, datetime.timedelta):
        return str(cell)
    return None if cell in _ERRORS or cell == "" else cell


def _open_book(path: Path) -> Any:
    try:
        import openpyxl
    except ImportError:
        raise LimelightError(f"{path} needs openpyxl: pip install '.[excel]'", code="needs-extra") from None
    with _tidy(path):
        with zipfile.ZipFile(path) as archive:
            size = sum(each.file_size for each in archive.infolist())
        if size > MAX_BYTES:
            wrong = f"{path} has {size:,} bytes when unpacked, more than {MAX_BYTES:,}"
            raise LimelightError(f"{wrong}; save the sheet as .csv", code="file-too-large")
        return openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)


def _choose_sheet(book: Any, path: Path, name: str) -> Any:
    names = [each.title for each in book.worksheets]  # without sheets that are charts
    if name in names:
        return book[name]
    if name or not names:
        raise LimelightError(
            f"{path} has no sheet {name!r}; it has: {join_names(names)}", code="sheet-missing"
        )
    if len(names) > 1:
        other = f"for another: {path.name}#{names[1]}"
        warn(f"{path}: reading the first of its {len(names)} sheets, {names[0]!r}; {other}")
    return book[names[0]]


@contextmanager
def _tidy(path: Path) -> Iterator[None]:
    """Turn any failure to read a book into a one-line error: what a damaged one raises depends on where."""
    try:
        with tidy_reading(path):
            yield
    except (LimelightError, MemoryError, GeneratorExit):
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise LimelightError(f"{path} is not a readable .xlsx file ({reason})", code="file-damaged") from None
