"""Which words a row of attention reads over many texts, and whether that is anything in particular."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MAX_WORDS = 8  # of a row
MIN_OCCURRENCES = 5  # of a word
MIN_LIFT = 2.0  # a word must get this many times its even share
LISTED_FROM = 0.05  # of the share of the word it reads most; less is not what the row reads
# A row has a clear aspect if its words get this many times their even share together, and so much of its
# attention above it. Measured by eye on rows of reviews, sentence pairs and a reader.
CLEAR_LIFT, CLEAR_SHARE = 3.0, 0.06


@dataclass(frozen=True)
class RowWords:
    """What one row reads."""

    words: tuple[tuple[int, float], ...]  # numbers of words, with their share of attention above an even one
    clear: bool


def row_words(ids: np.ndarray, A: np.ndarray, lengths: np.ndarray) -> list[RowWords]:
    """For each row, the words with the most attention above an even share of their text.

    `ids` (words,) and A (r, words) are those of all texts back to back, `lengths` (texts,) their numbers of
    words. By attention alone every row would list "the" and ".", which occur in every text.

    >>> ids, A = np.tile([7, 8, 9, 9], 5), np.tile([[1.0, 0, 0, 0], [0.25, 0.25, 0.25, 0.25]], 5)
    >>> row_words(ids, A, np.full(5, 4))
    [RowWords(words=((7, 0.75),), clear=True), RowWords(words=(), clear=False)]
    """
    words, ids = np.unique(ids, return_inverse=True)
    ids, count = ids.reshape(-1), len(words)
    even = np.bincount(ids, np.repeat(1 / np.maximum(lengths, 1), lengths), count)
    often = np.bincount(ids, minlength=count) >= MIN_OCCURRENCES
    return [_read_by(np.bincount(ids, row, count), even, often, words, len(lengths)) for row in A]


def _read_by(
    mass: np.ndarray, even: np.ndarray, often: np.ndarray, words: np.ndarray, texts: int
) -> RowWords:
    above = np.where(often & (mass >= MIN_LIFT * even), mass - even, 0.0)
    top = [k for k in np.argsort(-above, kind="stable")[:MAX_WORDS] if above[k] > LISTED_FROM * above.max()]
    clear = (
        bool(top)
        and mass[top].sum() >= CLEAR_LIFT * even[top].sum()
        and above[top].sum() >= CLEAR_SHARE * texts
    )
    return RowWords(tuple((int(words[k]), float(above[k] / texts)) for k in top), bool(clear))
