"""A table that is read once: csv, tsv, jsonl, json, parquet, xlsx or lines of text, compressed or not.

`open_table` reads the names of the columns; `Table.rows` gives the rows.
"""

import csv
import io
import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from ..errors import LimelightError, no_rows, warn
from ..storage.compression import check_file, decompress, tidy_reading
from .abstract import HEAD, CellTable, Table, Values
from .cells import KeptColumns, find_type
from .encoding import HEAD as HEAD_BYTES
from .encoding import UTF8, guess_encoding, stated_encoding
from .excel import ExcelTable
from .formats import BoundedLines, file_of, join_names, shorten, table_format
from .parquet import ParquetTable

__all__ = ["Table", "Values", "column_names", "open_table"]

LINE = "text"  # the one column of a file of lines
MAX_ARRAY = 2**28  # characters of a JSON array, which is held in memory
REMEDY = "save the file as UTF-8, or name its encoding with --encoding"
Item = tuple[int, Any, str | None]  # a row's number, its cells, or what is wrong with it


def open_table(path: str | Path) -> Table:
    """Open a table, of any format."""
    path = Path(path)
    check_file(file_of(path))
    table = _KINDS.get(table_format(path), _CsvTable)(path)
    try:
        table.begin()
    except BaseException:
        table.close()
        raise
    return table


def column_names(path: Path) -> list[str]:
    """The names of a table's columns: the csv header, the parquet schema, the keys of the first JSON rows."""
    with open_table(path) as table:
        return table.names


class _Bytes(io.BufferedIOBase):
    """The bytes of a file, the first of which were read to guess the encoding; how many, and their lines."""

    def __init__(self, file: IO[bytes], head: bytes) -> None:
        self.head, self._first, self._file = head, io.BytesIO(head), file
        self._taken = self._lines = 0

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1) -> bytes:
        piece = self._first.read1(size) or self._file.read1(size)  # type: ignore[attr-defined]
        self._taken += len(piece)
        self._lines += piece.count(b"\n")
        return piece

    def place_of(self, error: UnicodeDecodeError) -> str:
        """Where a byte is that cannot be decoded; what the error is about ends with the last byte taken."""
        rest = error.object[error.start :]
        line = self._lines + 1 - rest.count(b"\n")
        return f"line {line}: the byte at offset {self._taken - len(rest)}"


class _TextTable(CellTable):
    def begin(self) -> None:
        with tidy_reading(self.path):
            raw = self._open.enter_context(self.path.open("rb"))
            file = self._open.enter_context(decompress(raw, self.path))
            head = file.read(HEAD_BYTES)
        self._bytes, self._encoding = _Bytes(file, head), self._find_encoding(head)
        self._source = self._tidy(self._read())
        self.names = self._header()

    def _find_encoding(self, head: bytes) -> str:
        """The encoding that was asked for, or UTF-8, or another that is guessed, which is said."""
        if stated := stated_encoding():
            return stated
        guessed = guess_encoding(head)
        if guessed:
            warn(f"{self.path} is not UTF-8 but, as it seems, {guessed}; if not, name it with --encoding")
        return guessed or UTF8

    def _header(self) -> list[str]:
        raise NotImplementedError

    def _read(self) -> Iterator[Item]:
        raise NotImplementedError

    def _tidy(self, rows: Iterator[Item]) -> Iterator[Item]:
        """The rows, with a one-line error where the file cannot be read or decoded."""
        try:
            with tidy_reading(self.path):
                yield from rows
        except UnicodeError as error:  # UTF-16 without its byte order mark is not a UnicodeDecodeError
            if isinstance(error, UnicodeDecodeError) and self._encoding == UTF8:
                fault = f"{self.path}, {self._bytes.place_of(error)} is not UTF-8; {REMEDY}"
                raise LimelightError(fault, code="not-utf8") from None
            wrong = f"{self.path} is not {self._encoding} ({getattr(error, 'reason', error)})"
            raise LimelightError(f"{wrong}; name its encoding with --encoding", code="not-encoding") from None

    def _text(self) -> IO[str]:
        return io.TextIOWrapper(self._bytes, encoding=self._encoding, newline="")  # type: ignore[type-var]

    def _lines(self) -> Iterator[tuple[int, str]]:
        """Every line that is not blank, each of them a row, and its number."""
        lines = BoundedLines(self._text(), self.path)
        for line in lines:
            if not line.isspace():
                yield lines.number, line
            lines.start_row()


class _CsvTable(_TextTable):
    """csv or tsv, with a header. Rows are numbered as a spreadsheet does: the header, blank lines and all."""

    _begin = (0, 0)  # a row, and the line that it begins with

    @property
    def place(self) -> str:
        number, line = self._begin
        return super().place + (f" (line {line})" if number == self.number != line else "")

    def _header(self) -> list[str]:
        for _, names, _ in self._source:
            return [name.strip() for name in names]
        raise no_rows(f"{self.path} is empty; its first line must name the columns")

    def _read(self) -> Iterator[Item]:
        """The header, then every row that is not a blank line."""
        lines = BoundedLines(self._text(), self.path)
        header: list[str] = []
        for number, fields in enumerate(_records(lines, self.path), 1):
            self._begin = number, lines.begin
            header = header or fields
            if len(fields) == len(header) > 0:
                yield number, fields, None
            elif fields:
                names = join_names(header)
                yield number, None, f"it has {len(fields)} fields, the header has {len(header)} ({names})"
            lines.start_row()


def _records(lines: BoundedLines[str], path: Path) -> Iterator[list[str]]:
    """The fields of every row; none of a blank line."""
    csv.field_size_limit(min(lines.limit, 2**31 - 1))
    rest = iter(lines)
    first = next(rest, "")
    stated = re.fullmatch(r"sep=([,;|\t])\s*", first)  # spreadsheets put it before the header
    if stated:
        lines.start_row()
        first = next(rest, "")
    usual = "\t" if table_format(path) == "tsv" else _separator(first)
    rows = itertools.chain([first] if first else [], rest)
    try:  # strict: an unclosed quotation mark must not silently swallow the rest of the file
        yield from csv.reader(rows, delimiter=stated[1] if stated else usual, strict=True)
    except csv.Error as error:
        begin, end = lines.begin, lines.number
        where = f"line {begin}" if end <= begin else f"lines {begin} to {end}"
        unclosed = str(error) == "unexpected end of data"
        what = "a quotation mark is never closed" if unclosed else error
        todo = "a field with a quotation mark in it must be quoted, with the mark doubled"
        raise LimelightError(f"{path}, {where}: {what}; {todo}", code="csv-quotes") from None


def _separator(header: str) -> str:
    """A comma, unless the header has none but another separator, as spreadsheets write in many countries."""
    found = [mark for mark in ";\t|" if mark in header]
    return found[0] if len(found) == 1 and "," not in header else ","


class _LinesTable(_TextTable):
    """Every line is a text."""

    unit = "line"

    def _header(self) -> list[str]:
        return [LINE]

    def _read(self) -> Iterator[Item]:
        for number, line in self._lines():
            yield number, [line.rstrip("\r\n")], None


class _JsonTable(_TextTable):
    """A JSON object on every line; any of them may have other keys."""

    unit = "line"

    def _header(self) -> list[str]:
        first = self._look(HEAD)
        if not first:
            raise no_rows(f"{self.path} is empty; every line must be a JSON object")
        found = [row for _, row, fault in first if fault is None]
        if not found:
            self.number, _, fault = first[0]
            wrong = f"{self.place}: {fault}; every {self.unit} must be a JSON object"
            raise LimelightError(wrong, code="table-format")
        return list(dict.fromkeys(key for row in found for key in row))

    def _picker(self, wanted: Sequence[str | None]) -> Callable[[Any], list[Any]]:
        return lambda row: [row.get(name) for name in wanted]

    def columns(self) -> KeptColumns:
        self.hold()
        found: dict[str, str] = {}
        for _, row, fault in self._items():
            for key, value in row.items() if fault is None else ():
                found[key] = find_type([value], found.get(key, ""))
        return KeptColumns(list(found), list(found.values()), str(self.path))

    def _read(self) -> Iterator[Item]:
        for number, line in self._lines():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                yield number, None, f"it is not JSON ({getattr(error, 'msg', error)})"
            else:
                yield number, row, _fault(row)


def _fault(row: Any) -> str | None:
    return None if isinstance(row, dict) else f"{shorten(repr(row))} is not a JSON object"


class _JsonArrayTable(_JsonTable):
    """A JSON array of objects; or, as many tools write under this name, an object on every line."""

    def _read(self) -> Iterator[Item]:
        if self._bytes.head.decode(self._encoding, "ignore").lstrip().startswith("["):
            self.unit = "row"
            yield from self._parse(self._text().read(MAX_ARRAY + 1))
        else:
            yield from super()._read()

    def _parse(self, text: str) -> Iterator[Item]:
        if len(text) > MAX_ARRAY:
            wrong = f"{self.path} is a JSON array of more than {MAX_ARRAY:,} characters"
            raise LimelightError(f"{wrong}; save it as .jsonl, an object on each line", code="file-too-large")
        try:
            rows = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise LimelightError(f"{self.path} is not JSON ({error})", code="table-format") from None
        return ((number, row, _fault(row)) for number, row in enumerate(rows, 1))


_KINDS: dict[str, Callable[[Path], Table]] = {
    "parquet": ParquetTable, "jsonl": _JsonTable, "json": _JsonArrayTable, "xlsx": ExcelTable,
    "lines": _LinesTable,
}  # fmt: skip
