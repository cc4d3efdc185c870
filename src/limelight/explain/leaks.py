"""Words by which a model may recognise what a text is of: names of places, brands and people.

A hotel's name is no praise, but where its reviews are good, a model learns it as such. Such a word is written
as a name (text/names.py), or nearly all texts that have it are of one group.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np

from ..reading.reading import AnyReading
from ..text.metrics import wilson
from ..text.names import Names
from ..text.word_kinds import is_function_word

MIN_TEXTS, MIN_TEXTS_OF_GROUP = 3, 10  # that have a word: one written as a name, and one of a single group
MIN_SHARE = 0.8  # of the texts that have a word, in one group
MAX_LEAKS = 30


class Leak(NamedTuple):
    """A word that may say which group or place a text is of."""

    word: str
    texts: int  # that have it
    weight: float  # how far it moves the answer of a text that has it, either way, on average
    is_name: bool  # whether it is written as one
    group: str  # of nearly all texts that have it; "" if there is none
    of_group: int  # texts of that group that have it


class _Word:
    def __init__(self) -> None:
        self.texts, self.weight, self.groups = 0, 0.0, Counter[str]()


class Leaks:
    """Collects words text by text.

    >>> from limelight.reading.reading import GOOD_SOUP
    >>> leaks = Leaks()
    >>> for group in ["Anna's"] * 20 + ["Bea's"] * 20:
    ...     leaks.add(GOOD_SOUP, group)
    >>> leaks.find()
    ()
    """

    def __init__(self) -> None:
        self._names, self._found = Names(), defaultdict[str, _Word](_Word)
        self._groups = Counter[str]()

    def add(self, reading: AnyReading, group: str = "") -> None:
        """A text, and the group that it is of, if any."""
        self._groups[group] += 1
        weights: dict[str, float] = defaultdict(float)
        for side in reading.sides:
            self._names.add(side.words)
            supporting = np.zeros(len(side.words)) if side.supporting is None else side.supporting
            for word, weight in zip(side.words, supporting.tolist(), strict=True):
                weights[word.casefold()] += weight
        for word, weight in weights.items():
            entry = self._found[word]
            entry.texts, entry.weight = entry.texts + 1, entry.weight + abs(weight)
            entry.groups[group] += 1

    def find(self) -> tuple[Leak, ...]:
        """The words that moved answers most, all in all, among those that say where a text is from."""
        texts = max(self._groups.total(), 1)
        shares = {group: count / texts for group, count in self._groups.items()}
        words = ((word, entry) for word, entry in self._found.items() if _is_word(word))
        leaks = (_leak(word, entry, self._names, shares) for word, entry in words)
        kept = [each for each in leaks if each is not None and each.weight > 0]
        return tuple(sorted(kept, key=lambda each: (-each.weight * each.texts, each.word))[:MAX_LEAKS])


def _leak(word: str, found: _Word, names: Names, shares: dict[str, float]) -> Leak | None:
    group, count = next(((name, n) for name, n in found.groups.most_common() if name), ("", 0))
    share = shares.get(group, 1.0)  # of the texts that are of this group; nearly all with the word must be
    is_rare = found.texts < MIN_TEXTS_OF_GROUP or count < MIN_SHARE * found.texts
    if is_rare or wilson(count / found.texts, found.texts)[0] <= max(2 * share, (1 + share) / 2):
        group, count = "", 0
    is_name = found.texts >= MIN_TEXTS and names.has(word)
    if not group and not is_name:
        return None
    return Leak(word, found.texts, found.weight / found.texts, is_name, group, count)


def _is_word(word: str) -> bool:
    return len(word) > 2 and word.isalpha() and not is_function_word(word)
