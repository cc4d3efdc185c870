"""Vectors for words outside a reader's vocabulary, by spelling: the mean over character n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from zlib import crc32

import numpy as np

GRAM_SIZES = (3, 4, 5)  # characters of an n-gram
MAX_GRAMS = 32  # n-grams of a word, the shorter ones first


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
    parts = [marked[k : k + size] for size in GRAM_SIZES for k in range(len(marked) - size + 1)]
    return [crc32(part.encode(errors="replace")) for part in parts[:MAX_GRAMS]]
