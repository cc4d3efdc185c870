"""Texts into words, as the vocabulary has them; `tokenizers` is loaded once a text is not ASCII."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
    """The words of a text, which are in lower case if the vocabulary is."""
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
    """Where the words of a text are."""
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


# ---------------------------------------------------------------- sentences and passages

# Words that have a full stop in the middle of a sentence, beside initials.
_ABBREVIATIONS = """
    mr mrs ms dr prof rev st mt sr jr gen col capt lt sgt sen gov vs approx appx dept est inc ltd co corp vol
    pp avg tel ext ave blvd rd hwy bldg feb apr jun jul aug sep sept oct nov dec mon tue tues thu thur thurs
    fri eg ie cf esp incl excl
"""
_ABBREVIATED = frozenset(_ABBREVIATIONS.split())
# Those that are words or names, too, with what must follow: "No. 5", but "They said no. We left."
_ABBREVIATED_BEFORE = re.compile(
    r"""(?i:nos?|figs?|sec|apt)\.[ ]\d
    | (?i:min|max|etc)\.[ ][^A-Z]
    | (?:S(?i:at|un)|W(?i:ed)|M(?i:ar)|J(?i:an))\.[ ](?:[\da-z]|[A-Z]\w+\.?\s\d)  # Sat. May 5
    | (?:R(?i:ep)|H(?i:on))\.[ ]
    | (?:eds?|al)\.[ ]""",
    re.VERBOSE,
)
# A blank line; the end marks of Chinese and Japanese; end marks, closing quotes and a space; or, as hurried
# writers type, an end mark between a small letter and a capital: "was nice.The pool".
_BREAK = re.compile(
    r"\s*\n\s*\n\s*|(?<=[。！？])|(?P<marks>[.!?…]+)(?P<quotes>[\"'”’»)\]*]*)(?P<space>\s+)(?=(?P<next>\S))"
    r"|(?<=[a-z])[.!?]+(?=[A-Z][a-z ])"
)
_HAS_WORD = re.compile(r"[^\W_]")
PASSAGE_WORDS = 100  # of a passage, about
_WORDS = re.compile(rf"(?:\S+\s*){{1,{PASSAGE_WORDS}}}")  # a piece of a sentence that is longer than that


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where each sentence starts and ends in a text, without the spaces around it.

    What has no letter and no digit is not a sentence.
    """
    start = 0
    for match in _BREAK.finditer(text):
        if match["marks"] is None or _ends_sentence(text[start : match.start()], match):
            yield from _stripped(text, start, match.end())
            start = match.end()
    yield from _stripped(text, start, len(text))


def passage_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where each passage of about `PASSAGE_WORDS` starts and ends.

    A passage is some sentences, and the last of them is the first of the next passage.
    What is left of a text is one passage if it has up to one and a half times as many words.
    """
    pieces = (each for span in sentence_spans(text) for each in _WORDS.finditer(text, *span))
    spans = [span for piece in pieces for span in _stripped(text, *piece.span())]
    sizes = [len(text[start:end].split()) for start, end in spans]
    first, rest = 0, sum(sizes)
    while first < len(spans):
        last, held = first, sizes[first]
        while last + 1 < len(spans) and (held < PASSAGE_WORDS or rest <= 1.5 * PASSAGE_WORDS):
            last += 1
            held += sizes[last]
        yield spans[first][0], spans[last][1]
        if last + 1 == len(spans):
            return
        overlaps = last > first and 2 * sizes[last] <= PASSAGE_WORDS
        first = last if overlaps else last + 1
        rest -= held - overlaps * sizes[last]


def _ends_sentence(before: str, match: re.Match[str]) -> bool:
    """Whether end marks with a space behind them end a sentence."""
    marks, lower = match["marks"], match["next"].islower()
    if lower and (match["quotes"] or marks[-1] == "…" or marks.endswith("..")):
        return False  # "Too much!" she said... and left
    if marks != ".":
        return True
    words = before.split()
    word = words[-1].strip("\"'“‘(«[*") if words else ""
    if word.lower() in _ABBREVIATED or (len(word) == 1 and word.isalpha() and word != "I"):
        return False
    if _ABBREVIATED_BEFORE.match(f"{word}. {match.string[match.end() : match.end() + 20]}"):
        return False
    if len(words) == 1 and word.isdigit():  # the number of an item in a list
        return False
    return not lower or (len(word) > 2 and word.isalpha())  # not after p.m. or 3.5


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    part = text[start:end]
    if _HAS_WORD.search(part):
        body = part.strip()
        start += len(part) - len(part.lstrip())
        yield start, start + len(body)
