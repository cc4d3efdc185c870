"""Splitting text into words as the Stanford tokenizer does; rules and vocabulary are one tokenizer.json.

The conventions are those of the Penn Treebank. A contraction is two words (do n't, I 'm, can not, gon na),
and so is a possessive (the hotel 's). Quotes, brackets and other marks are separate words; only runs of
! and ?, of hyphens and of asterisks, and three to five full stops stay together. A full stop belongs to an
abbreviation (Mr., U.S., a.m., etc.) and otherwise is a word. A number keeps its points, commas and
colons (1,000.50, 10:30) and a whole number its fraction (2 1/2); $ and % are words. Hyphens and up to two
slashes join (five-star, and/or). A URL, an e-mail address, an @name, a #tag (its letters), an emoticon, a
markup tag and an emoji with its modifiers are one word each. Without a space between two sentences
(good.The, good!The) both words stay one, as in the Stanford tokenizer. Other scripts are split at spaces and
marks; Chinese, Japanese, Thai, Lao, Khmer and Burmese, which have no spaces, at every character, but katakana
stays together.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import chain, compress, filterfalse
from operator import not_
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from tokenizers import pre_tokenizers

from ..errors import LimelightError, bad_value
from ..storage.files import write_file
from ..storage.json_file import parse_object
from ..storage.open_files import read_regular
from ..tables.rows import Row, chunks
from .forbidding import is_forbidden
from .numbering import Numbering
from .rules import CHARACTERS, ascii_rules
from .splitting import LONE_SURROGATE, UNKNOWN_WORD, build_tokenizer, encodable, has_spaces

PAD = 0
UNKNOWN = 1
SPECIAL = ("<pad>", UNKNOWN_WORD)
MAX_TOKENIZER = 2**27  # bytes of a tokenizer.json: some five million words
_damaged = partial(LimelightError, code="tokenizer-damaged")
LONGEST = 1024  # characters of a word in the vocabulary: more is a file without spaces, not a word


class Tokenizer:
    """Splits text into words and gives each its id; made from the text of a tokenizer.json.

    >>> tokenizer = Tokenizer.from_words(["i", "do"])
    >>> tokenizer.split("I don't!"), tokenizer.encode(["I don't!"])[0].tolist()
    (['I', 'do', "n't", '!'], [2, 3, 1, 1])
    """

    def __init__(self, text: str) -> None:
        self._set(*_parse(text))
        self._json = text

    def _set(self, ids: dict[str, int], lowercase: bool, split_characters: bool) -> None:
        self.ids, self.lowercase, self.split_characters = ids, lowercase, split_characters
        in_order = list(ids.values()) == list(range(len(ids)))
        self.vocabulary: tuple[str, ...] = tuple(ids if in_order else sorted(ids, key=ids.__getitem__))
        self._built: tokenizers.Tokenizer | None = None
        self._numbers: Numbering | None = None
        self._json = ""
        self.forbidden: frozenset[str] = frozenset()

    def forbid(self, words: Iterable[str]) -> Tokenizer:
        """The same, but as if these words, however they are written (forbidding.py), were in no text, nor one
        that has such a word between marks ("hilton/marriott").

        Nothing else knows of them: neither ids nor offsets nor words of a text have them.
        """
        other = copy.copy(self)
        other._numbers = None
        other.forbidden = frozenset(word.casefold() for word in words)
        return other

    @property
    def _tokenizer(self) -> tokenizers.Tokenizer:
        """Built when first needed, which takes as long as the rest of loading: not for ASCII texts.

        Without a lock, which a fork could copy while it is held: two threads may both build it.
        """
        if self._built is None:
            self._built = build_tokenizer(self.ids, self.lowercase, self.split_characters)
        return self._built

    @classmethod
    def from_words(
        cls, words: Sequence[str], *, lowercase: bool = True, split_characters: bool = True
    ) -> Tokenizer:
        """A tokenizer with exactly these words, in this order, from id 2 on."""
        ids = {word: number for number, word in enumerate((*SPECIAL, *words))}
        if len(ids) != len(words) + len(SPECIAL):
            raise LimelightError(
                f"vocabulary words must be distinct and none of {', '.join(SPECIAL)}", code="tokenizer-words"
            )
        # what cannot be loaded is not made: perhaps too large, with every letter escaped
        if 6 * sum(map(len, ids)) + 20 * len(ids) > MAX_TOKENIZER - 10_000:
            return cls(build_tokenizer(ids, lowercase, split_characters).to_str())
        _check_words(ids)
        made = cls.__new__(cls)
        made._set(ids, lowercase, split_characters)
        return made

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """Load a tokenizer.json that `save` wrote."""
        content = read_regular(path, MAX_TOKENIZER)
        try:
            return cls(content.decode())
        except ValueError as error:
            reason = " ".join(str(error).split())
            raise _damaged(f"{path} is not a Limelight tokenizer: {reason}") from error

    def save(self, path: str | Path) -> None:
        """Write a standard tokenizer.json, which plain `tokenizers` loads too."""
        write_file(path, self.to_json().encode())

    def to_json(self) -> str:
        """Rules and vocabulary as the text of a tokenizer.json."""
        if not self._json:
            self._json = self._tokenizer.to_str()
        return self._json

    @property
    def hash(self) -> str:
        """SHA-256 of the JSON: two tokenizers with the same hash give the same ids."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.vocabulary)

    @property
    def count(self) -> int:
        return len(self)

    def split(self, text: str) -> list[str]:
        """The words, as they are in the text."""
        return [text[start:end] for start, end in self._located(text)[1]]

    def words(self, text: str) -> list[str]:
        """The words as the vocabulary has them: in lower case, if it is."""
        return self._numbering.split(text)

    def locate(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """Ids (n,) and character offsets (n, 2) of the words; a text without words is one unknown at 0, 0."""
        ids, offsets = self._located(text)
        return np.asarray(ids or [UNKNOWN], np.int32), np.asarray(offsets or [(0, 0)], np.int32)

    def encode(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Ids of all texts back to back, and the number of words of each."""
        ids, lengths, _ = self.encode_open(texts)
        ids[ids >= len(self)] = UNKNOWN
        return ids, lengths

    def encode_open(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """The same, but words outside the vocabulary have ids after it, by their places in the list.

        Those of texts that `tokenizers` splits stay unknown: texts in scripts without spaces.
        """
        check_several(texts)
        texts = list(texts)
        are_others = [  # texts for `tokenizers` to split
            not text.isascii() and (bool(self.forbidden) or not has_spaces(text)) for text in texts
        ]
        found = self._numbering.number(compress(texts, map(not_, are_others)) if any(are_others) else texts)
        ids, lengths = (np.frombuffer(each, np.int32).copy() for each in found[1:])
        if any(are_others):
            ids, lengths = self._merge(np.array(are_others), ids, lengths, compress(texts, are_others))
        return ids, lengths, found.words

    def find_ids(self, words: Sequence[str]) -> np.ndarray:
        """(words,) int32: the id of each word, which is as `words` gives it."""
        return np.fromiter((self.ids.get(word, UNKNOWN) for word in words), np.int32, len(words))

    def _merge(
        self, are_others: np.ndarray, ids: np.ndarray, lengths: np.ndarray, others: Iterable[str]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ids and lengths of all texts: those that are there, and those of the others."""
        found = list(chain.from_iterable(map(self._encode_others, chunks(map(Row, others), len(are_others)))))
        all_lengths = np.empty(len(are_others), np.int32)
        all_lengths[~are_others], all_lengths[are_others] = lengths, list(map(len, found))
        of_others, all_ids = np.repeat(are_others, all_lengths), np.empty(all_lengths.sum(), np.int32)
        all_ids[~of_others], all_ids[of_others] = ids, list(chain.from_iterable(found))
        return all_ids, all_lengths

    def _encode_others(self, rows: list[Row]) -> list[np.ndarray]:
        texts = [encodable(row.text) for row in rows]
        if self.forbidden:
            found = [self._located(text)[0] for text in texts]
        else:
            batch = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
            found = [encoding.ids for encoding in batch]
        return [np.array(ids or [UNKNOWN], np.int32) for ids in found]

    @property
    def _numbering(self) -> Numbering:
        if self._numbers is None:
            options = self.lowercase, self.split_characters, self.forbidden
            self._numbers = Numbering(*options, known=self.ids, none=UNKNOWN)
        return self._numbers

    def blank_forbidden(self, text: str) -> str:
        """The text with spaces in place of forbidden words: the others stay where they are."""
        if not self.forbidden:
            return text
        text = self._numbering.blank_divided(text)
        found = list(text)
        for _, (start, end) in self._located_all(text):
            if is_forbidden(text[start:end], self.forbidden):
                found[start:end] = " " * (end - start)
        return "".join(found)

    def _located(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """The ids of the words, and where they are."""
        text = self._numbering.blank_divided(text)
        found = self._located_all(text)
        if self.forbidden:
            found = [(k, at) for k, at in found if not is_forbidden(text[slice(*at)], self.forbidden)]
        return [k for k, _ in found], [at for _, at in found]

    def _located_all(self, text: str) -> list[tuple[int, tuple[int, int]]]:
        """The same for each word, forbidden or not."""
        if text.isascii():
            get, words = self.ids.get, ascii_rules().finditer(text.lower() if self.lowercase else text)
            return [(get(word[0], UNKNOWN), word.span()) for word in words]
        encoding = self._tokenizer.encode(encodable(text), add_special_tokens=False)
        return list(zip(encoding.ids, encoding.offsets, strict=True))


def choose_words(counts: Mapping[str, int], min_count: int, max_words: int) -> list[str]:
    """The most frequent words first, and equally frequent ones in alphabetical order.

    A word of more than `LONGEST` characters takes up its place among `max_words`, but is none of them.
    """
    if min_count < 1 or max_words < 1:
        raise bad_value(f"min_count ({min_count}) and max_words ({max_words}) must be at least 1")
    often = sorted(count for count in counts.values() if count >= min_count)
    least = often[-max_words] if len(often) > max_words else min_count  # far fewer words are left to sort
    order = sorted((-count, word) for word, count in counts.items() if count >= least)
    return [word for _, word in order[:max_words] if len(word) <= LONGEST]


def check_several(texts: Iterable[str]) -> None:
    """Raise if one string is given in place of a list of them."""
    if isinstance(texts, str):  # whose characters would pass for texts
        raise LimelightError("texts must be a list; got one string; put it in a list", code="text-type")


def has_joined_characters(words: Iterable[str]) -> bool:
    """Whether words of scripts without spaces have several characters: they were split by spaces alone."""
    cut = pre_tokenizers.Split(tokenizers.Regex(CHARACTERS), behavior="isolated").pre_tokenize_str
    return any(len(cut(word)) > 1 for word in filterfalse(str.isascii, words))


def _parse(text: str) -> tuple[dict[str, int], bool, bool]:
    """The vocabulary, whether text becomes lower case, and whether it is split into characters.

    All else must be as Limelight writes it: `tokenizers` never gets to see a file from outside, whose rules
    may run for hours or blow texts up to gigabytes.
    """
    if (size := len(text.encode(errors="replace"))) > MAX_TOKENIZER:
        raise _damaged(f"the vocabulary takes {size:,} bytes; the limit is {MAX_TOKENIZER:,}")
    parts = parse_object(text, "tokenizer.json")
    lowercase = parts.get("normalizer") is not None
    model = parts["model"] if isinstance(parts.get("model"), dict) else {}
    ids = model.pop("vocab", None)
    rules = parts.get("pre_tokenizer")
    split_characters = isinstance(rules, dict) and rules.get("type") == "Sequence"
    expected = _written(lowercase, split_characters)
    for name in (*expected, *parts):
        if name not in expected or name not in parts or parts[name] != expected[name]:
            raise _damaged(f"its part {name[:40]!r} is not as Limelight writes it")
    are_ids = isinstance(ids, dict) and set(map(type, ids.values())) == {int}
    are_ids = are_ids and sorted(ids.values()) == list(range(len(ids)))
    if not are_ids or [ids.get(word) for word in SPECIAL] != [PAD, UNKNOWN]:
        raise _damaged(f"expected word-level ids 0, 1, 2, ... starting with {' and '.join(SPECIAL)}")
    _check_words(ids)
    return ids, lowercase, split_characters


def _check_words(ids: dict[str, int]) -> None:
    if LONE_SURROGATE.search("".join(ids)):
        raise _damaged("a word of its vocabulary is not text")


@cache
def _written(lowercase: bool, split_characters: bool) -> dict[str, Any]:
    """All that Limelight writes into a tokenizer.json but the words."""
    parts: dict[str, Any] = json.loads(build_tokenizer({}, lowercase, split_characters).to_str())
    del parts["model"]["vocab"]
    return parts
