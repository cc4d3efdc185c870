"""What was read, put aside in a temporary file: a table is read once, and all of it before the long work."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any

from ..errors import tidy_os_errors

IN_MEMORY = 2**24  # bytes; more are written beside the index, in a file that has no name


@dataclass(frozen=True)
class Part:
    start: int
    end: int
    sha256: str


class Spool:
    """Lines of JSON of many tables, in one file. One of them is read at a time.

    >>> with Spool() as spool:
    ...     first, second = spool.put([b"[1]", b"[2]"]), spool.put([b"[3]"])
    ...     list(spool.read(first)), list(spool.read(second))
    ([[1], [2]], [[3]])
    """

    def __init__(self, folder: Path | None = None) -> None:
        place = None if folder is None else str(_existing(Path(os.path.realpath(folder)).parent))
        self._fault = f"cannot put the texts aside{f' in {place}' if place else ''}"
        with tidy_os_errors(self._fault):
            self._file = SpooledTemporaryFile(IN_MEMORY, dir=place)  # noqa: SIM115

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def put(self, lines: Iterable[bytes]) -> Part:
        digest, start = hashlib.sha256(), self._file.seek(0, os.SEEK_END)
        for each in lines:
            line = each + b"\n"
            digest.update(line)
            with tidy_os_errors(self._fault):
                self._file.write(line)
        return Part(start, self._file.tell(), digest.hexdigest())

    def read(self, part: Part) -> Iterator[Any]:
        at = self._file.seek(part.start)
        while at < part.end:
            line = self._file.readline()
            at += len(line)
            yield json.loads(line.decode("utf-8", "surrogatepass"))


def _existing(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if each.is_dir())
