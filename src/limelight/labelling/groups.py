"""Texts that are alike: groups of vectors, the same in every run, named by the words that tell them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..search.words import find_words
from ..text.word_kinds import is_function_word
from .state import Labels

SAMPLE = 3000  # texts that the centres are found with
ROUNDS = 12
NEAREST = 15  # texts that say how dense it is around one
NAME_WORDS = 3
EXAMPLES = 5


class Group(NamedTuple):
    """Texts that are alike: `rows` has those nearest to the centre first."""

    number: int
    name: str  # the words that distinguish it, such as "card, arrive, waiting"
    words: tuple[str, ...]
    rows: list[int]  # without a label so far
    labelled: dict[str, int]  # how many of its texts have each label
    examples: list[int]  # rows to show: those nearest to the centre, with or without a label


@dataclass(frozen=True)
class Grouping:
    """The rows of each group, those nearest to its centre first, and its words."""

    asked: tuple[int, int | None]
    members: list[list[int]]
    words: list[tuple[str, ...]]

    @classmethod
    def of(cls, matrix: np.ndarray, rows: np.ndarray, texts: Sequence[str], count: int | None) -> Grouping:
        """Of the `rows` of the matrix (texts, size), which are in random order."""
        asked = len(rows), count
        if not len(rows) or not matrix.shape[1]:
            return cls(asked, [], [])
        centres = find_centres(matrix[rows[:SAMPLE]], min(count or group_count(len(rows)), len(rows)))
        rows = np.sort(rows)
        likeness = matrix[rows] @ centres.T
        own = likeness.argmax(axis=1)
        words = distinguishing_words([texts[row] for row in rows], own, len(centres))
        inside = [np.flatnonzero(own == k) for k in range(len(centres))]
        members = [rows[i[np.argsort(-likeness[i, k], kind="stable")]].tolist() for k, i in enumerate(inside)]
        kept = [k for k in range(len(centres)) if members[k]]
        return cls(asked, [members[k] for k in kept], [words[k] for k in kept])

    def with_labels(self, labels: Mapping[int, Labels], is_open: np.ndarray) -> list[Group]:
        """The groups with what is labelled of each, those with most open texts (texts,) first."""
        found = []
        for members, words in zip(self.members, self.words, strict=True):
            given = Counter(name for row in members for name in labels.get(row, ()))
            rows = [row for row in members if is_open[row]]
            found.append(Group(0, ", ".join(words), words, rows, dict(given), members[:EXAMPLES]))
        found.sort(key=lambda each: -len(each.rows))
        return [each._replace(number=number) for number, each in enumerate(found)]


def group_count(texts: int) -> int:
    return int(np.clip(round(texts**0.5), min(2, texts), 200))


def find_centres(X: np.ndarray, count: int) -> np.ndarray:
    """(count, size), of length 1: k-means on the sphere. Nothing is drawn.

    It starts with texts that have many others around them and are far from the starts before.
    """
    near = np.partition(X @ X.T, -min(NEAREST, len(X)), axis=1)[:, -min(NEAREST, len(X)) :]
    density = np.maximum(near.mean(axis=1), 0) ** 2
    starts = [int(density.argmax())]
    covered = X @ X[starts[0]]
    while len(starts) < count:
        starts.append(int(((1 - covered) * density).argmax()))
        covered = np.maximum(covered, X @ X[starts[-1]])
    centres = X[starts]
    for _ in range(ROUNDS):
        own = (X @ centres.T).argmax(axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, own, X)
        length = np.linalg.norm(sums, axis=1, keepdims=True)
        np.divide(sums, length, out=centres, where=length > 0)
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
    meaning = [word for word in ranked if not is_function_word(word) and len(word) > 1]
    return tuple((meaning or ranked)[:NAME_WORDS])
