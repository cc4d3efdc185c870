"""Words without a pretrained vector start from the words next to them in the training data, as in the author's code.

dataset = encode_tables(...)  # with recipe.vectors, and missing_vectors "noise"
dataset = start_from_neighbours(dataset, "glove.txt", seed=0)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from limelight.text.dataset import Dataset, Split
from limelight.text.tokenizer import PAD, UNKNOWN
from limelight.text.vectors import read_vectors

PIECE = 10_000  # sentences read at a time


def start_from_neighbours(dataset: Dataset, vectors: str, seed: int) -> Dataset:
    """The data set, with the mean of its neighbours for every word that the file of vectors lacks."""
    found = read_vectors(vectors, dataset.tokenizer.vocabulary, seed=seed)
    fill_from_neighbours(found.matrix, found.found, dataset.splits["train"])
    return replace(dataset, vectors=found.matrix)


def fill_from_neighbours(matrix: np.ndarray, found: np.ndarray, corpus: Split) -> np.ndarray:
    """Give each missing word the mean of the found words next to it; (words,) bool: those filled."""
    missing, neighbour, times = _neighbour_counts(found, corpus)
    filled = np.zeros(len(found), dtype=bool)
    filled[missing] = True
    total = np.zeros(len(found))
    np.add.at(total, missing, times)
    matrix[filled] = 0
    for some in np.array_split(np.arange(len(missing)), max(1, len(missing) // 10_000)):
        np.add.at(matrix, missing[some], matrix[neighbour[some]] * times[some, None].astype(np.float32))
    matrix[filled] /= total[filled, None].astype(np.float32)
    return filled


def _neighbour_counts(found: np.ndarray, corpus: Split) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each pair of a missing word and a found word next to it, and how often it occurs."""
    known, times = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    missing = ~found
    missing[[PAD, UNKNOWN]] = False
    for ids, beside in _adjacent(corpus):
        both = missing[ids] & found[beside]
        pairs = np.concatenate([known, ids[both].astype(np.int64) * len(found) + beside[both]])
        weights = np.concatenate([times, np.ones(int(both.sum()), dtype=np.int64)])
        known, inverse = np.unique(pairs, return_inverse=True)
        times = np.bincount(inverse, weights, minlength=len(known)).astype(np.int64)
    return known // len(found), known % len(found), times


def _pieces(corpus: Split) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (ids, lengths) of some sentences at a time: a memory-mapped corpus is never read as a whole."""
    for ids, _, lengths in corpus.sides:
        start = 0
        for row in range(0, len(lengths), PIECE):
            piece = np.asarray(lengths[row : row + PIECE])
            end = start + int(piece.sum())
            yield np.asarray(ids[start:end]), piece
            start = end


def _adjacent(corpus: Split) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield words and the words after them in their sentences, then words and those before them."""
    for ids, lengths in _pieces(corpus):
        inside = np.ones(len(ids), dtype=bool)
        inside[np.cumsum(lengths) - lengths] = False  # nothing comes before a first word
        left, right = ids[:-1][inside[1:]], ids[1:][inside[1:]]
        yield left, right
        yield right, left
