"""The visual order of words on a line that mixes text directions: Unicode's rules, simplified."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_MIRRORED = str.maketrans("()[]{}<>«»", ")(][}{><»«")


def is_right_to_left(text: str) -> bool:
    """Whether the first letter with a direction is right-to-left, as `dir="auto"` decides.

    >>> is_right_to_left("10 שלום"), is_right_to_left("Good שלום")
    (True, False)
    """
    return _direction(text) == "R"


def visual_order(words: Sequence[str], right_to_left: bool) -> list[tuple[int, str]]:
    """The indices of the words from left to right, each with its text, brackets mirrored where needed.

    >>> visual_order(["שלום", " ", "(", "עולם", ")", " ", "ok"], right_to_left=False)
    [(4, '('), (3, 'עולם'), (2, ')'), (1, ' '), (0, 'שלום'), (5, ' '), (6, 'ok')]
    """
    directions = [_direction(word) for word in words]
    if not right_to_left and "R" not in directions:
        return list(enumerate(words))
    levels = _levels(directions, words, int(right_to_left))
    order = list(range(len(words)))
    for level in (2, 1):
        order = _reverse_runs(order, levels, level)
    return [
        (k, words[k].translate(_MIRRORED) if _is_mirrored(words[k], levels[k]) else words[k]) for k in order
    ]


def _direction(text: str) -> str | None:
    """L or R, from the first character that has a direction."""
    if text.isascii():
        return "L" if any(map(str.isalpha, text)) else None
    for character in text:
        direction = unicodedata.bidirectional(character)
        if direction in ("L", "R", "AL"):
            return "L" if direction == "L" else "R"
    return None


def _levels(directions: Sequence[str | None], words: Sequence[str], base: int) -> list[int]:
    """0: left to right; 1: right to left; 2: left to right within right to left."""
    known: list[int | None] = [
        1 if direction == "R" else 2 * base if direction == "L" or any(map(str.isdigit, word)) else None
        for direction, word in zip(directions, words, strict=True)
    ]
    before = _last_known(known, base)
    after = _last_known(known[::-1], base)[::-1]
    found = [
        level if level is not None else left if left == right else base
        for level, left, right in zip(known, before, after, strict=True)
    ]
    return _match_brackets(found, words)


def _match_brackets(levels: list[int], words: Sequence[str]) -> list[int]:
    """Give a closing bracket the level of its opening bracket, whatever follows it."""
    opened: list[int] = []
    for k, word in enumerate(words):
        if word in ("(", "[", "{"):
            opened.append(levels[k])
        elif word in (")", "]", "}") and opened:
            levels[k] = opened.pop()
    return levels


def _last_known(levels: Sequence[int | None], base: int) -> list[int]:
    found, last = [], base
    for level in levels:
        last = last if level is None else level
        found.append(last)
    return found


def _reverse_runs(order: list[int], levels: Sequence[int], level: int) -> list[int]:
    out: list[int] = []
    run: list[int] = []
    for k in order:
        if levels[k] >= level:
            run.append(k)
        else:
            out += [*run[::-1], k]
            run = []
    return out + run[::-1]


def _is_mirrored(word: str, level: int) -> bool:
    return level == 1 and _direction(word) is None
