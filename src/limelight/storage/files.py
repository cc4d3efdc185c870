"""Writing so that a reader sees the old file or the new one, never half of either."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..errors import LimelightError, tidy_os_errors
from .locks import is_at, lock

WAS = "was"  # what an old folder is called while the new one takes its place
_POSIX = os.name == "posix"  # elsewhere a folder cannot be opened, nor an open file renamed


class Kind(NamedTuple):
    """A kind of folder that we write: the files that each of them has, and those that some have."""

    name: str
    marks: tuple[str, ...]
    others: tuple[str, ...]


@contextlib.contextmanager
def atomic_file(path: str | Path) -> Iterator[BinaryIO]:
    """Write a file through a temporary one in the same folder: fsync, rename, fsync the folder.

    >>> with atomic_file("note.txt") as file:  # doctest: +SKIP
    ...     file.write(b"all of it or nothing")
    """
    path = Path(os.path.realpath(path))  # through a link, as any program writes
    with tidy_os_errors(f"cannot write {path}"):
        if path.exists() and not path.is_file():  # such as /dev/null, which renaming would replace
            raise LimelightError(f"cannot write {path}: it is there already and no plain file")
        with _part_of(path) as part:
            with open(part, "wb") as file:  # opened again by name, for writers that want a path: file.name
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
            _fsync_folder(path.parent)


@contextlib.contextmanager
def atomic_folder(path: str | Path, kind: Kind, overwrite: bool = False) -> Iterator[Path]:
    """Fill a temporary folder beside `path`, then rename it into place as a whole.

    >>> with atomic_folder("notes", Kind("a folder of notes", ("note.txt",), ())) as folder:  # doctest: +SKIP
    ...     (folder / "note.txt").write_text("all of it or nothing")
    """
    check_replaceable(path, kind, overwrite)
    path = Path(os.path.realpath(path))
    with tidy_os_errors(f"cannot write {path}"), _part_of(path, folder=True) as part:
        yield part
        for file in part.rglob("*"):
            if file.is_file():
                _fsync(file)
        _swap(part, path)
        _fsync_folder(path.parent)


def check_replaceable(path: str | Path, kind: Kind, overwrite: bool) -> None:
    """A folder of the same kind may be overwritten if that is wished; whatever else is there stays.

    >>> notes = Kind("a folder of notes", ("note.txt",), ())
    >>> check_replaceable("no such folder", notes, overwrite=False)
    """
    path = Path(path)
    if path.name in ("", ".."):
        raise LimelightError(f"{str(path)!r} cannot be the output; name a new folder")
    with tidy_os_errors(f"cannot write {path}"):
        _sweep(Path(os.path.realpath(path)))  # what was there before a killed writer comes back
        if not path.exists() or (path.is_dir() and not any(path.iterdir())):
            return
        if not all((path / mark).is_file() for mark in kind.marks):
            raise LimelightError(f"{path} exists and is not {kind.name}, so it stays; choose another name")
        ours = {*kind.marks, *kind.others}
        own = sorted(each.name for each in path.iterdir() if each.name not in ours or not each.is_file())
        if overwrite and own:
            raise LimelightError(f"{path} also holds {own[0]}, which would be lost; move it first")
    if not overwrite:
        raise LimelightError(
            f"{path} already exists; choose another name or allow it with --overwrite "
            "(in Python: overwrite=True)"
        )


def check_writable(folder: str | Path) -> None:
    """Say before the long work that nothing can be written into a folder, which need not be there yet."""
    folder = Path(folder)
    with tidy_os_errors(f"cannot write {folder}"):
        there = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
        tempfile.TemporaryFile(dir=there).close()


@contextlib.contextmanager
def _part_of(path: Path, folder: bool = False, suffix: str = "part") -> Iterator[Path]:
    """A new file or folder beside `path`, gone at the end if it has not been renamed.

    It is locked meanwhile: so other writers know it from what a killed one has left. If it holds what `path`
    was and has lost, it stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path)
    part, handle = _locked_part(path, folder, suffix)
    try:
        yield part
    finally:
        with contextlib.suppress(OSError):
            if not (part / WAS).exists():
                _remove(part)
        if handle is not None:
            os.close(handle)


def _locked_part(path: Path, folder: bool, suffix: str) -> tuple[Path, int | None]:
    while True:
        part = _new_part(path, folder, suffix)
        if not _POSIX:
            return part, None
        with contextlib.suppress(FileNotFoundError):  # before it is locked, another writer may sweep it up
            handle = os.open(part, os.O_RDONLY)
            mine = lock(handle)
            if mine is None or (mine and is_at(handle, part)):
                return part, handle
            os.close(handle)


def _new_part(path: Path, folder: bool, suffix: str) -> Path:
    """An empty file or folder with the permissions that a new one has here."""
    while True:
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.{suffix}")
        with contextlib.suppress(FileExistsError):
            part.mkdir() if folder else part.touch(exist_ok=False)
            return part


def _sweep(path: Path) -> None:
    """Clear away what writing `path` left behind when it was killed; what is being written is locked.

    If it was killed just when the new folder was to take the place of the old one, the old one comes back.
    Where there are no locks, nothing is cleared away, and nothing comes back by itself.
    """
    for part in path.parent.glob(f".{glob.escape(path.name)}.????????.*") if _POSIX else ():
        if part.suffix not in (".part", ".old"):
            continue
        with contextlib.suppress(OSError):
            handle = os.open(part, os.O_RDONLY)
            try:
                if lock(handle):
                    if (part / WAS).exists() and not os.path.lexists(path):
                        os.replace(part / WAS, path)
                    _remove(part)
            finally:
                os.close(handle)


def _remove(part: Path) -> None:
    shutil.rmtree(part) if part.is_dir() else part.unlink()


def _swap(new: Path, path: Path) -> None:
    """Rename `new` to `path`; what stood there goes only after the new one is complete."""
    if not path.exists():
        os.replace(new, path)
        return
    with _part_of(path, folder=True, suffix="old") as aside:
        try:
            os.replace(path, aside / WAS)
            os.replace(new, path)
        except BaseException:
            if (aside / WAS).exists() and not path.exists():
                os.replace(aside / WAS, path)
            raise
        os.replace(aside / WAS, aside / "gone")  # half of it must never come back


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


def tables_of(given: Mapping[str, Any]) -> dict[str, list[Path]]:
    """The files of each part, of which people name one or several; `train` must have at least one.

    >>> tables_of({"train": "train.csv", "dev": None}) == {"train": [Path("train.csv")]}
    True
    >>> tables_of({"train": 3})
    Traceback (most recent call last):
    limelight.errors.LimelightError: train must be a file or a list of files, not int
    """
    found = {name: [] if each is None else _paths(name, each) for name, each in given.items()}
    if not found["train"]:
        raise LimelightError("there is no training table; name at least one")
    return {name: paths for name, paths in found.items() if paths}


def _paths(name: str, given: Any) -> list[Path]:
    one = isinstance(given, str | os.PathLike | Mapping) or hasattr(given, "ndim")
    several = list(given) if isinstance(given, Iterable) and not one else [given]
    for path in several:
        if not isinstance(path, str | os.PathLike) or not os.fspath(path):
            shown = "''" if isinstance(path, str) else type(path).__name__
            raise LimelightError(f"{name} must be a file or a list of files, not {shown}")
    return [Path(path) for path in several]
