"""What a worker does: one piece of the input into one Parquet file that appears whole or not at all."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..errors import LimelightError, damaged, tidy_os_errors
from ..storage.files import atomic_file
from ..storage.json_file import parse_object
from ..storage.open_files import open_regular
from ..tables.cells import KeptColumns
from ..tables.columns import check_column
from ..tables.encoding import text_encoding
from ..tables.formats import BadRowError, max_row
from ..tables.rows import check_text
from ..tables.table import open_table
from .pieces import MARK, Piece, local_copy, parquet_file, version_of
from .predictor import Predictor

_FIELDS = {"input", "start", "rows_in", "skipped"}
_BLOCK = 2**20
Bad = list[tuple[int, str]]  # the number of each row as whoever opens its file sees it, and what is wrong


class Done(NamedTuple):
    out: str
    file: str  # the input
    rows_in: int
    rows_out: int
    skipped: Bad


@dataclass(frozen=True)
class Worker:
    """Does pieces, in any process that sees the same files."""

    predictor: Predictor  # that knows its columns
    folder: Path
    skip_bad: bool = False
    encoding: str | None = None  # of text tables; another machine does not have our environment

    def __call__(self, piece: Piece) -> Done:
        """Write the output file of a piece. Done twice, it is the same file."""
        from pyarrow.parquet import ParquetWriter

        with text_encoding(self.encoding):
            texts = [each for each in (self.predictor.text, self.predictor.text2) if each is not None]
            parts = read_piece(piece, texts, self.predictor.batch_rows)
            first = next(parts)
            schema = self.predictor(first[0].slice(0, 0)).schema
            with atomic_file(self.folder / piece.out) as file:
                with ParquetWriter(file, schema) as writer:
                    done = self._write(writer, chain([first], parts), piece)
                    record = {"input": done.file, "start": piece.start, "rows_in": done.rows_in}
                    more = {"skipped": done.skipped, "sha256": _placeholder(piece.out)}
                    writer.add_key_value_metadata({MARK.decode(): json.dumps(record | more)})
                _seal(file, piece.out)
        return done

    def _write(self, writer: Any, parts: Iterable[tuple[Any, Bad]], piece: Piece) -> Done:
        name, rows_out, skipped = piece.file.name, 0, Bad()
        for table, bad in parts:
            if bad and not self.skip_bad:
                hint = "correct it, or skip such rows with --skip-bad (in Python: on_bad='skip')"
                raise LimelightError(f"{name}, row {bad[0][0]}: {bad[0][1]}; {hint}", code="row-unusable")
            if table.num_rows:
                writer.write_table(self.predictor(table))
            rows_out += table.num_rows
            skipped += bad
        rows_in = rows_out + len(skipped)
        if piece.rows not in (None, rows_in):
            raise damaged(f"{name}: {rows_in:,} rows were read, not {piece.rows:,}")
        return Done(piece.out, name, rows_in, rows_out, skipped)


# ---------------------------------------------------------------- output files
#
# The footer of a file holds a checksum of all of it, but for the checksum: there a placeholder is counted.


def _placeholder(name: str) -> str:
    """As long as a checksum, and in no text by chance."""
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()


def _seal(file: BinaryIO, name: str) -> None:
    """Put the checksum into the footer of a file that is written and still open."""
    file.flush()
    with open_regular(file.name) as written:
        digest, place = _checksum(written, _placeholder(name), name)
    file.seek(place)
    file.write(digest.encode())


def _checksum(file: BinaryIO, stated: str, name: str) -> tuple[str, int]:
    """The checksum of an open file, and the place of the one that is stated."""
    total = file.seek(-8, os.SEEK_END) + 8
    start = total - 8 - int.from_bytes(file.read(4), "little")
    file.seek(start)
    footer = file.read()
    place = footer.rfind(stated.encode())
    if place < 0:
        raise KeyError(stated)
    file.seek(0)
    digest = hashlib.sha256()
    for at in range(0, start, _BLOCK):
        digest.update(file.read(min(_BLOCK, start - at)))
    digest.update(footer[:place] + _placeholder(name).encode() + footer[place + len(stated) :])
    return digest.hexdigest(), start + place


def read_done(path: Path, whole: bool = False) -> Done:
    """What an output file says of itself; with `whole`, every byte of it must be as it was written."""
    import pyarrow as pa

    with tidy_os_errors(f"cannot read {path}"), open_regular(path) as file:
        try:
            rows, record = _read_record(file, path.name, whole)
            skipped = [(int(number), str(fault)) for number, fault in record["skipped"]]
            return Done(path.name, str(record["input"]), int(record["rows_in"]), rows, skipped)
        except (OSError, pa.ArrowException, KeyError, TypeError, AttributeError, ValueError) as error:
            if getattr(error, "errno", None):  # Arrow calls damage an OSError too, without a number
                raise
            raise damaged(f"{path} is damaged; delete it and run this again") from error


def _read_record(file: BinaryIO, name: str, whole: bool) -> tuple[int, dict[str, Any]]:
    """The rows of an open output file and what its footer says of them; what is not there is a KeyError."""
    from pyarrow.parquet import read_metadata

    found = read_metadata(file)
    record = parse_object((found.metadata or {})[MARK], name)
    stated = record.pop("sha256", None)  # None if an earlier version wrote the file
    if set(record) != _FIELDS or (whole and stated and _checksum(file, stated, name)[0] != stated):
        raise KeyError(name)
    return found.num_rows, record


def read_piece(piece: Piece, names: list[str], size: int) -> Iterator[tuple[Any, Bad]]:
    """Arrow tables of at most `size` rows whose texts can be used, each with the rows that cannot.

    There is always one table at least, for its columns. A file that has changed since the pieces were cut is
    an error.
    """
    _check_unchanged(piece)
    yield from (_parquet_rows if piece.file.format == "parquet" else _other_rows)(piece, names, size)
    _check_unchanged(piece)


def _check_unchanged(piece: Piece) -> None:
    if version_of(piece.file.address) != piece.file.version:
        fault = f"{piece.file.name} changed while it was being read; run this again"
        raise LimelightError(fault, code="file-changed")


def _parquet_rows(piece: Piece, names: list[str], size: int) -> Iterator[tuple[Any, Bad]]:
    import pyarrow as pa

    assert piece.stop is not None
    with parquet_file(piece.file) as file:
        _check_columns(piece, names, list(file.schema_arrow.names))
        place, groups = _groups(file.metadata, piece.start, piece.stop)  # place: of the next row in the file
        for batch in file.iter_batches(batch_size=size, row_groups=groups):
            first, last = max(place, piece.start), min(place + len(batch), piece.stop)
            if first < last:
                some = batch.slice(first - place, last - first)
                yield _usable(pa.Table.from_batches([some]), names, first + 1)
            place += len(batch)


def _check_columns(piece: Piece, names: list[str], there: list[str]) -> None:
    for name in names:
        check_column(piece.file.name, name, there)


def _groups(metadata: Any, start: int, stop: int) -> tuple[int, list[int]]:
    """The row groups that hold the rows from `start` to `stop`, and where the first of them begins."""
    sizes = [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]
    ends = list(accumulate(sizes))
    found = [k for k, end in enumerate(ends) if end > start and end - sizes[k] < stop]
    return ends[found[0]] - sizes[found[0]], found


def _usable(table: Any, names: list[str], first: int) -> tuple[Any, Bad]:
    texts = zip(*(table.column(name).to_pylist() for name in names), strict=True)
    limit = max_row()
    faults = [_fault(row, names, limit) for row in texts]
    bad = [(number, fault) for number, fault in enumerate(faults, first) if fault]
    return table.filter([not fault for fault in faults]) if bad else table, bad


def _fault(row: Any, names: Sequence[str], limit: int) -> str:
    """What is wrong with the texts that a row begins with, or nothing."""
    try:
        if isinstance(row, BadRowError):
            raise row
        texts = [check_text(text, f"column {name!r}") for text, name in zip(row, names, strict=False)]
    except BadRowError as error:
        return str(error)
    too_long = sum(map(len, texts)) > limit
    return f"more than {limit:,} characters (LIMELIGHT_MAX_ROW)" if too_long else ""


def _other_rows(piece: Piece, names: list[str], size: int) -> Iterator[tuple[Any, Bad]]:
    """Of a CSV, TSV or JSONL file, or one of lines."""
    with local_copy(piece.file) as path, open_table(path) as table:
        _check_columns(piece, names, table.names)
        kept, limit, cells, bad = table.columns(), max_row(), list[Any](), Bad()
        for values in table.rows(names, keep=True):
            fault = _fault(values, names, limit)
            bad.append((table.number, fault)) if fault else cells.append(values[-1])  # type: ignore[index]
            if len(cells) == size:
                yield _table(cells, kept), bad
                cells, bad = [], []
        yield _table(cells, kept), bad


def _table(cells: list[Any], kept: KeptColumns) -> Any:
    import pyarrow as pa

    from ..tables.arrow_columns import kept_arrays, kept_fields

    return pa.Table.from_arrays(kept_arrays(cells, kept), schema=pa.schema(kept_fields(kept.names, kept)))
