"""Texts that have some words, or that fit a pattern."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import LimelightError
from ..search.words import find_words


def matching_rows(
    texts: Sequence[str], rows: Sequence[int], words: str | None, regex: str | None
) -> list[int]:
    """Those of the rows whose text has all the words, in any form, and fits the pattern somewhere.

    >>> matching_rows(["Late cards", "a card", "late"], range(3), "card", None)
    [0, 1]
    >>> matching_rows(["Late cards", "a card", "late"], range(3), "card", "^late")
    [0]
    """
    found = list(rows)
    if words:
        wanted = {form for _, _, form in find_words(words)}
        found = [row for row in found if wanted <= {form for _, _, form in find_words(texts[row])}]
    if regex:
        pattern = _compile(regex)
        found = [row for row in found if pattern.search(texts[row])]
    return found


def _compile(regex: str) -> re.Pattern[str]:
    try:
        return re.compile(regex, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        raise LimelightError(f"{regex!r} is not a pattern: {error}", code="pattern") from None
