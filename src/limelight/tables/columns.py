"""Which columns of a table hold the text, the label and, for pairs, the second text."""

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import LimelightError, warn
from .formats import join_names
from .table import Table, open_table

# Usual names of columns. One is guessed only if no other of its list is in the table.
TEXTS = (
    "text", "sentence", "review", "review_text", "content", "body", "comment", "tweet", "document",
    "post", "message", "utterance", "question",
)  # fmt: skip
LABELS = (
    "label", "labels", "class", "category", "target", "stars", "rating", "score", "sentiment",
    "gold_label", "intent", "topic",
)  # fmt: skip
PAIRS = (
    ("premise", "hypothesis"), ("sentence1", "sentence2"), ("text1", "text2"), ("text", "text2"),
    ("text_a", "text_b"), ("sentence_a", "sentence_b"), ("question1", "question2"),
)  # fmt: skip
MIN_TEXT = 20  # characters, on average, of texts that are known by their length
_ambiguous = partial(LimelightError, code="column-ambiguous")


@dataclass(frozen=True)
class Columns:
    """The names of the columns to read.

    >>> str(Columns("review", "stars"))
    'text column: review, label column: stars'
    """

    text: str
    label: str | None = None
    text2: str | None = None
    reasons: str | None = field(default=None, repr=False)  # the words that are the reason for the label
    not_reasons: str | None = field(default=None, repr=False)  # those that must not be one

    def __str__(self) -> str:
        named = {"text column": self.text, "second text column": self.text2, "label column": self.label}
        return ", ".join(f"{what}: {name}" for what, name in named.items() if name is not None)


def choose_columns(
    table: str | Path | Table,
    text: str | None = None,
    label: str | None = None,
    text2: str | None = None,
    need_label: bool = True,
    pair: bool | None = False,
    names: list[str] | None = None,
) -> Columns:
    """Check the columns that are named, and guess the others.

    A column is guessed if it is the only one with a usual name (`TEXTS`, `LABELS`, for pairs `PAIRS`; case,
    spaces and hyphens do not matter). Where no name is usual, the text is the column whose texts are by far
    the longest, which a warning says; the label is the only column left. A label is guessed only if it is
    needed. With `pair=None`, the names decide between single texts and pairs. With `names`, those of its
    columns, nothing is read, and `table` is its name in errors.
    """
    if names is None and not isinstance(table, Table):
        with open_table(table) as opened:
            return choose_columns(opened, text, label, text2, need_label, pair)
    head: Callable[[], list[Sequence[Any]]] = table.head if isinstance(table, Table) else list
    path, names = (table.path, table.names) if isinstance(table, Table) else (table, names or [])
    given = [name for name in (text, label, text2) if name is not None]
    for name in given:
        check_column(path, name, names)
    if len(set(given)) < len(given):
        fault = f"{path}: one column cannot be two things; got {', '.join(given)}"
        raise LimelightError(fault, code="column-twice")
    if pair is None and text is None and text2 is None:
        pair = _has_pairs(path, names)
    if pair or text2:
        text, text2 = _choose_pair(path, text, text2, names)
    else:
        text = text or _guess(path, "text", TEXTS, [n for n in names if n != label], names, head)
    if need_label and label is None:
        rest = [n for n in names if n not in (text, text2)]
        label = rest[0] if len(rest) == 1 else _guess(path, "label", LABELS, rest, names)
    return Columns(text, label, text2)


def check_column(path: str | Path, name: str, names: list[str]) -> None:
    """Raise unless exactly one of the columns `names` has this name."""
    if names.count(name) > 1:
        fault = f"{path} has {names.count(name)} columns named {name!r}; rename all but one"
        raise LimelightError(fault, code="column-twice")
    if name not in names:
        near = difflib.get_close_matches(name.lower(), [n.lower() for n in names], cutoff=0.8)
        hint = f"did you mean {next(n for n in names if n.lower() == near[0])!r}? It" if near else "it"
        fault = f"{path} has no column {name!r}; {hint} has the columns: {join_names(names)}"
        raise LimelightError(fault, code="column-missing")


def _choose_pair(path: str | Path, text: str | None, text2: str | None, names: list[str]) -> tuple[str, str]:
    if text and text2:
        return text, text2
    pairs = [(a, b) for a, b in _usual_pairs(names) if text in (None, a) and text2 in (None, b)]
    if len(pairs) != 1:
        which = f"{path}: which two columns are the pair of texts? Name them (--text, --text2)"
        raise _ambiguous(f"{which}; it has the columns: {join_names(names)}")
    return pairs[0]


def _spell(name: str) -> str:
    """A name as the usual ones are spelled, such as review_text."""
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def _usual_pairs(names: list[str]) -> list[tuple[str, str]]:
    spelled = {_spell(name): name for name in names}
    return [(spelled[a], spelled[b]) for a, b in PAIRS if a in spelled and b in spelled]


def _has_pairs(path: str | Path, names: list[str]) -> bool:
    """Whether there is a pair of text columns and no column that could be a single text."""
    pairs = _usual_pairs(names)
    single = [name for name in names if _spell(name) in TEXTS]
    for first, second in pairs:
        if first in single:
            which = f"{path} has the columns {first!r} and {second!r}: are these pairs of texts?"
            raise _ambiguous(f"{which} For pairs add --text2 {second}, for single texts --text {first}")
    return len(pairs) == 1 and not single


def _guess(
    path: str | Path, what: str, usual: Sequence[str], rest: list[str], names: list[str],
    head: Callable[[], list[Sequence[Any]]] = list,
) -> str:  # fmt: skip
    found = [name for name in rest if _spell(name) in usual]
    if not found and (longest := _longest(head(), names)) in rest:
        warn(f"{path}: taking {longest!r} for the {what}: its texts are the longest; --{what} names another")
        return str(longest)
    if len(found) != 1:
        which = f"{path}: which column is the {what}? Name it (--{what})"
        raise _ambiguous(f"{which}; it has: {join_names(names)}")
    return found[0]


def _longest(rows: list[Sequence[Any]], names: list[str]) -> str | None:
    """The column whose texts are by far the longest of some rows; none where a header may be missing."""
    if not rows or any(name.replace(".", "").isdecimal() for name in names):
        return None
    columns = zip(*rows, strict=True)
    lengths = [sum(len(x) for x in column if isinstance(x, str)) / len(rows) for column in columns]
    *others, longest = sorted(lengths)
    name = names[lengths.index(longest)]
    is_clear = longest >= max(MIN_TEXT, 2 * len(name), *(2 * each for each in others))
    return name if is_clear and names.count(name) == 1 else None
