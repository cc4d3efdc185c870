"""Vectors for words outside a reader's vocabulary, by spelling: known words in them, and character n-grams.

"Macrophages" is macrophage and what is left of it, "genome-wide" is genome and wide. What no known word
covers is read by its n-grams, which share a table by their hashes.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from zlib import crc32

import numpy as np

GRAM_SIZES = (3, 4, 5)  # characters of an n-gram
REST_SIZES = (2, 3, 4, 5)  # and of one beside a known word
MAX_GRAMS = 32  # n-grams of a word, the shorter ones first
MAX_STEMS = 4  # known words in a word
SHORTEST_STEM = 4  # letters; between marks it may be any known word
LONGEST_STEM = 40
_MARKS = re.compile(r"[\W_]+")


class Pieces(NamedTuple):
    grams: list[int]  # the hashes of its n-grams
    stems: list[int]  # the ids of the known words in it


def pieces(word: str, known: Mapping[str, int]) -> Pieces:
    """The known words in a word, other than itself, and the n-grams of the rest.

    >>> known = {"macrophage": 2, "genome": 3, "wide": 4}
    >>> pieces("genome-wide", known)
    Pieces(grams=[], stems=[3, 4])
    >>> found = pieces("macrophages", known)
    >>> found.stems, [hash == crc32(gram) for hash, gram in zip(found.grams, [b"es", b"s>", b"es>"])]
    ([2], [True, True, True])
    """
    grams, stems = list[int](), list[int]()
    for part in _MARKS.split(word) if not word.isalnum() else (word,):
        if part != word and part in known:
            stems.append(known[part])
        elif part:
            start, end = _stems(part, word, known)
            stems += [known[stem] for stem in (part[:start], part[end:]) if stem]
            if start < end:
                # what is left between known words, with a letter or a mark on each side
                rest, is_cut = f"<{part}>"[start : end + 2], start > 0 or end < len(part)
                grams += _hashes(rest, REST_SIZES if is_cut else GRAM_SIZES)
    if not grams and not stems:
        return Pieces(gram_hashes(word), [])
    return Pieces(grams[:MAX_GRAMS], stems[:MAX_STEMS])


def _stems(part: str, word: str, known: Mapping[str, int]) -> tuple[int, int]:
    """Where the longest known word that begins the part ends, and where the one that ends it begins.

    One of them has half of the letters or more; where they share letters, only the longer one counts.
    """
    size = len(part)
    ends = range(min(size - 1, LONGEST_STEM), SHORTEST_STEM - 1, -1)
    first = next((k for k in ends if part[:k] in known and part[:k] != word), 0)
    starts = range(max(1, size - LONGEST_STEM), size - SHORTEST_STEM + 1)
    last = next((k for k in starts if part[k:] in known and part[k:] != word), size)
    if max(first, size - last) < size / 2:
        return 0, size
    if first > last:
        return (first, size) if first >= size - last else (0, last)
    return first, last


def _hashes(text: str, sizes: tuple[int, ...]) -> list[int]:
    if text.isascii():  # as most are, whose bytes are their characters
        data = text.encode()
        return [crc32(data[k : k + size]) for size in sizes for k in range(len(data) - size + 1)]
    parts = (text[k : k + size] for size in sizes for k in range(len(text) - size + 1))
    return [crc32(part.encode(errors="replace")) for part in parts]


def gram_hashes(word: str) -> list[int]:
    """The hashes of a word's n-grams."""
    return _hashes(f"<{word}>", GRAM_SIZES)[:MAX_GRAMS]


def piece_tables(
    words: Sequence[str], buckets: int, known: Mapping[str, int] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(words, MAX_GRAMS) and (words, MAX_STEMS) int32: rows of the table of n-grams, from 1 on, and of words;
    0 for none. Without `known`, words are spelled by their n-grams alone.
    """
    grams = np.zeros((len(words), MAX_GRAMS), np.int32)
    stems = np.zeros((len(words), MAX_STEMS), np.int32)
    for k, word in enumerate(words):
        own = Pieces(gram_hashes(word), []) if known is None else pieces(word, known)
        grams[k, : len(own.grams)] = [h % buckets + 1 for h in own.grams]
        stems[k, : len(own.stems)] = own.stems
    return grams, stems


def spell(
    words: Sequence[str],
    grams: np.ndarray,
    table: np.ndarray | None = None,
    known: Mapping[str, int] | None = None,
) -> np.ndarray:
    """(words, d): the mean of the vectors of each word's n-grams, and that of the known words in it.

    `grams` has them by hash, from 1 on; `table` those of the known words by id.
    """
    own, stems = piece_tables(words, len(grams) - 1, known)
    spelled = _means(own, grams)
    return spelled + _means(stems, table) if table is not None and known is not None else spelled


def _means(rows: np.ndarray, table: np.ndarray) -> np.ndarray:
    """(words, d): the mean over the rows of a table that each word has; zeros where it has none.

    Rows are added in their order: a word's vector must not depend on the words beside it.
    """
    counts = np.count_nonzero(rows, axis=1)
    sums = np.zeros((len(rows), table.shape[1]), table.dtype)
    for k in range(counts.max(initial=0)):
        left = np.flatnonzero(counts > k)
        sums[left] += table[rows[left, k]]
    return np.asarray(sums / np.maximum(counts, 1)[:, None].astype(table.dtype))
