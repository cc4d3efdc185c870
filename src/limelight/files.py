"""Writing so that a reader sees the old file or the new one, never half of either."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from .errors import LimelightError, tidy_os_errors
from .locks import is_at, lock


@contextlib.contextmanager
def atomic_file(path: str | Path) -> Iterator[BinaryIO]:
    """Write a file through a temporary one in the same folder: fsync, rename, fsync the folder.

    >>> with atomic_file("note.txt") as file:  # doctest: +SKIP
    ...     file.write(b"all of it or nothing")
    """
    path = Path(path)
    with tidy_os_errors(f"cannot write {path}"):
        if path.exists() and not path.is_file():  # such as /dev/null, which renaming would replace
            raise LimelightError(f"cannot write {path}: it is there already and no plain file")
        temporary, handle = _part_of(path, folder=False)
    try:  # opened again by name, for writers that want a path: file.name
        with tidy_os_errors(f"cannot write {path}"), open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.chmod(temporary, 0o666 & ~_umask())  # mkstemp makes it private
            os.replace(temporary, path)
            fsync_folder(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        os.close(handle)


@contextlib.contextmanager
def atomic_folder(path: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """Fill a temporary folder beside `path`, then rename it into place as a whole.

    >>> with atomic_folder("model") as folder:  # doctest: +SKIP
    ...     (folder / "config.json").write_text("{}")
    """
    path = Path(path)
    with tidy_os_errors(f"cannot write {path}"):
        if path.exists() and not overwrite and (not path.is_dir() or any(path.iterdir())):
            raise LimelightError(
                f"{path} already exists; choose another name or allow it with --overwrite "
                "(in Python: overwrite=True)"
            )
        temporary, handle = _part_of(path, folder=True)
    try:
        with tidy_os_errors(f"cannot write {path}"):
            yield temporary
            for file in temporary.rglob("*"):
                if file.is_file():
                    _fsync(file)
            os.chmod(temporary, 0o777 & ~_umask())
            _swap(temporary, path)
            fsync_folder(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        os.close(handle)


def check_writable(folder: str | Path) -> None:
    """Say before the long work that nothing can be written into a folder, which need not be there yet."""
    folder = Path(folder)
    with tidy_os_errors(f"cannot write {folder}"):
        there = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
        tempfile.TemporaryFile(dir=there).close()


def _part_of(path: Path, folder: bool) -> tuple[Path, int]:
    """A new file or folder beside `path`, to become it, and its handle; it is locked until that is closed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path)
    while True:
        part = _new_part(path, folder)
        with contextlib.suppress(FileNotFoundError):  # before it is locked, another writer may sweep it up
            handle = os.open(part, os.O_RDONLY)
            mine = lock(handle)
            if mine is None or (mine and is_at(handle, part)):
                return part, handle
            os.close(handle)


def _new_part(path: Path, folder: bool) -> Path:
    prefix, suffix = f".{path.name}.", ".part"
    if folder:
        return Path(tempfile.mkdtemp(suffix, prefix, path.parent))
    handle, name = tempfile.mkstemp(suffix, prefix, path.parent)
    os.close(handle)
    return Path(name)


def _sweep(path: Path) -> None:
    """Remove what writing `path` left behind when it was killed; what is being written is locked."""
    for part in path.parent.glob(f".{glob.escape(path.name)}.????????.part"):
        with contextlib.suppress(OSError):
            handle = os.open(part, os.O_RDONLY)
            try:
                if lock(handle):
                    shutil.rmtree(part) if part.is_dir() else part.unlink()
            finally:
                os.close(handle)


def fsync_folder(folder: Path) -> None:
    """Make a rename inside `folder` survive a power cut."""
    _fsync(folder)


def _fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _swap(new: Path, path: Path) -> None:
    """Rename `new` to `path`; what stood there goes only after the new one is complete."""
    if not path.exists():
        os.replace(new, path)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".old", dir=path.parent)) / "was"
    os.replace(path, old)
    os.replace(new, path)
    shutil.rmtree(old.parent, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
