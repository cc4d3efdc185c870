"""Pretrained word vectors for a vocabulary, from GloVe and word2vec files that are read once.

A word is looked up as it is, then in lower case. Padding stays zero. The unknown word and every word without
a vector start from noise or, if asked for, from the mean of the words spelled like them. Vectors from several
files are concatenated.
"""

import hashlib
import os
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..config.presets import ENGLISH_READERS, LANGUAGES
from ..config.recipe import TextRecipe
from ..errors import bad_value, check_choice, warn
from .dataset import Split
from .labels import Label
from .tokenizer import PAD, SPECIAL, UNKNOWN, Tokenizer
from .vector_files import VectorFile

BLOCK = 1 << 20  # words of a corpus looked at together
LOW_COVERAGE = 0.7  # share of the words in the texts: pretrained vectors with less may be the wrong ones

VectorPaths = str | Path | Sequence[str]  # one path, several separated by commas, or what `split_paths` gave


@dataclass(frozen=True, eq=False)
class Vectors:
    """One vector per word of a vocabulary, and which of them were found."""

    matrix: np.ndarray  # (len(vocabulary), d) float32
    found: np.ndarray  # (len(vocabulary),) bool

    def coverage(self, corpus: Split) -> float:
        """The share of a corpus, word by word, that has a pretrained vector."""
        blocks = (ids[k : k + BLOCK] for ids, _, _ in corpus.sides for k in range(0, len(ids), BLOCK))
        return float(sum(self.found[ids].sum() for ids in blocks) / corpus.words)


def split_paths(paths: VectorPaths, folder: str | Path = "") -> list[str]:
    """Split paths at their commas, and let relative ones start from `folder`.

    A file whose own name has a comma is one path; "default" means the bundled vectors.

    >>> split_paths("default, glove.txt", "vectors")
    ['default', 'vectors/glove.txt']
    """
    if not isinstance(paths, str | Path):
        return list(paths)
    one = os.path.exists(os.path.join(folder, paths))
    found = [str(paths)] if one else [each.strip() for each in str(paths).split(",")]
    if not all(found):
        raise bad_value(f"vectors is {str(paths)!r}; each comma must separate two file names")
    return [each if each == "default" else os.path.join(folder, each) for each in found]


def check_vectors(paths: VectorPaths) -> None:
    """Raise early what `read_vectors` would raise later: no such file, no vectors in it."""
    for path in split_paths(paths):
        if path != "default":
            VectorFile(path)


def read_vectors(
    paths: VectorPaths,
    vocabulary: Sequence[str],
    *,
    seed: int,
    missing: str = "noise",
    progress: bool = False,
) -> Vectors:
    """The vectors of a vocabulary, whose first two words are padding and the unknown word.

    `paths` is a GloVe or word2vec file (text or binary, also .gz, .xz, .bz2, .zst or .zip), "default" for
    the bundled vectors, or several of these separated by commas.
    """
    check_choice("missing", missing, ("noise", "spelling"))
    parts = [
        _read_file(path, vocabulary, seed + number, missing, progress)
        for number, path in enumerate(split_paths(paths))  # each has noise of its own
    ]
    if len(parts) == 1:
        return parts[0]
    return Vectors(
        np.hstack([part.matrix for part in parts]), np.logical_or.reduce([part.found for part in parts])
    )


def _read_file(path: str, vocabulary: Sequence[str], seed: int, missing: str, progress: bool) -> Vectors:
    if path == "default":
        from ..bundled import default_vectors

        words, matrix = default_vectors()
        wanted = _WantedWords(vocabulary, matrix.shape[1])
        for word, vector in zip(words, matrix, strict=True):
            if (key := word.encode()) in wanted.rows:
                wanted.take(key, vector)
    else:
        file = VectorFile(path)
        wanted = _WantedWords(vocabulary, file.size)
        file.read(wanted.rows, wanted.take, progress)
    matrix, found = wanted.matrix, wanted.rank > 0
    filled = found.copy()
    if missing == "spelling":
        filled |= fill_from_spelling(matrix, found, vocabulary)
    for row in np.flatnonzero(~filled).tolist():
        if row != PAD:
            matrix[row] = noise_vector(vocabulary[row], seed, matrix.shape[1])
    return Vectors(matrix, found)


def first_words(paths: VectorPaths, count: int) -> list[str]:
    """The first words of a vectors file, usually the most frequent ones; of several files, the first's.

    >>> first_words("default", 40_000)[-1] in first_words("default", 40)
    False
    """
    path = split_paths(paths)[0]
    if path == "default":
        from ..bundled import default_vectors

        return default_vectors()[0][:count]
    first = _FirstWords(count)
    VectorFile(path).read(first, lambda word, vector: None)
    return [word.decode("utf-8", "replace") for word in first.words]


class _FirstWords:
    """A container that takes in each word it is asked for, up to `count` of them."""

    def __init__(self, count: int) -> None:
        self.count, self.words = count, dict[bytes, None]()

    def __contains__(self, word: object) -> bool:
        # a blank line has no word: what is found there begins with the line's end
        if isinstance(word, bytes) and word[:1].strip() and len(self.words) < self.count:
            self.words[word] = None
        return word in self.words


class _WantedWords:
    """The rows that need a vector, by the word as it is and by its lower case."""

    def __init__(self, vocabulary: Sequence[str], size: int) -> None:
        self.rows: dict[bytes, list[int]] = {}
        self._words = [word.encode("utf-8", "surrogatepass") for word in vocabulary]
        self.rank = np.zeros(len(vocabulary), dtype=np.int8)  # 2: the word itself, 1: its lower case
        self.matrix = np.zeros((len(vocabulary), size), dtype=np.float32)
        for row, word in enumerate(vocabulary):
            if row not in (PAD, UNKNOWN):
                for key in {self._words[row], word.lower().encode("utf-8", "surrogatepass")}:
                    self.rows.setdefault(key, []).append(row)

    def take(self, word: bytes, vector: np.ndarray) -> None:
        """Keep the first vector of each word, and prefer the word itself to its lower case."""
        for row in self.rows[word]:
            rank = 2 if self._words[row] == word else 1
            if rank > self.rank[row]:
                self.rank[row], self.matrix[row] = rank, vector


# ---------------------------------------------------------------- in the vocabulary of a data set


class PretrainedWords(Protocol):
    """The words of weights that training starts from."""

    @property
    def labels(self) -> Sequence[Label]: ...  # of a trained model; a reader has none

    @property
    def tokenizer(self) -> Tokenizer: ...  # knows which words must not be read

    @property
    def facts(self) -> Mapping[str, Any]: ...  # among them the forbidden words and their history

    def join_words(self, words: Sequence[str], extra: int) -> list[str]: ...

    def check_kind(self, pair: bool, name: str, task: str) -> None: ...

    def vectors(self, vocabulary: Sequence[str]) -> Vectors: ...


class VectorFiles:
    """The words of the files of vectors that a recipe names, which are checked before the long work."""

    def __init__(self, recipe: TextRecipe, folder: str | Path, seed: int, progress: bool) -> None:
        self._seed, self._progress, self._missing = seed, progress, recipe.missing_vectors
        self._files = split_paths(recipe.vectors, folder)
        check_vectors(self._files)

    def join_words(self, words: Sequence[str], extra: int) -> list[str]:
        """The vocabulary for texts with these words: they, then the first ones of the files."""
        return [*words, *(first_words(self._files, extra) if extra else [])]

    def vectors(self, vocabulary: Sequence[str]) -> Vectors:
        seed, missing = self._seed, self._missing
        return read_vectors(self._files, vocabulary, seed=seed, missing=missing, progress=self._progress)


def add_words(tokenizer: Tokenizer, pretrained: PretrainedWords | VectorFiles, extra: int) -> Tokenizer:
    """The tokenizer with pretrained words beside those of the training texts."""
    known = set(tokenizer.vocabulary)
    words = pretrained.join_words(tokenizer.vocabulary[len(SPECIAL) :], extra)
    fits = [word for word in words if word in known or not tokenizer.lowercase or word == word.lower()]
    return Tokenizer.from_words(
        [word for word in dict.fromkeys(fits) if word not in SPECIAL], lowercase=tokenizer.lowercase,
        split_characters=tokenizer.split_characters,
    )  # fmt: skip


def vector_facts(found: Vectors, source: str, train: Split) -> dict[str, Any]:
    """How many words have a vector; a warning if few of the training texts' have one."""
    coverage = found.coverage(train)
    if coverage < LOW_COVERAGE:
        known = f"{source} has only {coverage:.0%} of the words in the training texts"
        todo = "check its language, and whether its words are in lower case"
        if source in ENGLISH_READERS:
            todo = f"start from 'reader-multilingual' for {LANGUAGES}"
        warn(f"{known}; {todo}")
    return {
        "source": source,
        "size": found.matrix.shape[1],
        "words": len(found.found) - len(SPECIAL),
        "found": int(found.found.sum()),
        "found_of_training_words": round(coverage, 4),
    }


# ---------------------------------------------------------------- words without a pretrained vector

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


class Spelling:
    """Known words, and a search for those most similar to another word."""

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
    letters = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in letters if a != b), min(len(one), len(other)))
