"""Opening a file for reading, compressed or not, with one clear line when it cannot be read."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

from ..errors import LimelightError

COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")


@contextlib.contextmanager
def open_bytes(path: str | Path, raw: BinaryIO | None = None) -> Iterator[BinaryIO]:
    """The decompressed bytes of a file, by its last suffix: .gz, .xz, .bz2, .zst, .zip or none of them.

    `raw` may be the file already opened, for a caller who watches how far it has been read.

    >>> with open_bytes("reviews.csv.gz") as file:  # doctest: +SKIP
    ...     file.readline()
    b'text,stars\\n'
    """
    path = Path(path)
    check_file(path)
    with tidy_reading(path), contextlib.ExitStack() as stack:
        raw = raw or stack.enter_context(open(path, "rb"))
        yield stack.enter_context(_decompressed(raw, path))


def check_file(path: Path) -> None:
    """A missing file or a folder, said in one line."""
    if not path.exists():
        raise LimelightError(f"there is no file {path}; check the name")
    if path.is_dir():
        raise LimelightError(f"{path} is a folder; name a file in it")


@contextlib.contextmanager
def tidy_reading(path: Path) -> Iterator[None]:
    """Turn what goes wrong below a read (no permission, a damaged archive) into one clear line."""
    try:
        yield
    except LimelightError:
        raise
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        reason = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise LimelightError(f"cannot read {path}: {reason}") from error
    except Exception as error:
        if type(error).__name__ != "ZstdError":  # an optional library: its class cannot be named above
            raise
        raise LimelightError(f"cannot read {path}: {error}") from error


def _decompressed(raw: BinaryIO, path: Path) -> Any:
    match path.suffix.lower():
        case ".gz":
            return gzip.GzipFile(fileobj=raw)
        case ".xz":
            return lzma.open(raw)
        case ".bz2":
            return bz2.open(raw)
        case ".zst":
            return io.BufferedReader(_Zstandard(raw, path))
        case ".zip":
            return _only_member(zipfile.ZipFile(raw), path)
    return contextlib.nullcontext(raw)


class _Zstandard(io.RawIOBase):
    """The library's own reader takes a file that was cut off for a whole one; this one does not."""

    def __init__(self, raw: BinaryIO, path: Path) -> None:
        try:
            import zstandard
        except ImportError:
            raise LimelightError(f"{path} needs zstandard: pip install 'limelight[tables]'") from None
        self._raw, self._new = raw, zstandard.ZstdDecompressor().decompressobj
        self._frame, self._ready, self._given = self._new(), b"", 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while self._given == len(self._ready):
            if self._frame.eof and (packed := self._frame.unused_data or self._raw.read(1 << 16)):
                self._frame = self._new()
            elif self._frame.eof:
                return 0
            elif not (packed := self._raw.read(1 << 16)):
                raise EOFError("the compressed data ends too early")
            self._ready, self._given = self._frame.decompress(packed), 0
        piece = self._ready[self._given : self._given + len(buffer)]
        buffer[: len(piece)] = piece
        self._given += len(piece)
        return len(piece)


def _only_member(archive: zipfile.ZipFile, path: Path) -> IO[bytes]:
    names = [info.filename for info in archive.infolist() if not info.is_dir()]
    if len(names) != 1:
        raise LimelightError(
            f"{path} holds {len(names)} files ({', '.join(names[:6])}); unpack it and name the one to read"
        )
    return archive.open(names[0])
