"""Pretrained word vectors for a vocabulary: GloVe and word2vec files, read once, only what is wanted kept.

A word is looked up as it is, then in lower case. Padding stays zero; the unknown word and every word without
a vector start from noise N(0, 0.01) that depends on the seed and the word alone; or, as the author's code
does, from the mean of the vectors of the words that stand beside it in the training data; or from the mean of
the words it is spelt like. Of several files a word gets its vectors side by side.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from ..errors import LimelightError
from .spelling import Spelling
from .tokenizer import PAD, UNKNOWN
from .vector_files import VectorFile

NOISE = 0.01  # standard deviation
MISSING = ("noise", "neighbours", "spelling")


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


@dataclass(frozen=True, eq=False)
class Vectors:
    """One vector per word of a vocabulary, and which of them were found."""

    matrix: np.ndarray  # (len(vocabulary), d) float32
    found: np.ndarray  # (len(vocabulary),) bool

    def share_of(self, corpus: Corpus) -> float:
        """How much of a corpus, word by word, has a pretrained vector.

        >>> from limelight.text.dataset import Split
        >>> vectors = Vectors(np.zeros((4, 2)), np.array([False, False, True, False]))
        >>> vectors.share_of(Split(ids=np.array([2, 3, 2, 2]), lengths=np.array([4])))
        0.75
        """
        counts = sum(np.bincount(ids, minlength=len(self.found)) for ids, _ in _pieces(corpus))
        return float(np.sum(counts * self.found) / np.sum(counts))


def check_vectors(path: str | Path) -> None:
    """Say at once what `read_vectors` would only say later: no such file, no vectors in it."""
    for each in _files(path):
        if each != "default":
            VectorFile(each)


def _files(path: str | Path) -> list[str]:
    """A path, or several with commas between them; a file whose own name has a comma is one."""
    files = [str(path)] if os.path.exists(path) else [each.strip() for each in str(path).split(",")]
    if not all(files):
        raise LimelightError(f"vectors is {str(path)!r}; between two commas there must be a file's name")
    return files


def read_vectors(
    path: str | Path,
    vocabulary: Sequence[str],
    *,
    seed: int,
    missing: str = "noise",
    corpus: Corpus | None = None,
    progress: bool = False,
) -> Vectors:
    """The vectors of a vocabulary's words, whose first two are padding and the unknown word.

    `path` is a GloVe or word2vec file (text or binary, also .gz, .xz, .bz2, .zst or .zip), or "default" for
    the ones that come with Limelight, or several of these with commas between them. `missing="neighbours"`
    needs the training data as `corpus`.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "glove.txt")
    >>> _ = path.write_text("soup 0.5 1\\ngood -1 2\\n")
    >>> vectors = read_vectors(path, ["<pad>", "<unk>", "Soup", "borscht"], seed=0)
    >>> vectors.matrix[2].tolist(), vectors.found.tolist()
    ([0.5, 1.0], [False, False, True, False])
    """
    if missing not in MISSING:
        raise LimelightError(f"missing is {missing!r}; it must be one of: {', '.join(MISSING)}")
    if missing == "neighbours" and corpus is None:
        raise LimelightError("missing='neighbours' needs the training data as corpus")
    parts = [
        _read(each, vocabulary, seed + number, missing, corpus, progress)
        for number, each in enumerate(_files(path))  # so that the noise differs
    ]
    if len(parts) == 1:
        return parts[0]
    return Vectors(
        np.hstack([part.matrix for part in parts]), np.logical_or.reduce([part.found for part in parts])
    )


def _read(
    path: str, vocabulary: Sequence[str], seed: int, missing: str, corpus: Corpus | None, progress: bool
) -> Vectors:
    wanted = _Wanted(vocabulary)
    if path == "default":
        from ..bundled import default_vectors

        words, matrix = default_vectors()
        wanted.prepare(matrix.shape[1])
        for word, vector in zip(words, matrix, strict=True):
            if (key := word.encode()) in wanted.rows:
                wanted.take(key, vector)
    else:
        file = VectorFile(path)
        wanted.prepare(file.size)
        file.read(wanted.rows, wanted.take, progress)
    matrix, found = wanted.matrix, wanted.rank > 0
    filled = found.copy()
    if missing == "neighbours" and corpus is not None:
        filled |= _fill_from_neighbours(matrix, found, corpus)
    if missing == "spelling":
        filled |= _fill_from_spelling(matrix, found, vocabulary)
    for row in np.flatnonzero(~filled).tolist():
        if row != PAD:
            matrix[row] = _noise(vocabulary[row], seed, matrix.shape[1])
    return Vectors(matrix, found)


def first_words(path: str | Path, count: int) -> list[str]:
    """The first words of a vectors file, which are the most frequent ones where the file is in that order.

    Of several files, it is the first one's.

    >>> first_words("default", 40_000)[-1] in first_words("default", 40)
    False
    """
    path = _files(path)[0]
    if path == "default":
        from ..bundled import default_vectors

        return default_vectors()[0][:count]
    first = _First(count)
    VectorFile(path).read(first, lambda word, vector: None)
    return [word.decode("utf-8", "replace") for word in first.words]


class _First:
    """Contains the words it is asked for until there are `count` of them."""

    def __init__(self, count: int) -> None:
        self.count, self.words = count, dict[bytes, None]()

    def __contains__(self, word: object) -> bool:
        # a blank line has no word: what stands there begins with the line's end
        if isinstance(word, bytes) and word[:1].strip() and len(self.words) < self.count:
            self.words[word] = None
        return word in self.words


class _Wanted:
    """The rows that wait for a vector: by the word as it is, and by its lower case."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.rows: dict[bytes, list[int]] = {}
        self._words = [word.encode("utf-8", "surrogatepass") for word in vocabulary]
        self.rank = np.zeros(len(vocabulary), dtype=np.int8)  # 2: the word itself, 1: its lower case
        self.matrix = np.zeros((0, 0), dtype=np.float32)
        for row, word in enumerate(vocabulary):
            if row not in (PAD, UNKNOWN):
                for key in {self._words[row], word.lower().encode("utf-8", "surrogatepass")}:
                    self.rows.setdefault(key, []).append(row)

    def prepare(self, size: int) -> None:
        self.matrix = np.zeros((len(self._words), size), dtype=np.float32)

    def take(self, word: bytes, vector: np.ndarray) -> None:
        """The first vector of a word counts, and the word itself before its lower case."""
        for row in self.rows[word]:
            rank = 2 if self._words[row] == word else 1
            if rank > self.rank[row]:
                self.rank[row], self.matrix[row] = rank, vector


def _noise(word: str, seed: int, size: int) -> np.ndarray:
    """(d,): the same for a word whatever else is in the vocabulary or in the file."""
    digest = hashlib.blake2b(f"{seed} {word}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
    random = np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))
    return random.standard_normal(size, dtype=np.float32) * np.float32(NOISE)


def _fill_from_neighbours(matrix: np.ndarray, found: np.ndarray, corpus: Corpus) -> np.ndarray:
    """Give each missing word the mean over its places of the found words just before and after it."""
    missing, neighbour, times = _neighbour_counts(found, corpus)
    filled = np.zeros(len(found), dtype=bool)
    filled[missing] = True
    total = np.zeros(len(found))
    np.add.at(total, missing, times)
    for part in np.array_split(np.arange(len(missing)), max(1, len(missing) // 10_000)):
        np.add.at(matrix, missing[part], matrix[neighbour[part]] * times[part, None].astype(np.float32))
    matrix[filled] /= total[filled, None].astype(np.float32)
    return filled


def _fill_from_spelling(matrix: np.ndarray, found: np.ndarray, vocabulary: Sequence[str]) -> np.ndarray:
    """Give each missing word the mean of the found words that it is spelt like, in lower case."""
    rows = {vocabulary[row].lower(): row for row in np.flatnonzero(found).tolist()[::-1]}
    spelling = Spelling(rows)
    filled = np.zeros(len(found), dtype=bool)
    for row in np.flatnonzero(~found).tolist():
        alike = spelling.alike(vocabulary[row].lower()) if row not in (PAD, UNKNOWN) else []
        if alike:
            matrix[row] = matrix[[rows[word] for word in alike]].mean(axis=0)
            filled[row] = True
    return filled


def _neighbour_counts(found: np.ndarray, corpus: Corpus) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Missing word, found word beside it, and how often, each pair once."""
    known, times = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    wanted = ~found
    wanted[[PAD, UNKNOWN]] = False
    for ids, beside in _adjacent(corpus):
        both = wanted[ids] & found[beside]
        pairs = np.concatenate([known, ids[both].astype(np.int64) * len(found) + beside[both]])
        weights = np.concatenate([times, np.ones(int(both.sum()), dtype=np.int64)])
        known, inverse = np.unique(pairs, return_inverse=True)
        times = np.bincount(inverse, weights, minlength=len(known)).astype(np.int64)
    return known // len(found), known % len(found), times


def _adjacent(corpus: Corpus) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Each word with the one after it in its sentence, then with the one before, piece by piece."""
    for ids, lengths in _pieces(corpus):
        inside = np.ones(len(ids), dtype=bool)
        inside[np.cumsum(lengths) - lengths] = False  # nothing stands before a first word
        left, right = ids[:-1][inside[1:]], ids[1:][inside[1:]]
        yield left, right
        yield right, left


def _pieces(corpus: Corpus, rows: int = 10_000) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(ids, lengths) of so many sentences at a time, so that a memory-mapped corpus is never read whole."""
    for ids, lengths in ((corpus.ids, corpus.lengths), (corpus.ids2, corpus.lengths2)):
        if ids is not None and lengths is not None:
            start = 0
            for row in range(0, len(lengths), rows):
                piece = np.asarray(lengths[row : row + rows])
                end = start + int(piece.sum())
                yield np.asarray(ids[start:end]), piece
                start = end
