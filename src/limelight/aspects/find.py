"""Aspects found in texts, without labels or seed words: the nouns that are judged, grouped by what they mean.

`review_words.py` says what a noun is, and what is judged. Nouns are alike if they share clauses (PPMI, of
which an eigendecomposition keeps some dimensions) and if the bundled reader has similar vectors for them;
k-means groups them. Everything starts from the most frequent words, so the same texts give the same aspects.
The rules are of English; docs/log/2026-11-17-aspects.md has what else was tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import LimelightError, bad_value, warn
from ..network.outputs import unit
from ..text.coerce import as_texts
from ..text.tokenizer import Tokenizer
from .facts import check_takes_aspects
from .review_words import BEING, Nouns, ReviewWords, reader_vectors
from .seeds import MAX_ASPECTS, Aspect, Aspects
from .sums import clauses_of

if TYPE_CHECKING:
    from ..text.dataset import Dataset

MAX_TEXTS = 20_000  # more change nothing
SEEDS, MIN_SEEDS = 12, 2  # of an aspect
DIMENSIONS = 30
ALIKE = 0.3  # cosine of a seed and its group
GROUPS = 2  # for each aspect asked for; the smallest are merged into the nearest
VECTORS, VECTORS_OF_FEW = 0.5, 0.8  # how much the vectors say of likeness, beside the clauses
FEW_WORDS = 100_000  # in all texts: too few for clauses to say much
EXAMPLES, EXAMPLE_WORDS = 3, range(4, 13)  # of an aspect; of an example


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
    """What a job stores of the aspects given: a definition, or how many are to be found.

    >>> aspects_given({"rooms": ["room"]}), aspects_given(8), aspects_given(None)
    ({'rooms': ['room']}, 8, {})
    """
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
    return np.hstack(
        [np.sqrt(1 - share) * _by_clauses(words.together(nouns.numbers)), np.sqrt(share) * meaning]
    )


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
