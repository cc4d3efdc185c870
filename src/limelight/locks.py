"""One process at a time: a lock that the system takes back from a process that ends, however it ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import LimelightError
from .files import tidy_os_errors

try:
    import fcntl
except ImportError:  # not on Windows: nothing is locked there
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Hold the lock file `path`; if another process, or thread, holds it, say that it is `busy`.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "lock"
    >>> with locked(path, "it is taken"), locked(path, "it is taken"):
    ...     pass
    Traceback (most recent call last):
    limelight.errors.LimelightError: it is taken
    """
    with tidy_os_errors(f"cannot write {path.parent}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = _take(path, busy)
    try:
        yield
    finally:
        if handle is not None:
            with suppress(OSError):
                path.unlink()  # before it is free: whoever has opened it then looks again
            os.close(handle)


def _take(path: Path, busy: str) -> int | None:
    """The open lock file; None where there are no locks."""
    while fcntl:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            if isinstance(error, BlockingIOError):
                raise LimelightError(busy) from None
            return None  # a file system without locks
        if _is_at(handle, path):
            return handle
        os.close(handle)
    return None


def _is_at(handle: int, path: Path) -> bool:
    """Whether the file is still there under its name; who held it before may have removed it."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False
