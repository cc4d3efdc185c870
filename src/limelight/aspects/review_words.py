"""The words of reviews as numbers: which are nouns, which of them are judged, and which share clauses.

A noun stands between a determiner and a small word ("the room and"), and what reviews judge stands before
"was" or "is" ("the room was"). What follows "this" is what the review is of ("this hotel"). English.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors import safe_open

from .. import bundled
from ..network.quantise import values
from ..text.tokenizer import Tokenizer
from ..text.word_kinds import is_function_word, is_kind
from .sums import ends_clause, with_plural

MAX_NOUNS = 700
MIN_TEXTS = 5  # with a noun; and one text in a hundred, or one of 10,000 words
MIN_NOUN, MIN_JUDGED = 0.1, 0.03  # of a word's occurrences: as a noun; before "was"
MIN_THIS, MIN_THIS_TIMES = 0.08, 5  # of its occurrences after "this", from which it is what is reviewed


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_DETERMINERS = _set("the a an our my your his her their its this that these those no any some")
BEING = _set("is are was were")
_THIS = _set("this these")
# Nouns of any review: they name no aspect, or are themselves the judgement.
_GENERAL = _set(
    "time way lot bit thing place stay trip visit experience review part reason point fact kind sort "
    "type end start problem issue complaint downside disappointment bonus surprise plus minus concern "
    "trouble mistake opinion impression expectation advice recommendation comment suggestion favorite "
    "favourite positive negative example case idea matter situation difference question answer detail "
    "feature member sign name note list number stuff rest whole boy morning evening afternoon weekend "
    "holiday vacation birthday photo rating purchase business world life word same own best worst top "
    "everything anything"
)


class Nouns(NamedTuple):
    words: list[str]  # the most frequent first
    numbers: np.ndarray  # (nouns,): which words they are
    judged: np.ndarray  # (nouns,): how often each stands before "was"


class ReviewWords:
    """The words of the texts in lower case and in the singular, as numbers."""

    def __init__(self, vocabulary: Sequence[str], ids: np.ndarray, lengths: np.ndarray) -> None:
        present, ids = np.unique(ids, return_inverse=True)
        forms = [vocabulary[k].casefold() for k in present]
        singular = {with_plural(word)[1]: word for word in forms if len(word) > 2}
        number: dict[str, int] = {}
        fold = np.array([number.setdefault(singular.get(word, word), len(number)) for word in forms], int)
        self.words = list(number)
        self.at = fold[ids.reshape(-1)]  # (all words of all texts,)
        self.texts, self.number = len(lengths), number
        self.text = np.repeat(np.arange(len(lengths)), lengths)
        self.begins = np.diff(self.text, prepend=-1) > 0
        self.is_small = np.array([is_function_word(word) for word in self.words], bool)

    def occurrences(self, where: np.ndarray | None = None) -> np.ndarray:
        """(words,): how often each stands where it is true."""
        return np.bincount(self.at, where, len(self.words))

    @cached_property
    def frequency(self) -> np.ndarray:
        """The number of texts with each word."""
        pairs = np.unique(self.text.astype(np.int64) * len(self.words) + self.at)
        return np.bincount(pairs % len(self.words), minlength=len(self.words))

    def share(self, seeds: Sequence[str]) -> float:
        """The share of the texts that have one of these words."""
        own = np.isin(self.at, [self.number[seed] for seed in seeds])
        return len(np.unique(self.text[own])) / self.texts

    @cached_property
    def nouns(self) -> Nouns:
        """Those that are judged, and are in enough of the texts."""
        judged = self.occurrences(np.append(self._one_of(BEING)[1:] & ~self.begins[1:], False))
        least = max(MIN_TEXTS, min(self.texts / 100, len(self.at) / 10_000))
        fits = (self.frequency >= least) & (judged >= MIN_JUDGED * np.maximum(self.occurrences(), 1))
        kept = self.find_nouns(fits)[:MAX_NOUNS]
        return Nouns([self.words[k] for k in kept], kept, judged[kept])

    def find_nouns(self, fits: np.ndarray) -> np.ndarray:
        """Which of the words that fit (words,) are nouns, the most frequent first; not what is reviewed."""
        times = np.maximum(self.occurrences(), 1)
        before_small = np.append(self.is_small[self.at][1:], True) | np.append(self.begins[1:], True)
        reviewed = self.occurrences(self._after(_THIS))
        fits = fits & (self.occurrences(self._after(_DETERMINERS) & before_small) >= MIN_NOUN * times)
        fits &= (reviewed < MIN_THIS * times) | (reviewed < MIN_THIS_TIMES)
        numbers = [k for k in np.flatnonzero(fits) if may_be_aspect(self.words[k])]
        return np.array(sorted(numbers, key=lambda k: (-self.frequency[k], self.words[k])), int)

    def _one_of(self, words: frozenset[str]) -> np.ndarray:
        return np.isin(self.at, [self.number[word] for word in words if word in self.number])

    def _after(self, words: frozenset[str]) -> np.ndarray:
        return np.append(False, self._one_of(words)[:-1]) & ~self.begins

    def clauses(self, *further: str) -> np.ndarray:
        """(all words of all texts,): which clause each is in; `further` words begin one, too."""
        cut = np.array([ends_clause(word) or word in further for word in self.words], bool)[self.at]
        return np.cumsum(cut | self.begins) - 1

    def together(self, numbers: np.ndarray) -> np.ndarray:
        """(nouns, nouns): in how many clauses two of these words stand together."""
        clause, place = self.clauses("and"), np.full(len(self.words), -1)
        place[numbers] = np.arange(len(numbers))
        own = place[self.at] >= 0
        pairs = np.unique(clause[own].astype(np.int64) * len(numbers) + place[self.at[own]])
        found, some = np.zeros((len(numbers),) * 2), 4096
        _, clauses, sizes = np.unique(pairs // len(numbers), return_inverse=True, return_counts=True)
        pairs = pairs[sizes[clauses] > 1]  # a noun alone in its clause says nothing, and most are
        if not len(pairs):
            return found
        clauses = np.unique(pairs // len(numbers), return_inverse=True)[1].reshape(-1)
        for first in range(0, int(clauses[-1]) + 1, some):
            here = slice(*np.searchsorted(clauses, [first, first + some]))
            has = np.zeros((some, len(numbers)), np.float32)
            has[clauses[here] - first, pairs[here] % len(numbers)] = 1
            found += has.T @ has
        np.fill_diagonal(found, 0)
        return found


def may_be_aspect(word: str) -> bool:
    """Whether a noun may name an aspect: it is no number or person, and does not fit every review.

    >>> [word for word in ("room", "way", "wife", "2nd", "the") if may_be_aspect(word)]
    ['room']
    """
    general = word in _GENERAL or any(is_kind(word, kind) for kind in ("people", "time", "numbers"))
    return word.isalpha() and len(word) > 2 and not general and not is_function_word(word)


def reader_vectors() -> tuple[Tokenizer, np.ndarray]:
    """The bundled reader's words, and their vectors (words, d)."""
    folder = Path(str(files(bundled))) / "reader"
    tokenizer = Tokenizer((folder / "tokenizer.json").read_text("utf-8"))
    with safe_open(folder / "model.safetensors", "numpy") as stored:
        packed = {name: stored.get_tensor(name) for name in ("words.weight", "words.weight.scale")}
    return tokenizer, values(packed, "words.weight").astype(float)
