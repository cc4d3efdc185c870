"""Texts that are alike: groups of vectors, the same in every run, named by the words that distinguish them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..search.words import find_words

SAMPLE = 4000  # texts that the centres are found with
ROUNDS = 20
NAME_WORDS = 3


def group_count(texts: int) -> int:
    """How many groups to make of so many texts.

    >>> [group_count(n) for n in (3, 100, 10_000, 1_000_000)]
    [2, 10, 100, 200]
    """
    return int(np.clip(round(texts**0.5), min(2, texts), 200))


def find_centres(X: np.ndarray, count: int) -> np.ndarray:
    """(count, size), unit vectors: k-means on the sphere from starts that are far apart; nothing is drawn."""
    starts = [int(np.argmax(X @ X.mean(axis=0)))]
    nearest = X @ X[starts[0]]
    while len(starts) < count:
        starts.append(int(np.argmin(nearest)))
        nearest = np.maximum(nearest, X @ X[starts[-1]])
    centres = X[starts].astype(np.float64)
    for _ in range(ROUNDS):
        own = np.argmax(X @ centres.T, axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, own, X)
        length = np.linalg.norm(sums, axis=1, keepdims=True)
        new = np.where(length > 1e-9, sums / np.maximum(length, 1e-9), centres)
        if np.allclose(new, centres, atol=1e-7):
            break
        centres = new
    return centres


def distinguishing_words(texts: Sequence[str], own: np.ndarray, count: int) -> list[tuple[str, ...]]:
    """The words of each group with the largest log-odds against the other groups, with a prior."""
    groups = [Counter[str]() for _ in range(count)]
    for text, group in zip(texts, own, strict=True):
        groups[group].update({form for _, _, form in find_words(text)})
    total: Counter[str] = Counter()
    for each in groups:
        total.update(each)
    sizes = np.bincount(own, minlength=count)
    return [_telling(each, total, int(size), len(texts)) for each, size in zip(groups, sizes, strict=True)]


def _telling(own: Counter[str], total: Counter[str], size: int, texts: int) -> tuple[str, ...]:
    """By the z-score of the log-odds ratio (Monroe et al. 2008) with the whole table as the prior."""

    def score(word: str) -> float:
        prior, all_in = total[word] / texts, total[word]
        here, there = own[word] + prior, all_in - own[word] + prior
        odds = np.log(here / (size + 1 - here + 1e-9)) - np.log(there / (texts - size + 1 - there + 1e-9))
        return float(odds / np.sqrt(1 / here + 1 / there))

    ranked = sorted((word for word in own if own[word] > 1 or size < 5), key=lambda w: (-score(w), w))
    return tuple(ranked[:NAME_WORDS])
