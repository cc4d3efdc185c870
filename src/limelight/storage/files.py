"""Files and folders that appear whole or not at all.

A reader sees the old content or the new, never half of either, whatever ends the process that writes.
"""

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

from ..errors import LimelightError, name_taken, tidy_os_errors, wrong_file
from .locks import is_same_file, try_lock

# In a temporary folder: a note that it is ours, what is being written, and the old folder being replaced.
_MARK, _NEW, _OLD = "limelight", "new", "was"
_NOTE = b"Limelight was writing here. If no process of it is running, this folder can be deleted.\n"
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of renameat2: paths from the working folder; trade names
_POSIX = os.name == "posix"  # elsewhere a folder cannot be opened, nor an open file renamed


class FolderLayout(NamedTuple):
    """A type of folder that we write: the files that all of them have, and those that some have."""

    name: str
    required: tuple[str, ...]
    optional: tuple[str, ...]


@contextlib.contextmanager
def atomic_file(path: str | Path, overwrite: bool = True) -> Iterator[BinaryIO]:
    """Write a file through a temporary one beside it: fsync, rename, fsync the folder.

    Without `overwrite`, a file that has appeared at `path` meanwhile stays, and this one is an error.
    """
    path = Path(os.path.realpath(path))  # follow links, as any program that writes does
    with tidy_os_errors(f"cannot write {path}"):
        if path.exists() and not path.is_file():  # such as /dev/null, which a rename would replace
            raise name_taken(f"cannot write {path}: it exists and is not a regular file")
        with _temporary(path) as temporary:
            with open(temporary / _NEW, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary / _NEW, path) if overwrite else _rename_to_free_name(temporary / _NEW, path)
            fsync(path.parent)


def write_file(path: str | Path, content: str | bytes, overwrite: bool = True) -> None:
    """Write a file as `atomic_file` does; half a character, which is not text, becomes a question mark."""
    with atomic_file(path, overwrite) as file:
        file.write(content.encode(errors="replace") if isinstance(content, str) else content)


@contextlib.contextmanager
def atomic_folder(path: str | Path, layout: FolderLayout, overwrite: bool = False) -> Iterator[Path]:
    """Fill a temporary folder beside `path`, then put it in place as a whole.

    An old folder at `path` and the new one trade names in one step where the system can (see `exchange`).
    Elsewhere two renames follow each other: for a moment `path` is missing, and after a kill in that moment
    the next writer brings the old folder back.
    """
    check_replaceable(path, layout, overwrite)
    path = Path(os.path.realpath(path))
    with tidy_os_errors(f"cannot write {path}"), _temporary(path) as temporary:
        new = temporary / _NEW
        new.mkdir()
        yield new
        for file in new.rglob("*"):
            if file.is_file():
                fsync(file)
        _put_in_place(temporary, path, overwrite)
        fsync(path.parent)


def check_replaceable(path: str | Path, layout: FolderLayout, overwrite: bool) -> None:
    """Raise unless `path` is free or, with `overwrite`, a folder of this layout and nothing else."""
    path = Path(path)
    if path.name in ("", ".."):
        raise LimelightError(f"{str(path)!r} cannot be the output; name a new folder", code="path-name")
    with tidy_os_errors(f"cannot write {path}"):
        _remove_leftovers(Path(os.path.realpath(path)))  # may bring back what was there before a kill
        if not path.exists() or (path.is_dir() and not any(path.iterdir())):
            return
        if not all((path / name).is_file() for name in layout.required):
            raise name_taken(f"{path} exists and is not {layout.name}; choose another name")
        ours = {*layout.required, *layout.optional}
        foreign = sorted(each.name for each in path.iterdir() if each.name not in ours or not each.is_file())
        if overwrite and foreign:
            raise name_taken(f"{path} also holds {foreign[0]}, which would be lost; move it first")
    if not overwrite:
        raise _exists_error(path)


def check_output_file(path: str | Path, overwrite: bool) -> None:
    """Raise before the long work if a file cannot be written here."""
    path = Path(path)
    if path.is_dir():
        raise wrong_file(f"{path} is a folder; give a file name")
    if path.exists() and not overwrite:
        raise _exists_error(path)


def check_writable(folder: str | Path) -> None:
    """Raise if nothing can be written into a folder, which need not exist yet: before the long work."""
    folder = Path(folder)
    with tidy_os_errors(f"cannot write {folder}"):
        nearest = next(each for each in (folder, *folder.absolute().parents) if os.path.lexists(each))
        tempfile.TemporaryFile(dir=nearest).close()


def remove_leftovers(folder: str | Path) -> None:
    """Remove what killed writers of any file left in a folder; what is still being written is locked."""
    _remove_leftovers(Path(folder, "any"), ".+")


@contextlib.contextmanager
def workshop(path: Path) -> Iterator[Path]:
    """A place for a folder that takes longer to write than one process may live.

    `path` holds our note and, at the place that is yielded, the work so far. It is removed after the work,
    and stays if that fails or the process dies. A folder without our note is someone else's: an error.
    """
    with tidy_os_errors(f"cannot write {path}"):
        path.mkdir(parents=True, exist_ok=True)
        if not _is_ours(path):
            fault = f"Limelight needs the name {path}, which is taken: move it away, or delete it if it is "
            fault += "what an interrupted --overwrite of an earlier version left"
            raise name_taken(fault)
        if not (path / _NEW).exists():
            (path / _MARK).write_bytes(_NOTE)
        yield path / _NEW
        _remove(path)


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    """A locked folder beside `path` to write in, removed at the end unless it holds the old folder.

    Other writers can tell it from what a killed one left behind, which nobody locks.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    temporary, handle = _create_locked(path)
    try:
        (temporary / _MARK).write_bytes(_NOTE)
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            if not (temporary / _OLD).exists():
                _remove(temporary)
        if handle is not None:
            os.close(handle)


def _create_locked(path: Path) -> tuple[Path, int | None]:
    while True:
        temporary = _create_temporary(path)
        if not _POSIX:
            return temporary, None
        with contextlib.suppress(FileNotFoundError):  # another writer may remove it before it is locked
            handle = os.open(temporary, os.O_RDONLY)
            got = try_lock(handle)
            if got is None or (got and is_same_file(handle, temporary)):
                return temporary, handle
            os.close(handle)


def _create_temporary(path: Path) -> Path:
    """Create an empty folder with the permissions that any new one gets here."""
    while True:
        temporary = path.with_name(f".{path.name}.limelight-{secrets.token_hex(4)}.part")
        with contextlib.suppress(FileExistsError):
            temporary.mkdir()
            return temporary


def _remove_leftovers(path: Path, names: str = "") -> None:
    """Remove what killed writers of `path`, or of `names` beside it, left behind.

    If one was killed between the two renames of `_replace_in_two_steps`, the old folder comes back to `path`.
    Without locks, nothing is removed, and nothing comes back by itself.
    """
    for leftover in _leftovers(path, names):
        with contextlib.suppress(OSError):  # where a folder cannot be opened, nothing is locked or removed
            handle = os.open(leftover, os.O_RDONLY)
            try:
                if try_lock(handle):
                    if not names and (leftover / _OLD).exists() and not os.path.lexists(path):
                        os.replace(leftover / _OLD, path)
                    if _is_ours(leftover):
                        _remove(leftover)
            finally:
                os.close(handle)


def _leftovers(path: Path, names: str = "") -> list[Path]:
    """Folders with a name that `_create_temporary` may have given for `path`, or for `names` beside it."""
    pattern = rf"\.({names or re.escape(path.name)})\.limelight-[0-9a-f]{{8}}\.(part|old)"
    try:
        found = [each for each in os.listdir(path.parent) if re.fullmatch(pattern, each, re.DOTALL)]
    except OSError:  # no such folder yet, or one that cannot be listed
        return []
    return [path.with_name(each) for each in found if path.with_name(each).is_dir()]


def old_folders(path: str | Path) -> list[Path]:
    """Where the folder `path` is while a writer replaces it in two steps, or was killed between them."""
    return [leftover / _OLD for leftover in _leftovers(Path(os.path.realpath(path)))]


def _is_ours(leftover: Path) -> bool:
    """Whether our note is in it, or nothing but the start of it: a name alone proves nothing."""
    names = os.listdir(leftover)
    if not (leftover / _MARK).is_file():  # a pipe would keep its reader waiting
        return not names
    note = (leftover / _MARK).read_bytes()
    return note == _NOTE or (names == [_MARK] and _NOTE.startswith(note))


def _remove(temporary: Path) -> None:
    """Remove a temporary folder, its mark last: if this is cut short, it can still be told."""
    for each in temporary.iterdir():
        if each.name != _MARK:
            shutil.rmtree(each) if each.is_dir() else each.unlink()
    (temporary / _MARK).unlink(missing_ok=True)
    temporary.rmdir()


def _put_in_place(temporary: Path, path: Path, overwrite: bool) -> None:
    """Rename the new folder to `path`; an old folder there ends up in the temporary one."""
    new = temporary / _NEW
    if overwrite and path.exists():
        if not exchange(new, path):
            _replace_in_two_steps(temporary, path)
        return
    try:
        os.replace(new, path)  # fails if a folder with something in it has appeared meanwhile
    except OSError as error:
        raise _exists_error(path) if os.path.lexists(path) else error from None


def _replace_in_two_steps(temporary: Path, path: Path) -> None:
    old = temporary / _OLD
    try:
        os.replace(path, old)
        os.replace(temporary / _NEW, path)
    except BaseException:
        if old.exists() and not path.exists():
            os.replace(old, path)
        raise
    os.replace(old, temporary / "gone")  # half of it must never come back


def _rename_to_free_name(new: Path, path: Path) -> None:
    try:
        os.link(new, path)
    except OSError as error:  # there is one, or this file system has no links
        if os.path.lexists(path):
            raise _exists_error(path) from error
        os.replace(new, path)


def _exists_error(path: Path) -> LimelightError:
    todo = "choose another name or allow it with --overwrite (in Python: overwrite=True)"
    return name_taken(f"{path} already exists; {todo}")


def fsync(path: Path) -> None:
    """Make what is in a file, or a new name inside a folder, survive a power cut."""
    if not _POSIX and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY if _POSIX else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_at(handle: int, content: bytes, place: int) -> None:
    """Write into an open file from a place on, which ends with it then.

    >>> with tempfile.TemporaryFile() as file:
    ...     write_at(file.fileno(), b"half a li", 0)
    ...     write_at(file.fileno(), b"a line", 5)
    ...     file.seek(0), file.read()
    (0, b'half a line')
    """
    os.ftruncate(handle, place)
    os.lseek(handle, place, os.SEEK_SET)
    left = memoryview(content)
    while left:  # the system may take less of it where a disk is full or a signal comes
        left = left[os.write(handle, left) :]


def exchange(one: Path, other: Path) -> bool:
    """Let two existing files or folders trade names; False where that is not possible, and nothing changed.

    Linux can, on most of its file systems; there is no moment at which one of the names is missing.
    """
    if sys.platform != "linux":
        return False
    try:
        renameat2 = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):  # a C library older than 2018, or another one
        return False
    return bool(renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0)
