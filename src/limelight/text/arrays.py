"""The arrays of an encoded data set: written piece by piece, read as memory maps."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from ..errors import LimelightError, tidy_os_errors
from ..storage.array_files import NpyWriter
from ..storage.open_files import open_regular
from ..tables.formats import shorten

BLOCK = 1 << 20  # values read at a time
# The arrays of a split and the types they may have on disk.
DTYPES = {
    "ids": ("uint16", "int32"), "lengths": ("int32",), "labels": ("int32", "uint8", "float32"),
    "weights": ("float32",), "ids2": ("uint16", "int32"), "lengths2": ("int32",), "hashes": ("uint32",),
}  # fmt: skip


def damaged(what: str) -> LimelightError:
    """The error about an encoded data set that is not as it was written."""
    return LimelightError(f"{what}; encode the data again", code="file-damaged")


def open_array(path: Path, dtypes: tuple[str, ...], size: int, dimensions: int = 1) -> np.ndarray:
    """Memory-map an array of this many rows and at most so many dimensions; it has one of `dtypes`."""
    with tidy_os_errors(f"cannot read {path}"):
        open_regular(path).close()
        try:
            values = npy.open_memmap(path, mode="r")
        except OSError:
            raise
        except Exception as error:  # numpy parses the header as Python, and much can be wrong with it
            reason = shorten(" ".join(str(error).split()))
            raise damaged(f"{path} is damaged ({reason})") from None
    if values.shape[:1] != (size,) or values.ndim > dimensions or values.dtype.name not in dtypes:
        wanted = f"{' or '.join(dtypes)} of shape ({size},)"
        raise damaged(f"{path} holds {values.dtype.name} of shape {values.shape} instead of {wanted}")
    return values


def min_max(values: np.ndarray) -> tuple[int, int]:
    """The least and the greatest value of an array from `open_array`.

    Read from the file rather than through the memory map, which would keep all of a huge array in memory.
    """
    assert isinstance(values, np.memmap)
    assert values.filename is not None
    pieces = (
        np.fromfile(values.filename, values.dtype, BLOCK, offset=values.offset + start * values.itemsize)
        for start in range(0, len(values), BLOCK)
    )
    lowest, highest = zip(*((int(piece.min()), int(piece.max())) for piece in pieces), strict=True)
    return min(lowest), max(highest)


def open_arrays(folder: Path, split: str, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Memory-map the arrays of one split; `sizes` says how many values each must hold."""
    return {
        array: open_array(array_path(folder, split, array), DTYPES[array], n, 2 if array == "labels" else 1)
        for array, n in sizes.items()
    }


def array_path(folder: Path, split: str, array: str) -> Path:
    return folder / f"{split}.{array}.npy"


def _dtype(array: str, words: int, kind: str) -> str:
    """The type on disk: of labels by their kind, of ids the smallest for a vocabulary of so many words."""
    if array == "labels":
        return {"i": "int32", "u": "uint8", "f": "float32"}[kind]
    return DTYPES[array][-1 if words > 1 << 16 else 0]


class ArraysOnDisk:
    """The growing arrays of several splits, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writers: dict[tuple[str, str], NpyWriter] = {}

    def scratch(self) -> IO[bytes]:
        """A file for what is needed meanwhile, which is gone when it is closed."""
        return tempfile.TemporaryFile(dir=self._folder)

    def append(self, split: str, arrays: Mapping[str, np.ndarray], words: int) -> None:
        """Add rows to the arrays of a split; `words` is the size of the vocabulary."""
        for array, values in arrays.items():
            if (split, array) not in self._writers:
                file = open(array_path(self._folder, split, array), "wb")  # noqa: SIM115
                self._writers[split, array] = NpyWriter(file, _dtype(array, words, values.dtype.kind))
            self._writers[split, array].append(values)

    def finish(self) -> dict[str, dict[str, np.ndarray]]:
        """Close the files and return the arrays by split and name, as memory maps."""
        sizes: dict[str, dict[str, int]] = {}
        for (split, array), writer in self._writers.items():
            writer.finish()
            writer.file.close()
            sizes.setdefault(split, {})[array] = writer.rows
        return {split: open_arrays(self._folder, split, sizes[split]) for split in sizes}


class ArraysInMemory:
    """The growing arrays of several splits, in memory."""

    def __init__(self) -> None:
        self._pieces: dict[tuple[str, str], list[np.ndarray]] = {}

    def scratch(self) -> IO[bytes]:
        """What `ArraysOnDisk` has as a file, in memory."""
        return io.BytesIO()

    def append(self, split: str, arrays: Mapping[str, np.ndarray], words: int) -> None:
        for array, values in arrays.items():
            self._pieces.setdefault((split, array), []).append(values)

    def finish(self) -> dict[str, dict[str, np.ndarray]]:
        splits: dict[str, dict[str, np.ndarray]] = {}
        for (split, array), pieces in self._pieces.items():
            splits.setdefault(split, {})[array] = np.concatenate(pieces)
        return splits
