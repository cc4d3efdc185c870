"""Reading files, compressed or not, with a one-line error when one cannot be read."""

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

from ..errors import LimelightError, damaged, need, tidy_os_errors, wrong_file

_ZST_READ = 2048  # compressed bytes: they can become 64 MiB, and the library cannot stop earlier
COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")


@contextlib.contextmanager
def open_bytes(path: str | Path, raw: BinaryIO | None = None) -> Iterator[BinaryIO]:
    """Open a file for its decompressed bytes; the suffix says how: .gz, .xz, .bz2, .zst, .zip or none.

    `raw` may be the file already open, for a caller that follows how far it has been read.
    """
    path = Path(path)
    check_file(path)
    with tidy_reading(path), contextlib.ExitStack() as stack:
        raw = raw or stack.enter_context(open(path, "rb"))
        yield stack.enter_context(decompress(raw, path))


def check_file(path: Path) -> None:
    """Raise if `path` is missing, a folder, a pipe or a device, which could keep us waiting for ever."""
    with tidy_os_errors(f"cannot read {path}"):  # a name may be too long to look for
        if not path.exists():
            raise LimelightError(f"no such file: {path}", code="file-missing")
        if path.is_dir():
            raise wrong_file(f"{path} is a folder; name a file in it")
        if not path.is_file():
            raise wrong_file(f"{path} is a pipe or a device; give a file")


@contextlib.contextmanager
def tidy_reading(path: Path) -> Iterator[None]:
    """Turn any failure to read a file (no permission, a damaged archive) into a one-line error."""
    try:
        yield
    except LimelightError:
        raise
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        reason = " ".join(str(getattr(error, "strerror", None) or error).split())
        code = "os-error" if getattr(error, "errno", None) else "file-damaged"
        raise LimelightError(f"cannot read {path}: {reason}", code=code) from error
    except Exception as error:
        if type(error).__name__ != "ZstdError":  # an optional library: its class cannot be named above
            raise
        raise damaged(f"cannot read {path}: {error}") from error


def decompress(raw: BinaryIO, path: Path) -> Any:
    """The decompressed bytes of an open file, as a context; `raw` stays open after it."""
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
    """A reader that raises at the end of a truncated file, which the library's own takes for complete."""

    def __init__(self, raw: BinaryIO, path: Path) -> None:
        zstandard = need("zstandard", path, "tables")
        self._raw, self._new_frame = raw, zstandard.ZstdDecompressor().decompressobj
        self._frame, self._ready, self._taken = self._new_frame(), b"", 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while self._taken == len(self._ready):
            if self._frame.eof and (packed := self._frame.unused_data or self._raw.read(_ZST_READ)):
                self._frame = self._new_frame()
            elif self._frame.eof:
                return 0
            elif not (packed := self._raw.read(_ZST_READ)):
                raise EOFError("the compressed data ends too early")
            self._ready, self._taken = self._frame.decompress(packed), 0
        piece = self._ready[self._taken : self._taken + len(buffer)]
        buffer[: len(piece)] = piece
        self._taken += len(piece)
        return len(piece)


def _only_member(archive: zipfile.ZipFile, path: Path) -> IO[bytes]:
    names = [info.filename for info in archive.infolist() if not info.is_dir()]
    if len(names) != 1:
        fault = f"{path} holds {len(names)} files ({', '.join(names[:6])}); unpack it and give one of them"
        raise LimelightError(fault, code="archive-files")
    return archive.open(names[0])
