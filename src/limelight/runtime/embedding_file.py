"""Writes any number of embeddings to a file, some at a time: .npy, .safetensors or .parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from ..errors import LimelightError
from ..storage.array_files import NpyWriter, safetensors_header
from ..storage.files import atomic_file

FORMATS = (".npy", ".safetensors", ".parquet")
_HEADER = 264  # bytes reserved for the header of a safetensors file: the number of rows is known last


class Writer(Protocol):
    """Takes arrays (some rows, ...) one at a time."""

    def append(self, values: np.ndarray) -> None: ...
    def finish(self) -> None: ...


def write_embeddings(
    path: str | Path, parts: Iterable[np.ndarray], overwrite: bool = True
) -> tuple[int, ...]:
    """Stack arrays with rows of one shape into one file and return the shape of the whole.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "m.npy")
    >>> write_embeddings(path, [np.zeros((2, 3, 4), np.float32), np.ones((1, 3, 4), np.float32)])
    (3, 3, 4)
    >>> np.load(path).shape
    (3, 3, 4)
    """
    rows, shape = 0, ()
    with _writer(Path(path), overwrite) as writer:
        for part in parts:
            writer.append(np.ascontiguousarray(part, dtype="<f4"))
            rows, shape = rows + len(part), part.shape[1:]
        if not rows:
            raise LimelightError("no texts to embed")
        writer.finish()
    return (rows, *shape)


def check_format(path: str | Path) -> None:
    """Raise unless the file name ends in a format that can be written."""
    if Path(path).suffix.lower() not in FORMATS:
        raise LimelightError(f"{path} must end in one of {', '.join(FORMATS)}")


@contextmanager
def _writer(path: Path, overwrite: bool) -> Iterator[Writer]:
    check_format(path)
    with atomic_file(path, overwrite) as file:
        match path.suffix.lower():
            case ".npy":
                yield NpyWriter(file, "<f4")
            case ".safetensors":
                yield _Safetensors(file)
            case _:
                yield _Parquet(file)


class _Safetensors:
    """One tensor, `embeddings`."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.rows, self.shape = file, 0, ()  # type: ignore[var-annotated]
        file.write(bytes(_HEADER))

    def append(self, values: np.ndarray) -> None:
        self.file.write(values.data)
        self.rows, self.shape = self.rows + len(values), values.shape[1:]

    def finish(self) -> None:
        self.file.seek(0)
        shape = (self.rows, *self.shape)
        self.file.write(safetensors_header({"embeddings": ("float32", shape)}, size=_HEADER))


class _Parquet:
    """A column `embedding` of flat vectors; their original shape is in the column's metadata."""

    def __init__(self, file: BinaryIO) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise LimelightError("writing .parquet needs pyarrow: pip install '.[tables]'") from None
        self.arrow: Any = pyarrow
        self.file = file
        self.writer: Any = None

    def append(self, values: np.ndarray) -> None:
        pa, size = self.arrow, int(np.prod(values.shape[1:]))
        if self.writer is None:
            about = {"shape": json.dumps(list(values.shape[1:]))}
            column = pa.field("embedding", pa.list_(pa.float32(), size), metadata=about)
            self.writer = pa.parquet.ParquetWriter(self.file, pa.schema([column]))
        flat = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), size)
        self.writer.write_table(pa.Table.from_arrays([flat], schema=self.writer.schema))

    def finish(self) -> None:
        assert self.writer is not None
        self.writer.close()
