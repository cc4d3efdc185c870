"""Writing .npy files some rows at a time, before their number is known."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy


class NpyWriter:
    """An array that grows by rows in an open file; their number goes into the header at the end.

    >>> import io
    >>> file = io.BytesIO()
    >>> writer = NpyWriter(file, np.uint16)
    >>> writer.append(np.array([1, 2]))
    >>> writer.append(np.array([3]))
    >>> writer.finish()
    >>> _ = file.seek(0)
    >>> np.load(file).tolist()
    [1, 2, 3]
    """

    def __init__(self, file: BinaryIO, dtype: np.typing.DTypeLike) -> None:
        self.rows = 0
        self._file, self._dtype = file, np.dtype(dtype).newbyteorder("<")
        self._row_shape: tuple[int, ...] = ()

    def append(self, values: np.ndarray) -> None:
        """Add rows below those already there; all must have one shape."""
        if self.rows == 0:
            self._row_shape = values.shape[1:]
            self._write_header()
        self._file.write(np.ascontiguousarray(values, dtype=self._dtype).data)
        self.rows += len(values)

    def finish(self) -> None:
        """Complete the header; the file stays open."""
        self._write_header()

    def _write_header(self) -> None:
        # numpy pads the header: the number of rows may grow without moving what follows.
        shape = (self.rows, *self._row_shape)
        header = {"descr": npy.dtype_to_descr(self._dtype), "fortran_order": False, "shape": shape}
        self._file.seek(0)
        npy.write_array_header_1_0(self._file, header)
