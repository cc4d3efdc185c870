"""Read a file, a folder, a zip or a tar in the same way."""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

from limelight.errors import LimelightError
from limelight.storage.compression import COMPRESSIONS, check_file, open_bytes, tidy_reading
from limelight.tables.formats import join_names

TARS = (".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")
BUFFER = 1 << 20  # zip and tar read line by line are slow without one


@dataclass(frozen=True)
class Source:
    """The files of a distribution by name, whatever holds them.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "test.csv").write_text('"5","Good soup."')
    >>> with open_source(folder) as source:
    ...     list(source.lines(source.find("test.csv")))
    [b'"5","Good soup."']
    """

    path: Path
    names: list[str]
    opener: Callable[[str], contextlib.AbstractContextManager[IO[bytes]]]

    def find(self, *wanted: str) -> str:
        """The first of these names that exists, compressed or not, in any folder."""
        for name in wanted:
            spellings = {name, *(name + suffix for suffix in COMPRESSIONS)}
            found = [n for n in self.names if PurePosixPath(n).name in spellings]
            if len(found) > 1:
                raise LimelightError(
                    f"{self.path} holds several {name} ({join_names(found)}); give one folder",
                    code="source-ambiguous",
                )
            if found:
                return found[0]
        held = f"it holds: {join_names(self.names)}" if self.names else "it is empty"
        raise LimelightError(f"{self.path} holds no {' or '.join(wanted)}; {held}", code="file-missing")

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """The bytes of one of the files."""
        with _tidy(self.path), self.opener(name) as file:
            yield io.BufferedReader(cast(io.RawIOBase, file), BUFFER)

    def lines(self, name: str) -> Iterator[bytes]:
        """The non-blank lines of one of the files, without a byte-order mark."""
        with self.open(name) as file:
            first = file.readline().removeprefix(b"\xef\xbb\xbf")
            yield from (line for line in itertools.chain([first], file) if line and not line.isspace())

    def fingerprint(self, name: str) -> dict[str, str]:
        """Enough to tell two downloads apart, without reading all of them."""
        with self.open(name) as file:
            return {"name": name, "sha256_of_first_mb": hashlib.sha256(file.read(1 << 20)).hexdigest()}


@contextlib.contextmanager
def open_source(path: str | Path, out: str | Path | None = None) -> Iterator[Source]:
    """A file, a folder (and the folders in it), a zip or a tar as a `Source`.

    `out` is the folder to be written from it, which must not hold the source: overwriting would delete it.

    >>> with open_source("snli_1.0.zip") as source:  # doctest: +SKIP
    ...     source.find("snli_1.0_dev.jsonl")
    'snli_1.0/snli_1.0_dev.jsonl'
    """
    path = Path(path)
    if out is not None and path.resolve().is_relative_to(Path(out).resolve()):
        raise LimelightError(f"{path} would be overwritten by {out}; write to another folder", code="exists")
    if path.is_dir():
        with tidy_reading(path):
            names = [file.relative_to(path).as_posix() for file in _files(path)]
        yield Source(path, names, lambda name: open_bytes(path / name))
        return
    check_file(path)
    if path.name.lower().endswith(TARS):
        with _tidy(path):
            tar = tarfile.open(path)  # noqa: SIM115 (closed below; an error there is the caller's, not ours)
        with tar:
            yield Source(path, _tar_names(tar, path), lambda name: cast(IO[bytes], tar.extractfile(name)))
    elif path.suffix.lower() == ".zip":
        with _tidy(path):
            archive = zipfile.ZipFile(path)
        with archive:
            yield Source(path, [i.filename for i in archive.infolist() if not i.is_dir()], archive.open)
    else:
        yield Source(path, [path.name], lambda name: open_bytes(path))


def _files(folder: Path) -> list[Path]:
    """Files here and one folder down: enough for an unpacked distribution, without searching a disk."""
    return sorted(f for pattern in ("*", "*/*") for f in folder.glob(pattern) if f.is_file())


def _tar_names(tar: tarfile.TarFile, path: Path) -> list[str]:
    with _tidy(path):
        return [member.name for member in tar.getmembers() if member.isfile()]


@contextlib.contextmanager
def _tidy(path: Path) -> Iterator[None]:
    """`tidy_reading`, also for what archives raise: damaged, encrypted, unknown compression."""
    try:
        with tidy_reading(path):
            yield
    except (tarfile.TarError, NotImplementedError, RuntimeError) as error:
        reason = str(error).partition("\n")[0].rstrip(":")
        raise LimelightError(
            f"cannot read {path}: {reason}; unpack it and give the folder", code="source-damaged"
        ) from error
