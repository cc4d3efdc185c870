"""Splitting a text into sentences, by rules for English and for languages written like it."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Words that have a full stop in the middle of a sentence, beside initials.
_ABBREVIATIONS = """
    mr mrs ms dr prof rev st mt sr jr gen col capt lt sgt rep sen gov hon vs etc approx appx dept est inc ltd
    co corp no nos vol pp ed eds fig figs sec min max avg tel ext ave blvd rd hwy apt bldg jan feb mar apr jun
    jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun eg ie cf al esp incl excl
"""
_ABBREVIATED = frozenset(_ABBREVIATIONS.split())
# A blank line; the end marks of Chinese and Japanese; end marks, closing quotes and a space; or, as hurried
# writers type, an end mark between a small letter and a capital: "was nice.The pool".
_BREAK = re.compile(
    r"\s*\n\s*\n\s*|(?<=[。！？])|(?P<marks>[.!?…]+)(?P<quotes>[\"'”’»)\]*]*)(?P<space>\s+)(?=(?P<next>\S))"
    r"|(?<=[a-z])[.!?]+(?=[A-Z][a-z ])"
)
_HAS_WORD = re.compile(r"[^\W_]")


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where each sentence starts and ends in a text, without the spaces around it.

    What has no letter and no digit is not a sentence.

    >>> text = 'Dr. Who paid 3.50 for it. "Too much!" she said... Why? the soup was cold. :)'
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. Who paid 3.50 for it.', '"Too much!" she said...', 'Why?', 'the soup was cold.']
    """
    start = 0
    for match in _BREAK.finditer(text):
        if match["marks"] is None or _ends_sentence(text[start : match.start()], match):
            yield from _stripped(text, start, match.end())
            start = match.end()
    yield from _stripped(text, start, len(text))


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
    if len(words) == 1 and word.isdigit():  # the number of an item in a list
        return False
    return not lower or (len(word) > 2 and word.isalpha())  # not after p.m. or 3.5


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    part = text[start:end]
    if _HAS_WORD.search(part):
        body = part.strip()
        start += len(part) - len(part.lstrip())
        yield start, start + len(body)
