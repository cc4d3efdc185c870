"""The input of a bulk job: the tables that an address names, cut into pieces of one output file each."""

import fnmatch
import glob
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, NoReturn

from ..errors import LimelightError, need, no_rows, tidy_os_errors, wrong_file
from ..storage.compression import check_file
from ..tables.formats import table_format
from ..tables.parquet import open_parquet
from ..tables.table import column_names

MARK = b"limelight"  # in the metadata of an output file: what it was made of
PIECE_ROWS = 2**16  # of parquet; other formats cannot be read from the middle, so each file is one piece
_HIDDEN = ("_", ".")  # how the names begin of what a folder does not offer
_IN_FOLDERS = ("csv", "tsv", "jsonl", "parquet")  # not .txt: a folder of tables may hold a README.txt


class InputFile(NamedTuple):
    """A table: where it is, its name below the given address, and what changes when it changes."""

    address: str  # an absolute path, or scheme://...
    name: str
    version: str

    @property
    def format(self) -> str:
        """csv, tsv, jsonl, lines or parquet."""
        return table_format(Path(self.name))


class Piece(NamedTuple):
    """The rows `start` to `stop` of a table, from 0; without `stop`, all of it."""

    file: InputFile
    start: int
    stop: int | None
    out: str  # the name of its output file

    @property
    def rows(self) -> int | None:
        """How many rows it must have, if that is known before it is read."""
        return None if self.stop is None else self.stop - self.start


def list_files(data: str | Path, out: Path | None = None) -> list[InputFile]:
    """The tables of a folder and all folders in it, of a pattern such as `day-*/part-?.csv`, or one table.

    An address such as `s3://bucket/reviews` is read with fsspec. In folders, names that begin with `_` or `.`
    are left out, and so are the files of the folder `out`, which the job itself writes. A folder that cannot
    be read is an error.
    """
    data = os.fspath(data)
    with tidy_os_errors(f"cannot read {data}"):
        found = _remote_files(data) if is_remote(data) else _local_files(data.removeprefix("file://"), out)
    if not found:
        known = "a folder, a pattern or a file of " + ", ".join(f".{each}" for each in _IN_FOLDERS)
        raise no_rows(f"{data} has no tables; give {known}")
    for each in found:
        _ = each.format  # raises unless it can be read
    return sorted(found)


def cut(files: Sequence[InputFile], settings: Mapping[str, Any]) -> list[Piece]:
    """All pieces; their names follow from the input and from what is made of it."""
    with ThreadPoolExecutor(16) as pool:  # of a remote store, each footer takes a while
        spans = pool.map(_spans, files)
        return [
            Piece(file, start, stop, output_name(file, start, stop, settings))
            for file, each in zip(files, spans, strict=True)
            for start, stop in each
        ]


def output_name(file: InputFile, start: int, stop: int | None, settings: Mapping[str, Any]) -> str:
    """The output file of a piece: readable, and another one for any other input, model or option."""
    identity = json.dumps([file.name, file.version, start, stop, settings], sort_keys=True)
    digest = hashlib.sha256(identity.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{PurePosixPath(file.name).name.split('.')[0][:100]}-{start:09d}-{digest}.parquet"


def version_of(address: str) -> str:
    """What changes when a file changes: its size and time, or the store's own checksum."""
    if is_remote(address):
        fs, path = _filesystem(address)
        fs.invalidate_cache()
        return f"{fs.checksum(path)}"
    with tidy_os_errors(f"cannot read {address}"):
        found = os.stat(address)
    if not stat.S_ISREG(found.st_mode):
        raise wrong_file(f"{address} is a folder, a pipe or a device; give a file")
    return f"{found.st_size} {found.st_mtime_ns}"


@contextmanager
def local_copy(file: InputFile) -> Iterator[Path]:
    """The file itself, or a copy of a remote one for as long as it is read."""
    if not is_remote(file.address):
        check_file(Path(file.address))
        yield Path(file.address)
        return
    with TemporaryDirectory() as folder:
        path = Path(folder, PurePosixPath(file.name).name)
        fs, remote = _filesystem(file.address)
        fs.get_file(remote, str(path))
        yield path


@contextmanager
def parquet_file(file: InputFile) -> Iterator[Any]:
    """A parquet table, open; of a remote one only the parts are fetched that are read."""
    if is_remote(file.address):
        fs, path = _filesystem(file.address)
        with fs.open(path, "rb") as raw, open_parquet(Path(file.name), raw) as found:
            yield found
    else:
        with open_parquet(Path(file.address)) as found:
            yield found


def names_of(file: InputFile) -> list[str]:
    if file.format == "parquet":
        with parquet_file(file) as found:
            return list(found.schema_arrow.names)
    with local_copy(file) as path:
        return column_names(path)


def is_remote(address: str) -> bool:
    return "://" in address and not address.startswith("file://")


def _spans(file: InputFile) -> list[tuple[int, int | None]]:
    if file.format != "parquet":
        return [(0, None)]
    with parquet_file(file) as found:
        rows = found.metadata.num_rows
        if MARK in (found.metadata.metadata or {}):
            fault = f"{file.name} is the output of a bulk job, not a table to read"
            raise LimelightError(f"{fault}; move it out of the input", code="input-is-output")
    return [(k, min(k + PIECE_ROWS, rows)) for k in range(0, rows, PIECE_ROWS)]


def _local_files(data: str, out: Path | None) -> list[InputFile]:
    root, pattern = os.path.abspath(data), ""
    if glob.has_magic(data) and not os.path.exists(root):
        fixed = _fixed_part(data)
        root, pattern = os.path.abspath(fixed), data[len(fixed) :]  # its folder may be called day[1]
    if os.path.isdir(root):
        found = [each for each in _walk(root) if _is_wanted(os.path.relpath(each, root), pattern)]
    elif os.path.exists(root):
        found, root = [root], os.path.dirname(root)
    else:
        raise LimelightError(f"no such file or folder: {data}", code="file-missing")
    written = None if out is None else os.path.realpath(out)
    kept = [each for each in found if os.path.realpath(os.path.dirname(each)) != written]
    if found and not kept:
        fault = f"all tables of {data} are in {out}, where the answers go; choose another folder for them"
        raise LimelightError(fault, code="out-holds-data")
    return [InputFile(each, Path(each).relative_to(root).as_posix(), version_of(each)) for each in kept]


def _walk(root: str) -> Iterator[str]:
    """The files below a folder, but for folders whose names begin with `_` or `.`."""
    for folder, inner, names in os.walk(root, onerror=_refuse):
        inner[:] = [each for each in inner if not each.startswith(_HIDDEN)]
        yield from (os.path.join(folder, name) for name in names)


def _refuse(error: OSError) -> NoReturn:
    """`os.walk` would leave a folder out that it cannot read."""
    fault = f"cannot read {error.filename}: {error.strerror or error}"
    raise LimelightError(fault, code="os-error") from error


def _remote_files(data: str) -> list[InputFile]:
    fs, path = _filesystem(data)
    fixed = _fixed_part(path) if glob.has_magic(path) else path
    root, pattern = fixed.rstrip("/"), path[len(fixed) :]
    if pattern or fs.isdir(path):
        inner = ((each, each[len(root) :].lstrip("/")) for each in _find(fs, root))
        found = [each for each, name in inner if _is_wanted(name, pattern)]
    elif fs.exists(path):
        found, root = [path], root.rpartition("/")[0]
    else:
        raise LimelightError(f"no such file or folder: {data}", code="file-missing")
    named = {fs.unstrip_protocol(each): each[len(root) :].lstrip("/") for each in found}
    return [InputFile(address, name, version_of(address)) for address, name in named.items()]


def _find(fs: Any, folder: str) -> Iterator[str]:
    """The files below a folder. A store without folders, such as S3, lists them all at once."""
    from fsspec import AbstractFileSystem

    if type(fs).find is not AbstractFileSystem.find:
        yield from fs.find(folder)
        return
    for each in fs.ls(folder, detail=True):  # its own `find` leaves out what it cannot read
        name = each["name"].rstrip("/")
        if each["type"] != "directory":
            yield each["name"]
        elif name != folder.rstrip("/") and not Path(name).name.startswith(_HIDDEN):
            yield from _find(fs, each["name"])


def _fixed_part(pattern: str) -> str:
    """The folder that all files of a pattern are in: /data/ of /data/day-*/part-?.csv."""
    first = min(pattern.find(mark) for mark in "*?[" if mark in pattern)
    return pattern[: pattern.rfind("/", 0, first) + 1]


def _filesystem(address: str) -> tuple[Any, str]:
    fsspec = need("fsspec.core", address, "ray")
    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:  # such as s3fs, which is not installed
        raise LimelightError(f"{address} cannot be opened: {error}", code="file-unreadable") from None
    return found


def _is_wanted(inner: str, pattern: str) -> bool:
    """Whether a file, named from its folder on, fits a pattern or, without one, is a table."""
    parts = Path(inner).parts
    if any(part.startswith(_HIDDEN) for part in parts):
        return False
    if pattern:
        return _fits(parts, pattern.split("/"))
    try:
        return table_format(Path(inner)) in _IN_FOLDERS
    except LimelightError:
        return False


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a path do, as `glob` understands a pattern."""
    if not parts or not pattern:
        return not parts and not pattern
    if pattern[0] == "**":
        rest = pattern[1:] or ["*"]
        return any(_fits(parts[k:], rest) for k in range(len(parts)))
    return fnmatch.fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])
