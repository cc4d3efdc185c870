"""Approximate search with faiss: it looks into the nearest clusters of vectors only, and takes a copy of each
vector in 8 bits. What it finds is scored again by the index's own vectors. The file holds plain arrays: faiss
has a format of its own, but does not promise to withstand a crafted file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import LimelightError, tidy_os_errors, warn
from ..storage.array_files import safetensors_pieces
from ..storage.files import atomic_file
from ..storage.open_files import open_regular
from .index_folder import OLD_APPROXIMATE, ApproximateEntry, IndexConfig
from .shards import ZERO, Shard, damaged, map_tensors

MIN_APPROXIMATE_TEXTS = 10_000  # texts: for fewer, an exact search takes a millisecond
PROBES = 64  # clusters looked into
CANDIDATES_PER_HIT = 4  # times as many candidates as hits are scored again
_SAMPLE = 40  # vectors per cluster to find the clusters with; faiss asks for 39
_BLOCK = 2**16
_KINDS = {
    "centres": np.float32,  # (clusters, size)
    "ranges": np.float32,  # (2 size,): of 8 bits, where they start and how far they reach
    "ends": np.int64,  # (clusters,): where the texts of each cluster end
    "places": np.int64,  # (texts,): in the index
    "codes": np.uint8,  # (texts, size): what is left of each vector without its centre
}


def faiss() -> Any:
    """The library, which is an extra."""
    try:
        import faiss as library
    except ImportError:
        fault = "approximate search needs faiss: pip install '.[search]'"
        raise LimelightError(fault, code="needs-extra") from None
    return library


def build_approximate(folder: Path, shards: Sequence[Shard], size: int, threads: int) -> ApproximateEntry:
    """Cluster the vectors and write the file; the same index gives the same one."""
    library, rows = faiss(), sum(map(len, shards))
    if rows < MIN_APPROXIMATE_TEXTS:
        fault = f"{rows:,} texts need no approximate search; it is for {MIN_APPROXIMATE_TEXTS:,} or more"
        raise LimelightError(fault, code="too-few-texts")
    library.omp_set_num_threads(threads)
    clusters = 2 ** round(np.log2(4 * isqrt(rows)))
    index = _new_index(size, clusters)
    count = min(rows, _SAMPLE * clusters)
    sample = np.arange(count) * rows // count  # at even distances over the whole index
    index.train(np.concatenate([shard.floats(at) for shard, _, at in _by_shard(shards, sample)]))
    for shard in shards:
        for start in range(0, len(shard), _BLOCK):
            index.add(shard.floats(slice(start, start + _BLOCK)))
    return _write(folder, _to_arrays(index))


def drop_deleted(folder: Path, config: IndexConfig, alive: np.ndarray) -> ApproximateEntry | None:
    """The same clusters without the texts that are deleted, at the places that the others have then."""
    if config.approximate is None or not alive[: config.approximate.rows].any():
        return None
    try:
        arrays = _read_arrays(folder, config.approximate, config.size)
    except LimelightError:  # opening the index warns about it
        return None
    kept, places = alive[arrays["places"]], arrays["places"]
    arrays["ends"] = np.concatenate([[0], np.cumsum(kept)])[arrays["ends"]]
    arrays["places"], arrays["codes"] = (np.cumsum(alive) - 1)[places[kept]], arrays["codes"][kept]
    return _write(folder, arrays)


def _write(folder: Path, arrays: Mapping[str, np.ndarray]) -> ApproximateEntry:
    """Write the file; no index.json names it yet."""
    digest, total = hashlib.sha256(), 0
    for piece in safetensors_pieces(arrays):
        digest.update(piece)
        total += memoryview(piece).nbytes
    found = digest.hexdigest()
    entry = ApproximateEntry(len(arrays["places"]), total, found, f"approximate-{found[:16]}.safetensors")
    with atomic_file(folder / entry.file) as file:
        for piece in safetensors_pieces(arrays):
            file.write(piece)
    return entry


def _new_index(size: int, clusters: int) -> Any:
    library = faiss()
    return library.index_factory(size, f"IVF{clusters},SQ8", library.METRIC_INNER_PRODUCT)


def _to_arrays(index: Any) -> dict[str, np.ndarray]:
    """All that faiss has learned and holds, as plain arrays."""
    library, lists = faiss(), index.invlists
    sizes = [lists.list_size(each) for each in range(index.nlist)]
    codes = [library.rev_swig_ptr(lists.get_codes(k), n * index.d) for k, n in enumerate(sizes) if n]
    places = [library.rev_swig_ptr(lists.get_ids(k), n) for k, n in enumerate(sizes) if n]
    return {
        "centres": library.downcast_index(index.quantizer).reconstruct_n(0, index.nlist),
        "ranges": library.vector_to_array(index.sq.trained),
        "ends": np.cumsum(sizes, dtype=np.int64),
        "places": np.concatenate(places),
        "codes": np.concatenate(codes).reshape(-1, index.d),
    }


def _from_arrays(arrays: Mapping[str, np.ndarray]) -> Any:
    """The same index again, made by this process: faiss never parses a file that may be a stranger's."""
    library, (clusters, size) = faiss(), arrays["centres"].shape
    index = _new_index(size, clusters)
    library.downcast_index(index.quantizer).add(arrays["centres"])
    library.copy_array_to_vector(arrays["ranges"], index.sq.trained)
    pairs = pairwise([0, *arrays["ends"].tolist()])
    for number, (start, end) in enumerate(pairs):
        if start < end:
            parts = arrays["places"][start:end], arrays["codes"][start:end]
            index.invlists.add_entries(number, end - start, *map(library.swig_ptr, parts))
    index.is_trained, index.ntotal = True, len(arrays["places"])
    return index


def open_approximate(
    folder: Path, config: IndexConfig, threads: int, alive: np.ndarray | None = None
) -> ApproximateSearch | None:
    """The search of an index that is prepared for it; if it cannot be used, a warning and None."""
    if config.approximate is None:
        return None
    try:
        if config.approximate.rows not in accumulate(shard.rows for shard in config.shards):
            raise damaged(f"{folder / config.approximate.file} does not fit the shards")
        return ApproximateSearch(_read_arrays(folder, config.approximate, config.size), threads, alive)
    except LimelightError as error:
        warn(f"{error}; searching in full")
        return None


def check_approximate(folder: Path, config: IndexConfig) -> None:
    """Raise if the file for approximate search is there and not as it was written."""
    if config.approximate is not None and (folder / config.approximate.file).exists():
        _read_arrays(folder, config.approximate, config.size)


def _read_arrays(folder: Path, entry: ApproximateEntry, size: int) -> dict[str, np.ndarray]:
    """The arrays of the file, mapped into memory; they must fit together and be of these vectors."""
    path, rows = folder / entry.file, entry.rows
    if not path.exists() and path.with_name(OLD_APPROXIMATE).exists():
        todo = "prepare it again with: limelight index --add --approximate"
        fault = f"{path.with_name(OLD_APPROXIMATE)} is of an earlier version and is not opened: {todo}"
        raise LimelightError(fault, code="format-older")
    with tidy_os_errors(f"cannot read {path}"), open_regular(path) as file:
        if os.fstat(file.fileno()).st_size != entry.bytes:
            raise damaged(f"{path} does not have the {entry.bytes:,} bytes it was written with")
        if hashlib.file_digest(file, "sha256").hexdigest() != entry.sha256:
            raise damaged(f"{path} was altered: its checksum does not match")
        file.seek(0)
        _, arrays = map_tensors(file, path.name, entry.bytes, _KINDS)
    clusters, ends = arrays["centres"].shape[:1], arrays["ends"]
    shapes = (*clusters, size), (2 * size,), clusters, (rows,), (rows, size)
    fits = tuple(each.shape for each in arrays.values()) == shapes and all(clusters)
    if not fits or ends[0] < 0 or (ends[:-1] > ends[1:]).any() or ends[-1] != rows:
        raise damaged(f"{path} is damaged: its arrays do not fit together")
    if not (np.sort(arrays["places"]) == np.arange(rows)).all():
        raise damaged(f"{path} is damaged: it does not have every text once")
    if not all(np.isfinite(arrays[each]).all() for each in ("centres", "ranges")):
        raise damaged(f"{path} is damaged: some numbers are not finite")
    return arrays


class ApproximateSearch:
    """Finds most of the vectors with the largest dot products."""

    def __init__(
        self, arrays: Mapping[str, np.ndarray], threads: int, alive: np.ndarray | None = None
    ) -> None:
        faiss().omp_set_num_threads(threads)
        self._index = _from_arrays(arrays)
        self.rows, self._alive = self._index.ntotal, alive  # (texts,): False where a text is deleted
        self._living = self.rows if alive is None else int(alive[: self.rows].sum())
        self._bits = None if alive is None else np.packbits(alive[: self.rows], bitorder="little")

    def finds(self, k: int) -> bool:
        """Whether the clusters that are looked into hold enough candidates for k hits."""
        clusters = self._index.nlist
        return bool(CANDIDATES_PER_HIT * k <= self._living * min(PROBES, clusters) // clusters)

    def search(
        self, shards: Sequence[Shard], Q: np.ndarray, k: int, extra: np.ndarray | None = None,
        newest: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """The best k scores and places found, (queries, k) each; where there are fewer, the place is -1.

        `extra` (queries, texts) is added to the scores; the texts where it is largest are candidates too. So
        are the `newest` (queries, some), places of texts that were added after the clusters were made.
        """
        count = CANDIDATES_PER_HIT * k
        candidates = self._candidates(np.ascontiguousarray(Q, np.float32), count)
        more = [] if newest is None else [newest]
        if extra is not None:
            most = np.argpartition(-extra, min(count, extra.shape[1]) - 1, axis=1)[:, :count]
            more.append(most if self._alive is None else np.where(self._alive[most], most, -1))
        if more:
            candidates = _drop_repeated(np.concatenate([candidates, *more], axis=1))
        scores = np.stack([_score(shards, q, at) for q, at in zip(Q, candidates, strict=True)])
        if extra is not None:
            scores += np.take_along_axis(extra, candidates, 1)  # of the place -1, any number: it stays -inf
        order = np.lexsort((candidates, -scores))[:, :k]
        return np.take_along_axis(scores, order, 1), np.take_along_axis(candidates, order, 1)

    def _candidates(self, Q: np.ndarray, count: int) -> np.ndarray:
        """(queries, count): places near the queries; -1 where there are fewer."""
        library = faiss()
        chosen = None if self._bits is None else library.IDSelectorBitmap(self._bits)
        how = library.SearchParametersIVF(nprobe=PROBES, sel=chosen)
        return np.asarray(self._index.search(Q, count, params=how)[1])


def _drop_repeated(candidates: np.ndarray) -> np.ndarray:
    """Each candidate of a query once; the others are replaced by -1.

    >>> _drop_repeated(np.array([[3, 1, 3, -1]]))
    array([[-1,  1, -1,  3]])
    """
    found = np.sort(candidates, axis=1)
    found[:, :-1][found[:, :-1] == found[:, 1:]] = -1
    return found


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
