"""Which texts of an index come first for a query: by meaning, by words, or by the sum of both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .nearest import ApproximateSearch, ExactSearch, Maybe, Scored, Signs, is_worthwhile, score_places
from .postings import WordSearch
from .shards import Shard, living_texts
from .words import WordRules

SCORERS = ("meaning", "words", "both")
WORD_WEIGHT = 0.6  # of the words' score in the sum: docs/log/2026-11-17-search.md
SCORES_AT_ONCE = 2**24  # of queries times texts, by words


@dataclass(frozen=True)
class Ranked:
    place: int
    cosine: float  # 0 by words alone
    meaning_weight: float
    matches: tuple[tuple[str, float], ...]  # the words of the query that it has, and what each adds

    @property
    def score(self) -> float:
        return self.meaning_weight * self.cosine + sum(share for _, share in self.matches)


class Ranking:
    """Searches the shards of an index; `known` are the signs that were packed before it changed."""

    def __init__(
        self, shards: Sequence[Shard], exact: ExactSearch, known: Signs | None = None,
        rules: WordRules | None = None,
    ) -> None:  # fmt: skip
        self.shards, self._exact, self._rules = shards, exact, rules or WordRules()
        self._known = known or {}
        self.texts = sum(map(len, shards))  # the deleted ones too
        self.living = sum(shard.living for shard in shards)
        self.alive = living_texts(shards) if self.living < self.texts else None

    @cached_property
    def words(self) -> WordSearch:
        """Search by words; the index must have them."""
        postings = [shard.postings for shard in self.shards if shard.postings is not None]
        return WordSearch(postings, self._rules)

    @cached_property
    def _approximate(self) -> ApproximateSearch:
        known, self._known = self._known, {}  # those of shards that are gone are dropped
        return ApproximateSearch(self.shards, self._exact.threads, known)

    def signs(self) -> Signs:
        """Those that are packed, for the ranking after a change of the index."""
        return self._approximate.signs if "_approximate" in vars(self) else self._known

    def rank(
        self, queries: Sequence[str], Q: np.ndarray, k: int, by: str, approximate: bool = False,
        allowed: Maybe = None,
    ) -> list[list[Ranked]]:  # fmt: skip
        """The best k texts of each query, best first, of those that are allowed and not deleted; by words,
        those that match.

        Of equal scores, the first in the index comes first.
        """
        for shard in self.shards:
            shard.check()
        k = min(k, self.living if allowed is None else int(allowed.sum()))
        if not k:
            return [[] for _ in queries]
        if by == "words":
            return [self._by_words(query, k, allowed) for query in queries]
        if by == "both":
            return list(self._by_both(queries, Q, k, approximate, allowed))
        scores, places = self.by_vectors(Q, k, approximate, allowed=allowed)
        pairs = (zip(*each, strict=True) for each in zip(places.tolist(), scores.tolist(), strict=True))
        return [[Ranked(place, score, 1.0, ()) for place, score in each if place >= 0] for each in pairs]

    def by_vectors(
        self, Q: np.ndarray, k: int, approximate: bool = False, extra: Maybe = None, allowed: Maybe = None
    ) -> Scored:
        """Scores and places, (queries, k) each, for vectors of length 1 (queries, size)."""
        if not len(Q):
            return np.empty((0, k), np.float32), np.empty((0, k), np.int64)
        allowed = self.alive if allowed is None else allowed
        if approximate and is_worthwhile(k, self.texts):
            scores, places = self._approximate.search(Q, k, extra, allowed)
        else:
            scores, places = self._exact.search(self.shards, Q, k, extra, allowed)
        if extra is None:
            scores = np.clip(scores, -1, 1)  # rounded vectors may be a little longer than 1
        return scores, places

    def _by_words(self, text: str, k: int, allowed: Maybe) -> list[Ranked]:
        query = self.words.query(text)
        best = self.words.best(query, k, allowed)
        found = zip(best, self.words.shares(query, best), strict=True)
        return [Ranked(place, 0.0, 0.0, tuple(shares)) for place, shares in found]

    def _by_both(
        self, texts: Sequence[str], Q: np.ndarray, k: int, approximate: bool, allowed: Maybe
    ) -> Iterator[list[Ranked]]:
        several = max(1, SCORES_AT_ONCE // self.texts)
        for start in range(0, len(texts), several):
            some = slice(start, start + several)
            queries = [self.words.query(text) for text in texts[some]]
            extra = np.empty((len(queries), self.texts), np.float32)
            for row, query in zip(extra, queries, strict=True):
                row[:] = self.words.scores(query) * (WORD_WEIGHT / (1 - WORD_WEIGHT))
            _, found = self.by_vectors(Q[some], k, approximate, extra, allowed)
            for query, q, places in zip(queries, Q[some], found.tolist(), strict=True):
                at = np.array(sorted(place for place in places if place >= 0), np.int64)
                cosines = np.clip(score_places(self.shards, q, at).astype(float), -1, 1)
                shares = self.words.shares(query, at.tolist())
                ranked = []
                for place, cosine, each in zip(at.tolist(), cosines.tolist(), shares, strict=True):
                    matches = tuple((word, WORD_WEIGHT * share) for word, share in each)
                    ranked.append(Ranked(place, cosine, 1 - WORD_WEIGHT, matches))
                # By scores in full precision, which differ from those in float32 by a hair.
                yield sorted(ranked, key=lambda each: (-each.score, each.place))
