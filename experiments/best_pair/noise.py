"""Noisy copies of texts: some words are left out, and some replaced by similar words (Tang et al., 2019)."""

from __future__ import annotations

import numpy as np

from limelight.text.dataset import Split
from limelight.text.tokenizer import SPECIAL, UNKNOWN

LEFT_OUT, REPLACED = 0.1, 0.15  # shares of the words
NEAREST, SIMILAR = 10, 0.5  # words that one may be replaced by, and the least cosine of similar words
FREQUENT = 5  # occurrences of a replacement in the texts at least: most rarer words are misspellings
CHUNK = 2**23  # cosines in memory at a time


def noisy_copies(split: Split, count: int, vectors: np.ndarray | None, seed: int) -> Split:
    """Every row of a split `count` times, each with different noise, and with the row's label and weight.

    A word is replaced by one with a similar vector, if there is one; without vectors, by the unknown word.
    Every sentence keeps at least one word.

    >>> split = Split(ids=np.arange(2, 42), lengths=np.array([30, 10]), labels=np.array([0, 1]))
    >>> noisy = noisy_copies(split, 2, None, seed=0)
    >>> noisy.labels.tolist(), noisy.lengths.tolist()
    ([0, 1, 0, 1], [25, 9, 27, 10])
    """
    random = np.random.default_rng([seed, 0, 1])  # other numbers than those for the order of the batches
    similar = _similar_words(split, vectors)
    first, *second = [
        _add_noise_repeatedly(ids, starts, count, similar, random) for ids, starts, _ in split.sides
    ]
    labels, weights = (
        None if x is None else np.concatenate([x] * count) for x in (split.labels, split.weights)
    )
    return Split(*first, labels, weights, *(second[0] if second else ()))


def _add_noise_repeatedly(
    ids: np.ndarray, starts: np.ndarray, count: int, similar: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    found = [_add_noise(ids, starts, similar, random) for _ in range(count)]
    return np.concatenate([x for x, _ in found]), np.concatenate([x for _, x in found])


def _add_noise(
    ids: np.ndarray, starts: np.ndarray, similar: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Ids of the noisy sentences back to back, and their lengths."""
    ids = np.array(ids)
    chance = random.random(len(ids), dtype=np.float32)
    replaced = np.flatnonzero(chance < REPLACED)
    ids[replaced] = similar[ids[replaced], random.integers(0, similar.shape[1], len(replaced))]
    kept = ~((chance >= REPLACED) & (chance < REPLACED + LEFT_OUT))
    kept[starts[~np.logical_or.reduceat(kept, starts)]] = (
        True  # the first word of a sentence that would be empty
    )
    return ids[kept], np.add.reduceat(kept, starts, dtype=np.int32)


def _similar_words(split: Split, vectors: np.ndarray | None) -> np.ndarray:
    """(vocabulary, up to NEAREST): words similar to each word of the texts, by the cosine of their vectors.

    A word without a similar one, such as those without a pretrained vector, has itself. Without vectors,
    all have the unknown word.
    """
    counts = _counts(split, 0 if vectors is None else len(vectors))
    if vectors is None:
        return np.full((len(counts), 1), UNKNOWN, dtype=np.int32)
    length = np.linalg.norm(vectors, axis=1)
    length[: len(SPECIAL)] = 0  # not words: similar to none
    words = np.flatnonzero((counts > 0) & (length > 0))
    frequent = np.flatnonzero((counts >= FREQUENT) & (length > 0))
    count = min(NEAREST, len(frequent) - 1)
    near = np.repeat(np.arange(len(vectors), dtype=np.int32)[:, None], max(count, 1), axis=1)
    if count > 0:
        Y = vectors[frequent] / length[frequent, None]
        for some in np.array_split(words, 1 + len(words) * len(frequent) // CHUNK):
            near[some] = _nearest(vectors[some] / length[some, None], Y, some, frequent, count)
    return near


def _nearest(X: np.ndarray, Y: np.ndarray, some: np.ndarray, frequent: np.ndarray, count: int) -> np.ndarray:
    """(some, count): the words of `frequent` (vectors Y) most similar to each word of `some` (vectors X).

    The nearest is repeated if fewer are similar; if none is, the word itself is.
    """
    cosines = X @ Y.T
    cosines[some[:, None] == frequent] = -1  # not the word itself
    best = np.sort(np.argpartition(cosines, -count, axis=1)[:, -count:], axis=1)
    similar = np.take_along_axis(cosines, best, axis=1) >= SIMILAR
    nearest = np.where(cosines.max(axis=1) >= SIMILAR, frequent[cosines.argmax(axis=1)], some)
    return np.where(similar, frequent[best], nearest[:, None])


def _counts(split: Split, words: int) -> np.ndarray:
    """(words or more,): how often each word occurs in the texts."""
    counts = [np.bincount(ids, minlength=words) for ids in (split.ids, split.ids2) if ids is not None]
    longest = max(map(len, counts))
    return np.asarray(sum(np.pad(each, (0, longest - len(each))) for each in counts))
