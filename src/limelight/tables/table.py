"""A table that is opened once: csv, tsv, jsonl, json, parquet, xlsx or lines of text, compressed or not.

`open_table` reads the names of the columns; `Table.rows` gives the rows, from the start at each call. One
pass at a time: they share the open file.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import json
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

from ..errors import LimelightError, warn
from ..storage.compression import check_file, decompress, tidy_reading
from .abstract import Table, Values
from .cells import ArrowBlock, ArrowRow, KeptColumns, find_type
from .encoding import HEAD as HEAD_BYTES
from .encoding import UTF8, guess_encoding, stated_encoding
from .excel import ExcelTable
from .formats import BadRowError, BoundedLines, file_of, join_names, max_row, shorten, table_format

__all__ = ["Table", "Values", "column_names", "open_parquet", "open_table", "read_values"]

LINE = "text"  # the one column of a file of lines
HEAD = 100  # JSON rows whose keys are the names of the columns
MAX_ARRAY = 2**28  # characters of a JSON array, which is held in memory
REMEDY = "save the file as UTF-8, or name its encoding with --encoding"


def open_table(path: str | Path) -> Table:
    """Open a table, of any format.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "reviews.csv")
    >>> _ = path.write_text("stars,text\\n5,Good soup.\\n")
    >>> with open_table(path) as table:
    ...     table.names, list(table.rows(["text"]))
    (['stars', 'text'], [['Good soup.']])
    """
    path = Path(path)
    check_file(file_of(path))
    others: dict[str, Callable[[Path], Table]] = {
        "parquet": _ParquetTable,
        "jsonl": _JsonTable,
        "json": _JsonArrayTable,
        "xlsx": ExcelTable,
        "lines": _LinesTable,
    }
    return others.get(table_format(path), _CsvTable)(path)


def column_names(path: Path) -> list[str]:
    """The names of a table's columns: the csv header, the parquet schema, the keys of the first JSON rows."""
    with open_table(path) as table:
        return table.names


def read_values(path: Path, wanted: Sequence[str | None], keep: bool = False) -> Iterator[Values]:
    """The `wanted` columns of every row of a table, as `Table.rows` gives them."""
    with open_table(path) as table:
        yield from table.rows(wanted, keep)


class _TextTable(Table):
    """A table of lines."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with tidy_reading(path):
            self._file = open(path, "rb")  # noqa: SIM115
        try:
            self._encoding = self._find_encoding()
            self.names = self._head()
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def _head(self) -> list[str]:
        """The names of the columns."""

    def _find_encoding(self) -> str:
        """The encoding that was asked for, or UTF-8, or another that is guessed, which is said."""
        if stated := stated_encoding():
            return stated
        with self._bytes() as file:
            guessed = guess_encoding(file.read(HEAD_BYTES))
        if guessed:
            warn(f"{self.path} is not UTF-8 but, as it seems, {guessed}; if not, name it with --encoding")
        return guessed or UTF8

    @contextmanager
    def _bytes(self) -> Iterator[IO[bytes]]:
        """The decompressed bytes, from the start."""
        with tidy_reading(self.path):
            self._file.seek(0)
            with decompress(self._file, self.path) as file:
                yield file

    @contextmanager
    def _text(self) -> Iterator[IO[str]]:
        try:
            with self._bytes() as file:
                text = io.TextIOWrapper(file, encoding=self._encoding, newline="")
                try:
                    yield text
                finally:  # left alone, it would close the file; which may be closed already
                    with suppress(ValueError):
                        text.detach()
        except UnicodeError as error:  # UTF-16 without its byte order mark is not a UnicodeDecodeError
            if self._encoding == UTF8:
                raise LimelightError(self._where_not_utf8(), code="not-utf8") from None
            wrong = f"{self.path} is not {self._encoding} ({getattr(error, 'reason', error)})"
            raise LimelightError(f"{wrong}; name its encoding with --encoding", code="not-encoding") from None

    def _lines(self) -> Iterator[tuple[int, str]]:
        """Every line that is not blank, each of them a row, and its number."""
        with self._text() as file:
            lines = BoundedLines(file, self.path)
            lines.start_row()
            for number, line in enumerate(lines, 1):
                if not line.isspace():
                    yield number, line
                    lines.start_row()

    def _where_not_utf8(self) -> str:
        """Read the file again to say where it stops being UTF-8."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        offset, line = 0, 1  # of the block's beginning
        with self._bytes() as file:
            for block in itertools.chain(iter(lambda: file.read(1 << 16), b""), [b""]):
                held = len(decoder.getstate()[0])
                try:
                    line += decoder.decode(block, final=not block).count("\n")
                except UnicodeDecodeError as error:
                    line += error.object[: error.start].count(b"\n")
                    where = f"{self.path}, line {line}: the byte at offset {offset - held + error.start}"
                    return f"{where} is not UTF-8; {REMEDY}"
                offset += len(block)
        return f"{self.path} is not UTF-8; {REMEDY}"


class _CsvTable(_TextTable):
    """csv or tsv, with a header."""

    def _head(self) -> list[str]:
        return next(self._records())

    def rows(self, wanted: Sequence[str | None], keep: bool = False) -> Iterator[Values]:
        records = self._records()
        header = next(records)
        positions = [None if name is None else header.index(name) for name in wanted]
        width = len(header)
        for fields in records:
            if len(fields) == width:
                found = [None if i is None else fields[i] for i in positions]
                yield [*found, fields] if keep else found
            else:
                names = join_names(header)
                yield BadRowError(f"it has {len(fields)} fields, the header has {width} ({names})")

    def _records(self) -> Iterator[list[str]]:
        """The header, then every row that is not a blank line."""
        with self._text() as file:
            bounded = BoundedLines(file, self.path)
            csv.field_size_limit(min(bounded.limit, 2**31 - 1))
            lines = iter(bounded)
            first = next(lines, "")
            stated = re.fullmatch(r"sep=([,;|\t])\s*", first)  # spreadsheets put it before the header
            first = next(lines, "") if stated else first
            usual = "\t" if table_format(self.path) == "tsv" else _separator(first)
            # Strict: an unclosed quotation mark must not silently swallow the rest of the file.
            reader = csv.reader(
                itertools.chain([first], lines), delimiter=stated[1] if stated else usual, strict=True
            )
            records = _tidy_csv_errors(reader, self.path, 1 if stated else 0, bounded.start_row)
            for header in records:
                yield [name.strip() for name in header]
                yield from records
                return
        raise LimelightError(f"{self.path} is empty; its first line must name the columns", code="no-rows")


def _separator(header: str) -> str:
    """A comma, unless the header has none but another separator, as spreadsheets write in many countries.

    >>> _separator("text;label"), _separator("text"), _separator("text,label;old")
    (';', ',', ',')
    """
    found = [mark for mark in ";\t|" if mark in header]
    return found[0] if len(found) == 1 and "," not in header else ","


def _tidy_csv_errors(
    reader: Any, path: Path, before: int, start_row: Callable[[], None]
) -> Iterator[list[str]]:
    """The rows that are not blank lines."""
    end = before  # of the last good row: an unclosed mark is noticed many lines below it
    try:
        for fields in reader:
            end = before + reader.line_num
            if fields:
                start_row()
                yield fields
    except csv.Error as error:
        begin, noticed = end + 1, before + reader.line_num
        where = f"line {begin}" if noticed <= begin else f"lines {begin} to {noticed}"
        unclosed = str(error) == "unexpected end of data"
        what = "a quotation mark is never closed" if unclosed else error
        todo = "a field with a quotation mark in it must be quoted, with the mark doubled"
        raise LimelightError(f"{path}, {where}: {what}; {todo}", code="csv-quotes") from None


class _LinesTable(_TextTable):
    """Every line is a text."""

    def _head(self) -> list[str]:
        return [LINE]

    def rows(self, wanted: Sequence[str | None], keep: bool = False) -> Iterator[Values]:
        for _, line in self._lines():
            text = line.rstrip("\r\n")
            found: list[Any] = [name and text for name in wanted]
            yield [*found, [text]] if keep else found


class _JsonTable(_TextTable):
    """A JSON object on every line; any of them may have other keys."""

    def _head(self) -> list[str]:
        first = list(itertools.islice(self._objects(), HEAD))
        if not first:
            raise LimelightError(f"{self.path} is empty; every line must be a JSON object", code="no-rows")
        if all(isinstance(row, BadRowError) for row in first):
            raise LimelightError(
                f"{self.path}: {first[0]}; every line must be a JSON object", code="table-format"
            )
        return list(dict.fromkeys(key for row in first if isinstance(row, dict) for key in row))

    def rows(self, wanted: Sequence[str | None], keep: bool = False) -> Iterator[Values]:
        for row in self._objects():
            if isinstance(row, BadRowError):
                yield row
            else:
                found = [name and row.get(name) for name in wanted]
                yield [*found, row] if keep else found

    def columns(self) -> KeptColumns:
        found: dict[str, str] = {}
        for row in self._objects():
            for key, value in row.items() if isinstance(row, dict) else ():
                found[key] = find_type([value], found.get(key, ""))
        return KeptColumns(list(found), list(found.values()), str(self.path))

    def _objects(self) -> Iterator[dict[str, Any] | BadRowError]:
        for number, line in self._lines():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                row = BadRowError(f"line {number} is not JSON ({getattr(error, 'msg', error)})")
            if not isinstance(row, (dict, BadRowError)):
                row = BadRowError(f"line {number} is {shorten(repr(row))}, not a JSON object")
            yield row


class _JsonArrayTable(_JsonTable):
    """A JSON array of objects; or, as many tools write under this name, an object on every line."""

    _held: list[dict[str, Any] | BadRowError] | None = None

    def _objects(self) -> Iterator[dict[str, Any] | BadRowError]:
        if self._held is None:
            with self._text() as file:
                start = file.read(1)
                while start.isspace():
                    start = file.read(1)
                if start != "[":
                    yield from super()._objects()
                    return
                self._held = self._parse(start + file.read(MAX_ARRAY))
        yield from self._held

    def _parse(self, text: str) -> list[dict[str, Any] | BadRowError]:
        if len(text) > MAX_ARRAY:
            wrong = f"{self.path} is a JSON array of more than {MAX_ARRAY:,} characters"
            raise LimelightError(f"{wrong}; save it as .jsonl, an object on each line", code="file-too-large")
        try:
            rows = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise LimelightError(f"{self.path} is not JSON ({error})", code="table-format") from None
        return [
            row if isinstance(row, dict) else BadRowError(f"{shorten(repr(row))} is not a JSON object")
            for row in rows
        ]


class _ParquetTable(Table):
    """Parquet, read by pyarrow."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._file = _open_parquet(path)
        self.names = list(self._file.schema_arrow.names)

    def rows(self, wanted: Sequence[str | None], keep: bool = False) -> Iterator[Values]:
        columns, limit = list(dict.fromkeys(name for name in wanted if name is not None)), max_row()
        with _tidy_parquet(self.path):
            for batch in self._file.iter_batches(batch_size=1024, columns=None if keep else columns):
                values = {name: batch.column(name).to_pylist() for name in columns}
                nothing, block = [None] * batch.num_rows, ArrowBlock(batch)
                found = zip(*(values[name] if name else nothing for name in wanted), strict=True)
                for index, row in enumerate(found):
                    if sum(len(value) for value in row if isinstance(value, str)) > limit:
                        yield BadRowError(f"more than {limit:,} characters (LIMELIGHT_MAX_ROW)")
                    else:
                        yield (*row, ArrowRow(block, index)) if keep else row

    def columns(self) -> KeptColumns:
        return KeptColumns(self.names, list(self._file.schema_arrow.types), str(self.path))


@contextmanager
def open_parquet(path: Path, file: BinaryIO | None = None) -> Iterator[Any]:
    """A parquet table as pyarrow opens it; `file` may be it already open, and `path` is its name."""
    with _tidy_parquet(path), _open_parquet(path, file) as found:
        yield found


def _open_parquet(path: Path, file: BinaryIO | None = None) -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise LimelightError(f"{path} needs pyarrow: pip install '.[tables]'", code="needs-extra") from None
    with _tidy_parquet(path):  # buffered: otherwise a whole column of a row group would be in memory at once
        return pq.ParquetFile(file or path, buffer_size=1 << 20)


@contextmanager
def _tidy_parquet(path: Path) -> Iterator[None]:
    """Turn any failure to read a parquet table into a one-line error."""
    try:
        with tidy_reading(path):
            yield
    except UnicodeDecodeError as error:
        reason = f"{path} holds text that is not UTF-8 ({error.reason})"
        raise LimelightError(f"{reason}; write the file again", code="not-utf8") from None
    except Exception as error:
        if type(error).__module__ != "pyarrow.lib":  # an optional library: its classes cannot be named above
            raise
        reason = f"{path} is not a readable parquet file ({' '.join(str(error).split())})"
        raise LimelightError(reason, code="file-damaged") from None
