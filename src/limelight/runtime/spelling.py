"""Vectors for words outside the vocabulary, from their spelling: the mean over their character n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from zlib import crc32

import numpy as np

from ..text.tokenizer import PAD, UNKNOWN, Tokenizer
from .batches import Sentences

SIZES = (3, 4, 5)  # characters of an n-gram
MOST = 32  # n-grams of a word, the shorter ones first


@dataclass(frozen=True, eq=False)
class SpelledSentences(Sentences):
    """Sentences that reach the network as word vectors; ids from len(table) on are spelled words."""

    table: np.ndarray  # (vocabulary, d)
    spelled: np.ndarray  # (other words, d)
    most: int | None = None  # sentences in a batch

    def batches(self, budget: int, multiple: int = 1) -> list[np.ndarray]:
        """Batches of at most `budget` words and `most` sentences."""
        size = self.most or budget
        whole = super().batches(budget, multiple)
        return [batch[k : k + size] for batch in whole for k in range(0, len(batch), size)]

    def feed(self, batch: np.ndarray) -> dict[str, np.ndarray]:
        """The word vectors X (n, batch, d) beside ids (batch, n) and lengths (batch,)."""
        feed = super().feed(batch)
        ids = feed["ids"].T
        others = ids >= len(self.table)
        X = self.table[np.where(others, PAD, ids)]
        X[others] = self.spelled[ids[others] - len(self.table)]
        return {**feed, "X": X}


def encode_spelled(
    tokenizer: Tokenizer, texts: Sequence[str], table: np.ndarray, grams: np.ndarray
) -> SpelledSentences:
    """Look up the words of each text; those outside the vocabulary get ids of their own.

    >>> table, grams = np.zeros((3, 2), np.float32), np.ones((5, 2), np.float32)
    >>> found = encode_spelled(Tokenizer.from_words(["good"]), ["good soup", "Soup!"], table, grams)
    >>> found.ids.tolist(), found.spelled.tolist()
    ([2, 3, 3, 4], [[1.0, 1.0], [1.0, 1.0]])
    """
    ids, lengths = tokenizer.encode(texts)
    ends, numbers = np.cumsum(lengths), dict[str, int]()
    unknown = np.flatnonzero(ids == UNKNOWN)
    for k in np.unique(np.searchsorted(ends, unknown, side="right")):
        words = ids[ends[k] - lengths[k] : ends[k]]
        split = tokenizer.words(texts[k])  # a text without words stays one unknown word
        for at in np.flatnonzero(words == UNKNOWN).tolist() if split else ():
            words[at] = len(table) + numbers.setdefault(split[at], len(numbers))
    spelled = spell(list(numbers), grams)
    return SpelledSentences(ids, lengths, table, spelled)


def spell(words: Sequence[str], grams: np.ndarray) -> np.ndarray:
    """(words, d): the mean of the vectors of each word's n-grams; `grams` has them by hash, from 1 on.

    >>> spell(["hi", "soup"], np.array([[0.0], [1.0], [1.0]])).tolist()
    [[1.0], [1.0]]
    """
    hashes = [gram_hashes(word) for word in words]
    counts = np.fromiter(map(len, hashes), np.intp, len(hashes))
    rows = np.fromiter(chain.from_iterable(hashes), np.int64, counts.sum()) % (len(grams) - 1) + 1
    sums = np.empty((len(words), grams.shape[1]), grams.dtype)
    for k, own in enumerate(np.split(rows, np.cumsum(counts[:-1]))[: len(words)]):
        np.add.reduce(grams[own], axis=0, out=sums[k])
    return np.asarray(sums / counts[:, None].astype(grams.dtype))


def gram_hashes(word: str) -> list[int]:
    """The hashes of a word's n-grams.

    >>> [hash == crc32(gram) for hash, gram in zip(gram_hashes("hi"), [b"<hi", b"hi>", b"<hi>"])]
    [True, True, True]
    """
    marked = f"<{word}>"
    parts = [marked[k : k + size] for size in SIZES for k in range(len(marked) - size + 1)]
    return [crc32(part.encode(errors="replace")) for part in parts[:MOST]]
