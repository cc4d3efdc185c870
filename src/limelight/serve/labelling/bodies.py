"""The bodies of what the labelling page sends, checked field by field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..http.bodies import Body
from ..http.limits import RequestError

MAX_CHARACTERS = 1000  # of a name, a note, or of what is looked for
MAX_NAME = 100  # characters of a person's or a class's name
MAX_ROWS = 1_000_000
Span = tuple[int, int]


def text_of(body: Body, name: str, *, most: int = MAX_CHARACTERS) -> str:
    """A text that must be there.

    >>> text_of({"name": "rooms"}, "name")
    'rooms'
    """
    found = optional_text(body, name, most=most)
    if found is None:
        raise RequestError(422, f"{name} must be a text")
    return found


def optional_text(body: Body, name: str, *, most: int = MAX_CHARACTERS) -> str | None:
    """A text, if it is given; an empty one is a text, too."""
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise RequestError(422, f"{name} must be a text")
    if len(value) > most:
        raise RequestError(413, f"{name} has {len(value):,} characters; at most {most:,} are allowed")
    return value


def row_of(body: Body, texts: int, name: str = "row") -> int:
    """The number of a text.

    >>> row_of({"row": 3}, texts=4)
    3
    """
    value = body.get(name)
    if type(value) is not int or not 0 <= value < texts:
        raise RequestError(422, f"{name} must be an integer from 0 to {texts - 1}")
    return value


def rows_of(body: Body, texts: int, name: str = "rows") -> list[int]:
    """Numbers of texts; none at all are an empty list."""
    value = body.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(type(row) is int and 0 <= row < texts for row in value):
        raise RequestError(422, f"{name} must be a list of integers from 0 to {texts - 1}")
    if len(value) > MAX_ROWS:
        raise RequestError(413, f"{name} has {len(value):,} rows; at most {MAX_ROWS:,} are allowed")
    return list(dict.fromkeys(value))


def labels_of(body: Body, name: str = "label") -> str | Sequence[str]:
    """One label, or a list of them."""
    value = body.get(name)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return value
    return text_of(body, name)


def spans_of(body: Body, name: str = "marks") -> list[Span] | None:
    """Pairs of characters, from and to; None if there are none at all.

    >>> spans_of({"marks": [[0, 4]]})
    [(0, 4)]
    """
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or not all(_is_span(each) for each in value):
        raise RequestError(422, f"{name} must be a list of pairs [start, end]")
    return [(start, end) for start, end in value]


def count_of(body: Body, name: str, usual: int, most: int) -> int:
    """A whole number from 1 to `most`."""
    value = body.get(name)
    if value is None:
        return usual
    if type(value) is not int or not 1 <= value <= most:
        raise RequestError(422, f"{name} must be an integer from 1 to {most}")
    return value


def choice_of(body: Body, name: str, values: Sequence[str]) -> str:
    """One of some words; without one, the first."""
    value: Any = body.get(name, values[0])
    if value not in values:
        raise RequestError(422, f"{name} must be one of {', '.join(values)}")
    return str(value)


def _is_span(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(each) is int for each in value)
