"""One shard of an index: vectors in 8 bits with a scale each, and what each is of, in one safetensors file.

vectors   (n, size) uint8     128 + the vector divided by its scale, rounded
scales    (n,) float32
lines     (bytes,) uint8      a line of JSON for each: text, row, columns
ends      (n,) int64          where each line ends

and which words they have (`POSTINGS` in postings.py), unless it is from an earlier version. In an index with
a key column also

keys      (n,) uint64         hashes of the rows' keys, by which a row is updated or deleted
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..errors import LimelightError, damaged
from ..storage.array_files import DTYPES, safetensors_pieces
from ..storage.files import write_file
from ..storage.json_file import parse_object
from ..tables.rows import Row, chunks
from .postings import POSTINGS, Postings, are_ends, pack_postings
from .words import WordRules

ZERO = 128  # the byte of the number 0: ONNX Runtime multiplies unsigned bytes fastest
SHARD_CHARACTERS = 2**28  # of the texts of a shard, roughly
_MAX_HEADER = 2**16
_COLUMNS = b'"columns": '
_KINDS: dict[str, type] = {"vectors": np.uint8, "scales": np.float32, "lines": np.uint8, "ends": np.int64}


@dataclass(frozen=True)
class ShardEntry:
    file: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, eq=False)
class Shard:
    """The arrays of one shard, in memory or mapped from its file."""

    vectors: np.ndarray  # (n, size)
    scales: np.ndarray  # (n,)
    lines: np.ndarray  # (bytes,)
    ends: np.ndarray  # (n,)
    postings: Postings | None = None  # which words the texts have
    mapped: mmap.mmap | None = None  # the file that they are mapped from
    keys: np.ndarray | None = None  # (n,), in an index with a key column
    alive: np.ndarray | None = None  # (n,): False for texts that are deleted; None if none is
    sha256: str = ""  # of its file, which never changes

    def without(self, dead: np.ndarray) -> Shard:
        """The same shard, in which the texts are deleted where `dead` (n,) says so."""
        if not dead.any():
            return self
        postings = None if self.postings is None else replace(self.postings, alive=~dead)
        return replace(self, alive=~dead, postings=postings)

    @property
    def living(self) -> int:
        return len(self) if self.alive is None else int(self.alive.sum())

    def check(self) -> None:
        """Raise if the file was truncated after it was opened: reading what is gone ends the process."""
        if self.mapped is not None and self.mapped.size() < len(self.mapped):
            raise damaged("a shard was truncated while the index was open; build the index again")

    def __len__(self) -> int:
        return len(self.vectors)

    def floats(self, at: Any) -> np.ndarray:
        """(some, size): the vectors at some places, or in a slice."""
        return np.asarray((self.vectors[at].astype(np.float32) - ZERO) * self.scales[at, None])

    def columns(self) -> Iterator[dict[str, Any]]:
        """The columns of each text, also of those that are deleted."""
        start = 0
        for at, end in enumerate(self.ends.tolist()):
            found = _parse_columns(self.lines[start:end].tobytes())
            yield self.entry(at)["columns"] if found is None else found
            start = end

    def entry(self, at: int) -> dict[str, Any]:
        """What the vector at a place is of: text, row, columns."""
        start = int(self.ends[at - 1]) if at else 0
        line = self.lines[start : int(self.ends[at])].tobytes()
        kinds = {"text": str, "row": int, "columns": dict}
        try:
            found = parse_object(line.decode("utf-8", "surrogatepass"), "it")
        except (UnicodeDecodeError, LimelightError):
            found = {}
        if not all(isinstance(found.get(name), kind) for name, kind in kinds.items()):
            raise damaged(f"text {at} of a shard is damaged; build the index again")
        return found


def key_text(value: Any) -> str | None:
    """A key as it is compared; None for what cannot be one. The number 7 and the text 7 are the same key.

    >>> [key_text(value) for value in (7, 7.0, "7", "", None, ["7"])]
    ['7', '7', '7', None, None, None]
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value) or None


def hash_keys(keys: Iterable[str]) -> np.ndarray:
    """(keys,) uint64, to find keys without reading every row; two may share one."""
    digests = (hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest() for key in keys)
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def living_texts(shards: Sequence[Shard]) -> np.ndarray:
    """(texts,): False where a text is deleted."""
    parts = [np.ones(len(each), bool) if each.alive is None else each.alive for each in shards]
    return np.concatenate(parts) if parts else np.ones(0, bool)


def _parse_columns(line: bytes) -> dict[str, Any] | None:
    """The columns at the end of a line as `pack_shard` writes it, in a fraction of the time; or None."""
    _, _, columns = line.partition(_COLUMNS)  # no text has this: its quotes are escaped
    try:
        found = json.loads(columns[:-1])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def cut_shards(entries: Iterator[dict[str, Any]], rows: int) -> Iterator[list[dict[str, Any]]]:
    """Lists of at most so many entries and, roughly, `SHARD_CHARACTERS`."""
    given = (Row(entry["text"], cells=entry) for entry in entries)
    for some in chunks(given, rows, SHARD_CHARACTERS):
        yield [row.cells for row in some]


def quantise(V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vectors (n, size) as bytes and scales; a vector is about scale * (bytes - 128)."""
    scales = (np.abs(V).max(axis=1, initial=0) / 127).astype(np.float32)
    steps = np.rint(V / np.where(scales > 0, scales, 1)[:, None])
    return (steps + ZERO).astype(np.uint8), scales


def pack_shard(
    vectors: np.ndarray, scales: np.ndarray, entries: Sequence[dict[str, Any]], rules: WordRules,
    key: str | None = None,
) -> bytes:  # fmt: skip
    """The bytes of the file."""
    lines = [json.dumps(each, ensure_ascii=False).encode("utf-8", "surrogatepass") for each in entries]
    ends = np.cumsum([len(line) for line in lines], dtype=np.int64)
    joined = np.frombuffer(b"".join(lines), np.uint8)
    tensors = {"vectors": vectors, "scales": scales, "lines": joined, "ends": ends}
    tensors |= pack_postings([each["text"] for each in entries], rules)
    if key is not None:
        tensors["keys"] = hash_keys(key_text(each["columns"][key]) or "" for each in entries)
    return b"".join(safetensors_pieces(tensors))


def write_shard(folder: Path, number: int, content: bytes, rows: int) -> ShardEntry:
    """Write a shard that no index.json names yet."""
    digest = hashlib.sha256(content).hexdigest()
    entry = ShardEntry(f"shard-{number:06d}-{digest[:16]}.safetensors", rows, len(content), digest)
    write_file(folder / entry.file, content)
    return entry


def map_shard(file: BinaryIO, entry: ShardEntry, size: int, words: bool, keyed: bool) -> Shard:
    """Map an open file into memory; its size, rows and size of vectors must be what the index says."""
    name, rows, found = entry.file, entry.rows, os.fstat(file.fileno()).st_size
    if found != entry.bytes:
        fault = f"{name} has {found:,} bytes, not the {entry.bytes:,} it was written with"
        raise damaged(f"{fault}; build the index again")
    kinds = _KINDS | (POSTINGS if words else {}) | ({"keys": np.uint64} if keyed else {})
    mapped, arrays = map_tensors(file, name, found, kinds)
    postings = Postings(**{each: arrays.pop(each) for each in POSTINGS}) if words else None
    lines, ends = arrays["lines"], arrays["ends"]
    expected: dict[str, tuple[int, ...]] = {"vectors": (rows, size), "scales": (rows,), "ends": (rows,)}
    expected |= {"keys": (rows,)} if keyed else {}
    fits = all(arrays[each].shape == shape for each, shape in expected.items()) and lines.ndim == 1
    fits = fits and (postings is None or postings.fit_together(rows))
    if not fits or not are_ends(ends, len(lines)):
        raise damaged(f"{name} is damaged: its arrays do not fit together; build the index again")
    if not ((arrays["scales"] >= 0) & (arrays["scales"] <= 1)).all():  # unit vectors have none above 1 / 127
        raise damaged(f"{name} is damaged: wrong scales; build the index again")
    return Shard(**arrays, postings=postings, mapped=mapped, sha256=entry.sha256)


def map_tensors(
    file: BinaryIO, name: str, total: int, kinds: Mapping[str, type]
) -> tuple[mmap.mmap, dict[str, np.ndarray]]:
    """Map the arrays of an open safetensors file into memory; each must be there and of its type."""
    head = int.from_bytes(file.read(8), "little")
    if total < 8 or head > min(_MAX_HEADER, total - 8):
        raise damaged(f"{name} is damaged: not a safetensors file; build the index again")
    header = parse_object(file.read(head), f"the header of {name}")
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        arrays = {each: _tensor(mapped, 8 + head, header[each], kind) for each, kind in kinds.items()}
    except (KeyError, TypeError, ValueError, IndexError, OverflowError):
        raise damaged(f"{name} is damaged: its header is wrong; build the index again") from None
    return mapped, arrays


def _tensor(mapped: mmap.mmap, start: int, entry: dict[str, Any], kind: type) -> np.ndarray:
    shape, (begin, end), dtype = entry["shape"], entry["data_offsets"], np.dtype(kind)
    code, size = DTYPES[dtype.name]
    are_sizes = all(type(n) is int and n >= 0 for n in (*shape, begin, end))
    if entry["dtype"] != code or not are_sizes or end - begin != prod(shape) * size:
        raise ValueError
    return np.frombuffer(mapped, dtype, prod(shape), start + begin).reshape(shape)
