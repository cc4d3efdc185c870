"""Arrays of an encoded data set, written by pieces and read as memory maps; words until they have ids."""

import io
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from ..errors import LimelightError, damaged, tidy_os_errors
from ..storage.array_files import ArrayWriter
from ..storage.open_files import open_regular
from ..tables.formats import shorten
from .numbering import NO_WORD, NumberedWords
from .tokenizer import UNKNOWN, Tokenizer

BLOCK = 1 << 20  # values read at a time
Side = tuple[np.ndarray, np.ndarray]  # (words,) and (rows,): the first texts of some rows, or the second ones
# The arrays of a split and the types they may have on disk.
DTYPES = {
    "ids": ("uint16", "int32"), "lengths": ("int32",), "labels": ("int32", "uint8", "float32"),
    "weights": ("float32",), "ids2": ("uint16", "int32"), "lengths2": ("int32",), "hashes": ("uint32",),
}  # fmt: skip


def encode_again(what: str) -> LimelightError:
    """The error about an encoded data set that is not as it was written."""
    return damaged(f"{what}; encode the data again")


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
            raise encode_again(f"{path} is damaged ({reason})") from None
    if values.shape[:1] != (size,) or values.ndim > dimensions or values.dtype.name not in dtypes:
        wanted = f"{' or '.join(dtypes)} of shape ({size},)"
        raise encode_again(f"{path} holds {values.dtype.name} of shape {values.shape} instead of {wanted}")
    return values


def min_max(values: np.ndarray) -> tuple[int, int]:
    """The least and the greatest value of an array from `open_array`, which is not read into memory whole."""
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


class ArraysOnDisk:
    """The growing arrays of several splits, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writers: dict[tuple[str, str], ArrayWriter] = {}

    def scratch(self) -> IO[bytes]:
        """A file for what is needed meanwhile, which is gone when it is closed."""
        return tempfile.TemporaryFile(dir=self._folder)

    def append(self, split: str, arrays: Mapping[str, np.ndarray], words: int) -> None:
        """Add rows to the arrays of a split; `words` is the size of the vocabulary."""
        for array, values in arrays.items():
            if (split, array) not in self._writers:
                dtype = DTYPES[array][-1 if words > 1 << 16 else 0]  # of ids the smallest
                if array == "labels":
                    dtype = {"i": "int32", "u": "uint8", "f": "float32"}[values.dtype.kind]
                file = open(array_path(self._folder, split, array), "wb")  # noqa: SIM115
                self._writers[split, array] = ArrayWriter(file, dtype)
            self._writers[split, array].append(values)

    def finish(self) -> dict[str, dict[str, np.ndarray]]:
        """Close the files and return the arrays by split and name, as memory maps."""
        sizes: dict[str, dict[str, int]] = {}
        for (split, array), writer in self._writers.items():
            writer.finish()
            writer.file.close()
            sizes.setdefault(split, {})[array] = writer.shape[0]
        return {split: open_arrays(self._folder, split, sizes[split]) for split in sizes}


class ArraysInMemory:
    """The growing arrays of several splits, in memory."""

    def __init__(self) -> None:
        self._pieces: dict[tuple[str, str], list[np.ndarray]] = {}

    def scratch(self) -> IO[bytes]:
        return io.BytesIO()

    def append(self, split: str, arrays: Mapping[str, np.ndarray], words: int) -> None:
        for array, values in arrays.items():
            self._pieces.setdefault((split, array), []).append(values)

    def finish(self) -> dict[str, dict[str, np.ndarray]]:
        splits: dict[str, dict[str, np.ndarray]] = {}
        for (split, array), pieces in self._pieces.items():
            splits.setdefault(split, {})[array] = np.concatenate(pieces)
        return splits


class WordStore:
    """Words numbered as they come; in memory are the words, each once, and the file is read by pieces."""

    def __init__(self, file: IO[bytes], sides: int) -> None:
        self._file, self._sides = file, sides  # two sides: each piece has the second texts after the first
        self._pieces: dict[str, list[tuple[int, int, int]]] = {}  # place in the file, texts, words
        self._numbers: defaultdict[str, int] = defaultdict(None, {NO_WORD: 0})
        self._numbers.default_factory = self._numbers.__len__

    def append(self, split: str, found: NumberedWords) -> None:
        """Add the words of the next rows of a split."""
        own = np.fromiter(map(self._numbers.__getitem__, found.words), np.int32, len(found.words))
        numbers = own[np.frombuffer(found.numbers, np.int32)]
        piece = self._file.tell(), len(found.lengths) // 4, len(numbers)
        self._file.write(found.lengths)
        self._file.write(numbers.data)
        self._pieces.setdefault(split, []).append(piece)

    def read(self, split: str) -> Iterator[list[Side]]:
        """The numbers of the words of a split, and how many each text has, some rows at a time."""
        for start, texts, words in self._pieces[split]:
            self._file.seek(start)
            values = np.frombuffer(self._file.read(4 * (texts + words)), np.int32)
            lengths, numbers = np.split(values, [texts])
            each = np.split(lengths, self._sides)
            ends = np.cumsum([side.sum() for side in each])
            yield list(zip(np.split(numbers, ends[:-1]), each, strict=True))

    def words(self, split: str, max_length: int = 0) -> int:
        """The number of words of a split, in all, or of the first `max_length` of each text."""
        if not max_length:
            return sum(words for _, _, words in self._pieces[split])
        sides = (lengths for each in self.read(split) for _, lengths in each)
        return sum(int(np.minimum(lengths, max_length).sum()) for lengths in sides)

    def count(self, split: str, keep: np.ndarray | None = None) -> dict[str, int]:
        """How often each word occurs in the rows of a split where `keep` (rows,) is true, or in all."""
        counts, done = np.zeros(len(self._numbers), np.int64), 0
        for sides in self.read(split):
            rows = len(sides[0][1])
            kept = np.ones(rows, bool) if keep is None else keep[done : done + rows]
            for numbers, lengths in sides:
                some = numbers if kept.all() else numbers[np.repeat(kept, lengths)]
                counts += np.bincount(some, minlength=len(counts))
            done += rows
        found = dict(zip(self._numbers, counts.tolist(), strict=True))
        del found[NO_WORD]
        return found

    def ids(self, tokenizer: Tokenizer) -> np.ndarray:
        """(words,) int32: the id of the word with each number."""
        ids = tokenizer.find_ids(list(self._numbers))
        ids[0] = UNKNOWN  # whatever an odd vocabulary may hold
        return ids
