"""Approximate search: the signs of all vectors are compared first, and the most alike are scored in full.

Nothing is prepared on disk: the signs, a bit a number, are packed when they are first needed, and take an
eighth of the memory of the vectors. When an index changes, those of the shards that stay are kept. What else
was tried: docs/log/2026-11-18-search.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from .exact import score_places
from .postings import kth_highest
from .shards import ZERO, Shard

Signs = dict[tuple[str, tuple[int, ...]], np.ndarray]  # of shards, by the SHA-256 of a file and its shape
CANDIDATES_PER_HIT, MIN_CANDIDATES = 100, 1000  # are scored again
TEXTS_PER_CANDIDATE = 10  # at least: scoring more of them takes as long as an exact search


class ApproximateSearch:
    """Finds nearly all of the vectors with the largest dot products; scores are those of `ExactSearch`.

    >>> from limelight.search.shards import quantise
    >>> nothing = np.zeros(0, np.uint8), np.zeros(3, np.int64)
    >>> search = ApproximateSearch([Shard(*quantise(np.eye(3)), *nothing)], threads=2)
    >>> scores, places = search.search(np.eye(3)[1:2], 2)
    >>> places.tolist(), scores.round(3).tolist()
    ([[1, 0]], [[1.0, 0.0]])
    """

    def __init__(self, shards: Sequence[Shard], threads: int, known: Signs | None = None) -> None:
        self._shards, self._threads = shards, threads
        known, names = known or {}, [(shard.sha256, shard.vectors.shape) for shard in shards]
        new = [shard for shard, name in zip(shards, names, strict=True) if name not in known]
        with ThreadPoolExecutor(threads) as pool:
            packed = pool.map(lambda shard: pack_signs(shard.vectors >= ZERO), new)
            self._bits = [known[name] if name in known else next(packed) for name in names]
        self.signs = {name: bits for name, bits in zip(names, self._bits, strict=True) if name[0]}

    def search(
        self, Q: np.ndarray, k: int, extra: np.ndarray | None = None, allowed: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
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
        self, pool: ThreadPoolExecutor, q: np.ndarray, count: int, extra: np.ndarray | None,
        allowed: np.ndarray | None,
    ) -> np.ndarray:  # fmt: skip
        """Places of texts whose signs are most like the query's, or that have most of `extra`; in order."""
        signs, size = pack_signs(q[None] >= 0), len(q)
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
    """Whether approximate search is faster than exact search.

    >>> is_worthwhile(10, 10_000), is_worthwhile(10, 9_999), is_worthwhile(100, 10_000)
    (True, False, False)
    """
    return TEXTS_PER_CANDIDATE * count_candidates(k) <= texts


def pack_signs(positive: np.ndarray) -> np.ndarray:
    """(n, size) truth values as bits, (words, n): a word of 64 bits of all vectors, then the next.

    >>> pack_signs(np.array([[True] * 65, [False] * 65])).tolist() == [[2**64 - 1, 0], [128, 0]]
    True
    """
    bits = np.packbits(positive, axis=1)
    bits = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8)))
    return np.ascontiguousarray(bits.view("<u8").T)


def _cut(values: np.ndarray, limit: float, count: int) -> np.ndarray:
    """Places of the values up to a limit; of those equal to it only the first, for `count` in all.

    >>> _cut(np.array([3, 1, 3, 5, 0, 3]), 3, 4).tolist()
    [0, 1, 2, 4]
    """
    within = np.flatnonzero(values <= limit)
    if len(within) <= count:
        return within
    equal = np.flatnonzero(values[within] == limit)
    return np.delete(within, equal[count - len(within) :])  # the last of them
