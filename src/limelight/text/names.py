"""Which words texts write as names: with a capital letter, though no sentence begins there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

MIN_TIMES, MIN_SHARE = 3, 0.8  # inside sentences: of a name, and how often it then has its capital letter
_AFTER = re.compile(r"[,;\w'’&-]+")  # a word after something else may begin a sentence, a title or a list
# English names that every text may have
_WORDS = (
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july "
    "august september october november december christmas easter english french spanish german italian "
    "american japanese chinese mexican"
)
_GENERAL = frozenset(_WORDS.split())


class Names:
    """Counts how words are written, text by text.

    >>> names = Names()
    >>> for text in ("We saw Paris .", "From Paris to Rome", "Rooms in Paris"):
    ...     names.add(text.split())
    >>> [word for word in ("paris", "rooms", "rome", "we") if names.has(word)]
    ['paris']
    """

    def __init__(self) -> None:
        self.times, self.capital = Counter[str](), Counter[str]()  # inside sentences

    def add(self, words: Sequence[str]) -> None:
        """The words of a text, as it writes them."""
        for before, word in pairwise(words):
            if len(word) < 3 or not word.isalpha() or word.isupper() or not _AFTER.fullmatch(before):
                continue
            self.times[word.casefold()] += 1
            self.capital[word.casefold()] += word[0].isupper()

    def has(self, word: str) -> bool:
        """Whether a word, casefolded, is mostly written as a name."""
        times = self.times[word]
        return times >= MIN_TIMES and self.capital[word] >= MIN_SHARE * times and word not in _GENERAL
