"""Writes tables some rows at a time: new columns first, then those of the table that was read."""

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TextIO

import numpy as np

from ..errors import LimelightError, need, warn
from ..storage.files import atomic_file, check_output_file
from ..storage.json_file import to_json_values
from . import WRITABLE
from .cells import ABSENT, KeptColumns, NewColumn, as_text, free_names, is_formula, list_cells
from .excel import SheetWriter
from .formats import FORMATS as READABLE
from .formats import join_names
from .rows import Row

FORMATS = ("csv", "tsv", "jsonl", "parquet", "xlsx")
Values = Sequence[Any] | np.ndarray  # of a new column, for some rows
LISTS = ("jsonl", "parquet")  # of these, a cell can hold several values


class TableWriter(Protocol):
    """Takes some rows at a time, and for each new column their values."""

    def append(self, rows: Sequence[Row], values: Sequence[Values]) -> None: ...


def format_of(path: str | Path) -> str | None:
    """The format to write by a file's name; None if it is not a table's."""
    found = READABLE.get(Path(path).suffix.lower())
    return found if found in FORMATS else None


def require_format(path: str | Path) -> str:
    """The format to write by a file's name, or an error."""
    form = format_of(path)
    if form is None:
        raise LimelightError(f"{path} must end in {WRITABLE}", code="table-format")
    if form == "xlsx":
        need("openpyxl", "writing .xlsx", "excel")  # before the work
    return form


@contextmanager
def write_table(
    path: str | Path | None,
    form: str,
    new: Sequence[NewColumn],
    kept: KeptColumns,
    *,
    escaped: bool = False,
    overwrite: bool = False,
) -> Iterator[TableWriter]:
    """A table in a file that appears whole when this ends without an error; without one, standard output."""
    if path is None:
        yield write_stream(sys.stdout, form, new, kept, escaped=escaped)
        return
    check_output_file(path, overwrite)
    with atomic_file(path, overwrite) as file:
        if form in _BINARY:
            with closing(_BINARY[form](file, new, kept)) as writer:
                yield writer
                writer.finish()
            return
        stream = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
        yield write_stream(stream, form, new, kept, escaped=escaped)
        stream.flush()
        stream.detach()


def write_stream(
    stream: TextIO, form: str, new: Sequence[NewColumn], kept: KeptColumns, *, escaped: bool = False
) -> TableWriter:
    """A table of lines, written to an open stream; the header of csv or tsv at once."""
    if form == "jsonl":
        return JsonTable(stream, new, kept)
    return CsvTable(stream, new, kept, "\t" if form == "tsv" else ",", escaped)


def escape_formulas(cells: list[Any]) -> list[Any]:
    """Put an apostrophe before texts that a spreadsheet would take for a formula; numbers stay numbers."""
    return [f"'{x}" if isinstance(x, str) and is_formula(x) else x for x in cells]


class CsvTable:
    """csv or tsv. Words that decided are written for people, vectors as JSON."""

    def __init__(
        self, stream: TextIO, new: Sequence[NewColumn], kept: KeptColumns, delimiter: str, escaped: bool
    ) -> None:
        self.stream, self.kept = stream, kept
        # Its lines end in a return and a newline: the writer quotes a cell with a return in it only then.
        self._lines = csv.writer(_ShortEnds(stream), delimiter=delimiter)
        self._escape = escape_formulas if escaped else list
        self._formats = [_FOR_CSV[column.kind] for column in new]
        self._write([*(column.name for column in new), *_names(kept, new)])

    def append(self, rows: Sequence[Row], values: Sequence[Values]) -> None:
        new = [map(form, each) for form, each in zip(self._formats, values, strict=True)]
        for row, *cells in zip(rows, *new, strict=True):
            self._write([*cells, *map(as_text, list_cells(row.cells, self.kept.names))])
        self.stream.flush()

    def _write(self, cells: list[Any]) -> None:
        self._lines.writerow(self._escape(cells))


class _ShortEnds:
    """A stream for lines that end in a return and a newline; it writes the newline alone."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, line: str) -> int:
        return self.stream.write(line.removesuffix("\r\n") + "\n")


class JsonTable:
    """A JSON object on each line. A key that a row did not have, it does not get."""

    def __init__(self, stream: TextIO, new: Sequence[NewColumn], kept: KeptColumns) -> None:
        self.stream, self.kept, self.new = stream, kept, new
        self._names = _names(kept, new)

    def append(self, rows: Sequence[Row], values: Sequence[Values]) -> None:
        for row, *found in zip(rows, *values, strict=True):
            line = {
                column.name: _FOR_JSON[column.kind](value)
                for column, value in zip(self.new, found, strict=True)
            }
            cells = zip(self._names, list_cells(row.cells, self.kept.names), strict=True)
            line |= {name: to_json_values(value, str) for name, value in cells if value is not ABSENT}
            self.stream.write(json.dumps(line, ensure_ascii=False) + "\n")
        self.stream.flush()


class ParquetTable:
    """Parquet. Columns of a parquet table pass through as they are, nested or not."""

    def __init__(self, file: BinaryIO, new: Sequence[NewColumn], kept: KeptColumns) -> None:
        need("pyarrow", "writing .parquet", "tables")
        from . import arrow_columns

        self.arrow: Any = arrow_columns
        self.file, self.new, self.kept = file, new, kept
        self._names = _names(kept, new)
        self._writer: Any = None

    def append(self, rows: Sequence[Row], values: Sequence[Values]) -> None:
        schema = self._start(values)
        arrays = [self.arrow.new_array(schema.field(k), each) for k, each in enumerate(values)]
        arrays += self.arrow.kept_arrays([row.cells for row in rows], self.kept)
        self._writer.write_table(self.arrow.pa.Table.from_arrays(arrays, schema=schema))

    def _start(self, values: Sequence[Values]) -> Any:
        """The schema; the size of vectors is known when the first come."""
        if self._writer is None:
            from pyarrow.parquet import ParquetWriter

            pairs = zip(self.new, values, strict=True)
            fields = [self.arrow.new_field(column, each) for column, each in pairs]
            fields += self.arrow.kept_fields(self._names, self.kept)
            self._writer = ParquetWriter(self.file, self.arrow.pa.schema(fields))
        return self._writer.schema

    def finish(self) -> None:
        if self._writer is None:
            self._start([[]] * len(self.new))
        self._writer.close()

    def close(self) -> None:
        """After an error, while the file is open: pyarrow would complain of it when it is not."""
        if self._writer is not None and self._writer.is_open:
            with suppress(Exception):
                self._writer.close()
            self._writer.is_open = False


class ExcelTable(SheetWriter):
    """A sheet. Numbers are numbers, and what csv holds as text is text here: no cell becomes a formula."""

    def __init__(self, file: BinaryIO, new: Sequence[NewColumn], kept: KeptColumns) -> None:
        self.kept, self._formats = kept, [_FOR_SHEETS[column.kind] for column in new]
        super().__init__(file, [*(column.name for column in new), *_names(kept, new)])

    def append(self, rows: Sequence[Row], values: Sequence[Values]) -> None:
        new = [map(form, each) for form, each in zip(self._formats, values, strict=True)]
        for row, *cells in zip(rows, *new, strict=True):
            self.write([*cells, *list_cells(row.cells, self.kept.names)])


_BINARY: dict[str, type[ParquetTable] | type[ExcelTable]] = {"parquet": ParquetTable, "xlsx": ExcelTable}


def _names(kept: KeptColumns, new: Sequence[NewColumn]) -> list[str]:
    """The names of the kept columns; those that must change are said."""
    names = free_names(kept.names, [column.name for column in new])
    changed = [f"{a!r} is {b!r}" for a, b in zip(kept.names, names, strict=True) if a != b]
    if changed:
        warn(f"{kept.where}: in the output, its column {join_names(changed)}: no two columns share a name")
    return names


def _round(probability: Any) -> float:
    return round(float(probability), 6)


def _numbers(vector: Any) -> Any:
    """Numbers with the nine digits that float32 has."""
    if vector.ndim > 1:
        return [_numbers(row) for row in vector]
    return [float(f"{x:.9g}") for x in vector.tolist()]


_FOR_CSV: dict[str, Callable[[Any], Any]] = {
    "label": lambda label: label,
    "number": lambda x: f"{x:.6g}",
    "probability": lambda p: f"{p:.6f}",
    "words": lambda words: ", ".join(f"{word} {weight:+.3f}" for word, weight in words),
    "vector": lambda vector: json.dumps(_numbers(vector)),
}
_FOR_JSON: dict[str, Callable[[Any], Any]] = {
    "label": lambda label: label,
    "labels": list,
    "number": lambda x: float(f"{x:.6g}"),
    "probability": _round,
    "probabilities": lambda found: {name: _round(p) for name, p in found.items()},
    "words": lambda words: [[word, _round(weight)] for word, weight in words],
    "vector": _numbers,
}
_FOR_SHEETS = _FOR_CSV | {"number": _FOR_JSON["number"], "probability": _round}
