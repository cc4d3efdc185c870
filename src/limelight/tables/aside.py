"""Rows put aside as they are read, so that a file is read once: in memory, or on disk if they are many."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import tidy_os_errors

TOGETHER = 32  # rows that are written as one line
IN_MEMORY = 2**26  # bytes; more go into a temporary file, which has no name and is gone with the process


class Aside:
    """Anything that JSON can hold, and the same again. One pass at a time, and none while more is added."""

    def __init__(self, name: str | Path, folder: Path | None = None) -> None:
        place = None if folder is None else str(folder)
        self._file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY, dir=place)  # noqa: SIM115
        where = folder or f"{tempfile.gettempdir()} (TMPDIR names another)"
        self._full = f"cannot put the rows of {name} aside in {where}"
        self._last = list[Any]()  # what is not written yet

    def append(self, value: Any) -> None:
        self._last.append(value)
        if len(self._last) == TOGETHER:
            self._write()

    def __iter__(self) -> Iterator[Any]:
        self._write()
        with tidy_os_errors(self._full):
            self._file.seek(0)
        for line in self._file:
            yield from json.loads(line)
        self._file.seek(0, 2)

    def close(self) -> None:
        self._file.close()

    def _write(self) -> None:
        if self._last:
            with tidy_os_errors(self._full):
                self._file.write(json.dumps(self._last).encode() + b"\n")
        self._last = []


class ArrowAside(Aside):
    """Arrow batches of one schema, whatever their types."""

    _writer: Any = None

    def append(self, value: Any) -> None:
        import pyarrow as pa

        with tidy_os_errors(self._full):
            if self._writer is None:
                options = pa.ipc.IpcWriteOptions(compression="lz4")
                self._writer = pa.ipc.new_stream(self._file, value.schema, options=options)
            self._writer.write_batch(value)

    def __iter__(self) -> Iterator[Any]:
        import pyarrow as pa

        self._file.seek(0)
        if self._writer is not None:
            yield from pa.ipc.open_stream(self._file)
        self._file.seek(0, 2)
