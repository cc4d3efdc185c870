"""Approximate search with faiss: it looks into the nearest clusters of vectors only, and takes a copy of each
vector in 8 bits. What it finds is scored again by the index's own vectors."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import LimelightError, tidy_os_errors, warn
from ..storage.files import atomic_file
from .index_folder import APPROXIMATE, ApproximateEntry
from .shards import ZERO, Shard, damaged

MIN_APPROXIMATE_TEXTS = 10_000  # texts: for fewer, an exact search takes a millisecond
PROBES = 64  # clusters looked into
CANDIDATES_PER_HIT = 4  # times as many candidates as hits are scored again
_SAMPLE = 40  # vectors per cluster to find the clusters with; faiss asks for 39
_BLOCK = 2**16


def faiss() -> Any:
    """The library, which is an extra."""
    try:
        import faiss as library
    except ImportError:
        fault = "approximate search needs faiss: pip install '.[search]'"
        raise LimelightError(fault, code="needs-extra") from None
    return library


def build_approximate(folder: Path, shards: Sequence[Shard], size: int, threads: int) -> ApproximateEntry:
    """Cluster the vectors and write approximate.faiss; the same index gives the same file."""
    library, rows = faiss(), sum(map(len, shards))
    if rows < MIN_APPROXIMATE_TEXTS:
        fault = f"{rows:,} texts need no approximate search; it is for {MIN_APPROXIMATE_TEXTS:,} or more"
        raise LimelightError(fault, code="too-few-texts")
    library.omp_set_num_threads(threads)
    clusters = 2 ** round(np.log2(4 * isqrt(rows)))
    index = library.index_factory(size, f"IVF{clusters},SQ8", library.METRIC_INNER_PRODUCT)
    count = min(rows, _SAMPLE * clusters)
    sample = np.arange(count) * rows // count  # at even distances over the whole index
    index.train(np.concatenate([shard.floats(at) for shard, _, at in _by_shard(shards, sample)]))
    for shard in shards:
        for start in range(0, len(shard), _BLOCK):
            index.add(shard.floats(slice(start, start + _BLOCK)))
    content = memoryview(library.serialize_index(index))
    with atomic_file(folder / APPROXIMATE) as file:
        file.write(content)
    return ApproximateEntry(rows, len(content), hashlib.sha256(content).hexdigest())


class ApproximateSearch:
    """Finds most of the vectors with the largest dot products."""

    def __init__(self, path: Path, entry: ApproximateEntry, threads: int) -> None:
        library = faiss()
        library.omp_set_num_threads(threads)
        with tidy_os_errors(f"cannot read {path}"):
            if os.stat(path).st_size != entry.bytes:
                raise damaged(f"{path} does not have the {entry.bytes:,} bytes it was written with")
            content = np.fromfile(path, np.uint8)
        if hashlib.sha256(content.data).hexdigest() != entry.sha256:
            raise damaged(f"{path} was altered: its checksum does not match")
        self._index = library.deserialize_index(content)
        self._index.nprobe = PROBES

    @classmethod
    def open(cls, folder: Path, entry: ApproximateEntry | None, threads: int) -> ApproximateSearch | None:
        """The search of an index that is prepared for it; without faiss, a warning and None."""
        if entry is None:
            return None
        try:
            return cls(folder / APPROXIMATE, entry, threads)
        except LimelightError as error:
            warn(f"{error}; searching in full")
            return None

    def search(self, shards: Sequence[Shard], Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The best k scores and places found, (queries, k) each; where there are fewer, the place is -1."""
        _, candidates = self._index.search(np.ascontiguousarray(Q, np.float32), CANDIDATES_PER_HIT * k)
        scores = np.stack([_score(shards, q, at) for q, at in zip(Q, candidates, strict=True)])
        order = np.lexsort((candidates, -scores))[:, :k]
        return np.take_along_axis(scores, order, 1), np.take_along_axis(candidates, order, 1)


def _score(shards: Sequence[Shard], q: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The dot products of one query with the vectors at some places; -inf for the place -1."""
    scores = np.full(len(places), -np.inf, np.float32)
    for shard, mine, at in _by_shard(shards, places):
        scores[mine] = (shard.vectors[at].astype(np.float32) - ZERO) @ q * shard.scales[at]
    return scores


def _by_shard(shards: Sequence[Shard], places: np.ndarray) -> Iterator[tuple[Shard, np.ndarray, np.ndarray]]:
    """Each shard, which of the places are in it, and where."""
    first = 0
    for shard in shards:
        mine = np.flatnonzero((places >= first) & (places < first + len(shard)))
        yield shard, mine, places[mine] - first
        first += len(shard)
