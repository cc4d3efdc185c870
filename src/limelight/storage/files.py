"""Files and folders that appear whole or not at all.

A reader sees the old content or the new, never half of either, whatever ends the process that writes.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ..errors import LimelightError, tidy_os_errors
from .locks import is_same_file, try_lock

_OLD = "was"  # name of the old folder inside a temporary one while the new one takes its place
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of renameat2: paths from the working folder; trade names
_POSIX = os.name == "posix"  # elsewhere a folder cannot be opened, nor an open file renamed


class FolderLayout(NamedTuple):
    """A type of folder that we write: the files that all of them have, and those that some have."""

    name: str
    required: tuple[str, ...]
    optional: tuple[str, ...]


@contextlib.contextmanager
def atomic_file(path: str | Path) -> Iterator[BinaryIO]:
    """Write a file through a temporary one in the same folder: fsync, rename, fsync the folder.

    >>> with atomic_file("note.txt") as file:  # doctest: +SKIP
    ...     file.write(b"all of it or nothing")
    """
    path = Path(os.path.realpath(path))  # follow links, as any program that writes does
    with tidy_os_errors(f"cannot write {path}"):
        if path.exists() and not path.is_file():  # such as /dev/null, which a rename would replace
            raise LimelightError(f"cannot write {path}: it exists and is not a regular file")
        with _temporary(path) as temporary:
            with open(temporary, "wb") as file:  # by name, for writers that need a path: file.name
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
            _fsync_folder(path.parent)


@contextlib.contextmanager
def atomic_folder(path: str | Path, layout: FolderLayout, overwrite: bool = False) -> Iterator[Path]:
    """Fill a temporary folder beside `path`, then put it in place as a whole.

    An old folder at `path` and the new one trade names in one step where the system can (see `exchange`).
    Elsewhere two renames follow each other: for a moment `path` is missing. Readers find the old folder then
    (see `old_folders`), and after a kill in that moment the next writer brings it back.

    >>> layout = FolderLayout("a folder of notes", ("note.txt",), ())
    >>> with atomic_folder("notes", layout) as folder:  # doctest: +SKIP
    ...     (folder / "note.txt").write_text("all of it or nothing")
    """
    check_replaceable(path, layout, overwrite)
    path = Path(os.path.realpath(path))
    with tidy_os_errors(f"cannot write {path}"), _temporary(path, folder=True) as temporary:
        yield temporary
        for file in temporary.rglob("*"):
            if file.is_file():
                _fsync(file)
        _put_in_place(temporary, path)
        _fsync_folder(path.parent)


def check_replaceable(path: str | Path, layout: FolderLayout, overwrite: bool) -> None:
    """Raise unless `path` is free or, with `overwrite`, a folder of this layout and nothing else.

    >>> check_replaceable("no such folder", FolderLayout("a folder of notes", ("note.txt",), ()), False)
    """
    path = Path(path)
    if path.name in ("", ".."):
        raise LimelightError(f"{str(path)!r} cannot be the output; name a new folder")
    with tidy_os_errors(f"cannot write {path}"):
        _remove_leftovers(Path(os.path.realpath(path)))  # may bring back what was there before a kill
        if not path.exists() or (path.is_dir() and not any(path.iterdir())):
            return
        if not all((path / name).is_file() for name in layout.required):
            raise LimelightError(f"{path} exists and is not {layout.name}; choose another name")
        ours = {*layout.required, *layout.optional}
        foreign = sorted(each.name for each in path.iterdir() if each.name not in ours or not each.is_file())
        if overwrite and foreign:
            raise LimelightError(f"{path} also holds {foreign[0]}, which would be lost; move it first")
    if not overwrite:
        raise LimelightError(
            f"{path} already exists; choose another name or allow it with --overwrite "
            "(in Python: overwrite=True)"
        )


def check_writable(folder: str | Path) -> None:
    """Raise if nothing can be written into a folder, which need not exist yet: before the long work."""
    folder = Path(folder)
    with tidy_os_errors(f"cannot write {folder}"):
        nearest = next(each for each in (folder, *folder.absolute().parents) if os.path.lexists(each))
        tempfile.TemporaryFile(dir=nearest).close()


@contextlib.contextmanager
def _temporary(path: Path, folder: bool = False, suffix: str = "part") -> Iterator[Path]:
    """Create a file or folder beside `path`; remove what is under its name at the end.

    It stays locked meanwhile: other writers can tell it from what a killed one left behind. If it holds the
    old folder, and `path` has none, it is not removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    temporary, handle = _create_locked(path, folder, suffix)
    try:
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            if not (temporary / _OLD).exists():
                _remove(temporary)
        if handle is not None:
            os.close(handle)


def _create_locked(path: Path, folder: bool, suffix: str) -> tuple[Path, int | None]:
    while True:
        temporary = _create_temporary(path, folder, suffix)
        if not _POSIX:
            return temporary, None
        with contextlib.suppress(FileNotFoundError):  # another writer may remove it before it is locked
            handle = os.open(temporary, os.O_RDONLY)
            got = try_lock(handle)
            if got is None or (got and is_same_file(handle, temporary)):
                return temporary, handle
            os.close(handle)


def _create_temporary(path: Path, folder: bool, suffix: str) -> Path:
    """Create an empty file or folder with the permissions that any new one gets here."""
    while True:
        temporary = path.with_name(f".{path.name}.limelight-{secrets.token_hex(4)}.{suffix}")
        with contextlib.suppress(FileExistsError):
            temporary.mkdir() if folder else temporary.touch(exist_ok=False)
            return temporary


def _remove_leftovers(path: Path) -> None:
    """Remove what killed writers of `path` left behind; what is still being written is locked.

    If one was killed between the two renames of `_replace_in_two_steps`, the old folder comes back.
    Without locks, nothing is removed, and nothing comes back by itself.
    """
    for leftover in _leftovers(path) if _POSIX else ():
        with contextlib.suppress(OSError):
            handle = os.open(leftover, os.O_RDONLY)
            try:
                if try_lock(handle):
                    if (leftover / _OLD).exists() and not os.path.lexists(path):
                        os.replace(leftover / _OLD, path)
                    _remove(leftover)
            finally:
                os.close(handle)


def _leftovers(path: Path) -> list[Path]:
    """What has a name that `_create_temporary` may have given, and nobody else would."""
    ours = re.compile(rf"\.{re.escape(path.name)}\.limelight-[0-9a-f]{{8}}\.(part|old)")
    try:
        return [path.with_name(name) for name in os.listdir(path.parent) if ours.fullmatch(name)]
    except OSError:  # no such folder yet, or one that cannot be listed
        return []


def old_folders(path: str | Path) -> list[Path]:
    """Where the folder `path` is while a writer replaces it in two steps, or was killed between them.

    >>> old_folders("no such folder")
    []
    """
    return [leftover / _OLD for leftover in _leftovers(Path(os.path.realpath(path)))]


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def _put_in_place(new: Path, path: Path) -> None:
    """Rename `new` to `path`; an old folder there ends up under the name `new`, or is gone."""
    if not path.exists():
        os.replace(new, path)
    elif not exchange(new, path):
        _replace_in_two_steps(new, path)


def _replace_in_two_steps(new: Path, path: Path) -> None:
    with _temporary(path, folder=True, suffix="old") as aside:
        try:
            os.replace(path, aside / _OLD)
            os.replace(new, path)
        except BaseException:
            if (aside / _OLD).exists() and not path.exists():
                os.replace(aside / _OLD, path)
            raise
        os.replace(aside / _OLD, aside / "gone")  # half of it must never come back


def _fsync_folder(folder: Path) -> None:
    """Make a rename inside `folder` survive a power cut."""
    if _POSIX:
        _fsync(folder)


def _fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY if _POSIX else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def exchange(one: Path, other: Path) -> bool:
    """Let two existing files or folders trade names; False where that is not possible, and nothing changed.

    Linux can, on most of its file systems; there is no moment at which one of the names is missing.

    >>> exchange(Path("no such folder"), Path("nor this one"))
    False
    """
    if sys.platform != "linux":
        return False
    try:
        renameat2 = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):  # a C library older than 2018, or another one
        return False
    return bool(renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0)
