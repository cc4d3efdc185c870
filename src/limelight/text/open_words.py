"""A tokenizer that gives every word an id of its own, for an encoder that reads the words themselves."""

import threading
from collections.abc import Sequence
from itertools import chain

import numpy as np

from .tokenizer import UNKNOWN, Tokenizer, check_several

_adding = threading.Lock()


class OpenTokenizer(Tokenizer):
    """As the tokenizer it is made from; words outside its vocabulary get the next ids as they come.

    What is saved is the vocabulary without them. They stay in memory: a few hundred bytes for each different
    word that a process has read.

    >>> tokenizer = OpenTokenizer(Tokenizer.from_words(["good"]))
    >>> tokenizer.encode(["good soup", "Soup!", ""])[0].tolist(), tokenizer.all_words[2:]
    ([2, 3, 3, 4, 1], ['good', 'soup', '!'])
    >>> tokenizer.locate("so good")[0].tolist(), len(tokenizer), tokenizer.count
    ([5, 2], 3, 6)
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.__dict__.update(vars(tokenizer))
        self.all_words = list(self.vocabulary)
        self._new: dict[str, int] = {}

    @property
    def count(self) -> int:
        """Ids given so far: 0 to count - 1."""
        return len(self.all_words)

    def _id(self, word: str) -> int:
        found = self.ids.get(word) or self._new.get(word)
        if found is None:
            with _adding:
                found = self._new.get(word)
                if found is None:
                    found = len(self.all_words)
                    self.all_words.append(word)  # first: another thread may take the id at once
                    self._new[word] = found
        return found

    def encode(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Ids of all texts back to back, and the number of words of each."""
        check_several(texts)
        found = [[self._id(word) for word in self.words(text)] or [UNKNOWN] for text in texts]
        return np.array(list(chain.from_iterable(found)), np.int32), np.array(list(map(len, found)), np.int32)

    def _located(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        ids, offsets = super()._located(text)
        both = zip(ids, self.words(text), strict=True)
        return [k if k != UNKNOWN else self._id(word) for k, word in both], offsets
