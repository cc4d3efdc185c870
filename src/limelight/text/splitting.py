"""Texts into words, as the vocabulary has them.

Processes that do nothing else import this file: it needs no numpy, and `tokenizers` only once a text is not
ASCII.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from .rules import CHARACTERS, NUMBER_ABBREVIATIONS, WORD, ascii_rules

if TYPE_CHECKING:
    import tokenizers

UNKNOWN_WORD = "<unk>"
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
MAX_PIECES, LONGEST_PIECE = 2**16, 32  # remembered, some ten megabytes; characters of one
_CONTROL_SPACE = re.compile("[\x1c-\x1f]")  # space for str.split, but not for the rules
# A number after one of these may be one word with it, or decide whether its full stop belongs to it.
BEFORE_NUMBER = re.compile(rf"(?:\d\)?|(?:{'|'.join(NUMBER_ABBREVIATIONS.split())})\.)\Z", re.IGNORECASE)
# Drawn as nothing: soft hyphens, joiners, marks of direction, variation selectors, fillers; circles.
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20dd-\u20e4"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
# Combining classes of marks through, above and below letters, not of the vowels of a script.
_ACCENTS = frozenset({1, *range(200, 256)})
_MARK = re.compile("[!-/:-@\\[-`{-~\u2010-\u2027]")  # of ASCII; typographic hyphens, dashes and quotes


def is_forbidden(word: str, forbidden: frozenset[str]) -> bool:
    """Whether a word, or a part of it between marks, is one of these, which are casefolded.

    What hardly shows does not count: accents, soft hyphens, joiners, variation selectors.

    >>> words = ("HILTON!good", "Hil\u00adt\u0301on", "Hiltons")
    >>> [is_forbidden(word, frozenset({"hilton"})) for word in words]
    [True, True, False]
    """
    if not word.isascii():
        word, forbidden = plain(word), _plain_words(forbidden)
    word = word.casefold()
    if word in forbidden or word.isalpha():
        return word in forbidden
    marks = [mark.start() for mark in _MARK.finditer(word)]
    starts, ends = [0, *(mark + 1 for mark in marks)], [*marks, len(word)]
    most = _most_parts(forbidden)
    parts = (word[start:end] for k, start in enumerate(starts) for end in ends[k : k + most])
    return any(part in forbidden for part in parts)


def plain(word: str) -> str:
    """A word without accents and without characters that do not show, in compatible letters.

    >>> plain("cafe\u0301"), plain("ﬁne\ufe0f"), plain("की")
    ('cafe', 'fine', 'की')
    """
    letters = unicodedata.normalize("NFKD", word.casefold())
    kept = "".join(c for c in letters if not (_HIDDEN.match(c) or unicodedata.combining(c) in _ACCENTS))
    return unicodedata.normalize("NFKC", kept)


@lru_cache(maxsize=8)
def _plain_words(words: frozenset[str]) -> frozenset[str]:
    return frozenset(map(plain, words))


@lru_cache(maxsize=8)
def _most_parts(words: frozenset[str]) -> int:
    """How many parts between marks one of these words has: "coca-cola" has two."""
    return max((1 + len(_MARK.findall(word)) for word in words), default=1)


@cache
def word_splitter(lowercase: bool, split_characters: bool) -> Callable[[str], list[str]]:
    """A function from a text to its words, which are in lower case if the vocabulary is.

    >>> word_splitter(True, True)("I don't!")
    ['i', 'do', "n't", '!']
    """
    find, pieces = ascii_rules().findall, Pieces(lowercase, split_characters)

    def split(text: str) -> list[str]:
        if text.isascii():
            return find(text.lower() if lowercase else text)
        return pieces.split(text)

    return split


class Pieces(dict[str, list[str]]):
    """The words of pieces of text between spaces, remembered: `tokenizers` takes longer than to look them up.

    Most texts are the sum of their pieces. A piece whose words may depend on what is around it has the entry
    []: the rules see such a text whole.

    >>> pieces = Pieces(True, True)
    >>> pieces.split("Très bon café!"), pieces["café!"]
    (['très', 'bon', 'café', '!'], ['café', '!'])
    """

    def __init__(self, lowercase: bool, split_characters: bool) -> None:
        self._lowercase, self._split_characters = lowercase, split_characters

    def split(self, text: str) -> list[str]:
        """The words of a text."""
        if has_spaces(text):
            pieces = text.split()
            found = list(map(self.__getitem__, pieces))
            if all(found) or self._add_numbers(pieces, found):
                return list(chain.from_iterable(found))
        return self.split_whole(text)

    def split_whole(self, text: str) -> list[str]:
        """The words of a text by the rules alone."""
        if text.isascii():
            return ascii_rules().findall(text.lower() if self._lowercase else text)
        return _split_unicode(encodable(text), self._lowercase, self._split_characters)

    def __missing__(self, piece: str) -> list[str]:
        words = self.split_whole(piece)
        if piece[0].isnumeric() or is_open(piece, words):
            words = []
        if len(piece) <= LONGEST_PIECE:
            if len(self) >= MAX_PIECES:
                self.clear()
            self[piece] = words
        return words

    def _add_numbers(self, pieces: list[str], found: list[list[str]]) -> bool:
        """Fill in the numbers; False if one may belong to the piece before, or another piece is open."""
        for k in [k for k, words in enumerate(found) if not words]:
            found[k] = self.split_whole(pieces[k])
            after_other = k > 0 and BEFORE_NUMBER.search(pieces[k - 1])
            if after_other or not pieces[k][0].isnumeric() or is_open(pieces[k], found[k]):
                return False
        return True


def has_spaces(text: str) -> bool:
    """Whether a text has pieces between spaces that will occur again, unlike Chinese.

    >>> has_spaces("très bon"), has_spaces("这家酒店的早餐非常好，房间也很干净")
    (True, False)
    """
    if len(text) > 16 * (1 + text.count(" ")):
        return False
    return text.isprintable() or not _CONTROL_SPACE.search(text)


def is_open(piece: str, words: list[str]) -> bool:
    """Whether the words of a piece may depend on what follows it.

    A tag may have spaces inside, and the full stop of an initial depends on the next word. Of the other rules
    only those of numbers look beyond a space ("2 1/2", "no. 5").
    """
    return "<" in piece or (words[-1:] != [] and len(words[-1]) == 2 and words[-1][1] == ".")


def _split_unicode(text: str, lowercase: bool, split_characters: bool) -> list[str]:
    rules = _unicode_rules(lowercase, split_characters)
    if lowercase:
        text = rules.normalizer.normalize_str(text)
    return [word for word, _ in rules.pre_tokenizer.pre_tokenize_str(text)]


@cache
def _unicode_rules(lowercase: bool, split_characters: bool) -> tokenizers.Tokenizer:
    return build_tokenizer({}, lowercase, split_characters)


def build_tokenizer(ids: dict[str, int], lowercase: bool, split_characters: bool) -> tokenizers.Tokenizer:
    """The rules and these words as `tokenizers` has them."""
    import tokenizers
    from tokenizers import models, normalizers

    tokenizer = tokenizers.Tokenizer(models.WordLevel(ids, unk_token=UNKNOWN_WORD))
    if lowercase:
        tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = _pre_tokenizer(split_characters)
    return tokenizer


@cache
def _pre_tokenizer(split_characters: bool) -> tokenizers.pre_tokenizers.PreTokenizer:
    """One for all tokenizers: compiling the rules takes longer than loading a small vocabulary."""
    import tokenizers
    from tokenizers import pre_tokenizers

    words = pre_tokenizers.Split(tokenizers.Regex(WORD), behavior="removed", invert=True)
    if not split_characters:
        return words
    characters = pre_tokenizers.Split(tokenizers.Regex(CHARACTERS), behavior="isolated")
    return pre_tokenizers.Sequence([characters, words])


def encodable(text: str) -> str:
    """Replace lone surrogates, which are not text, by the replacement character; offsets stay the same."""
    return text if text.isascii() else LONE_SURROGATE.sub("\ufffd", text)
