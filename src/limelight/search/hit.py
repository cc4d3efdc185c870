"""`Hit`: what a search finds, and the parts of its score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..reading.comparison import ComparedText, Comparison

_FACTS = ("score", "text", "source", "row", "start", "columns", "key")


@dataclass(frozen=True, eq=False)
class HitWords:
    """Which words make the meanings of a query and a hit similar. `compare` gives all pairs of them."""

    pairs: tuple[tuple[str, str, float], ...]  # that add most to the cosine, the query's word first
    text: ComparedText | None  # the hit's, with the effect of each word; None if it has too many words
    compare: Callable[[], Comparison]


@dataclass(frozen=True, eq=False)
class Hit:
    """A text that a search found. Its score is `meaning` plus what the words in `matches` add."""

    score: float  # by meaning the cosine, by words BM25 from 0 to 1, by both 0.4 and 0.6 of them
    text: str
    source: str  # the table it is from
    source_number: int  # two tables may have one name
    row: int  # in that table, from 1
    start: int | None  # where the sentence starts in the row's text, in an index of sentences or passages
    columns: dict[str, Any]  # the row's other columns
    words: HitWords | None = None  # which words make the meanings similar
    cosine: float = 0.0  # of its vector with the query's; 0 by words alone
    meaning_weight: float = 1.0  # of the cosine in the score
    matches: tuple[tuple[str, float], ...] = ()  # the query's words that it has, and what each adds
    key: Any = None  # what names the row in the index: `Index.delete` takes it

    @property
    def meaning(self) -> float:
        """The part of the score that the meaning gives."""
        return self.meaning_weight * self.cosine

    @property
    def comparison(self) -> Comparison | None:
        """All pairs of words, for which the text is read again; None if its words were not asked for.

        Together they, `meaning_weight * comparison.matrix`, add up to `meaning`.
        """
        return self.words.compare() if self.words else None

    def top_pairs(self, count: int = 5) -> list[tuple[str, str, float]]:
        """The pairs of words, the query's first, that add most to the score by meaning: at most 32."""
        pairs = self.words.pairs[:count] if self.words else ()
        return [(word, other, self.meaning_weight * share) for word, other, share in pairs]

    def top_matches(self, count: int = 5) -> list[tuple[str, float]]:
        """The words that match and add most to the score, the largest first."""
        return sorted(self.matches, key=lambda match: -match[1])[:count]

    def to_dict(self, pairs: int = 5) -> dict[str, Any]:
        """Plain values, ready for `json.dumps`, with the pairs of words that contribute most.

        The score is `meaning` plus the shares of `matches`; `meaning` is those of `words` plus `other_words`.
        """
        found = {name: getattr(self, name) for name in _FACTS}
        found |= {"meaning": self.meaning, "matches": [list(each) for each in self.matches]}
        if self.words:
            words = self.top_pairs(pairs)
            found |= {"words": words, "other_words": self.meaning - sum(share for _, _, share in words)}
        return found
