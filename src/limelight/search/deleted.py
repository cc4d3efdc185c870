"""Which texts of an index are deleted: a bit for each, in a file that is never changed but replaced."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..errors import damaged
from ..storage.array_files import safetensors_pieces
from ..storage.files import write_file
from .shards import map_tensors


@dataclass(frozen=True)
class DeletedEntry:
    """What index.json says of the file. Texts that were added later are not deleted."""

    file: str
    rows: int  # the texts that it has bits for
    count: int  # of them that are deleted
    bytes: int
    sha256: str


def write_deleted(folder: Path, dead: np.ndarray) -> DeletedEntry:
    """Write which texts are deleted, (texts,); no index.json names the file yet."""
    content = b"".join(safetensors_pieces({"deleted": np.packbits(dead)}))
    digest = hashlib.sha256(content).hexdigest()
    name = f"deleted-{digest[:16]}.safetensors"
    write_file(folder / name, content)
    return DeletedEntry(name, len(dead), int(dead.sum()), len(content), digest)


def read_deleted(file: BinaryIO, entry: DeletedEntry) -> np.ndarray:
    """Which texts are deleted, (entry.rows,). Every byte is checked: a search must never find one of them."""
    if hashlib.sha256(file.read()).hexdigest() != entry.sha256:
        raise damaged(f"{entry.file} was altered: its checksum does not match; build the index again")
    file.seek(0)
    _, arrays = map_tensors(file, entry.file, entry.bytes, {"deleted": np.uint8})
    bits = arrays["deleted"]
    if bits.shape != ((entry.rows + 7) // 8,):
        raise damaged(f"{entry.file} is damaged: it is not of {entry.rows:,} texts; build the index again")
    dead = np.unpackbits(bits)[: entry.rows].astype(bool)
    if int(dead.sum()) != entry.count:
        raise damaged(f"{entry.file} is damaged: not {entry.count:,} texts; build the index again")
    return dead
