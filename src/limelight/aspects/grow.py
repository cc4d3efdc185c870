"""More seeds for aspects: the nouns of some texts that are nearest in meaning to the seeds they have.

A noun becomes a seed of an aspect if the bundled reader's vector of it is near to the mean of the seeds'
vectors, nearer than to any other aspect's, and if clauses with it mention the aspect at least as often as
all clauses do. docs/log/2026-11-17-aspects.md has what else was tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..text.coerce import as_texts
from ..text.tokenizer import UNKNOWN, Tokenizer
from .facts import require_aspects
from .review_words import ReviewWords, may_be_aspect, reader_vectors, unit
from .seeds import Aspect, Aspects
from .sums import with_plural

MAX_NEW = 60  # of an aspect
MIN_TEXTS = 3  # that have a new seed
NEAR = 0.25  # cosine of a noun of the texts with the mean of the seeds
NEAR_ANYWHERE, NEARER_ANYWHERE = 0.45, 0.1  # of any word; and how much nearer than to any other aspect


def grow_aspects(aspects: Any, texts: Sequence[str] | None = None) -> Aspects:
    """Add the nouns of these texts that are nearest in meaning to the seeds of an aspect in use to its seeds.

    Without texts, all words that the bundled reader knows are looked at. As nothing shows then which of them
    are nouns, and what they are said of, only very near ones are taken.

    >>> grown = grow_aspects({"taxes": ["tax"], "sleep": ["sleep"]})
    >>> "taxation" in grown.find("taxes").seeds, "asleep" in grown.find("sleep").seeds
    (True, True)
    """
    grown = require_aspects(Aspects.of(aspects))
    tokenizer, vectors = reader_vectors()
    used = None if texts is None else ReviewWords(tokenizer.vocabulary, *tokenizer.encode(as_texts(texts)))
    words = _new_words(_candidates(used, tokenizer), grown, tokenizer)
    means = np.stack([_mean(aspect, tokenizer, vectors) for aspect in grown.enabled])
    near = unit(vectors[tokenizer.find_ids(words)]) @ means.T  # (words, aspects)
    fits = _fits(near, NEAR_ANYWHERE, NEARER_ANYWHERE) if used is None else _fits(near, NEAR)
    for k, aspect in enumerate(grown.enabled):
        own = fits[:, k] if used is None else fits[:, k] & _share_clauses(used, aspect, words)
        nearest = np.argsort(-near[:, k], kind="stable")
        if new := [words[place] for place in nearest if own[place]][:MAX_NEW]:
            grown = grown.add(aspect.name, new)
    return grown


def _candidates(used: ReviewWords | None, tokenizer: Tokenizer) -> list[str]:
    if used is None:
        return [word for word in tokenizer.vocabulary if may_be_aspect(word)]
    return [used.words[k] for k in used.find_nouns(used.frequency >= MIN_TEXTS)]


def new_seeds(before: Aspects, after: Aspects) -> list[Aspect]:
    """The aspects that have grown, each with its new seeds alone."""
    pairs = zip(before, after, strict=True)
    return [Aspect(b.name, new) for a, b in pairs if (new := b.seeds[len(a.seeds) :])]


def _new_words(words: Iterable[str], aspects: Aspects, tokenizer: Tokenizer) -> list[str]:
    """Those that the reader knows, once each, in the singular if that is among them; no seeds."""
    vocabulary = set(tokenizer.vocabulary)
    known = {word for word in words if word in vocabulary}
    for aspect in aspects:
        for seed in (*aspect.seeds, *aspect.excluded):
            known -= set(with_plural(seed))
    return sorted(known - {with_plural(word)[1] for word in known})


def _mean(aspect: Aspect, tokenizer: Tokenizer, vectors: np.ndarray) -> np.ndarray:
    """(d,): the direction of the seeds that are single words; zeros if the reader knows none."""
    known = tokenizer.find_ids(aspect.seeds)
    return np.asarray(unit(unit(vectors[known[known > UNKNOWN]]).sum(axis=0)[None])[0])


def _fits(near: np.ndarray, least: float, nearer: float = 0.0) -> np.ndarray:
    """(words, aspects): whether an aspect is a word's nearest, near enough, and by how much the nearest."""
    ordered = np.sort(near, axis=1)
    lead = ordered[:, -1] - ordered[:, -2] if near.shape[1] > 1 else np.full(len(near), np.inf)
    nearest = near.argmax(axis=1)[:, None] == np.arange(near.shape[1])
    return np.asarray(nearest & (near >= least) & (lead >= nearer)[:, None])


def _share_clauses(used: ReviewWords, aspect: Aspect, words: Sequence[str]) -> np.ndarray:
    """(words,): whether clauses with a word have a seed of the aspect at least as often as all clauses."""
    clause = used.clauses()
    seeds = [used.number[form] for seed in aspect.seeds for form in with_plural(seed) if form in used.number]
    has = np.zeros(clause.max(initial=0) + 1, bool)
    has[clause[np.isin(used.at, seeds)]] = True
    places = np.array([used.number[word] for word in words], int)
    with_seed, times = used.occurrences(has[clause])[places], used.occurrences()[places]
    return np.asarray(with_seed >= times * has.mean())
