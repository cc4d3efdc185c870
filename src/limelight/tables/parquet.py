"""Parquet tables, read by pyarrow."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import LimelightError, damaged, need
from ..storage.compression import tidy_reading
from .abstract import HEAD, Table, Values
from .aside import ArrowAside
from .cells import ArrowBlock, ArrowRow, KeptColumns
from .formats import BadRowError, max_row


class ParquetTable(Table):
    """A parquet table. Its file gives some rows at a time, as Arrow has them."""

    _aside_type = ArrowAside

    def begin(self) -> None:
        self._file = self._open.enter_context(_open_parquet(self.path))
        self.names = list(self._file.schema_arrow.names)

    def rows(self, wanted: Sequence[str | None], keep: bool = False) -> Iterator[Values]:
        columns, limit = list(dict.fromkeys(name for name in wanted if name is not None)), max_row()
        self._start(None if keep else columns)
        self.number = 0
        with _tidy_parquet(self.path):
            for batch in self._items():
                values = {name: batch.column(name).to_pylist() for name in columns}
                nothing, block = [None] * batch.num_rows, ArrowBlock(batch)
                found = zip(*(values[name] if name else nothing for name in wanted), strict=True)
                for index, row in enumerate(found):
                    self.number += 1
                    if sum(len(value) for value in row if isinstance(value, str)) > limit:
                        yield BadRowError(f"more than {limit:,} characters (LIMELIGHT_MAX_ROW)")
                    else:
                        yield (*row, ArrowRow(block, index)) if keep else row

    def head(self) -> list[Sequence[Any]]:
        self._start(None)
        with _tidy_parquet(self.path):
            some = [batch.slice(0, HEAD) for batch in self._look(1)]
            return [ArrowBlock(batch).cells(k) for batch in some for k in range(batch.num_rows)]

    def columns(self) -> KeptColumns:
        return KeptColumns(self.names, list(self._file.schema_arrow.types), str(self.path))

    def _start(self, columns: list[str] | None) -> None:
        """Begin to read these columns, or all, unless that is under way."""
        if not hasattr(self, "_source"):
            names = None if self._aside else columns
            self._source = self._file.iter_batches(batch_size=1024, columns=names)


@contextmanager
def open_parquet(path: Path, file: BinaryIO | None = None) -> Iterator[Any]:
    """A parquet table as pyarrow opens it; `file` may be it already open, and `path` is its name."""
    with _tidy_parquet(path), _open_parquet(path, file) as found:
        yield found


def _open_parquet(path: Path, file: BinaryIO | None = None) -> Any:
    pq = need("pyarrow.parquet", path, "tables").parquet
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
        raise damaged(f"{path} is not a readable parquet file ({' '.join(str(error).split())})") from None
