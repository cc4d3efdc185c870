"""Reading csv, tsv, jsonl, parquet and txt files: the names of the columns, then the values of each row."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, AnyStr, BinaryIO, Generic

from ..errors import LimelightError
from ..storage.compression import COMPRESSIONS, check_file, open_bytes, tidy_reading
from .cells import ArrowBlock, ArrowRow

FORMATS = {
    ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet",
    ".txt": "lines",
}  # fmt: skip
LINE = "text"  # the one column of a file of lines


class BadRowError(Exception):
    """What is wrong with a row, without its file and number."""


def table_format(path: Path) -> str:
    """The format of a table, by its file name.

    >>> table_format(Path("reviews.csv.gz"))
    'csv'
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compressed = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSIONS else ""
    found = FORMATS.get(suffixes[-1] if suffixes else "")
    if found is None or (compressed and found == "parquet"):
        raise LimelightError(
            f"{path} is not a table; its name must end in .csv, .tsv, .jsonl, .parquet or .txt "
            f"(all but parquet also with {', '.join(COMPRESSIONS)} after it)"
        )
    return found


def column_names(path: Path) -> list[str]:
    """The names of the columns: the csv header, the parquet schema, the keys of the first 100 json rows.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "reviews.csv")
    >>> _ = path.write_text("stars,text\\n5,Good soup.\\n")
    >>> column_names(path)
    ['stars', 'text']
    """
    check_file(path)
    match table_format(path):
        case "parquet":
            with open_parquet(path) as file:
                return list(file.schema_arrow.names)
        case "lines":
            return [LINE]
        case "jsonl":
            first = list(itertools.islice(_json_rows(path), 100))
            if all(isinstance(row, BadRowError) for row in first):
                raise LimelightError(f"{path}: {first[0]}; every line must be a JSON object")
            return list(dict.fromkeys(key for row in first if isinstance(row, dict) for key in row))
        case _:
            return next(_csv_rows(path))


def read_values(
    path: Path, wanted: Sequence[str | None], keep: bool = False
) -> Iterator[Sequence[Any] | BadRowError]:
    """Yield the `wanted` columns of every row (None for None), or what is wrong with the row.

    With `keep`, all cells of the row follow, for `cells.list_cells`.
    """
    others = {"parquet": _parquet_values, "jsonl": _json_values, "lines": _line_values}
    return others.get(table_format(path), _csv_values)(path, wanted, keep)


def read_json_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a jsonl table that can be read, with all their keys."""
    return (row for row in _json_rows(path) if isinstance(row, dict))


def parquet_schema(path: Path) -> Any:
    """The Arrow schema of a parquet table."""
    with open_parquet(path) as file:
        return file.schema_arrow


@contextlib.contextmanager
def open_parquet(path: Path, file: BinaryIO | None = None) -> Iterator[Any]:
    """A parquet table as pyarrow opens it; `file` may be it already open, and `path` is its name."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise LimelightError(f"{path} needs pyarrow: pip install '.[tables]'") from None
    try:
        # Buffered: otherwise a whole column of a row group would be in memory at once.
        with tidy_reading(path), pq.ParquetFile(file or path, buffer_size=1 << 20) as table:
            yield table
    except UnicodeDecodeError as error:
        raise LimelightError(
            f"{path} holds text that is not UTF-8 ({error.reason}); write the file again"
        ) from None
    except (pa.ArrowException, pa.ArrowInvalid) as error:
        reason = " ".join(str(error).split())
        raise LimelightError(f"{path} is not a readable parquet file ({reason})") from None


def max_row() -> int:
    """The most characters a row of a table may have. A few bytes of a compressed file can become gigabytes.

    >>> max_row()
    16777216
    """
    stated = os.environ.get("LIMELIGHT_MAX_ROW", str(2**24))
    if not re.fullmatch("[1-9][0-9]{0,14}", stated):
        raise LimelightError(f"LIMELIGHT_MAX_ROW is {shorten(stated)!r}; it must be a number of characters")
    return int(stated)


class BoundedLines(Generic[AnyStr]):
    """The lines of a file. A row, which may take several, is an error if it is longer than `max_row`.

    >>> list(BoundedLines(io.StringIO("a\\nb\\n"), "notes"))
    ['a\\n', 'b\\n']
    """

    def __init__(self, file: IO[AnyStr], name: str | Path) -> None:
        self.limit = max_row()
        self._file: IO[AnyStr] = file
        self._name, self._held, self._row = name, 0, 0

    def start_row(self) -> None:
        """What follows belongs to the next row."""
        self._held = 0
        self._row += 1

    def __iter__(self) -> Iterator[AnyStr]:
        readline, most = self._file.readline, self.limit + 1
        while line := readline(most):
            self._held += len(line)
            if self._held > self.limit:
                row = f"row {self._row}" if self._row else "its header"
                raise LimelightError(
                    f"{self._name}, {row}: more than {self.limit:,} characters; if that is right, allow more "
                    "with the environment variable LIMELIGHT_MAX_ROW"
                )
            yield line


def join_names(names: Sequence[str]) -> str:
    """Names for an error message, shortened to a line.

    >>> join_names(["text", "stars"])
    'text, stars'
    """
    shown = ", ".join(shorten(" ".join(name.split())) for name in names[:20])
    return shown + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def shorten(text: str) -> str:
    """The beginning of a text, for an error message.

    >>> shorten("soup " * 20)
    'soup soup soup soup soup soup soup so...'
    """
    return text if len(text) <= 40 else text[:37] + "..."


def _csv_values(
    path: Path, wanted: Sequence[str | None], keep: bool
) -> Iterator[Sequence[Any] | BadRowError]:
    reader = _csv_rows(path)
    header = next(reader)
    positions = [None if name is None else header.index(name) for name in wanted]
    width = len(header)
    for fields in reader:
        if len(fields) == width:
            found = [None if i is None else fields[i] for i in positions]
            yield [*found, fields] if keep else found
        else:
            yield BadRowError(f"it has {len(fields)} fields, the header has {width} ({join_names(header)})")


def _csv_rows(path: Path) -> Iterator[list[str]]:
    """The header, then every row that is not a blank line."""
    with _open_text(path) as file:
        bounded = BoundedLines(file, path)
        csv.field_size_limit(min(bounded.limit, 2**31 - 1))
        lines = iter(bounded)
        first = next(lines, "")
        stated = re.fullmatch(r"sep=([,;|\t])\s*", first)  # a line that spreadsheets put before the header
        first = next(lines, "") if stated else first
        separator = stated[1] if stated else "\t" if table_format(path) == "tsv" else _separator(first)
        # Strict: an unclosed quotation mark must not silently swallow the rest of the file.
        reader = csv.reader(itertools.chain([first], lines), delimiter=separator, strict=True)
        rows = _tidy_csv_errors(reader, path, 1 if stated else 0, bounded.start_row)
        header = next(rows, None)
        if header is None:
            raise LimelightError(f"{path} is empty; its first line must name the columns")
        yield [name.strip() for name in header]
        yield from rows


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
        raise LimelightError(
            f"{path}, {where}: {what}; "
            "a field with a quotation mark in it must be quoted, with the mark doubled"
        ) from None


def _line_values(path: Path, wanted: Sequence[str | None], keep: bool) -> Iterator[Sequence[Any]]:
    """Every line that is not blank is a text."""
    with _open_text(path) as file:
        for line in file:
            if not line.isspace():
                text = line.rstrip("\r\n")
                found: list[Any] = [name and text for name in wanted]
                yield [*found, [text]] if keep else found


def _json_values(
    path: Path, wanted: Sequence[str | None], keep: bool
) -> Iterator[Sequence[Any] | BadRowError]:
    for row in _json_rows(path):
        if isinstance(row, BadRowError):
            yield row
        else:
            found = [name and row.get(name) for name in wanted]
            yield [*found, row] if keep else found


def _json_rows(path: Path) -> Iterator[dict[str, Any] | BadRowError]:
    empty = True
    with _open_text(path) as file:
        bounded = BoundedLines(file, path)
        bounded.start_row()
        for number, line in enumerate(bounded, 1):
            if not line.isspace():
                empty = False
                bounded.start_row()
                yield _json_row(line, number)
    if empty:
        raise LimelightError(f"{path} is empty; every line must be a JSON object")


def _json_row(line: str, number: int) -> dict[str, Any] | BadRowError:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        return BadRowError(f"line {number} is not JSON ({reason})")
    if not isinstance(row, dict):
        return BadRowError(f"line {number} is {shorten(repr(row))}, not a JSON object")
    return row


def _parquet_values(
    path: Path, wanted: Sequence[str | None], keep: bool
) -> Iterator[Sequence[Any] | BadRowError]:
    columns, limit = list(dict.fromkeys(name for name in wanted if name is not None)), max_row()
    with open_parquet(path) as file:
        for batch in file.iter_batches(batch_size=1024, columns=None if keep else columns):
            values = {name: batch.column(name).to_pylist() for name in columns}
            nothing, block = [None] * batch.num_rows, ArrowBlock(batch)
            found = zip(*(values[name] if name else nothing for name in wanted), strict=True)
            for index, row in enumerate(found):
                if sum(len(value) for value in row if isinstance(value, str)) > limit:
                    yield BadRowError(f"more than {limit:,} characters (LIMELIGHT_MAX_ROW)")
                else:
                    yield (*row, ArrowRow(block, index)) if keep else row


@contextlib.contextmanager
def _open_text(path: Path) -> Iterator[io.TextIOWrapper]:
    try:
        with open_bytes(path) as file:
            yield io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    except UnicodeDecodeError:
        raise LimelightError(_where_not_utf8(path)) from None


def _where_not_utf8(path: Path) -> str:
    """Read the file again to say where it stops being UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset, line = 0, 1  # of the block's beginning
    with open_bytes(path) as file:
        for block in itertools.chain(iter(lambda: file.read(1 << 16), b""), [b""]):
            held = len(decoder.getstate()[0])
            try:
                line += decoder.decode(block, final=not block).count("\n")
            except UnicodeDecodeError as error:
                line += error.object[: error.start].count(b"\n")
                return (
                    f"{path}, line {line}: the byte at offset {offset - held + error.start} is not UTF-8; "
                    "save the file as UTF-8"
                )
            offset += len(block)
    return f"{path} is not UTF-8; save the file as UTF-8"
