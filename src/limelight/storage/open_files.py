"""Opening files that come from elsewhere: regular files only, and those of a folder all from one writer."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

from ..errors import LimelightError
from .files import old_folders
from .locks import is_same_file
from .memory import check_memory

TRIES = 100  # a writer would have to replace the folder between two system calls, so many times in a row
_FOLDERS = os.open in os.supports_dir_fd  # on Windows, a folder cannot be opened
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # opening a pipe or a terminal must not wait for its other end


def open_regular(path: str | Path, folder: int | None = None) -> BinaryIO:
    """Open a regular file for reading; a folder, pipe or device is an error. `folder` is an open one.

    >>> open_regular("/dev/zero")
    Traceback (most recent call last):
    limelight.errors.LimelightError: zero is not a regular file; give a plain file
    """

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | _AT_ONCE, dir_fd=folder)

    name = Path(path).name
    try:
        file = open(path, "rb", opener=opener)  # noqa: SIM115
    except IsADirectoryError:
        raise LimelightError(f"{name} is not a regular file; give a plain file", code="file-type") from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise LimelightError(f"{name} is not a regular file; give a plain file", code="file-type")
    return file


def read_regular(path: str | Path, largest: int) -> bytes:
    """The bytes of a regular file of at most `largest` bytes; a larger one is refused before it is read."""
    with open_regular(path) as file:
        return read_whole(file, Path(path).name, largest)


def read_whole(file: BinaryIO, name: str, largest: int) -> bytes:
    """The bytes of an open file of at most `largest` bytes."""
    size = os.fstat(file.fileno()).st_size
    if size > largest:
        raise LimelightError(
            f"{name} has {size:,} bytes; at most {largest:,} are expected", code="file-too-large"
        )
    check_memory(size, name)
    return file.read(size)


def open_together(path: Path, names: Iterable[str], stack: ExitStack) -> dict[str, BinaryIO]:
    """Open those of the named files that exist in a folder, all in the same folder, until `stack` closes.

    A writer may put another folder in its place meanwhile and remove this one: what is open stays readable,
    and if a file was gone before it could be opened, all are opened again in the new folder.

    >>> with ExitStack() as stack:
    ...     open_together(Path("no such folder"), ["note.txt"], stack)
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no such folder'
    """
    names = list(names)
    for _ in range(TRIES):
        with ExitStack() as attempt:
            folder, is_current = _open_folder(path, attempt)
            files = {}
            for name in names:
                with suppress(FileNotFoundError):
                    where = path / name if folder is None else Path(name)
                    files[name] = attempt.enter_context(open_regular(where, folder))
            if len(files) == len(names) or is_current():
                stack.push(attempt.pop_all())
                return files
    raise LimelightError(f"{path} is replaced all the time; try again later", code="file-changed")


def _open_folder(path: Path, stack: ExitStack) -> tuple[int | None, Callable[[], bool]]:
    """Open the folder, or the old one if a writer was killed before the new one was in its place.

    Also returns a function that says whether the folder is still the one of that name.
    """
    if not _FOLDERS:  # checksums still tell two models apart
        os.stat(path)
        return None, lambda: True
    for place in (path, *old_folders(path), path):
        with suppress(FileNotFoundError):
            folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, folder)
            return folder, partial(is_same_file, folder, place)
    raise FileNotFoundError(2, "No such file or directory", str(path))
