"""The words of all rows of a data set as numbers, in a file, until it is known which words get ids."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import IO, NamedTuple

import numpy as np

from .numbering import NO_WORD, NumberedWords
from .tokenizer import UNKNOWN, Tokenizer

Side = tuple[np.ndarray, np.ndarray]  # (words,) and (rows,): the first texts of some rows, or the second ones


class _Piece(NamedTuple):
    start: int  # in the file
    texts: int
    words: int


class WordStore:
    """Words numbered as they come; in memory are the words, each once, and the file is read by pieces.

    >>> import io
    >>> from limelight.text.numbering import number_words
    >>> store = WordStore(io.BytesIO(), sides=1)
    >>> store.append("train", number_words(["good soup", "bad soup"], True, True))
    >>> store.count("train", np.array([True, False]))
    {'good': 1, 'soup': 1, 'bad': 0}
    >>> [(numbers.tolist(), lengths.tolist()) for [(numbers, lengths)] in store.read("train")]
    [([1, 2, 3, 2], [2, 2])]
    """

    def __init__(self, file: IO[bytes], sides: int) -> None:
        self._file, self._sides = file, sides  # two sides: each piece has the second texts after the first
        self._pieces: dict[str, list[_Piece]] = {}
        self._numbers: defaultdict[str, int] = defaultdict(None, {NO_WORD: 0})
        self._numbers.default_factory = self._numbers.__len__

    def append(self, split: str, found: NumberedWords) -> None:
        """Add the words of the next rows of a split."""
        own = np.fromiter(map(self._numbers.__getitem__, found.words), np.int32, len(found.words))
        numbers = own[np.frombuffer(found.numbers, np.int32)]
        piece = _Piece(self._file.tell(), len(found.lengths) // 4, len(numbers))
        self._file.write(found.lengths)
        self._file.write(numbers.data)
        self._pieces.setdefault(split, []).append(piece)

    def read(self, split: str) -> Iterator[list[Side]]:
        """The numbers of the words of a split, and how many each text has, some rows at a time."""
        for piece in self._pieces[split]:
            self._file.seek(piece.start)
            values = np.frombuffer(self._file.read(4 * (piece.texts + piece.words)), np.int32)
            lengths, numbers = np.split(values, [piece.texts])
            each = np.split(lengths, self._sides)
            ends = np.cumsum([side.sum() for side in each])
            yield list(zip(np.split(numbers, ends[:-1]), each, strict=True))

    def words(self, split: str, max_length: int = 0) -> int:
        """The number of words of a split, in all, or of the first `max_length` of each text."""
        if not max_length:
            return sum(piece.words for piece in self._pieces[split])
        sides = (lengths for each in self.read(split) for _, lengths in each)
        return sum(int(np.minimum(lengths, max_length).sum()) for lengths in sides)

    def count(self, split: str, keep: np.ndarray | None = None) -> dict[str, int]:
        """How often each word occurs in the rows of a split where `keep` (rows,) is true, or in all."""
        counts, done = np.zeros(len(self._numbers), np.int64), 0
        for sides in self.read(split):
            rows = len(sides[0][1])
            kept = np.ones(rows, bool) if keep is None else keep[done : done + rows]
            for numbers, lengths in sides:
                some = numbers if kept.all() else numbers[np.repeat(kept, lengths)]
                counts += np.bincount(some, minlength=len(counts))
            done += rows
        found = dict(zip(self._numbers, counts.tolist(), strict=True))
        del found[NO_WORD]
        return found

    def ids(self, tokenizer: Tokenizer) -> np.ndarray:
        """(words,) int32: the id of the word with each number."""
        ids = tokenizer.find_ids(list(self._numbers))
        ids[0] = UNKNOWN  # whatever an odd vocabulary may hold
        return ids
