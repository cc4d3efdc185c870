"""Why a text has its label, where a person marked it: further texts to learn from.

A marked row is learnt up to twice more: the marked words alone have the same label, and so has the text
without the words that must not be a reason. What decides then agrees with the marks, whatever the network is,
and the answer stays a sum over words.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from ..tables.formats import BadRowError, shorten
from ..tables.rows import Row, is_missing
from .splitting import word_spans

Span = tuple[int, int]
SEPARATOR = "|"
_JOIN = " . "  # between marked words that were apart


def with_reasons(row: Row) -> Row:
    """The row with further texts in place of its marks: `reasons` is then a list of (text, text2)."""
    if row.reasons is None:
        return row
    texts = [row.text] if row.text2 is None else [row.text, row.text2]
    marked, banned = (_spans(texts, parse_marks(cell)) for cell in row.reasons)
    found = []
    if any(marked):
        found.append(
            [
                _JOIN.join(text[start:end] for start, end in spans) if spans else text
                for text, spans in zip(texts, marked, strict=True)
            ]
        )
    if any(banned):
        found.append([_without(text, spans) for text, spans in zip(texts, banned, strict=True)])
    kept = [each for each in found if each != texts and all(not text.isspace() and text for text in each)]
    return row._replace(reasons=[(each[0], each[1] if row.text2 is not None else None) for each in kept])


def parse_marks(cell: Any) -> list[str | Span]:
    """Phrases and spans of characters, from a list or as they are written in a table."""
    cell = _plain(cell)
    if is_missing(cell):
        return []
    if isinstance(cell, str):
        if not cell.lstrip().startswith("["):
            return [phrase for part in cell.split(SEPARATOR) if (phrase := part.strip())]
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            raise BadRowError(f"{shorten(cell)} is not a list of reasons") from None
    if isinstance(cell, Iterable) and not isinstance(cell, Mapping):
        found = [_mark(each) for each in cell]
        if all(each is not None for each in found):
            return found  # type: ignore[return-value]
    raise BadRowError(f"{shorten(repr(cell))} is not a list of words, or of [start, end]")


def _plain(given: Any) -> Any:
    return given.tolist() if hasattr(given, "tolist") else given


def _mark(given: Any) -> str | Span | None:
    given = _plain(given)
    if isinstance(given, str):
        return given.strip() or None
    if isinstance(given, Sequence) and len(given) == 2:
        start, end = map(_plain, given)
        if type(start) is type(end) is int:
            return start, end
    return None


def _spans(texts: Sequence[str], marks: Sequence[str | Span]) -> list[list[Span]]:
    """Where the marks are in each text: a phrase wherever it occurs as whole words, in any case."""
    found: list[list[Span]] = [[] for _ in texts]
    words = [word_spans(text, True, True) for text in texts] if marks else []
    # where words start, and where they end: sets, since a text may have a mark at every word
    edges = [(set(map(itemgetter(0), each)), set(map(itemgetter(1), each))) for each in words]
    for mark in marks:
        if isinstance(mark, tuple):
            if len(texts) > 1 or not 0 <= mark[0] < mark[1] <= len(texts[0]):
                raise BadRowError(f"the reason {list(mark)} is not a span of a single text's characters")
            found[0].append(mark)
            continue
        pattern = re.compile(f"(?=({re.escape(mark)}))", re.IGNORECASE)
        places = [
            [
                span
                for each in pattern.finditer(text)
                if (span := each.span(1))[0] in starts and span[1] in ends
            ]
            for text, (starts, ends) in zip(texts, edges, strict=True)
        ]
        if not any(places):
            raise BadRowError(f"the reason {shorten(repr(mark))} is not in the text")
        for own, more in zip(found, places, strict=True):
            own += more
    return [_merged(each, text) for each, text in zip(found, texts, strict=True)]


def _merged(spans: Iterable[Span], text: str) -> list[Span]:
    """Spans from first to last, those with at most spaces between them as one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and not text[found[-1][1] : start].strip():
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _without(text: str, spans: Sequence[Span]) -> str:
    for start, end in reversed(spans):
        text = f"{text[:start].rstrip()} {text[end:].lstrip()}"
    return text.strip()
