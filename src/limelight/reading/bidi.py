"""The visual order of words on a line that mixes text directions: Unicode's rules, for whole words."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby

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
    levels = _levels(directions, words, "R" if right_to_left else "L")
    order = list(range(len(words)))
    for level in (2, 1):
        order = _reverse_runs(order, levels, level)
    mirrored = [level == 1 and direction is None for level, direction in zip(levels, directions, strict=True)]
    return [(k, words[k].translate(_MIRRORED) if mirrored[k] else words[k]) for k in order]


def _direction(text: str) -> str | None:
    """L or R, from the first character that has a direction."""
    if text.isascii():
        return "L" if any(map(str.isalpha, text)) else None
    for character in text:
        direction = unicodedata.bidirectional(character)
        if direction in ("L", "R", "AL"):
            return "L" if direction == "L" else "R"
    return None


def _levels(directions: Sequence[str | None], words: Sequence[str], base: str) -> list[int]:
    """0: left to right; 1: right to left; 2: left to right within right to left.

    A number stands left to right; beside other words it counts as having the direction of the text before it.
    Anything else without a direction has that of its neighbours if they agree, or of the whole line.
    """
    numbers = [
        direction is None and any(map(str.isdigit, w)) for direction, w in zip(directions, words, strict=True)
    ]
    before = _last_known(directions, base)
    strong = [before[k] if number else directions[k] for k, number in enumerate(numbers)]
    left, right = _last_known(strong, base), _last_known(strong[::-1], base)[::-1]
    found = [a if a == b else base for a, b in zip(left, right, strict=True)]  # where strong, both are it
    found = _match_brackets([each or found[k] for k, each in enumerate(strong)], words)
    to_level = {"L": 2 * (base == "R"), "R": 1}
    return [
        2 if number and each == "R" else to_level[each] for each, number in zip(found, numbers, strict=True)
    ]


def _last_known(directions: Iterable[str | None], base: str) -> list[str]:
    return list(accumulate(directions, lambda last, here: here or last, initial=base))[1:]


def _match_brackets(directions: list[str], words: Sequence[str]) -> list[str]:
    """Give a closing bracket the direction of its opening bracket, whatever follows it."""
    opened: list[str] = []
    for k, word in enumerate(words):
        if word in ("(", "[", "{"):
            opened.append(directions[k])
        elif word in (")", "]", "}") and opened:
            directions[k] = opened.pop()
    return directions


def _reverse_runs(order: list[int], levels: Sequence[int], level: int) -> list[int]:
    runs = groupby(order, key=lambda k: levels[k] >= level)
    return [k for high, run in runs for k in (reversed(list(run)) if high else run)]
