"""Search by words: BM25 over the words of an index, exact to each word's share.

A shard holds its own postings. What needs the whole index, how many texts have a word and how long a text is
on average, is added up when a query comes, so that shards never change when texts are added. Libraries such
as bm25s store finished scores, which would all change. A deleted text counts for nothing: scores are those of
an index that never had it.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from threading import Lock
from typing import NamedTuple

import numpy as np

from ..errors import damaged
from .words import WordRules

K1, B = 1.2, 0.75  # how soon more of the same word stops counting; how much long texts are held back
FUNCTION_WEIGHT = 0.25  # of "the" or "which" in a query: docs/log/2026-11-18-words-of-search.md
MAX_COUNT = 2**16 - 1
KEPT_PER_TEXT = 16  # places of words, for each text of the index: they are kept in memory
ROUNDING = 1 - 1e-4  # what is left of the sum of the shares of a thousand words in float32, at least
POSTINGS: dict[str, type] = {
    "words": np.uint8,  # (bytes,): the different words of the shard, in order, back to back
    "word_ends": np.int64,  # (words,): where each ends
    "posting_ends": np.int64,  # (words,): where the texts of each end
    "places": np.int32,  # (postings,): the texts that have the word, in order
    "counts": np.uint16,  # (postings,): how often
    "lengths": np.int32,  # (n,): the words of each text
}


def pack_postings(texts: Sequence[str], rules: WordRules) -> dict[str, np.ndarray]:
    """The arrays of `POSTINGS` for the texts of a shard."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    found = [[numbers[form] for form in rules.forms(text)] for text in texts]
    lengths = np.array([len(each) for each in found], np.int64)
    encoded = [word.encode() for word in numbers]
    order = sorted(range(len(encoded)), key=encoded.__getitem__)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    flat = np.fromiter((number for each in found for number in each), np.int64, int(lengths.sum()))
    keys = rank[flat] * len(texts) + np.repeat(np.arange(len(texts)), lengths)
    keys, counts = np.unique(keys, return_counts=True)
    words, places = np.divmod(keys, max(1, len(texts)))
    return {
        "words": np.frombuffer(b"".join(encoded[k] for k in order), np.uint8),
        "word_ends": np.cumsum([len(encoded[k]) for k in order], dtype=np.int64),
        "posting_ends": np.cumsum(np.bincount(words, minlength=len(order)), dtype=np.int64),
        "places": places.astype(np.int32),
        "counts": np.minimum(counts, MAX_COUNT).astype(np.uint16),
        "lengths": lengths.astype(np.int32),
    }


@dataclass(frozen=True, eq=False)
class Postings:
    words: np.ndarray
    word_ends: np.ndarray
    posting_ends: np.ndarray
    places: np.ndarray
    counts: np.ndarray
    lengths: np.ndarray
    alive: np.ndarray | None = None  # (n,): False for texts that are deleted, which have no words then

    def fit_together(self, texts: int) -> bool:
        """Whether the sizes of the arrays agree; what is in them is checked where it is used."""
        return (
            all(getattr(self, name).ndim == 1 for name in POSTINGS)
            and len(self.lengths) == texts
            and len(self.places) == len(self.counts)
            and len(self.word_ends) == len(self.posting_ends)
            and are_ends(self.word_ends, len(self.words))
            and are_ends(self.posting_ends, len(self.places))
        )

    def of(self, word: str) -> tuple[np.ndarray, np.ndarray]:
        at = bisect_left(range(len(self.word_ends)), word.encode(), key=self._word)
        if at == len(self.word_ends) or self._word(at) != word.encode():
            return self.places[:0], self.counts[:0]
        part = slice(int(self.posting_ends[at - 1]) if at else 0, int(self.posting_ends[at]))
        places, counts = self.places[part], self.counts[part]
        if not self._are_valid(places, counts):
            raise damaged("the words of a shard are damaged; build the index again")
        if self.alive is not None:
            kept = self.alive[places]
            return places[kept], counts[kept]
        return places, counts

    @property
    def living_lengths(self) -> np.ndarray:
        return self.lengths if self.alive is None else self.lengths[self.alive]

    def _are_valid(self, places: np.ndarray, counts: np.ndarray) -> bool:
        """Whether the places are those of texts, each once and in order, which are long enough."""
        if not len(places) or places[0] < 0 or places[-1] >= len(self.lengths) or (np.diff(places) < 1).any():
            return False
        return bool(((counts > 0) & (counts <= self.lengths[places])).all())

    def _word(self, at: int) -> bytes:
        return self.words[int(self.word_ends[at - 1]) if at else 0 : int(self.word_ends[at])].tobytes()


def are_ends(ends: np.ndarray, size: int) -> bool:
    """Whether they cut so many things into parts, one after the other."""
    if not len(ends):
        return size == 0
    return bool(ends[0] >= 0 and ends[-1] == size and (ends[:-1] <= ends[1:]).all())


class Occurrences(NamedTuple):
    """The texts of an index that have a word, in order, and how full of it they are: from 0 to 1."""

    places: np.ndarray
    fullness: np.ndarray  # the term-frequency saturation, float32


class WordQuery(NamedTuple):
    """The different words of a query, as first written, and what each counts in a text that is full of it;
    together 1."""

    words: tuple[str, ...]
    weights: tuple[float, ...]
    found: tuple[Occurrences, ...]


class WordSearch:
    """BM25, divided by the most that the query's words could give: from 0 to 1 for any query and index."""

    def __init__(self, shards: Sequence[Postings], rules: WordRules) -> None:
        self.shards, self.rules = shards, rules
        self.starts = [0, *accumulate(len(each.lengths) for each in shards)]
        self.texts = sum(len(each.living_lengths) for each in shards)
        self._lock, self._held = Lock(), 0
        self._kept: dict[str, Occurrences] = {}  # the last used at the end

    @cached_property
    def _norms(self) -> np.ndarray:
        """(texts,): how many of a word make each text half full of it."""
        living = sum(int(each.living_lengths.sum(dtype=np.int64)) for each in self.shards)
        mean = max(living, 1) / max(self.texts, 1)
        return np.concatenate([K1 * (1 - B + B * each.lengths / mean) for each in self.shards])

    def query(self, text: str) -> WordQuery:
        """Look up the words of a query. A word counts as often as the query has it; rare ones count more,
        most if no text has them, and function words less."""
        words, repeats = dict[str, str](), defaultdict[str, float](float)
        for start, end, normal in self.rules.find(text):
            words.setdefault(normal, text[start:end])
            repeats[normal] += FUNCTION_WEIGHT if self.rules.is_function_word(text[start:end]) else 1.0
        found = tuple(self._find(word) for word in words)
        having = np.array([len(each.places) for each in found], float)
        rarity = np.log1p((self.texts - having + 0.5) / (having + 0.5))
        weights = rarity * np.array([repeats[word] for word in words])
        weights /= max(float(weights.sum()), 1e-9)
        return WordQuery(tuple(words.values()), tuple(weights.tolist()), found)

    def _find(self, word: str) -> Occurrences:
        """Where a word is, kept in memory for the queries to come."""
        with self._lock:
            found = self._kept.pop(word) if word in self._kept else self._read(word)
            if len(found.places):  # words that no text has would be kept without end
                self._kept[word] = found
            while self._held > KEPT_PER_TEXT * self.texts and len(self._kept) > 1:
                self._held -= len(self._kept.pop(next(iter(self._kept))).places)
        return found

    def _read(self, word: str) -> Occurrences:
        parts = [shard.of(word) for shard in self.shards]
        places = np.concatenate([at + part[0] for at, part in zip(self.starts, parts, strict=False)])
        counts = np.concatenate([part[1] for part in parts])
        self._held += len(places)
        return Occurrences(places, (counts / (counts + self._norms[places])).astype(np.float32))

    def scores(self, query: WordQuery) -> np.ndarray:
        """(texts,) float32: the sum of the shares of each text, but for rounding."""
        total = np.zeros(self.starts[-1], np.float32)
        for weight, each in zip(query.weights, query.found, strict=True):
            np.add.at(total, each.places, np.float32(weight) * each.fullness)
        return total

    def best(self, query: WordQuery, k: int, allowed: np.ndarray | None = None) -> list[int]:
        """Places of the k texts with the highest scores, best first; of equals, the first in the index."""
        total = self.scores(query)
        if allowed is not None:
            total *= allowed
        few = np.flatnonzero(total >= ROUNDING * kth_highest(total, k))
        scores = sum(self._shares(query, few), start=np.zeros(len(few)))
        found: list[int] = few[np.argsort(-scores, kind="stable")[:k]].tolist()
        return found

    def shares(self, query: WordQuery, places: Sequence[int]) -> list[list[tuple[str, float]]]:
        """The query's words that each text has, with their shares; in this order they add up to its score."""
        found = np.zeros((len(query.words), len(places)))
        for row, shares in zip(found, self._shares(query, np.array(places, int)), strict=True):
            row[:] = shares
        return [[x for x in zip(query.words, each, strict=True) if x[1]] for each in found.T.tolist()]

    def _shares(self, query: WordQuery, places: np.ndarray) -> Iterator[np.ndarray]:
        """The share of each word of a query in some texts; 0 where they do not have it."""
        for weight, each in zip(query.weights, query.found, strict=True):
            shares = np.zeros(len(places))
            if len(each.places):
                at = np.searchsorted(each.places, places.astype(each.places.dtype))
                at = np.minimum(at, len(each.places) - 1)
                np.multiply(weight, each.fullness[at], out=shares, where=each.places[at] == places)
            yield shares


def kth_highest(scores: np.ndarray, k: int) -> float:
    """The k-th highest of many scores above 0, or else the least there is."""
    least, sample = float(np.finfo(np.float32).tiny), scores[:: max(1, len(scores) // (16 * k))]
    if len(sample) >= k:  # the k-th highest of a few is no higher than that of all
        least = max(least, float(np.partition(sample, -k)[-k]))
    found = scores[scores >= least]
    return float(np.partition(found, -k)[-k]) if len(found) >= k else least
