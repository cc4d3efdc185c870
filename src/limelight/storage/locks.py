"""One process at a time: locks that the system takes back from a process that ends, however it ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import LimelightError, tidy_os_errors

try:
    import fcntl
except ImportError:  # not on Windows: nothing is locked there
    fcntl = None  # type: ignore[assignment]


class BusyError(LimelightError):
    """Another process, or thread, holds the lock: later it may be free.

    >>> issubclass(BusyError, LimelightError)
    True
    """


@contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Hold the lock file `path`; if another process, or thread, holds it, say that it is `busy`.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "lock"
    >>> with locked(path, "it is taken"), locked(path, "it is taken"):
    ...     pass
    Traceback (most recent call last):
    limelight.storage.locks.BusyError: it is taken
    """
    with tidy_os_errors(f"cannot write {path.parent}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = _take(path, busy)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # before it is free: whoever has opened it then looks again
        os.close(handle)


def _take(path: Path, busy: str) -> int:
    """The lock file, opened and locked; where there are no locks, just opened."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        mine = lock(handle)
        if mine is None or (mine and is_at(handle, path)):
            return handle
        os.close(handle)
        if not mine:
            raise BusyError(busy)


def lock(handle: int) -> bool | None:
    """Lock an open file or folder until it is closed: False if another has it, None where there are no locks.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as one, open(one.name) as other:
    ...     lock(one.fileno()), lock(other.fileno())
    (True, False)
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without them
        return None
    return True


def is_at(handle: int, path: str | Path) -> bool:
    """Whether an open file is still there under its name; who held it before may have removed it."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False
