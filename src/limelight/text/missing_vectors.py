"""What a word without a pretrained vector starts from: noise, or words spelled like it."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Sequence

import numpy as np

from .tokenizer import PAD, UNKNOWN

NOISE = 0.01  # standard deviation
STEM = 4  # letters that two forms of a word share at least
PART = 3  # letters of each part of a compound at least
ENDING = 4  # letters of an ending at most


def noise_vector(word: str, seed: int, size: int) -> np.ndarray:
    """(d,): depends on the word and the seed alone, not on the vocabulary or the file."""
    digest = hashlib.blake2b(f"{seed} {word}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
    random = np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))
    return random.standard_normal(size, dtype=np.float32) * np.float32(NOISE)


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


# ---------------------------------------------------------------- words spelled alike


class Spelling:
    """Known words, and a search for those most similar to another word.

    >>> known = Spelling(["umbrella", "dark", "haired", "trash", "can", "snow"])
    >>> [known.similar(word) for word in ("umbrellas", "dark-haired", "trashcan", "xyzzy")]
    [['umbrella'], ['dark', 'haired'], ['trash', 'can'], []]
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.sorted = sorted(set(words))
        self.known = set(self.sorted)
        self.longest = max(map(len, self.sorted), default=0)

    def similar(self, word: str) -> list[str]:
        """The nearest form of the same word, or its parts, or a more distant form; empty if none is known."""
        if not word.isalpha():
            return self._pieces(word)
        if len(word) > 2 * self.longest:  # nothing can be similar, and the search would take long
            return []
        return self._form(word, 2) or self._compound(word) or self._form(word, ENDING)

    def _form(self, word: str, ending: int) -> list[str]:
        """The word that shares all but the last few letters, and more than two thirds of all letters."""
        shorter = [word[:-k] for k in range(1, ending + 1) if word[:-k] in self.known]
        at = bisect_left(self.sorted, word)
        near = self.sorted[max(0, at - 1) : at + 1]  # these share the longest beginning
        close = []
        for other in (*shorter, *near):
            shared, longest = _shared(word, other), max(len(word), len(other))
            if shared >= STEM and longest - shared <= ending and 3 * shared > 2 * longest:
                close.append(other)
        return [max(close, key=lambda other: (_shared(word, other), -len(other)))] if close else []

    def _pieces(self, word: str) -> list[str]:
        """The parts of a word with hyphens and the like, if they or similar words are known."""
        pieces = "".join(letter if letter.isalpha() else " " for letter in word).split()
        long = [piece for piece in pieces if len(piece) >= PART]  # the 's' of '1990s' means nothing
        return [each for piece in long for each in ([piece] if piece in self.known else self.similar(piece))]

    def _compound(self, word: str) -> list[str]:
        """The two known words that make up the word, split as near to the middle as possible."""
        cuts = sorted(range(PART, len(word) - PART + 1), key=lambda cut: abs(2 * cut - len(word)))
        for cut in cuts:
            if word[:cut] in self.known and word[cut:] in self.known:
                return [word[:cut], word[cut:]]
        return []


def _shared(one: str, other: str) -> int:
    """The length of the beginning that two words share."""
    letters = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in letters if a != b), min(len(one), len(other)))
