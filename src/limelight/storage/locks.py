"""One process at a time: locks that the system releases when a process ends, however it ends."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import LimelightError, tidy_os_errors

try:
    import fcntl
except ImportError:  # Windows: nothing is locked there
    fcntl = None  # type: ignore[assignment]


class BusyError(LimelightError):
    """Another process or thread holds the lock; it may be free later."""


@contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Hold the lock file `path`; if another process or thread holds it, raise the message `busy`."""
    with tidy_os_errors(f"cannot write {path.parent}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = _acquire(path, busy)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # before it is released: a process that has opened it will then open it again
        os.close(handle)


@contextmanager
def waiting_lock(path: Path) -> Iterator[int]:
    """An open handle of the file `path`, created if need be; waits until no one else has its lock."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        with suppress(OSError):  # a file system without locks
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


def _acquire(path: Path, busy: str) -> int:
    """Open and lock the file; without locks, only open it."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        got = try_lock(handle)
        if got is None or (got and is_same_file(handle, path)):
            return handle
        os.close(handle)
        if not got:
            raise BusyError(busy, code="busy")


def try_lock(handle: int) -> bool | None:
    """Lock an open file or folder until it is closed: False if it is locked already, None without locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def is_same_file(handle: int, path: str | Path) -> bool:
    """Whether `path` is still the open file; whoever held its lock before may have removed it."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False
