"""The events of a journal: which fields each kind has, and what a field may hold."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

Event = dict[str, Any]
Fields = dict[str, Callable[[Any], bool]]
CHOSEN = ("auto", "random", "group", "search", "confident", "picked", "settled")
_ID = re.compile(r"[0-9a-f]{8,16}")
_KEY = re.compile(r"[0-9a-f]{16}\.\d{1,9}", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", re.ASCII)


def text_keys(texts: Iterable[str]) -> list[str]:
    """A name for each text that stays when the table is sorted: its hash, and its number among equal texts.

    >>> keys = text_keys(["good", "bad", "good"])
    >>> keys == [text_keys(["good"])[0], text_keys(["bad"])[0], keys[0][:-1] + "1"]
    True
    """
    seen: Counter[str] = Counter()
    found = []
    for text in texts:
        name = _hash(text)
        found.append(f"{name}.{seen[name]}")
        seen[name] += 1
    return found


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def find_fault(event: Event) -> str:
    """What is wrong with an event; an empty string if nothing is.

    >>> event = {"id": "9f3a61c2", "do": "undo", "by": "ann", "when": "2026-11-18T09:30:00+00:00", "of": 3}
    >>> find_fault(event)
    'its "of" cannot be 3'
    """
    do = event.get("do")
    kind = _KINDS.get(do) if isinstance(do, str) else None
    if kind is None:
        return f"{_shorten(do)} is not a kind of event"
    for name in (*_ALWAYS.required, *kind.required):
        if name not in event:
            return f'it has no "{name}"'
    checks = _ALWAYS.required | _ALWAYS.optional | kind.required | kind.optional
    for name, value in event.items():
        if name not in checks:
            return f"it has a field {_shorten(name)}"
        if not checks[name](value):
            return f'its "{name}" cannot be {_shorten(value)}'
    return ""


def _shorten(value: Any) -> str:
    return ascii(value)[:60]


# ---------------------------------------------------------------- what a field may hold


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _fits(pattern: re.Pattern[str]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_list_of(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _is_span(value: Any) -> bool:
    return isinstance(value, list) and [type(x) for x in value] == [int, int] and 0 <= value[0] < value[1]


def _is_by_key(value: Any, fits: Callable[[str, Any], bool]) -> bool:
    return isinstance(value, dict) and all(_is_key(key) and fits(key, each) for key, each in value.items())


def _is_text_of(key: str, text: Any) -> bool:
    return isinstance(text, str) and key.startswith(f"{_hash(text)}.")


class _Kind(NamedTuple):
    required: Fields
    optional: Fields


_is_key = _fits(_KEY)
_are_keys, _are_spans = _is_list_of(_is_key), _is_list_of(_is_span)
_ROWS: Fields = {"rows": _are_keys}
_NAME: Fields = {"name": _is_text}
_ALWAYS = _Kind(
    {"id": _fits(_ID), "do": _is_text, "by": _is_text, "when": _fits(_TIME)},
    {"texts": lambda value: _is_by_key(value, _is_text_of)},
)
_KINDS = {
    "label": _Kind(
        _ROWS | {"label": lambda value: _is_text(value) or _is_list_of(_is_text)(value)},
        {
            "chosen": lambda value: _is_text(value) and value in CHOSEN,
            "checked": _are_keys,
            "marks": lambda value: _is_by_key(value, lambda _, spans: _are_spans(spans)),
        },
    ),
    "skip": _Kind(_ROWS, {}),
    "unsure": _Kind(_ROWS, {}),
    "note": _Kind(_ROWS | {"text": _is_text}, {}),
    "marks": _Kind(_ROWS | {"marks": _are_spans}, {}),
    "undo": _Kind({"of": _fits(_ID)}, {}),
    "add_class": _Kind(_NAME, {"description": lambda value: value is None or _is_text(value)}),
    "rename_class": _Kind(_NAME | {"to": _is_text}, {}),
    "remove_class": _Kind(_NAME, {}),
}
