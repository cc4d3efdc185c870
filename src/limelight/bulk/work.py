"""What a worker does: one piece of the input into one Parquet file that appears whole or not at all."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ..errors import LimelightError, tidy_os_errors
from ..storage.files import atomic_file
from ..storage.json_file import parse_object
from ..tables.columns import Columns
from .piece_rows import Rows, read_piece
from .pieces import Piece
from .predictor import Predictor

_KEY = b"limelight"  # in the metadata of an output file: what it was made of


class Done(NamedTuple):
    """A piece that is written."""

    out: str
    file: str  # the input
    rows_in: int
    rows_out: int
    skipped: list[tuple[int, str]]  # the number of each row in its file, and what is wrong with it


@dataclass(frozen=True)
class Worker:
    """Does pieces, in any process that sees the same files."""

    predictor: Predictor
    folder: Path
    columns: Columns
    skip_bad: bool = False

    def __call__(self, piece: Piece) -> Done:
        """Write the output file of a piece. Done twice, it is the same file."""
        from pyarrow.parquet import ParquetWriter

        rows_in, rows_out, skipped = 0, 0, []
        parts = read_piece(piece, self.columns, self.predictor.batch_rows)
        first = next(parts)
        schema = self.predictor(first.table.slice(0, 0)).schema
        with atomic_file(self.folder / piece.out) as file, ParquetWriter(file, schema) as writer:
            for part in chain([first], parts):
                self._check(piece, part)
                if part.table.num_rows:
                    writer.write_table(self.predictor(part.table))
                rows_in, rows_out = rows_in + part.read, rows_out + part.table.num_rows
                skipped += part.bad
            if rows_in != (rows_in if piece.rows is None else piece.rows):
                raise LimelightError(
                    f"{piece.file.name}: {rows_in:,} rows were read, not {piece.rows:,}", code="file-damaged"
                )
            record = {"input": piece.file.name, "start": piece.start, "rows_in": rows_in, "skipped": skipped}
            writer.add_key_value_metadata({_KEY.decode(): json.dumps(record)})
        return Done(piece.out, piece.file.name, rows_in, rows_out, skipped)

    def _check(self, piece: Piece, part: Rows) -> None:
        if part.bad and not self.skip_bad:
            number, fault = part.bad[0]
            raise LimelightError(
                f"{piece.file.name}, row {number}: {fault}; correct it, or skip such rows with --skip-bad "
                "(in Python: on_bad='skip')",
                code="row-unusable",
            )


def read_done(path: Path) -> Done:
    """What an output file says of itself.

    >>> read_done(Path("no such file"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    limelight.errors.LimelightError: cannot read no such file: ...
    """
    import pyarrow as pa
    from pyarrow.parquet import read_metadata

    try:
        with tidy_os_errors(f"cannot read {path}"):
            found = read_metadata(path)
        record = parse_object((found.metadata or {})[_KEY], path.name)
        skipped = [(int(number), str(fault)) for number, fault in record["skipped"]]
        return Done(path.name, str(record["input"]), int(record["rows_in"]), found.num_rows, skipped)
    except (pa.ArrowException, KeyError, TypeError) as error:
        raise LimelightError(
            f"{path} is damaged; delete it and run this again", code="file-damaged"
        ) from error
