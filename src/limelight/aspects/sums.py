"""What a text says about each aspect: the shares of the words in the answer, summed over its clauses.

A text is cut into clauses at marks, at line breaks and at words such as "but". The words of a clause in which
seeds of k aspects occur belong to each of them by 1/k, and all other words to none, so that

    answer = bias + sum over aspects + rest

is exact, as the answer is a sum over words (questions.py). Nothing is trained for it.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .seeds import Aspects, normalise

_MARK = re.compile(r"[.,;:!?…()\[\]*•–—。，、；：！？（）-]+")  # "!!!" and "--" are one word of a text
_GLUED = re.compile(r"(?<=[^\W\d_]{2})(?:[!?,;]+|\.+(?=[A-Z]))(?=[^\W\d_]{2})")  # "clean.Staff" is one, too
_WORDS = {"but", "although", "though", "however", "while", "whereas", "except", "yet"}


class AspectClause(NamedTuple):
    span: tuple[int, int]  # where it is in the text
    effect: float  # what its words add to the answer as part of this aspect
    words: float = 0.0  # how many they are; those of a clause with k aspects count 1/k for each


@dataclass(frozen=True, eq=False)
class AspectShare:
    """What a text says about one aspect."""

    name: str
    mentioned: bool  # whether a clause has a seed of it
    effect: float  # what its words add to the answer, in the unit of the sum; 0 if it is not mentioned
    estimated: float | None  # in stars, if the labels are numbers and it is mentioned
    clause: str | None  # the one with the largest effect, up or down
    span: tuple[int, int] | None  # where that is in the text
    weights: np.ndarray  # (n,): the share of each word that belongs to it
    clauses: tuple[AspectClause, ...] = ()  # all that mention it, in the order of the text

    @property
    def words(self) -> float:
        return sum(each.words for each in self.clauses)

    @property
    def strongest(self) -> AspectClause:
        """`clause`, with its effect alone."""
        none = AspectClause((0, 0), 0.0)
        return next((each for each in self.clauses if each.span == self.span), none)

    def to_dict(self, words: bool = False) -> dict[str, Any]:
        """Plain values; all clauses and the weights of the words only with `words`."""
        names = ("name", "mentioned", "effect", "estimated", "clause", "span")
        found = {name: getattr(self, name) for name in names}
        if words:
            found["clauses"] = [{"span": each.span, "effect": each.effect} for each in self.clauses]
            found["weights"] = self.weights.tolist() if self.mentioned else None
        return found


@dataclass(frozen=True, eq=False)
class AspectSum:
    """An answer as a sum: bias + the effects of the aspects + rest."""

    unit: str  # of all its numbers: "mean" of the classes, "number" of a regression, or "probability"
    answer: float
    bias: float  # what no word gives
    aspects: tuple[AspectShare, ...]
    rest: float  # of the words that belong to no aspect
    refits: np.ndarray | None = None  # (aspects + 1, refits): each effect, then all words, by refitted heads

    def to_dict(self, words: bool = False) -> dict[str, Any]:
        """Plain values, ready for `json.dumps`; with `words`, all that `AspectShare` has."""
        sums = {"unit": self.unit, "answer": self.answer, "bias": self.bias, "rest": self.rest}
        return {**sums, "aspects": [share.to_dict(words) for share in self.aspects]}


Place = tuple[int, int]  # of a word in the text, from its first character to after its last one


class Clause(NamedTuple):
    """The words from `start` to `end`, and the places of the aspects with seeds among them."""

    start: int
    end: int
    aspects: tuple[int, ...] = ()


def sum_by_aspect(
    aspects: Aspects, text: str, offsets: np.ndarray, weights: np.ndarray, bias: float, unit: str,
    values: Sequence[float] | None = None, refits: np.ndarray | None = None,
) -> AspectSum:  # fmt: skip
    """The sum for a text whose words at `offsets` (n, 2) have the shares `weights` (n,) in the answer.

    `values` are those of the classes, where an estimate in stars makes sense; `refits` (n, refits) the shares
    by refitted heads.
    """
    weights, own = np.asarray(weights, float), own_words(aspects, text, offsets)
    pieces = own.divide(weights)
    shares, answer = [], bias + float(weights.sum())
    for k, (aspect, parts) in enumerate(zip(aspects, own.parts, strict=True)):
        share = parts * pieces
        effect = float(share.sum())
        said = tuple(_share_of(each, share, own.places) for each in own.clauses if k in each.aspects)
        strongest = max(said, key=lambda each: abs(each.effect), default=None)  # of equal ones the first
        span = strongest.span if strongest else None
        stars = None if span is None or not values else estimate(answer, effect, values)
        quoted = None if span is None else text[slice(*span)]
        by_word = np.bincount(own.owners, share)
        shares.append(AspectShare(aspect.name, span is not None, effect, stars, quoted, span, by_word, said))
    rest = float(pieces[~own.parts.any(axis=0)].sum())
    if refits is not None:
        refits = np.vstack([own.by_word() @ refits, refits.sum(axis=0)])
    return AspectSum(unit, answer, bias, tuple(shares), rest, refits)


class OwnWords(NamedTuple):
    """Which words of a text belong to which aspect, and by how much."""

    places: list[Place]  # of the pieces: words, some of them cut in two
    owners: np.ndarray  # (pieces,): the word that each is of; every word has a piece
    clauses: list[Clause]
    parts: np.ndarray  # (aspects, pieces): a clause with words of k aspects belongs to each by 1 / k

    def divide(self, weights: np.ndarray) -> np.ndarray:
        """(pieces,): of weights (n,) of the words."""
        return np.asarray((weights / np.bincount(self.owners))[self.owners])

    def by_word(self) -> np.ndarray:
        """(aspects, n): how much each word belongs to each aspect."""
        firsts = np.flatnonzero(np.diff(self.owners, prepend=-1))
        return np.asarray(np.add.reduceat(self.parts, firsts, axis=1) / np.bincount(self.owners))


def own_words(aspects: Aspects, text: str, offsets: np.ndarray) -> OwnWords:
    """Which words, at `offsets` (n, 2), belong to which of the aspects in use."""
    places, owners = _pieces(text, offsets)
    clauses, parts = list(clauses_of(aspects, text, places)), np.zeros((len(aspects), len(places)))
    for clause in clauses:
        parts[list(clause.aspects), clause.start : clause.end] = 1 / max(1, len(clause.aspects))
    return OwnWords(places, owners, clauses, parts)


def _share_of(clause: Clause, share: np.ndarray, places: list[Place]) -> AspectClause:
    span, words = (places[clause.start][0], places[clause.end - 1][1]), clause.end - clause.start
    effect = float(share[clause.start : clause.end].sum())
    return AspectClause(span, effect, words / len(clause.aspects))


def estimate(answer: float, effect: float, values: Sequence[float]) -> float:
    """The stars of an aspect, within the range of the classes: the answer, moved by the effect.

    A fifth nearer to the middle, the answer leaves room for the effect to move it, by up to a fifth of the
    range; docs/aspects.md has how well that agrees with people.
    """
    low, high = min(values), max(values)
    middle, half = (low + high) / 2, (high - low) / 2 or 1.0
    moved = middle + 0.8 * (answer - middle) + 0.4 * half * math.tanh(4 * effect / half)
    return min(max(moved, low), high)


def _pieces(text: str, offsets: np.ndarray) -> tuple[list[Place], np.ndarray]:
    """The words, those cut in two that a missing blank has glued together; and which word each is of."""
    if not _GLUED.search(text):
        return [(start, end) for start, end in offsets.tolist()], np.arange(len(offsets))
    places, owners = list[Place](), []
    for k, (start, end) in enumerate(offsets.tolist()):
        marks = [mark.span() for mark in _GLUED.finditer(text, start, end)]
        edges = [start, *(edge for mark in marks for edge in mark), end]
        places += zip(edges[::2], edges[1::2], strict=True)
        owners += [k] * (len(edges) // 2)
    return places, np.array(owners, int)


def clauses_of(aspects: Aspects, text: str, places: list[Place]) -> Iterator[Clause]:
    """The clauses of a text with words at these places, and the aspects that they mention."""
    seeds = _seeds(aspects, text, places)
    start = 0
    for k, cut in [*enumerate(_cuts(text, places)), (len(places), "after")]:
        if not cut:
            continue
        if k > start:
            found = {each for at in range(start, k) for each in seeds.get(at, ())}
            yield Clause(start, k, tuple(sorted(found)))
        start = k + (cut == "here")


def _cuts(text: str, places: list[Place]) -> Iterator[str]:
    """For each word: "here" if it separates clauses, "before" if one begins with it, or nothing."""
    last = 0
    for start, end in places:
        if ends_clause(text[start:end]):
            yield "here"
        else:
            between = text[last:start]  # blanks, the mark that glues, or words that must not be read
            yield "before" if "\n" in between or _MARK.fullmatch(between.strip()) else ""
        last = end


def ends_clause(word: str) -> bool:
    """Whether a word of a text separates clauses."""
    return word.casefold() in _WORDS or bool(_MARK.fullmatch(word))


def _seeds(aspects: Aspects, text: str, places: list[Place]) -> dict[int, set[int]]:
    """The word where each seed begins, and whose seed it is.

    A seed within a longer one of any aspect counts for nothing: in "room service" there is no room.
    """
    matches = list(_matches(_forms(aspects), text, places))
    found: dict[int, set[int]] = {}
    for k in range(len(aspects)):
        free = 0
        for start, end, owners, excluded in matches:
            if start >= free and (owners or k in excluded):
                free = end
                if k in owners and k not in excluded:
                    found.setdefault(start, set()).add(k)
    return found


Owners = tuple[frozenset[int], frozenset[int]]  # the aspects whose seed it is, and those that exclude it


class Forms(NamedTuple):
    owners: dict[str, Owners]
    starts: frozenset[str]  # their first two characters: most words of a text are none of them
    longest: int  # characters of a text that can be one


def _matches(
    forms: Forms, text: str, places: list[Place]
) -> Iterator[tuple[int, int, frozenset[int], frozenset[int]]]:
    """The words from start to end that are a known form: by their start, and of several the longest first."""
    for first, (start, _) in enumerate(places):
        two = normalise(text[start : start + 2])[:2]
        if two not in forms.starts and two[:1] not in forms.starts:
            continue
        here = []
        for after in range(first, len(places)):
            end = places[after][1]
            if end - start > forms.longest:
                break
            if found := forms.owners.get(normalise(text[start:end])):
                here.append((first, after + 1, *found))
        yield from reversed(here)


@lru_cache(maxsize=32)
def _forms(aspects: Aspects) -> Forms:
    found: dict[str, tuple[set[int], set[int]]] = {}
    for k, aspect in enumerate(aspects):
        for kind, phrases in enumerate((aspect.seeds, aspect.excluded)):
            for form in (each for phrase in phrases for each in with_plural(phrase)):
                found.setdefault(form, (set(), set()))[kind].add(k)
    owners = {form: (frozenset(a), frozenset(b)) for form, (a, b) in found.items()}
    longest = max(map(len, found), default=0) + 4  # a few more blanks
    return Forms(owners, frozenset(form[:2].strip() for form in found), longest)


def with_plural(phrase: str) -> tuple[str, str]:
    """A phrase, and the plural of its last word if that is a noun.

    >>> with_plural("front desk"), with_plural("lobby"), with_plural("dish")
    (('front desk', 'front desks'), ('lobby', 'lobbies'), ('dish', 'dishes'))
    """
    if re.search("[^aeiou]y$", phrase):
        return phrase, f"{phrase[:-1]}ies"
    return phrase, phrase + ("es" if re.search("(s|x|z|ch|sh)$", phrase) else "s")
