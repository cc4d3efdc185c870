"""The words of many texts as numbers: by a compiled part where there is one, otherwise in Python.

The compiled part, _native.c, remembers the words of pieces of text. Python tells it which they are, by
the rules, and whether they depend on what follows the piece.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, NamedTuple

from .forbidding import blank_divided, is_forbidden
from .rules import ABBREVIATIONS, CAPITALISED_ABBREVIATIONS, NUMBER_ABBREVIATIONS
from .splitting import BEFORE_NUMBER, has_spaces, is_open, split_words, word_spans

compiled: Any = None
with suppress(ImportError):  # installed where there was no C compiler
    from . import _native

    if _native.VERSION == 1:  # not compiled before an update
        compiled = _native

NO_WORD = ""  # stands for the words of a text that has none
MAX_REMEMBERED = 2**17  # pieces, and words that are not known: some twenty megabytes
_ABBREVIATIONS = frozenset(f"{ABBREVIATIONS} {CAPITALISED_ABBREVIATIONS} {NUMBER_ABBREVIATIONS}".split())
_STOP_APART, _BEFORE_NUMBER, _BEFORE_ANY = 1, 2, 4  # as in _native.c


class NumberedWords(NamedTuple):
    words: list[str]  # those that are not known, each once, in the order in which they first occur
    numbers: bytes  # int32: all words of all texts, back to back; those of `words` come after the known ones
    lengths: bytes  # int32: how many words each text has, at least one


def number_words(
    texts: Iterable[str], lowercase: bool, split_characters: bool, forbidden: Iterable[str] = ()
) -> NumberedWords:
    """Split texts, and number the words as they come, without those that are `forbidden`.

    A text without words has one, `NO_WORD`.
    """
    return _numbering(lowercase, split_characters, frozenset(forbidden)).number(texts)


class Numbering:
    """Splits texts and numbers their words: `known` words have their numbers, others get the next ones.

    `none` is the number of a text without words; by default `NO_WORD` is a word like others.
    """

    def __init__(
        self,
        lowercase: bool,
        split_characters: bool,
        forbidden: frozenset[str] = frozenset(),
        known: Mapping[str, int] | None = None,
        none: int | None = None,
    ) -> None:
        self._options = (lowercase, split_characters, forbidden, known, none)
        self.lowercase, self.forbidden, self.known, self.none = lowercase, forbidden, known or {}, none
        self.split_whole = partial(split_words, lowercase=lowercase, split_characters=split_characters)
        self._idle: list[_Remembering] = []  # each serves a thread at a time

    def __reduce__(self) -> tuple[Any, ...]:
        return Numbering, self._options  # without what is remembered

    def number(self, texts: Iterable[str]) -> NumberedWords:
        if self.forbidden:
            texts = map(self.blank_divided, texts)
        if compiled is None:
            return self._number(texts)
        try:
            own = self._idle.pop()  # not under a lock, which a fork could copy while it is held
        except IndexError:
            own = _Remembering(self)
        found = own.number(tuple(texts))
        if max(len(own._compiled), len(own._numbers)) < MAX_REMEMBERED:
            self._idle.append(own)
        return found

    def _number(self, texts: Iterable[str]) -> NumberedWords:
        given = WordNumbers(self.known, self.none)
        numbers, lengths = array("i"), array("i")
        for text in texts:
            found = given.find(self.split(text))
            numbers.extend(found)
            lengths.append(len(found))
        return NumberedWords(given.words, numbers.tobytes(), lengths.tobytes())

    def split(self, text: str) -> list[str]:
        """The words of a text, without those that are forbidden."""
        return self.allow(self.split_whole(self.blank_divided(text)))

    def blank_divided(self, text: str) -> str:
        """The text without the forbidden words that hidden characters divide."""
        if not self.forbidden:
            return text
        spans = partial(word_spans, lowercase=self.lowercase, split_characters=self._options[1])
        return blank_divided(text, self.forbidden, spans)

    def allow(self, words: list[str]) -> list[str]:
        if not self.forbidden:
            return words
        return [word for word in words if not is_forbidden(word, self.forbidden)]


_numbering = lru_cache(maxsize=8)(Numbering)


class WordNumbers(dict[str, int]):
    """The numbers of words that are not `known`, given as they come, from the number of known ones on."""

    def __init__(self, known: Mapping[str, int], none: int | None) -> None:
        self.words: list[str] = []
        self._known, self._first, self._none = known.get, len(known), none

    def __missing__(self, word: str) -> int:
        number = self[word] = self._first + len(self.words)
        self.words.append(word)
        return number

    def find(self, words: list[str]) -> list[int]:
        get = self._known
        return [self[word] if (k := get(word)) is None else k for word in words] or [self.none()]

    def none(self) -> int:
        """The number of a text without words."""
        return self[NO_WORD] if self._none is None else self._none


class _Remembering:
    """The compiled part and the words it may ask for, in one thread."""

    def __init__(self, numbering: Numbering) -> None:
        self._numbering, self._numbers = numbering, WordNumbers(numbering.known, numbering.none)
        first, none = len(numbering.known), self._numbers.none()
        self._compiled = compiled.Splitter(os.urandom(16), numbering.lowercase, first, none)

    def number(self, texts: tuple[str, ...]) -> NumberedWords:
        ways = bytes(map(str.isascii, texts))
        if 0 in ways:
            ways = bytes(1 if text.isascii() else 2 * has_spaces(text) for text in texts)
        numbers, lengths, others = self._compiled.number(texts, ways, self._learn, self._whole)
        names, first = self._numbers.words, len(self._numbering.known)
        return NumberedWords([names[number - first] for number in array("i", others)], numbers, lengths)

    def _learn(self, piece: str) -> bytes:
        """The flags of a piece of text, and the numbers of its words."""
        words = self._numbering.split_whole(piece)
        if piece.isascii() and piece.isalpha():
            flags = 0 if piece.lower() in _ABBREVIATIONS else _STOP_APART
        elif is_open(piece, words):
            flags = _BEFORE_ANY
        else:
            flags = _BEFORE_NUMBER if BEFORE_NUMBER.search(piece, len(piece) - 6) else 0
        words = self._numbering.allow(words)
        return array("i", [flags, *self._numbers.find(words)] if words else [flags]).tobytes()

    def _whole(self, text: str) -> bytes:
        return array("i", self._numbers.find(self._numbering.split(text))).tobytes()
