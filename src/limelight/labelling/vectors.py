"""The reader's vectors of a table's texts: read once, in the background, and kept on the disk.

Texts are read in a random order that depends on nothing but the texts: what has been read so far is a fair
sample of the table, and a labelling can start after the first hundred. The cache is one file of records, a
hash of the text, its vector in float16 and a checksum of both, which only grows; a table that is sorted or
that grows finds in it what was read before. What is damaged is read again.
"""

import hashlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from ..errors import tidy_os_errors, warn
from ..runtime.reader import Reader
from ..storage.files import write_at
from ..storage.locks import waiting_lock

AT_ONCE = 256  # texts that are read before they can be used
KEY = 16  # bytes
HEADER = b"Limelight: vectors of texts, 2.\n"


def reading_order(keys: Sequence[str], seed: int) -> np.ndarray:
    """(n,): the rows in a random order that stays the same for the same texts, however they are sorted."""
    hashes = [hashlib.blake2b(f"{seed} {key}".encode(), digest_size=8).digest() for key in keys]
    return np.argsort(np.array(hashes, dtype="S8") if hashes else np.zeros(0), kind="stable")


class TextVectors:
    """(texts, size): unit vectors, those of `order[:ready]` filled in so far."""

    def __init__(
        self,
        texts: Sequence[str],
        order: np.ndarray,
        reader: Any = "reader",
        cache: str | Path | None = None,
        *,
        background: bool = True,
    ) -> None:
        self.reader = Reader.load(reader) if isinstance(reader, str | Path) else reader
        self.order, self._texts = order, texts
        self.ready = 0  # how many of `order` have been read
        self._stop = False
        self._cache = Path(cache) if cache else None
        size = self.reader.get_sentence_embedding_dimension() if self.reader else 0
        self.matrix = np.zeros((len(texts), size), np.float32)
        self.is_read = np.zeros(len(texts), bool)
        self._thread: threading.Thread | None = None
        if self.reader is not None and len(texts):
            if background:
                self._thread = threading.Thread(target=self._try_to_read, daemon=True)
                self._thread.start()
            else:
                self._read_all()

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """(n, size): vectors of further texts, such as descriptions of classes."""
        return np.asarray(self.reader.encode(list(texts)), np.float32)

    def wait(self) -> None:
        """Until nothing is read in the background any more."""
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        self._stop = True
        self.wait()

    def _try_to_read(self) -> None:
        try:
            self._read_all()
        except Exception as error:  # a thread has no caller; what was read can be labelled
            warn(f"no more texts are read: {error}")

    def _read_all(self) -> None:
        known = VectorCache(self._cache, self.reader) if self._cache else None
        for start in range(0, len(self.order), AT_ONCE):
            if self._stop:
                return
            rows = self.order[start : start + AT_ONCE]
            texts = [self._texts[row] for row in rows]
            self.matrix[rows] = known.encode(texts) if known else self.encode(texts)
            self.is_read[rows] = True
            self.ready += len(rows)


class VectorCache:
    """A file of vectors that several processes may extend."""

    def __init__(self, path: Path, reader: Any) -> None:
        self.path, self.reader = path, reader
        self.size = reader.get_sentence_embedding_dimension()
        self.record = np.dtype([("key", f"V{KEY}"), ("vector", "<f2", (self.size,)), ("sum", "<u4")])
        self._salt = str(reader.sha256 or repr(reader)).encode()
        # Where the record of each key starts; that of the last one, which stands in for a damaged one.
        self._places, place = dict[bytes, int](), len(HEADER)
        with tidy_os_errors(f"cannot read {path}"):
            if path.is_file():
                with path.open("rb") as file:
                    is_ours = file.read(len(HEADER)) == HEADER
                    while is_ours and len(record := file.read(self.record.itemsize)) == self.record.itemsize:
                        self._places[record[:KEY]] = place
                        place += len(record)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """(n, size) in float32; texts that are new are read and kept."""
        keys = [self._key(text) for text in texts]
        found = self._stored(keys)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if new:
            # Rounded as what is read back, so that a second run gives the same answers.
            fresh = np.asarray(self.reader.encode(list(new.values())), np.float16)
            self._append(list(new), fresh)
            found |= zip(new, fresh, strict=True)
        return np.array([found[key] for key in keys], np.float32).reshape(len(texts), self.size)

    def _key(self, text: str) -> bytes:
        mixed = self._salt + b"\0" + text.encode("utf-8", "surrogatepass")
        return hashlib.sha256(mixed).digest()[:KEY]

    def _stored(self, keys: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        known = [key for key in keys if key in self._places]
        found = {}
        if known:
            with tidy_os_errors(f"cannot read {self.path}"), self.path.open("rb") as file:
                for key in known:
                    file.seek(self._places[key])
                    content = file.read(self.record.itemsize)
                    if content[:KEY] == key and content[-4:] == _checksum(content[:-4]):
                        found[key] = np.frombuffer(content, self.record)[0]["vector"]
        return {key: vector for key, vector in found.items() if np.isfinite(vector).all()}

    def _append(self, keys: Sequence[bytes], vectors: np.ndarray) -> None:
        """At the end of the last whole record: a killed process may have left a part of one."""
        bodies = [key + vector.astype("<f2").tobytes() for key, vector in zip(keys, vectors, strict=True)]
        content = b"".join(body + _checksum(body) for body in bodies)
        with tidy_os_errors(f"cannot write {self.path}"), waiting_lock(self.path) as handle:
            if os.read(handle, len(HEADER)) != HEADER:  # new, or of an older version
                write_at(handle, HEADER + content, 0)
            else:
                whole = (os.fstat(handle).st_size - len(HEADER)) // self.record.itemsize
                write_at(handle, content, len(HEADER) + whole * self.record.itemsize)


def _checksum(content: bytes) -> bytes:
    return crc32(content).to_bytes(4, "little")
