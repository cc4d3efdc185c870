"""What a word without a pretrained vector starts from: noise, its neighbours or words spelled like it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from .spelling import Spelling
from .tokenizer import PAD, UNKNOWN

NOISE = 0.01  # standard deviation


class Corpus(Protocol):
    """Sentences as word ids back to back, as `Split` has them."""

    @property
    def ids(self) -> np.ndarray: ...
    @property
    def lengths(self) -> np.ndarray: ...
    @property
    def ids2(self) -> np.ndarray | None: ...
    @property
    def lengths2(self) -> np.ndarray | None: ...


def noise_vector(word: str, seed: int, size: int) -> np.ndarray:
    """(d,): depends on the word and the seed alone, not on the vocabulary or the file."""
    digest = hashlib.blake2b(f"{seed} {word}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
    random = np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))
    return random.standard_normal(size, dtype=np.float32) * np.float32(NOISE)


def fill_from_neighbours(matrix: np.ndarray, found: np.ndarray, corpus: Corpus) -> np.ndarray:
    """Give each missing word the mean of the found words next to it; (words,) bool: those filled."""
    missing, neighbour, times = _neighbour_counts(found, corpus)
    filled = np.zeros(len(found), dtype=bool)
    filled[missing] = True
    total = np.zeros(len(found))
    np.add.at(total, missing, times)
    for some in np.array_split(np.arange(len(missing)), max(1, len(missing) // 10_000)):
        np.add.at(matrix, missing[some], matrix[neighbour[some]] * times[some, None].astype(np.float32))
    matrix[filled] /= total[filled, None].astype(np.float32)
    return filled


def fill_from_spelling(matrix: np.ndarray, found: np.ndarray, vocabulary: Sequence[str]) -> np.ndarray:
    """Give each missing word the mean of the found words spelled like it; (words,) bool: those filled."""
    rows = {vocabulary[row].lower(): row for row in np.flatnonzero(found).tolist()[::-1]}
    spelling = Spelling(rows)
    filled = np.zeros(len(found), dtype=bool)
    for row in np.flatnonzero(~found).tolist():
        similar = spelling.similar(vocabulary[row].lower()) if row not in (PAD, UNKNOWN) else []
        if similar:
            matrix[row] = matrix[[rows[word] for word in similar]].mean(axis=0)
            filled[row] = True
    return filled


def _neighbour_counts(found: np.ndarray, corpus: Corpus) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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


def _adjacent(corpus: Corpus) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield words and the words after them in their sentences, then words and those before them."""
    for ids, lengths in corpus_pieces(corpus):
        inside = np.ones(len(ids), dtype=bool)
        inside[np.cumsum(lengths) - lengths] = False  # nothing comes before a first word
        left, right = ids[:-1][inside[1:]], ids[1:][inside[1:]]
        yield left, right
        yield right, left


def corpus_pieces(corpus: Corpus, rows: int = 10_000) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (ids, lengths) of `rows` sentences at a time: a memory-mapped corpus is never read as a whole."""
    for ids, lengths in ((corpus.ids, corpus.lengths), (corpus.ids2, corpus.lengths2)):
        if ids is not None and lengths is not None:
            start = 0
            for row in range(0, len(lengths), rows):
                piece = np.asarray(lengths[row : row + rows])
                end = start + int(piece.sum())
                yield np.asarray(ids[start:end]), piece
                start = end
