"""Aspects found in texts, without labels or seed words: the nouns that are judged, grouped by what they mean.

A noun stands between a determiner and a small word ("the room and"), and what reviews judge stands before
"was" or "is" ("the room was"). What follows "this" is what the review is of ("this hotel"). Nouns are alike
if they share clauses (PPMI, of which an eigendecomposition keeps some dimensions) and if the bundled reader
has similar vectors for them; k-means groups them. Everything starts from the most frequent words, so the same
texts give the same aspects. The rules are of English; docs/log/2026-11-17-aspects.md has what else was tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import safe_open

from .. import bundled
from ..errors import LimelightError, bad_value, warn
from ..network.outputs import unit
from ..network.quantise import values
from ..text.coerce import as_texts
from ..text.dataset import Dataset
from ..text.tokenizer import Tokenizer
from ..text.word_kinds import is_function_word, is_kind
from .facts import check_takes_aspects
from .seeds import MAX_ASPECTS, Aspect, Aspects
from .sums import clauses_of, ends_clause, with_plural

MAX_TEXTS = 20_000  # more change nothing
SEEDS, MIN_SEEDS = 12, 2  # of an aspect
DIMENSIONS = 30
ALIKE = 0.3  # cosine of a seed and its group
GROUPS = 2  # for each aspect asked for; the smallest are merged into the nearest
VECTORS, VECTORS_OF_FEW = 0.5, 0.8  # how much the vectors say of likeness, beside the clauses
FEW_WORDS = 100_000  # in all texts: too few for clauses to say much
MAX_NOUNS = 700
MIN_TEXTS = 5  # with a noun; and one text in a hundred, or one of 10,000 words
MIN_NOUN, MIN_JUDGED = 0.1, 0.03  # of a word's occurrences: as a noun; before "was"
MIN_THIS, MIN_THIS_TIMES = 0.08, 5  # of its occurrences after "this", from which it is what is reviewed
EXAMPLES, EXAMPLE_WORDS = 3, range(4, 13)  # of an aspect; of an example


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_DETERMINERS = _set("the a an our my your his her their its this that these those no any some")
BEING = _set("is are was were")
_THIS = _set("this these")
# Nouns of any review: they name no aspect, or are themselves the judgement.
_GENERAL = _set(
    "time way lot bit thing place stay trip visit experience review part reason point fact kind sort "
    "type end start problem issue complaint downside disappointment bonus surprise plus minus concern "
    "trouble mistake opinion impression expectation advice recommendation comment suggestion favorite "
    "favourite positive negative example case idea matter situation difference question answer detail "
    "feature member sign name note list number stuff rest whole boy morning evening afternoon weekend "
    "holiday vacation birthday photo rating purchase business world life word same own best worst top "
    "everything anything"
)


class Found(NamedTuple):
    aspect: Aspect
    share: float  # of the texts that mention it
    examples: tuple[str, ...] = ()  # clauses


def find_aspects(texts: Sequence[str], count: int = 8) -> Aspects:
    """Find up to `count` aspects in texts, from the most judged to the least; each named by its first word.

    >>> found = find_aspects(reviews, 8)  # doctest: +SKIP
    >>> model = Model.load("model").with_aspects(found)  # doctest: +SKIP
    """
    tokenizer, spread = reader_vectors()[0], _spread(as_texts(texts))
    return Aspects(each.aspect for each in find_in_words(tokenizer, *tokenizer.encode(spread), count))


def find_in_texts(texts: Sequence[str], count: int, tokenizer: Tokenizer) -> list[Found]:
    """The same, with the share of the texts that mention each, and clauses as examples."""
    found = find_in_words(tokenizer, *tokenizer.encode(_spread(texts)), count)
    examples = _examples(Aspects(each.aspect for each in found), texts, tokenizer)
    return [each._replace(examples=tuple(own)) for each, own in zip(found, examples, strict=True)]


def find_in_words(tokenizer: Tokenizer, ids: np.ndarray, lengths: np.ndarray, count: int) -> list[Found]:
    """The same for texts given as word ids back to back, and the number of words of each."""
    check_count(count)
    rows = np.linspace(0, len(lengths), min(len(lengths), MAX_TEXTS), endpoint=False).astype(int)
    ends = np.cumsum(lengths)
    ids = np.concatenate([ids[ends[k] - lengths[k] : ends[k]] for k in rows] or [ids])
    words = ReviewWords(tokenizer.vocabulary, np.asarray(ids), np.asarray(lengths)[rows])
    nouns = words.nouns
    groups = _groups(nouns, _likeness(words, nouns), count) if len(nouns.words) else []
    if not groups:
        message = f"no aspects were found in {len(rows):,} texts: no words are judged often enough"
        raise LimelightError(f"{message}; give more texts, or aspects with words", code="no-aspects-found")
    if len(groups) < count:
        warn(f"found {len(groups)} aspects rather than {count}: {len(rows):,} texts judge too few things")
    return [Found(Aspect(seeds[0], tuple(seeds)), words.share(seeds)) for seeds in groups]


def aspects_given(given: Any) -> dict[str, Any] | int:
    """What a job stores of the aspects given: a definition, or how many are to be found."""
    if isinstance(given, int):
        check_count(given)
        return given
    return Aspects.of(given).to_dict()


def settle_aspects(given: Any, dataset: Dataset) -> Aspects:
    """The aspects of a model of this data: those given, or found in the training texts."""
    if given is None or given == {}:
        return Aspects()
    check_takes_aspects(dataset.task, dataset.pair)
    if not isinstance(given, int):
        return Aspects.of(given)
    train = dataset.splits["train"]
    found = find_in_words(dataset.tokenizer, train.ids, train.lengths, given)
    return Aspects(each.aspect for each in found)


def check_count(count: int) -> None:
    """Raise unless it is a number of aspects to find."""
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MAX_ASPECTS:
        raise bad_value(f"the number of aspects is {count!r}; it must be 1 to {MAX_ASPECTS}")


def _spread(texts: Sequence[str]) -> Sequence[str]:
    """At most `MAX_TEXTS` of the texts, from all over them."""
    if len(texts) <= MAX_TEXTS:
        return texts
    return [texts[k] for k in np.linspace(0, len(texts), MAX_TEXTS, endpoint=False).astype(int)]


def _likeness(words: ReviewWords, nouns: Nouns) -> np.ndarray:
    """(nouns, size): rows whose products say how alike two nouns are, by their clauses and their vectors."""
    tokenizer, vectors = reader_vectors()
    known = tokenizer.find_ids(nouns.words)
    meaning = unit(vectors[known] - vectors[known].mean(axis=0)) * (known > 1)[:, None]
    few = min(1.0, FEW_WORDS / len(words.at))
    share = VECTORS + (VECTORS_OF_FEW - VECTORS) * few
    by_clauses = np.sqrt(1 - share) * _by_clauses(words.together(nouns.numbers))
    return np.hstack([by_clauses, np.sqrt(share) * meaning])


def _by_clauses(together: np.ndarray) -> np.ndarray:
    """(nouns, dimensions): from the pointwise mutual information of words within clauses, where positive."""
    often = together.sum(axis=1)
    expected = np.outer(often, often) / max(together.sum(), 1)
    together = np.where(together >= 2, together, 0)  # once is chance
    information = np.log(np.maximum(together / np.maximum(expected, 1e-9), 1))
    values, directions = np.linalg.eigh(information)
    largest = np.argsort(-np.abs(values), kind="stable")[:DIMENSIONS]
    return unit(directions[:, largest] * np.sqrt(np.abs(values[largest])))


def _groups(nouns: Nouns, X: np.ndarray, count: int) -> list[list[str]]:
    """The seeds of each aspect, the most typical first; the most judged aspect first."""
    weights = np.sqrt(nouns.judged)
    wanted = min(count * GROUPS, max(1, len(X) // 3))
    members = _merge(_k_means(X, weights, wanted), X, nouns.judged, count)
    found = []
    for own in members:
        close = X[own] @ _centre(X, weights, own)
        order = own[np.argsort(-close * weights[own], kind="stable")]
        alike = set(own[close > ALIKE].tolist())
        seeds = [nouns.words[k] for k in order.tolist() if k in alike][:SEEDS]
        if len(seeds) >= MIN_SEEDS:
            found.append((-nouns.judged[own].sum(), seeds))
    return [seeds for _, seeds in sorted(found)]


def _k_means(X: np.ndarray, weights: np.ndarray, count: int) -> list[np.ndarray]:
    """Groups of rows, from the heaviest row and then always the one farthest from all starts."""
    starts = [int(weights.argmax())]
    while len(starts) < count:
        starts.append(int(((1 - (X @ X[starts].T).max(axis=1)) * np.sqrt(weights)).argmax()))
    centres, groups = X[starts], list[np.ndarray]()
    for _ in range(50):
        nearest = (X @ centres.T).argmax(axis=1)
        groups = [own for k in range(count) if len(own := np.flatnonzero(nearest == k))]
        centres, count = np.stack([_centre(X, weights, own) for own in groups]), len(groups)
    return groups


def _merge(groups: list[np.ndarray], X: np.ndarray, judged: np.ndarray, count: int) -> list[np.ndarray]:
    """At most `count` groups: the one that is judged least goes into the nearest."""
    groups = list(groups)
    while len(groups) > count:
        least = min(range(len(groups)), key=lambda k: judged[groups[k]].sum())
        small = groups.pop(least)
        centres = np.stack([_centre(X, np.sqrt(judged), own) for own in groups])
        nearest = int((centres @ _centre(X, np.sqrt(judged), small)).argmax())
        groups[nearest] = np.concatenate([groups[nearest], small])
    return groups


def _centre(X: np.ndarray, weights: np.ndarray, own: np.ndarray) -> np.ndarray:
    return np.asarray(unit((X[own] * weights[own, None]).sum(axis=0)[None])[0])


def _examples(aspects: Aspects, texts: Sequence[str], tokenizer: Tokenizer) -> list[list[str]]:
    """For each aspect a few clauses about it alone, each with another of its words."""
    found: list[list[str]] = [[] for _ in aspects]
    seen = [set[str]() for _ in aspects]
    for text in texts:
        for k, clause in _clauses(aspects, text, tokenizer):
            said = {word for word in aspects[k].seeds if word in clause.casefold().split()}
            if len(found[k]) < EXAMPLES and said - seen[k]:
                seen[k] |= said
                found[k].append(clause)
        if all(len(each) == EXAMPLES for each in found):
            break
    return found


def _clauses(aspects: Aspects, text: str, tokenizer: Tokenizer) -> Iterator[tuple[int, str]]:
    places = [(start, end) for start, end in tokenizer.locate(text)[1].tolist()]
    for clause in clauses_of(aspects, text, places):
        said = text[places[clause.start][0] : places[clause.end - 1][1]]
        judges = not BEING.isdisjoint(said.casefold().split())
        if len(clause.aspects) == 1 and judges and clause.end - clause.start in EXAMPLE_WORDS:
            yield clause.aspects[0], said


# ---------------------------------------------------------------- words and nouns


class Nouns(NamedTuple):
    words: list[str]  # the most frequent first
    numbers: np.ndarray  # (nouns,): which words they are
    judged: np.ndarray  # (nouns,): how often each stands before "was"


class ReviewWords:
    """The words of the texts in lower case and in the singular, as numbers."""

    def __init__(self, vocabulary: Sequence[str], ids: np.ndarray, lengths: np.ndarray) -> None:
        present, ids = np.unique(ids, return_inverse=True)
        forms = [vocabulary[k].casefold() for k in present]
        singular = {with_plural(word)[1]: word for word in forms if len(word) > 2}
        number: dict[str, int] = {}
        fold = np.array([number.setdefault(singular.get(word, word), len(number)) for word in forms], int)
        self.words = list(number)
        self.at = fold[ids.reshape(-1)]  # (all words of all texts,)
        self.texts, self.number = len(lengths), number
        self.text = np.repeat(np.arange(len(lengths)), lengths)
        self.begins = np.diff(self.text, prepend=-1) > 0
        self.is_small = np.array([is_function_word(word) for word in self.words], bool)

    def occurrences(self, where: np.ndarray | None = None) -> np.ndarray:
        """(words,): how often each stands where it is true."""
        return np.bincount(self.at, where, len(self.words))

    @cached_property
    def frequency(self) -> np.ndarray:
        """The number of texts with each word."""
        pairs = np.unique(self.text.astype(np.int64) * len(self.words) + self.at)
        return np.bincount(pairs % len(self.words), minlength=len(self.words))

    def share(self, seeds: Sequence[str]) -> float:
        """The share of the texts that have one of these words."""
        own = np.isin(self.at, [self.number[seed] for seed in seeds])
        return len(np.unique(self.text[own])) / self.texts

    @cached_property
    def nouns(self) -> Nouns:
        """Those that are judged, and are in enough of the texts; not what is reviewed."""
        judged = self.occurrences(np.append(self._one_of(BEING)[1:] & ~self.begins[1:], False))
        least = max(MIN_TEXTS, min(self.texts / 100, len(self.at) / 10_000))
        times = np.maximum(self.occurrences(), 1)
        fits = (self.frequency >= least) & (judged >= MIN_JUDGED * times)
        before_small = np.append(self.is_small[self.at][1:], True) | np.append(self.begins[1:], True)
        reviewed = self.occurrences(self._after(_THIS))
        fits &= self.occurrences(self._after(_DETERMINERS) & before_small) >= MIN_NOUN * times
        fits &= (reviewed < MIN_THIS * times) | (reviewed < MIN_THIS_TIMES)
        numbers = [k for k in np.flatnonzero(fits) if may_be_aspect(self.words[k])]
        numbers.sort(key=lambda k: (-self.frequency[k], self.words[k]))
        kept = np.array(numbers[:MAX_NOUNS], int)
        return Nouns([self.words[k] for k in kept], kept, judged[kept])

    def _one_of(self, words: frozenset[str]) -> np.ndarray:
        return np.isin(self.at, [self.number[word] for word in words if word in self.number])

    def _after(self, words: frozenset[str]) -> np.ndarray:
        return np.append(False, self._one_of(words)[:-1]) & ~self.begins

    def together(self, numbers: np.ndarray) -> np.ndarray:
        """(nouns, nouns): in how many clauses two of these words stand together."""
        cut = np.array([ends_clause(word) or word == "and" for word in self.words], bool)[self.at]
        clause, place = np.cumsum(cut | self.begins) - 1, np.full(len(self.words), -1)
        place[numbers] = np.arange(len(numbers))
        own = place[self.at] >= 0
        pairs = np.unique(clause[own].astype(np.int64) * len(numbers) + place[self.at[own]])
        found, some = np.zeros((len(numbers),) * 2), 4096
        _, clauses, sizes = np.unique(pairs // len(numbers), return_inverse=True, return_counts=True)
        pairs = pairs[sizes[clauses] > 1]  # a noun alone in its clause says nothing, and most are
        if not len(pairs):
            return found
        clauses = np.unique(pairs // len(numbers), return_inverse=True)[1].reshape(-1)
        for first in range(0, int(clauses[-1]) + 1, some):
            here = slice(*np.searchsorted(clauses, [first, first + some]))
            has = np.zeros((some, len(numbers)), np.float32)
            has[clauses[here] - first, pairs[here] % len(numbers)] = 1
            found += has.T @ has
        np.fill_diagonal(found, 0)
        return found


def may_be_aspect(word: str) -> bool:
    """Whether a noun may name an aspect: it is no number or person, and does not fit every review.

    >>> [word for word in ("room", "way", "wife", "2nd", "the") if may_be_aspect(word)]
    ['room']
    """
    general = word in _GENERAL or any(is_kind(word, kind) for kind in ("people", "time", "numbers"))
    return word.isalpha() and len(word) > 2 and not general and not is_function_word(word)


def reader_vectors() -> tuple[Tokenizer, np.ndarray]:
    """The bundled reader's words, and their vectors (words, d)."""
    folder = Path(str(files(bundled))) / "reader"
    tokenizer = Tokenizer((folder / "tokenizer.json").read_text("utf-8"))
    with safe_open(folder / "model.safetensors", "numpy") as stored:
        packed = {name: stored.get_tensor(name) for name in ("words.weight", "words.weight.scale")}
    return tokenizer, values(packed, "words.weight").astype(float)
