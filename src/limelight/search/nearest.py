"""The vectors of an index that are nearest to a query's, found exactly or approximately.

Exactly: the query against every vector, on all cores, in blocks that fit the cache. Approximately: the signs
of all vectors, turned at random, are compared first, and the most alike are scored in full. Nothing is
prepared on disk: the signs, a bit a number, are packed when they are first needed, and take an eighth of the
memory of the vectors.
When an index changes, those of the shards that stay are kept. What else was tried:
docs/log/2026-11-18-search.md.
"""

import functools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, pairwise

import numpy as np

from ..network.onnx.graph import Graph
from ..runtime.session import Session
from .postings import kth_highest
from .shards import ZERO, Shard

Scored = tuple[np.ndarray, np.ndarray]  # scores and places, (queries, k) each
Maybe = np.ndarray | None
BLOCK_BYTES = 2**22  # of vectors
QUERIES = 64  # at once: their scores fit the cache too
HIGH, LOW = 63, 127  # a number of a query is high * 127 + low, both from -63 to 63
Signs = dict[tuple[str, tuple[int, ...]], np.ndarray]  # of shards, by the SHA-256 of a file and its shape
CANDIDATES_PER_HIT, MIN_CANDIDATES = 100, 1000  # are scored again
TURNED_AT_ONCE = 2**13  # vectors
MOST_TURNED = 1024  # numbers; M of a classifier, of 10,000 and more, would take an hour and gigabytes
TEXTS_PER_CANDIDATE = 10  # at least: scoring more of them takes as long as an exact search


class ExactSearch:
    """Finds the vectors with the largest dot products.

    A query is rounded to 14 bits and multiplied in whole numbers, so that the same vector finds the same
    texts on any machine, in any blocks and with any number of threads. Bytes times 7 bits never overflow the
    16-bit sums of older processors.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        graph = Graph("exact search")
        vectors = graph.input("vectors", "uint8", "n", "size")
        queries = graph.input("queries", "int8", "size", "q")
        graph.output("products", graph.op("MatMulInteger", vectors, queries), "int32", "n", "q")
        self._session = Session(graph)

    def search(
        self, shards: Sequence[Shard], Q: np.ndarray, k: int, extra: Maybe = None, allowed: Maybe = None
    ) -> Scored:
        """The best k scores and places, (queries, k) each, for unit vectors Q (queries, size).

        `extra` (queries, texts) is added to the scores. If not all texts are `allowed`, k is at most as many
        as are.
        """
        cuts = [slice(at, at + QUERIES) for at in range(0, len(Q), QUERIES)]
        more = [None if extra is None else extra[at] for at in cuts]
        parts = [self._search(shards, Q[at], k, some, allowed) for at, some in zip(cuts, more, strict=True)]
        scores, places = zip(*parts, strict=True)
        return np.concatenate(scores), np.concatenate(places)

    def _search(self, shards: Sequence[Shard], Q: np.ndarray, k: int, extra: Maybe, allowed: Maybe) -> Scored:
        planes, steps = split_query(Q)
        kind = np.int32 if Q.shape[1] <= 2000 else np.int64  # 2000 * 127 * 8064 < 2**31
        zeros = ZERO * _join(planes.sum(axis=0, dtype=kind)[None])
        steps = np.where(steps > 0, steps, np.float32(1))  # a query of zeros has scores of 0 all the same
        best = _Best(len(Q), min(k, sum(map(len, shards))))

        def scan(block: tuple[int, np.ndarray, np.ndarray]) -> None:
            first, vectors, scales = block
            (products,) = self._session.run({"vectors": vectors, "queries": planes}, "products")
            whole = _join(products.astype(kind, copy=False)) - zeros  # (block, queries)
            scores = np.multiply(whole.T, scales, dtype=np.float32, order="C")
            here = slice(first, first + len(vectors))
            if extra is not None:
                scores += extra[:, here] / steps[:, None]
            if allowed is not None:
                scores[:, ~allowed[here]] = -np.inf
            best.add(first, scores)

        with ThreadPoolExecutor(self.threads) as pool:
            for _ in pool.map(scan, _blocks(shards)):
                pass
        scores, places = best.sorted()
        return scores * steps[:, None], places


def score_places(
    shards: Sequence[Shard], q: np.ndarray, places: np.ndarray, extra: Maybe = None
) -> np.ndarray:
    """The scores of one query (size,) at some places in order, to the bit as `ExactSearch` has them."""
    planes, steps = split_query(q[None])
    step = steps[0] if steps[0] > 0 else np.float32(1)
    whole = _join(planes.astype(np.float64))[:, 0]  # products with bytes are whole numbers, and so exact
    starts = [0, *accumulate(map(len, shards))]
    cuts = np.searchsorted(places, starts)
    scores = np.empty(len(places), np.float32)
    for shard, start, (first, end) in zip(shards, starts[:-1], pairwise(cuts.tolist()), strict=True):
        some = max(1, BLOCK_BYTES // (8 * len(q)))
        for begin in range(first, end, some):
            here = slice(begin, min(begin + some, end))
            at = places[here] - start
            products = shard.vectors[at].astype(np.float64) @ whole - ZERO * whole.sum()
            scores[here] = products.astype(np.float32) * shard.scales[at]
    if extra is not None:
        scores += extra / step
    return scores * step


def _join(planes: np.ndarray) -> np.ndarray:
    """The sums over both planes, (n, queries), of those over each, (n, 2 queries)."""
    high, low = np.split(planes, 2, axis=1)
    return np.asarray(high * LOW + low)


def split_query(Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Queries (q, size) as two planes of 7 bits, (size, 2 q), and the step of each query."""
    steps = np.abs(Q).max(axis=1) / (HIGH * LOW)
    whole = np.rint(Q / np.where(steps > 0, steps, 1)[:, None])
    high = np.rint(whole / LOW)
    planes = np.concatenate([high, whole - high * LOW]).astype(np.int8)  # (2 q, size)
    return np.ascontiguousarray(planes.T), steps.astype(np.float32)


def _blocks(shards: Sequence[Shard]) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    first = 0
    for shard in shards:
        size = max(1, BLOCK_BYTES // shard.vectors.shape[1])
        for at in range(0, len(shard), size):
            yield first + at, shard.vectors[at : at + size], shard.scales[at : at + size]
        first += len(shard)


class _Best:
    """The best k of each query so far. Of equal scores, those of the first places count."""

    def __init__(self, queries: int, k: int) -> None:
        self.k, self.floors = k, np.full(queries, -np.inf, np.float32)  # the k-th score of a block at least
        self.found: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in range(queries)]

    def add(self, first: int, scores: np.ndarray) -> None:
        """The scores of a block, (queries, n); several threads may add at once."""
        for query, row in enumerate(scores):
            places = np.flatnonzero(row >= self.floors[query])
            if len(places) > self.k:
                places = places[np.argsort(-row[places], kind="stable")[: self.k]]
            if len(places) == self.k:
                self.floors[query] = max(self.floors[query], row[places].min())
            if len(places):
                self.found[query].append((row[places], first + places))

    def sorted(self) -> Scored:
        scores, places = (np.empty((len(self.found), self.k), kind) for kind in (np.float32, np.int64))
        for query, parts in enumerate(self.found):
            each_score, each_place = (np.concatenate(side) for side in zip(*parts, strict=True))
            order = np.lexsort((each_place, -each_score))[: self.k]
            scores[query], places[query] = each_score[order], each_place[order]
        return scores, places


class ApproximateSearch:
    """Finds nearly all of the vectors with the largest dot products; scores are those of `ExactSearch`."""

    def __init__(self, shards: Sequence[Shard], threads: int, known: Signs | None = None) -> None:
        self._shards, self._threads = shards, threads
        known, names = known or {}, [(shard.sha256, shard.vectors.shape) for shard in shards]
        new = [shard for shard, name in zip(shards, names, strict=True) if name not in known]
        for shard in new[:1]:  # made here: each thread would make its own
            _turn(shard.vectors[:1])
        with ThreadPoolExecutor(threads) as pool:
            packed = pool.map(lambda shard: pack_signs(_signs(shard.vectors)), new)
            self._bits = [known[name] if name in known else next(packed) for name in names]
        self.signs = {name: bits for name, bits in zip(names, self._bits, strict=True) if name[0]}

    def search(self, Q: np.ndarray, k: int, extra: Maybe = None, allowed: Maybe = None) -> Scored:
        """The best k scores and places found, (queries, k) each; where there are fewer, -inf and -1.

        `extra` (queries, texts) is added to the scores; the texts where it is largest are candidates too.
        Only texts that are `allowed` (texts,) are found. Of equal scores, the first in the index comes first.
        """
        scores = np.full((len(Q), k), -np.inf, np.float32)
        places = np.full((len(Q), k), -1, np.int64)
        with ThreadPoolExecutor(self._threads) as pool:
            for number, q in enumerate(Q):
                more = None if extra is None else extra[number]
                at = self._candidates(pool, q, count_candidates(k), more, allowed)
                found = score_places(self._shards, q, at, None if more is None else more[at])
                best = np.lexsort((at, -found))[:k]
                scores[number, : len(best)], places[number, : len(best)] = found[best], at[best]
        return scores, places

    def _candidates(
        self, pool: ThreadPoolExecutor, q: np.ndarray, count: int, extra: Maybe, allowed: Maybe
    ) -> np.ndarray:
        """Places of texts whose signs are most like the query's, or that have most of `extra`; in order."""
        signs, size = pack_signs(_turn(q[None]) >= 0), len(q)
        kind = np.min_scalar_type(size + 1)

        def count_differing(bits: np.ndarray) -> np.ndarray:
            return np.asarray(np.bitwise_count(bits ^ signs).sum(axis=0, dtype=kind))

        differing = np.concatenate(list(pool.map(count_differing, self._bits)))
        if allowed is not None:
            differing[~allowed] = size + 1
        totals = np.cumsum(np.bincount(differing, minlength=size + 2)[: size + 1])
        near = _cut(differing, int(np.searchsorted(totals, min(count, totals[-1]))), count)
        if extra is None:
            return near
        extra = extra if allowed is None else extra * allowed
        limit = kth_highest(extra, count)
        others = np.flatnonzero(extra >= limit)
        others = others[_cut(-extra[others], -limit, count)]
        return np.union1d(near, others)


def count_candidates(k: int) -> int:
    """How many texts are scored again for k hits."""
    return max(MIN_CANDIDATES, CANDIDATES_PER_HIT * k)


def is_worthwhile(k: int, texts: int) -> bool:
    """Whether approximate search is faster than exact search."""
    return TEXTS_PER_CANDIDATE * count_candidates(k) <= texts


@functools.cache
def rotation(size: int) -> np.ndarray:
    """(size, size) in whole numbers: turns vectors at random, always in the same way.

    Vectors differ a lot in a few of their numbers and little in others; once they are turned, each sign says
    about as much (docs/log/2026-11-19-rows-for-search.md). Of vectors in bytes the sums are exact in float32:
    signs do not depend on blocks or threads.
    """
    drawn = np.random.default_rng(0).standard_normal((size, size))
    turned: np.ndarray = np.rint(2048 * np.linalg.qr(drawn)[0])
    return turned.astype(np.float32)


def _turn(vectors: np.ndarray) -> np.ndarray:
    """(n, size), turned; those of many numbers as they are."""
    size = vectors.shape[1]
    return vectors @ rotation(size) if size <= MOST_TURNED else vectors


def _signs(vectors: np.ndarray) -> np.ndarray:
    """(n, size): whether each number of the turned vectors, given in bytes, is positive."""
    found = np.empty(vectors.shape, bool)
    for start in range(0, len(vectors), TURNED_AT_ONCE):
        rows = slice(start, start + TURNED_AT_ONCE)
        found[rows] = _turn(vectors[rows].astype(np.float32) - ZERO) >= 0
    return found


def pack_signs(positive: np.ndarray) -> np.ndarray:
    """(n, size) truth values as bits, (words, n): a word of 64 bits of all vectors, then the next."""
    bits = np.packbits(positive, axis=1)
    bits = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8)))
    return np.ascontiguousarray(bits.view("<u8").T)


def _cut(values: np.ndarray, limit: float, count: int) -> np.ndarray:
    """Places of the values up to a limit; of those equal to it only the first, for `count` in all."""
    within = np.flatnonzero(values <= limit)
    if len(within) <= count:
        return within
    equal = np.flatnonzero(values[within] == limit)
    return np.delete(within, equal[count - len(within) :])  # the last of them
