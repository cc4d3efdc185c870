"""Copies of texts in which some words are left out and some replaced by words like them."""

from __future__ import annotations

import numpy as np

from .dataset import Split
from .tokenizer import SPECIAL, UNKNOWN

LEFT_OUT, REPLACED = 0.1, 0.15  # shares of the words
NEAREST, ALIKE = 10, 0.5  # words that one may be replaced by, and the least cosine of two that are alike
OFTEN = 5  # times that such a word is in the texts: the rarer ones are misspellings, more often than not
CHUNK = 2**23  # similarities held at a time


def copies(split: Split, count: int, vectors: np.ndarray | None, seed: int) -> Split:
    """Every row of a split `count` times, each time with other noise, with the row's label and weight.

    A word is replaced by one whose vector is close to its own, if there is one; without vectors, by the
    unknown word. Every sentence keeps at least one word.

    >>> split = Split(ids=np.arange(2, 42), lengths=np.array([30, 10]), labels=np.array([0, 1]))
    >>> noisy = copies(split, 2, None, seed=0)
    >>> noisy.labels.tolist(), noisy.lengths.tolist()
    ([0, 1, 0, 1], [25, 9, 27, 10])
    """
    random = np.random.default_rng([seed, 0, 1])  # not the numbers that the order of the batches takes
    near = _near(split, vectors)
    ids, lengths = _noisy_copies(split.ids, split.starts, count, near, random)
    ids2, lengths2 = None, None
    if split.ids2 is not None and split.starts2 is not None:
        ids2, lengths2 = _noisy_copies(split.ids2, split.starts2, count, near, random)
    labels, weights = (None if x is None else np.tile(x, count) for x in (split.labels, split.weights))
    return Split(ids, lengths, labels, weights, ids2, lengths2)


def _noisy_copies(
    ids: np.ndarray, starts: np.ndarray, count: int, near: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    found = [_noisy(ids, starts, near, random) for _ in range(count)]
    return np.concatenate([x for x, _ in found]), np.concatenate([x for _, x in found])


def _noisy(
    ids: np.ndarray, starts: np.ndarray, near: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Sentences with noise: their ids back to back, and their lengths."""
    ids = np.array(ids)
    chance = random.random(len(ids), dtype=np.float32)
    replaced = np.flatnonzero(chance < REPLACED)
    ids[replaced] = near[ids[replaced], random.integers(0, near.shape[1], len(replaced))]
    kept = ~((chance >= REPLACED) & (chance < REPLACED + LEFT_OUT))
    kept[starts[~np.logical_or.reduceat(kept, starts)]] = True  # the first word of what would be empty
    return ids[kept], np.add.reduceat(kept, starts, dtype=np.int32)


def _near(split: Split, vectors: np.ndarray | None) -> np.ndarray:
    """(vocabulary, up to NEAREST): words like each word of the texts, by the cosine of their vectors.

    A word that is like no other, as those without a pretrained vector are, has itself. Without any vectors,
    all have the unknown word.
    """
    counts = _counts(split, 0 if vectors is None else len(vectors))
    if vectors is None:
        return np.full((len(counts), 1), UNKNOWN, dtype=np.int32)
    length = np.linalg.norm(vectors, axis=1)
    length[: len(SPECIAL)] = 0  # they stand for themselves, and for nothing else
    words = np.flatnonzero((counts > 0) & (length > 0))
    often = np.flatnonzero((counts >= OFTEN) & (length > 0))
    count = min(NEAREST, len(often) - 1)
    near = np.repeat(np.arange(len(vectors), dtype=np.int32)[:, None], max(count, 1), axis=1)
    if count > 0:
        Y = vectors[often] / length[often, None]
        for some in np.array_split(words, 1 + len(words) * len(often) // CHUNK):
            near[some] = _nearest(vectors[some] / length[some, None], Y, some, often, count)
    return near


def _nearest(X: np.ndarray, Y: np.ndarray, some: np.ndarray, often: np.ndarray, count: int) -> np.ndarray:
    """(some, count): of the words `often`, whose vectors are Y, those most like each of `some`, of X.

    Where there are fewer that are alike, the nearest again; where there is none, the word itself.
    """
    cosines = X @ Y.T
    cosines[some[:, None] == often] = -1  # not the word itself
    best = np.sort(np.argpartition(cosines, -count, axis=1)[:, -count:], axis=1)
    alike = np.take_along_axis(cosines, best, axis=1) >= ALIKE
    nearest = np.where(cosines.max(axis=1) >= ALIKE, often[cosines.argmax(axis=1)], some)
    return np.where(alike, often[best], nearest[:, None])


def _counts(split: Split, words: int) -> np.ndarray:
    """(words or more,): how often each word is in the texts."""
    counts = [np.bincount(ids, minlength=words) for ids in (split.ids, split.ids2) if ids is not None]
    longest = max(map(len, counts))
    return np.asarray(sum(np.pad(each, (0, longest - len(each))) for each in counts))
