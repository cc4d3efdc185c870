"""Texts that have some words, or some characters. No pattern: one that backtracks may take for ever."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from ..search.words import find_words

BLOCK = 256  # texts between two looks at the clock


def matching_rows(
    texts: Sequence[str], rows: Sequence[int], words: str | None, phrase: str | None, until: float = math.inf
) -> tuple[list[int], int]:
    """Those of the rows whose text has all the words, in any form, and the phrase, in any case.

    It stops at the moment `until` of `time.monotonic`; the second value says how many rows were looked at.

    >>> texts = ["Late cards", "a card", "late"]
    >>> matching_rows(texts, range(3), "card", None)
    ([0, 1], 3)
    >>> matching_rows(texts, range(3), "card", "E C")
    ([0], 3)
    """
    wanted = {form for _, _, form in find_words(words or "")}
    if words and not wanted:
        return [], len(rows)
    # Whatever the form of a word, its text has these characters, and to look for them is quick.
    parts = [(phrase or "").casefold(), *(form.removesuffix("y") for form in wanted)]
    found, searched = [], 0
    for start in range(0, len(rows), BLOCK):
        for row in rows[start : start + BLOCK]:
            folded = texts[row].casefold()
            if all(part in folded for part in parts) and _has_words(texts[row], wanted):
                found.append(row)
        searched = min(start + BLOCK, len(rows))
        if time.monotonic() > until:
            break
    return found, searched


def _has_words(text: str, wanted: set[str]) -> bool:
    return not wanted or wanted <= {form for _, _, form in find_words(text)}
