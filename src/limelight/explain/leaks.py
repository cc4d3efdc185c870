"""Words by which a model may recognise what a text is of: names of places, brands and people.

A hotel's name is no praise, but where its reviews are good, a model learns it as such. Such a word is written
as a name (text/word_kinds.py), or nearly all texts that have it are of one group.
"""

from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np

from ..reading.reading import AnyReading
from ..text.metrics import wilson
from ..text.word_kinds import Names, is_function_word

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


class Leaks:
    """Collects words text by text."""

    def __init__(self) -> None:
        self._names, self._weights = Names(), defaultdict[str, float](float)
        self._groups, self._groups_of = Counter[str](), defaultdict[str, Counter[str]](Counter)

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
            self._weights[word] += abs(weight)
            self._groups_of[word][group] += 1

    def find(self) -> tuple[Leak, ...]:
        """The words that moved answers most, all in all, among those that say where a text is from."""
        words = (word for word in self._weights if len(word) > 2 and word.isalpha())
        leaks = [self._leak(word) for word in words if not is_function_word(word) and self._weights[word] > 0]
        kept = [each for each in leaks if each.group or each.is_name]
        return tuple(sorted(kept, key=lambda each: (-each.weight * each.texts, each.word))[:MAX_LEAKS])

    def _leak(self, word: str) -> Leak:
        groups, texts = self._groups_of[word], self._groups_of[word].total()
        group, count = next(((name, n) for name, n in groups.most_common() if name), ("", 0))
        share = self._groups[group] / self._groups.total() if group else 1.0  # of all texts
        is_rare = texts < MIN_TEXTS_OF_GROUP or count < MIN_SHARE * texts
        if is_rare or wilson(count / texts, texts)[0] <= max(2 * share, (1 + share) / 2):
            group, count = "", 0
        is_name = texts >= MIN_TEXTS and self._names.has(word)
        return Leak(word, texts, self._weights[word] / texts, is_name, group, count)
