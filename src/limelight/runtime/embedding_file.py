"""Writes any number of embeddings to a file of one array, some at a time: .npy or .safetensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np

from ..errors import LimelightError
from ..storage.array_files import NpyWriter, safetensors_header
from ..storage.files import atomic_file

FORMATS = (".npy", ".safetensors")
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
            raise LimelightError("no texts to embed", code="no-rows")
        writer.finish()
    return (rows, *shape)


def check_format(path: str | Path) -> None:
    """Raise unless the file name ends in a format that can be written."""
    if Path(path).suffix.lower() not in FORMATS:
        raise LimelightError(
            f"{path} must end in {' or '.join(FORMATS)}, or be a table: .parquet, .csv, .tsv, .jsonl",
            code="table-format",
        )


@contextmanager
def _writer(path: Path, overwrite: bool) -> Iterator[Writer]:
    check_format(path)
    with atomic_file(path, overwrite) as file:
        yield NpyWriter(file, "<f4") if path.suffix.lower() == ".npy" else _Safetensors(file)


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
