"""The bodies of requests: JSON from anyone, checked field by field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..text.tokenizer import Tokenizer
from .computing import Item
from .limits import Limits, RequestError, check_count

Body = Mapping[str, Any]


def parse_body(content: bytes) -> Body:
    """The object in a body.

    >>> parse_body(b'{"inputs": "Good soup"}')
    {'inputs': 'Good soup'}
    """
    try:
        body = json.loads(content.decode())
    except UnicodeDecodeError:
        raise RequestError(400, "the body is not UTF-8") from None
    except RecursionError:
        raise RequestError(400, "the body is nested too deeply") from None
    except ValueError as error:
        place = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise RequestError(400, f"the body is not JSON{place}") from None
    if not isinstance(body, dict):
        must = 'it must be an object such as {"inputs": "text"}'
        raise RequestError(422, f"the body is {_name(body)}; {must}")
    return body


def flag(body: Body, name: str, default: bool = False) -> bool:
    """A true or false; null and none at all are the default.

    >>> flag({"normalize": False}, "normalize", True)
    False
    """
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise RequestError(422, f"{name} is {_name(value)}; it must be true or false")
    return default if value is None else value


def share(body: Body, name: str) -> float | None:
    """A number from 0 to 1, if it is given.

    >>> share({"abstain_below": 0.8}, "abstain_below")
    0.8
    """
    value = body.get(name)
    if value is not None and (type(value) not in (int, float) or not 0 <= value <= 1):
        raise RequestError(422, f"{name} must be a number from 0 to 1, such as 0.8")
    return value


def numbers(body: Body, name: str) -> list[int]:
    """A list of integers; null and none at all are empty.

    >>> numbers({"without_rows": [0, 3]}, "without_rows")
    [0, 3]
    """
    value = body.get(name)
    if value is not None and not (isinstance(value, list) and all(type(each) is int for each in value)):
        raise RequestError(422, f"{name} must be a list of integers")
    return value or []


def texts_of(value: Any, limits: Limits, name: str = "inputs") -> tuple[list[Item], bool]:
    """One text or a list of them, and whether it was one.

    >>> texts_of(["Good soup", "Cold soup"], Limits())
    ([('Good soup',), ('Cold soup',)], False)
    """
    if isinstance(value, str):
        return [(value,)], True
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise RequestError(422, f"{name} must be a text or a list of texts")
    check_count(len(value), limits)
    return [(text,) for text in value], False


def items_of(value: Any, limits: Limits, pair: bool) -> tuple[list[Item], bool]:
    """What a classifier takes: a text, a list of texts, or of lists of one text; for pairs [text, text2].

    >>> items_of([["Good soup", "Cold soup"]], Limits(), pair=True)
    ([('Good soup', 'Cold soup')], False)
    """
    if pair and _is_item(value, 2):
        return [tuple(value)], True
    if not pair and (
        isinstance(value, str) or (isinstance(value, list) and isinstance(next(iter(value), ""), str))
    ):
        return texts_of(value, limits)
    size, what = (2, "[text, text2] or a list of such pairs") if pair else (1, "a text or a list of texts")
    if not isinstance(value, list) or not all(_is_item(item, size) for item in value):
        reads = "pairs of texts" if pair else "single texts"
        raise RequestError(422, f"inputs must be {what}: this model reads {reads}")
    check_count(len(value), limits)
    return [tuple(item) for item in value], False


def check_words(items: list[Item], tokenizer: Tokenizer, limits: Limits, truncate: bool) -> list[Item]:
    """Raise if the texts have too many words; with `truncate`, cut each to an even share of the limit."""
    texts = [text for item in items for text in item]
    few = sum(map(len, texts)) <= limits.words  # a word has a letter: this many at most, and no need to count
    if few or (count := count_words(items, tokenizer)) <= limits.words:
        return items
    if not truncate:
        hint = f'at most {limits.words:,} are allowed: send fewer, or "truncate": true to cut long texts'
        raise RequestError(413, f"the texts have {count:,} words; {hint}")
    share = limits.words // len(texts)
    return [tuple(_cut(text, tokenizer, share) for text in item) for item in items]


def count_words(items: list[Item], tokenizer: Tokenizer) -> int:
    """The number of words of all texts."""
    return int(tokenizer.encode([text for item in items for text in item])[1].sum())


def _cut(text: str, tokenizer: Tokenizer, words: int) -> str:
    if len(text) <= words:
        return text
    _, offsets = tokenizer.locate(text)
    return text[: offsets[:words][-1][1]]


def _is_item(value: Any, size: int) -> bool:
    return isinstance(value, list) and len(value) == size and all(isinstance(text, str) for text in value)


def _name(value: Any) -> str:
    """What JSON calls a value; never the value itself."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
