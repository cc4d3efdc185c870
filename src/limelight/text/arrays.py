"""Plain .npy arrays on disk: written piece by piece before their size is known, read as memory maps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.lib import format as npy

from ..errors import LimelightError, tidy_os_errors

# The arrays of a split and the types they may have on disk.
DTYPES = {
    "ids": ("uint16", "int32"), "lengths": ("int32",), "labels": ("int32",), "weights": ("float32",),
    "ids2": ("uint16", "int32"), "lengths2": ("int32",),
}  # fmt: skip


class ArrayWriter:
    """A one-dimensional .npy file that grows; its size goes into the header at the end.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "ids.npy")
    >>> with ArrayWriter(path, np.uint16) as writer:
    ...     writer.append(np.array([1, 2]))
    ...     writer.append(np.array([3]))
    >>> np.load(path).tolist()
    [1, 2, 3]
    """

    def __init__(self, path: Path, dtype: np.typing.DTypeLike) -> None:
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.size = 0
        self._file = open(path, "wb")  # noqa: SIM115
        self._write_header()
        self._begin = self._file.tell()

    def append(self, values: np.ndarray) -> None:
        self._file.write(np.ascontiguousarray(values, dtype=self.dtype).data)
        self.size += len(values)

    def close(self) -> None:
        if self._file.closed:
            return
        self._file.seek(0)
        self._write_header()
        assert self._file.tell() == self._begin, "the header must keep its length"
        self._file.close()

    def __enter__(self) -> ArrayWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write_header(self) -> None:
        # numpy pads the header, so that the number in it may grow without moving what follows.
        header = {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": (self.size,)}
        npy.write_array_header_1_0(self._file, header)


def open_array(path: Path, dtypes: tuple[str, ...], size: int) -> np.ndarray:
    """A memory map of a one-dimensional array, which must be of one of `dtypes` and of this size."""
    with tidy_os_errors(f"cannot read {path}"):
        try:
            values = npy.open_memmap(path, mode="r")
        except (ValueError, EOFError) as error:
            reason = " ".join(str(error).split())
            raise LimelightError(f"{path} is damaged ({reason}); encode the data again") from None
    if values.shape != (size,) or values.dtype.name not in dtypes:
        raise LimelightError(
            f"{path} holds {values.dtype.name} of shape {values.shape} where {' or '.join(dtypes)} of shape "
            f"({size},) should be; encode the data again"
        )
    return values


def extremes(values: np.ndarray, step: int = 1 << 20) -> tuple[int, int]:
    """The least and the greatest value of an array that `open_array` gave.

    The file is read beside the memory map, so that none of a huge array stays in this process's memory.
    """
    assert isinstance(values, np.memmap)
    assert values.filename is not None
    pieces = (
        np.fromfile(values.filename, values.dtype, step, offset=values.offset + start * values.itemsize)
        for start in range(0, len(values), step)
    )
    lowest, highest = zip(*((int(piece.min()), int(piece.max())) for piece in pieces), strict=True)
    return min(lowest), max(highest)


def open_arrays(folder: Path, split: str, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    """The arrays of one split, memory-mapped; `sizes` says how many values each must hold."""
    return {
        array: open_array(array_path(folder, split, array), DTYPES[array], n) for array, n in sizes.items()
    }


def array_path(folder: Path, split: str, array: str) -> Path:
    """The file of one array.

    >>> array_path(Path("soup"), "train", "ids").as_posix()
    'soup/train.ids.npy'
    """
    return folder / f"{split}.{array}.npy"


def array_dtype(array: str, words: int) -> str:
    """The type of an array on disk: the smallest that holds every id of a vocabulary of so many words.

    >>> array_dtype("ids", 30_000), array_dtype("ids", 100_000), array_dtype("labels", 30_000)
    ('uint16', 'int32', 'int32')
    """
    return DTYPES[array][-1 if words > 1 << 16 else 0]


class ArraysOnDisk:
    """The growing arrays of several splits, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writers: dict[tuple[str, str], ArrayWriter] = {}

    def append(self, split: str, arrays: Mapping[str, np.ndarray], words: int) -> None:
        """Add rows to the arrays of a split; `words` is the size of the vocabulary."""
        for array, values in arrays.items():
            if (split, array) not in self._writers:
                path = array_path(self._folder, split, array)
                self._writers[split, array] = ArrayWriter(path, array_dtype(array, words))
            self._writers[split, array].append(values)

    def finish(self) -> dict[str, dict[str, np.ndarray]]:
        """The arrays by split and name, as memory maps."""
        sizes: dict[str, dict[str, int]] = {}
        for (split, array), writer in self._writers.items():
            writer.close()
            sizes.setdefault(split, {})[array] = writer.size
        return {split: open_arrays(self._folder, split, sizes[split]) for split in sizes}


class ArraysInMemory:
    """The growing arrays of several splits, in memory."""

    def __init__(self) -> None:
        self._pieces: dict[tuple[str, str], list[np.ndarray]] = {}

    def append(self, split: str, arrays: Mapping[str, np.ndarray], words: int) -> None:
        """Add rows to the arrays of a split."""
        for array, values in arrays.items():
            self._pieces.setdefault((split, array), []).append(values)

    def finish(self) -> dict[str, dict[str, np.ndarray]]:
        """The arrays by split and name."""
        splits: dict[str, dict[str, np.ndarray]] = {}
        for (split, array), pieces in self._pieces.items():
            splits.setdefault(split, {})[array] = np.concatenate(pieces)
        return splits
