"""Writing .safetensors and .npy files piece by piece, into whatever file the caller has open.

The safetensors library reads the former. Its own `save_file` writes through a temporary file of its own,
which a killed process leaves behind and which nothing syncs to the disk; and it needs all tensors at once.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import prod
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np
from numpy.lib import format as npy

DIGEST_ROWS = 1 << 16  # read at a time
# What a safetensors header calls each dtype, and its bytes per value.
DTYPES = {
    "float64": ("F64", 8), "int64": ("I64", 8), "uint64": ("U64", 8),
    "float32": ("F32", 4), "int32": ("I32", 4), "uint32": ("U32", 4),
    "float16": ("F16", 2), "int16": ("I16", 2), "uint16": ("U16", 2),
    "int8": ("I8", 1), "uint8": ("U8", 1), "bool": ("BOOL", 1),
}  # fmt: skip


def checksum(arrays: Iterable[np.ndarray]) -> str:
    """The CRC-32 of all their bytes, as eight hexadecimal digits: enough to tell some from others.

    >>> checksum([np.zeros(2), np.ones(3)])
    '32819830'
    """
    check = 0
    for array in arrays:
        check = crc32(np.ascontiguousarray(array).data, check)
    return f"{check:08x}"


def digest_rows(arrays: Iterable[np.ndarray], dtype: Any = None) -> str:
    """The SHA-256 of the rows of some arrays, one array after the other, as `dtype`; they may be on disk.

    >>> digest_rows([np.zeros((2, 3)), np.ones((1, 3))]) == digest_rows([np.zeros((1, 3)), np.ones((2, 3))])
    False
    """
    digest = hashlib.sha256()
    for array in arrays:
        for start in range(0, len(array), DIGEST_ROWS):
            digest.update(np.ascontiguousarray(array[start : start + DIGEST_ROWS], dtype).data)
    return digest.hexdigest()


def safetensors_pieces(
    tensors: Mapping[str, Any],
    metadata: Mapping[str, str] | None = None,
    to_numpy: Callable[[Any], np.ndarray] = np.asarray,
) -> Iterator[bytes | memoryview]:
    """Yield a safetensors file piece by piece: the header, then the bytes of one tensor after the other.

    A tensor is an array or anything with a `shape` and a `dtype` of the same names, as PyTorch's;
    `to_numpy` fetches its values when they are due, from a GPU for example.
    """
    entries = {name: (_dtype_name(x), tuple(x.shape)) for name, x in tensors.items()}
    # The widest values first: then each tensor starts at a multiple of its value's size.
    order = sorted(entries, key=lambda name: (-DTYPES[entries[name][0]][1], name))
    yield safetensors_header({name: entries[name] for name in order}, metadata)
    for name in order:
        values = to_numpy(tensors[name])
        values = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
        yield values.reshape(-1).view(np.uint8).data


def safetensors_header(
    entries: Mapping[str, tuple[str, tuple[int, ...]]],
    metadata: Mapping[str, str] | None = None,
    size: int = 0,
) -> bytes:
    """The first bytes of a file: dtype and shape of each tensor, in the order their values follow.

    Spaces fill it up to `size` bytes at least: a writer that learns a shape last leaves this much room.
    """
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    end = 0
    for name, (dtype, shape) in entries.items():
        code, width = DTYPES[dtype]
        begin, end = end, end + width * prod(shape)
        header[name] = {"dtype": code, "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text = text.ljust(max(len(text) + -len(text) % 8, size - 8))  # the values start at a multiple of 8
    return len(text).to_bytes(8, "little") + text


def _dtype_name(tensor: Any) -> str:
    return str(getattr(tensor.dtype, "name", tensor.dtype)).removeprefix("torch.")


class ArrayWriter:
    """An array that grows by rows in an open file; their number goes into the header at the end.

    The file is .npy; or, with the name of a tensor in it, .safetensors.
    """

    def __init__(self, file: BinaryIO, dtype: np.typing.DTypeLike, tensor: str | None = None) -> None:
        self.shape: tuple[int, ...] = (0,)
        self.file, self._dtype, self._tensor = file, np.dtype(dtype).newbyteorder("<"), tensor

    def append(self, values: np.ndarray) -> None:
        """Add rows below those already there; all must have one shape."""
        if self.shape[0] == 0:
            self.shape = 0, *values.shape[1:]
            self.finish()
        self.file.write(np.ascontiguousarray(values, dtype=self._dtype).data)
        self.shape = self.shape[0] + len(values), *self.shape[1:]

    def finish(self) -> None:
        """Complete the header, which has room for any number of rows; the file stays open."""
        self.file.seek(0)
        if self._tensor:
            self.file.write(safetensors_header({self._tensor: (self._dtype.name, self.shape)}, size=264))
            return
        header = {"descr": npy.dtype_to_descr(self._dtype), "fortran_order": False, "shape": self.shape}
        npy.write_array_header_1_0(self.file, header)
