"""`Hit`: what a search finds; and which words make hits similar to a query, for a few hits at a time.

A hit keeps the pairs of words that count most. All pairs of one long text with a long query are millions, and
a search may have a thousand hits.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ..reading.comparison import ComparedText, Comparison, largest_places
from ..runtime.model import Model
from ..runtime.reader import Reader, load
from ..runtime.word_parts import TextParts
from ..text.coerce import as_texts
from .build import AnyModel, encode

BEST_PAIRS = 32  # that a hit keeps
MAX_WORDS = 2**12  # of a query and of a text: what it takes to leave out each word grows with them
PIECE_WORDS = 2**10  # of texts that are read at once
_CHARACTERS = 32  # of a word: a text with more than this for each is too long without counting
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


def explain_hits(query: str, texts: Sequence[str], model: str | Path | AnyModel = "reader") -> list[Hit]:
    """Texts that a database found by this model's vectors, as hits that say which words made them so.

    They come in the order given; `hit.row` counts them from 1.

    >>> (hit,) = explain_hits("cold soup", ["Chilly broth!"])
    >>> hit.top_pairs(1)[0][:2], bool(abs(hit.comparison.matrix.sum() - hit.score) < 1e-6)
    (('cold', 'Chilly'), True)
    """
    opened = model if isinstance(model, Model | Reader) else load(model)
    given = as_texts(texts)
    vector, *others = np.concatenate(list(encode(opened, [*as_texts([query], "queries"), *given])))
    scores = [float(vector @ each) for each in others]
    rows = enumerate(zip(given, scores, strict=True), start=1)
    hits = [Hit(score, text, "texts", 0, row, None, {}, cosine=score) for row, (text, score) in rows]
    return list(chain.from_iterable(find_words(opened, [query], [hits])))


def find_words(
    model: AnyModel, queries: Sequence[str], results: Sequence[Sequence[Hit]], most: int | None = None
) -> Iterator[list[Hit]]:
    """The hits of all queries, one after the other, some at a time, with the words that make them similar.

    A text of more than `MAX_WORDS` words has no pairs; nor have the hits after the first that have `most`
    words together.
    """
    left = float("inf") if most is None else most
    for query, hits in zip(queries, results, strict=True):
        finder = _PairFinder(model, query)
        piece, held = list[tuple[Hit, bool]](), 0
        for hit in hits:
            words = _count_words(model, hit.text) if left > 0 and finder.can_read else 0
            if words > MAX_WORDS:
                words = 0
            elif words > left:
                words, left = 0, 0
            if piece and held + words > PIECE_WORDS:
                yield finder.explain(piece)
                piece, held = [], 0
            piece.append((hit, words > 0))
            held, left = held + words, left - words
        if piece:
            yield finder.explain(piece)


def _count_words(model: AnyModel, text: str) -> int:
    """The words of a text, or more than `MAX_WORDS` if it has that many."""
    if len(text) > _CHARACTERS * MAX_WORDS:
        return MAX_WORDS + 1
    return int(model.tokenizer.encode([text])[1][0])


class _PairFinder:
    def __init__(self, model: AnyModel, query: str) -> None:
        self._model, self._query = model, query
        self.can_read = _count_words(model, query) <= MAX_WORDS

    @cached_property
    def _asked(self) -> tuple[list[str], np.ndarray, np.ndarray]:
        """The query's words, their parts (n, size) and its vector (size,)."""
        (read,) = self._model.word_parts([self._query])
        return [read.text[start:end] for start, end in read.offsets.tolist()], read.parts, read.vector

    def explain(self, hits: Sequence[tuple[Hit, bool]]) -> list[Hit]:
        """Each hit with its words, if they are to be found."""
        parts, found = iter(self._model.word_parts([hit.text for hit, is_read in hits if is_read])), []
        for hit, is_read in hits:
            words = HitWords((), None, partial(compare_hit, self._model, self._query, hit))
            found.append(replace(hit, words=self._with_pairs(words, hit, next(parts)) if is_read else words))
        return found

    def _with_pairs(self, found: HitWords, hit: Hit, text: TextParts) -> HitWords:
        words, parts, vector = self._asked
        matrix = parts @ text.parts.T  # (n, m)
        rest = _rounding(matrix, hit.cosine)
        side = ComparedText(text.text, text.offsets, text.known, text.effects @ vector)
        words2, best = side.words, largest_places(matrix, BEST_PAIRS)
        pairs = tuple((words[s], words2[t], float(matrix[s, t]) + rest) for s, t in best)
        return replace(found, pairs=pairs, text=side)


def compare_hit(model: AnyModel, query: str, hit: Hit) -> Comparison:
    """All pairs of words of a query and a hit. They add up to the index's cosine, of vectors in 8 bits."""
    (found,) = model.compare_many([query], [hit.text])
    matrix = found.matrix.astype(np.float64)
    return replace(found, similarity=hit.cosine, matrix=matrix + _rounding(matrix, hit.cosine))


def _rounding(matrix: np.ndarray, cosine: float) -> float:
    """What each pair gets of the difference between the index's cosine and that of the texts as read now."""
    return (cosine - float(matrix.sum(dtype=np.float64))) / matrix.size
