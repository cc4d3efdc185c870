"""Opening files that come from elsewhere: regular files that fit into memory, those of a folder together."""

import os
import stat
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from ..errors import LimelightError, tidy_os_errors, wrong_file
from .files import old_folders
from .locks import is_same_file

TRIES = 100  # a writer would have to replace the folder between two system calls, so many times in a row
_FOLDERS = os.open in os.supports_dir_fd  # on Windows, a folder cannot be opened
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # opening a pipe or a terminal must not wait for its other end


def open_regular(path: str | Path, folder: int | None = None) -> BufferedReader:
    """Open a regular file for reading; a folder, pipe or device is an error. `folder` is an open one."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | _AT_ONCE, dir_fd=folder)

    with suppress(IsADirectoryError):
        file = open(path, "rb", opener=opener)  # noqa: SIM115
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
    raise wrong_file(f"{Path(path).name} is not a regular file; give a plain file")


def read_regular(path: str | Path, largest: int) -> bytes:
    """The bytes of a regular file of at most `largest` bytes; a larger one is refused before it is read."""
    with tidy_os_errors(f"cannot read {path}"), open_regular(path) as file:
        return read_whole(file, Path(path).name, largest)


def read_whole(file: BinaryIO, name: str, largest: int) -> bytes:
    """The bytes of an open file of at most `largest` bytes."""
    size = os.fstat(file.fileno()).st_size
    if size > largest:
        raise LimelightError(f"{name} has {size:,} bytes; at most {largest:,} are expected", code="too-large")
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
            files: dict[str, BinaryIO] = {}
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


def _total_memory() -> int:
    """Bytes this process can have at most: the machine's memory, or a container's share of it."""
    limits = [2**63]
    with suppress(AttributeError, ValueError, OSError):  # not on Windows
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in _LIMITS:
        with suppress(OSError, ValueError):  # no such file, or "max"
            limits.append(int(Path(path).read_text()))
    return min(limits)


def check_memory(need: int, what: str, todo: str = "use a machine with more") -> None:
    """Raise if something needs more memory than there is.

    >>> check_memory(10**15, "this network")
    ... # doctest: +ELLIPSIS
    Traceback (most recent call last):
    limelight.errors.LimelightError: this network needs at least 931,322 GiB of memory, there are ...; use ...
    """
    if need > (have := _total_memory()):
        needs = f"needs at least {min(need, 2**90) // 2**30:,} GiB of memory"
        raise LimelightError(f"{what} {needs}, there are {have // 2**30:,}; {todo}", code="memory")
