"""The rows of a piece as Arrow tables, some at a time, without those that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..errors import LimelightError
from ..tables.cells import KeptColumns
from ..tables.columns import Columns, check_column
from ..tables.formats import BadRowError, max_row
from ..tables.rows import check_text
from ..tables.table import open_table
from .pieces import InputFile, Piece, local_copy, names_of, parquet_file, version_of


class Rows(NamedTuple):
    """Some rows of a piece: those that can be used, and of each other its number in the file and fault."""

    table: Any  # of Arrow
    bad: list[tuple[int, str]]

    @property
    def read(self) -> int:
        """How many rows were read."""
        return int(self.table.num_rows) + len(self.bad)


def read_piece(piece: Piece, columns: Columns, size: int) -> Iterator[Rows]:
    """All rows of a piece, at most `size` at a time; rows are numbered from 1 in their file.

    There is always one table at least, for its columns. A file that has changed since the pieces were cut is
    an error.
    """
    _check_columns(piece.file, columns)
    _check_unchanged(piece.file)
    read = _parquet_rows if piece.file.format == "parquet" else _other_rows
    yield from read(piece, columns, size)
    _check_unchanged(piece.file)


def _check_columns(file: InputFile, columns: Columns) -> None:
    names = names_of(file)
    for name in (columns.text, columns.text2):
        if name is not None:
            check_column(file.name, name, names)


def _check_unchanged(file: InputFile) -> None:
    if version_of(file.address) != file.version:
        raise LimelightError(
            f"{file.name} changed while it was being read; run this again", code="file-changed"
        )


# ---------------------------------------------------------------- parquet


def _parquet_rows(piece: Piece, columns: Columns, size: int) -> Iterator[Rows]:
    import pyarrow as pa

    assert piece.stop is not None
    with parquet_file(piece.file) as file:
        place, groups = _groups(file.metadata, piece.start, piece.stop)  # place: of the next row in the file
        for batch in file.iter_batches(batch_size=size, row_groups=groups):
            first, last = max(place, piece.start), min(place + len(batch), piece.stop)
            if first < last:
                some = batch.slice(first - place, last - first)
                yield _check_rows(pa.Table.from_batches([some]), columns, first + 1)
            place += len(batch)


def _groups(metadata: Any, start: int, stop: int) -> tuple[int, list[int]]:
    """The row groups that hold the rows from `start` to `stop`, and where the first of them begins."""
    begin, place = 0, 0
    found: list[int] = []
    for number in range(metadata.num_row_groups):
        rows = metadata.row_group(number).num_rows
        if place < stop and place + rows > start:
            begin = begin if found else place
            found.append(number)
        place += rows
    return begin, found


def _check_rows(table: Any, columns: Columns, first: int) -> Rows:
    names = [name for name in (columns.text, columns.text2) if name is not None]
    texts = [table.column(name).to_pylist() for name in names]
    limit, bad = max_row(), []
    for number, row in enumerate(zip(*texts, strict=True), first):
        if fault := _fault(row, names, limit):
            bad.append((number, fault))
    if not bad:
        return Rows(table, bad)
    out = {number - first for number, _ in bad}
    return Rows(table.filter([k not in out for k in range(table.num_rows)]), bad)


def _fault(row: tuple[Any, ...], names: list[str], limit: int) -> str:
    """What is wrong with the texts of a row, or nothing."""
    try:
        for text, name in zip(row, names, strict=True):
            check_text(text, f"column {name!r}")
    except BadRowError as error:
        return str(error)
    return f"more than {limit:,} characters (LIMELIGHT_MAX_ROW)" if sum(map(len, row)) > limit else ""


# ---------------------------------------------------------------- csv, tsv, jsonl, lines


def _other_rows(piece: Piece, columns: Columns, size: int) -> Iterator[Rows]:
    with local_copy(piece.file) as path, open_table(path) as table:
        kept = table.columns()
        read = table.rows((columns.text, columns.text2), keep=True)
        cells: list[Any] = []
        bad: list[tuple[int, str]] = []
        for number, values in enumerate(read, 1):
            fault = _value_fault(values, columns)
            bad.append((number, fault)) if fault else cells.append(values[-1])  # type: ignore[index]
            if len(cells) == size:
                yield Rows(_table(cells, kept), bad)
                cells, bad = [], []
        yield Rows(_table(cells, kept), bad)


def _value_fault(values: Any, columns: Columns) -> str:
    if isinstance(values, BadRowError):
        return str(values)
    names = [name for name in (columns.text, columns.text2) if name is not None]
    return _fault(tuple(values[: len(names)]), names, max_row())


def _table(cells: list[Any], kept: KeptColumns) -> Any:
    import pyarrow as pa

    from ..tables.arrow_columns import kept_arrays, kept_types

    schema = pa.schema(map(pa.field, kept.names, kept_types(kept)))
    return pa.Table.from_arrays(kept_arrays(cells, kept), schema=schema)
