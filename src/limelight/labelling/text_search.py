"""Texts that have some words, or a phrase. People give no patterns: one that backtracks may take for ever."""

import math
import re
import time
from collections.abc import Sequence
from typing import NamedTuple

from ..search.words import find_words, singular

BLOCK = 256  # texts between two looks at the clock


class Found(NamedTuple):
    """What a search found; it may have stopped before all texts were looked at."""

    rows: list[int]
    searched: int  # texts that were looked at
    of: int  # texts to look at


def matching_rows(
    texts: Sequence[str], rows: Sequence[int], words: str | None, phrase: str | None, until: float = math.inf
) -> tuple[list[int], int]:
    """Those of the rows whose text has all the words, in any form, and the phrase, in any case.

    It stops at the moment `until` of `time.monotonic`; the second value says how many rows were looked at.
    """
    forms = {form for _, _, form in find_words(words or "")}
    if words and not forms:
        return [], len(rows)
    # Whatever the form of a word, its text has these characters, and to look for them is quick.
    parts = [(phrase or "").casefold(), *(form.removesuffix("y") for form in forms)]
    patterns = [_in_ascii(form) for form in forms]
    found, searched = [], 0
    for start in range(0, len(rows), BLOCK):
        for row in rows[start : start + BLOCK]:
            text, folded = texts[row], texts[row].casefold()
            if not all(part in folded for part in parts):
                continue
            if text.isascii():
                has_words = all(pattern.search(folded) for pattern in patterns)
            else:
                has_words = forms <= {form for _, _, form in find_words(text)}
            if has_words:
                found.append(row)
        searched = min(start + BLOCK, len(rows))
        if time.monotonic() > until:
            break
    return found, searched


def _in_ascii(form: str) -> re.Pattern[str]:
    """Finds the words with this normal form in a text in lower case, several times as fast as reading it."""
    words = [each for each in (form, f"{form}s", f"{form[:-1]}ies") if singular(each) == form]
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, words))})(?![^\W_])")
