"""Texts into words, as the vocabulary has them; `tokenizers` is loaded once a text is not ASCII."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from .rules import CHARACTERS, NUMBER_ABBREVIATIONS, WORD, ascii_rules

if TYPE_CHECKING:
    import tokenizers

UNKNOWN_WORD = "<unk>"
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL_SPACE = re.compile("[\x1c-\x1f]")  # space for str.split, but not for the rules
# A number after one of these may be one word with it, or decide whether its full stop belongs to it.
BEFORE_NUMBER = re.compile(rf"(?:\d\)?|(?:{'|'.join(NUMBER_ABBREVIATIONS.split())})\.)\Z", re.IGNORECASE)


def split_words(text: str, lowercase: bool, split_characters: bool) -> list[str]:
    """The words of a text, which are in lower case if the vocabulary is.

    >>> split_words("I don't!", True, True)
    ['i', 'do', "n't", '!']
    """
    if text.isascii():
        return ascii_rules().findall(text.lower() if lowercase else text)
    rules, text = _unicode_rules(lowercase, split_characters), encodable(text)
    if lowercase:
        text = rules.normalizer.normalize_str(text)
    return [word for word, _ in rules.pre_tokenizer.pre_tokenize_str(text)]


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


@cache
def _unicode_rules(lowercase: bool, split_characters: bool) -> tokenizers.Tokenizer:
    return build_tokenizer({UNKNOWN_WORD: 0}, lowercase, split_characters)


def word_spans(text: str, lowercase: bool, split_characters: bool) -> list[tuple[int, int]]:
    """Where the words of a text are.

    >>> word_spans("I don't!", True, True)
    [(0, 1), (2, 4), (4, 7), (7, 8)]
    """
    rules = _unicode_rules(lowercase, split_characters)
    return list(rules.encode(encodable(text), add_special_tokens=False).offsets)


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
