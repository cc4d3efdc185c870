"""Tables of raw text: csv, tsv, jsonl and parquet, read row by row however large the file is.

A row is numbered from 1, the header not counted. What is wrong with one is said in a single line with
its number; `on_bad="skip"` leaves out the rows that lack a text or a label, and says how many.
"""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import LimelightError
from . import formats
from .formats import BadRowError, listed, short
from .labels import Label

# Names that columns habitually have. One is taken unasked only where no other of its list is there.
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


class Row(NamedTuple):
    """One row of a table: a text, its label, and for a pair the second text."""

    text: str
    label: Label | None = None
    text2: str | None = None


@dataclass(frozen=True)
class Columns:
    """Which columns hold the text, the label and, for pairs, the second text."""

    text: str
    label: str | None = None
    text2: str | None = None


def columns(path: str | Path) -> list[str]:
    """The names of a table's columns: the csv header, the parquet schema, the keys of the first json rows.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "reviews.csv")
    >>> _ = path.write_text("stars,text\\n5,Good soup.\\n")
    >>> columns(path)
    ['stars', 'text']
    """
    return formats.names(Path(path))


def choose_columns(
    path: str | Path,
    text: str | None = None,
    label: str | None = None,
    text2: str | None = None,
    need_label: bool = True,
    pair: bool | None = False,
) -> Columns:
    """The columns by name; what is not named is guessed where only one column can be meant.

    A column is guessed by its habitual name (`TEXTS`, `LABELS`, for pairs `PAIRS`; upper and lower case are
    alike), if just one of those is there; a label also where just one column is left. A label is looked for
    only where it is needed. Where `pair` is None, the names say whether texts or pairs are meant.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "reviews.csv")
    >>> _ = path.write_text("stars,text,city\\n5,Good soup.,Ghent\\n")
    >>> choose_columns(path)
    Columns(text='text', label='stars', text2=None)
    """
    names = columns(path)
    for name in (text, label, text2):
        if name is not None:
            _check_name(path, name, names)
    named = [name for name in (text, label, text2) if name is not None]
    if len(set(named)) < len(named):
        raise LimelightError(f"{path}: one column cannot be two things; got {', '.join(named)}")
    if pair is None and text is None:
        pair = _only_pairs(names)
    if pair or text2:
        text, text2 = _choose_pair(path, text, text2, names)
    else:
        text = text or _guess(path, "text", TEXTS, [n for n in names if n != label], names)
    if need_label and label is None:
        rest = [n for n in names if n not in (text, text2)]
        label = rest[0] if len(rest) == 1 else _guess(path, "label", LABELS, rest, names)
    return Columns(text, label, text2)


def rows(path: str | Path, columns: Columns, *, on_bad: str = "error") -> Rows:
    """The rows of a table, one after the other, checked.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "reviews.csv")
    >>> _ = path.write_text("stars,text\\n1,\\n5,Good soup.\\n")
    >>> read = rows(path, Columns("text", "stars"), on_bad="skip")
    >>> next(read), read.skipped
    (Row(text='Good soup.', label='5', text2=None), 1)
    """
    return Rows(path, columns, on_bad)


def chunks(rows: Iterable[Row], size: int = 1000, characters: int = 1_000_000) -> Iterator[list[Row]]:
    """Lists of rows, each ended by `size` rows or by `characters` of text, whichever comes first.

    >>> [len(chunk) for chunk in chunks([Row("good soup")] * 5, size=2)]
    [2, 2, 1]
    """
    chunk: list[Row] = []
    held = 0
    for row in rows:
        chunk.append(row)
        held += len(row.text) + len(row.text2 or "")
        if len(chunk) >= size or held >= characters:
            yield chunk
            chunk, held = [], 0
    if chunk:
        yield chunk


class Rows(Iterator[Row]):
    """An iterator over a table's rows that knows how many it has left out so far (`skipped`).

    Text must be text, and more than spaces. A label from csv or tsv is a string, without the spaces around
    it; jsonl and parquet keep the type they have. A label that is empty, null or NaN is missing.
    """

    def __init__(self, path: str | Path, columns: Columns, on_bad: str = "error") -> None:
        if on_bad not in ("error", "skip"):
            raise LimelightError(f"on_bad is {on_bad!r}; it must be 'error' or 'skip'")
        self.skipped = 0
        self._path, self._columns, self._skip = Path(path), columns, on_bad == "skip"
        self._wanted = (columns.text, columns.label, columns.text2)
        names = formats.names(self._path)
        for name in self._wanted:
            if name is not None:
                _check_name(path, name, names)
        self._rows = self._checked()

    def __next__(self) -> Row:
        return next(self._rows)

    def _checked(self) -> Iterator[Row]:
        number = 0
        for number, values in enumerate(formats.values(self._path, self._wanted), 1):
            try:
                row = _row(values, self._columns)
            except BadRowError as error:
                self._leave_out(number, error)
            else:
                yield row
        if number == 0:
            raise LimelightError(f"{self._path} has no rows; it needs at least one below its header")
        if number == self.skipped:
            raise LimelightError(f"{self._path}: none of its {number} rows can be used; check the columns")
        if self.skipped:
            what = f"left out {self.skipped:,} of its {number:,} rows, which cannot be used"
            warnings.warn(f"{self._path}: {what}", UserWarning, stacklevel=2)

    def _leave_out(self, number: int, error: BadRowError) -> None:
        if not self._skip:
            raise LimelightError(
                f"{self._path}, row {number}: {error}; correct it, or leave such rows out "
                "with --skip-bad (in Python: on_bad='skip')"
            ) from None
        self.skipped += 1


def usable(where: str, skipped: int) -> str:
    """What a row's number counts from, where rows were left out.

    >>> usable("test.csv", 2)
    'test.csv without the 2 left out'
    """
    return f"{where} without the {skipped:,} left out" if skipped else where


def check_text(text: Any, where: str) -> None:
    """A text must be a string, and more than spaces."""
    if isinstance(text, str) and text and not text.isspace():
        return
    if text is None or text == "" or (isinstance(text, float) and math.isnan(text)):
        raise BadRowError(f"no text in {where}")
    if isinstance(text, str):
        raise BadRowError(f"only spaces in {where}, no text")
    raise BadRowError(f"{short(repr(text))} in {where} where text should be")


def check_label(label: Any, where: str) -> None:
    """A label must be there, and be a string, a whole number, a boolean or a number."""
    if label is None or label == "" or (isinstance(label, float) and math.isnan(label)):
        raise BadRowError(f"no label in {where}")
    if not isinstance(label, (str, int, float)) or label in (math.inf, -math.inf):
        raise BadRowError(f"{short(repr(label))} in {where} where a label should be")


def _row(values: Sequence[Any] | BadRowError, columns: Columns) -> Row:
    if isinstance(values, BadRowError):
        raise values
    text, label, text2 = values
    check_text(text, f"column {columns.text!r}")
    if columns.text2 is not None:
        check_text(text2, f"column {columns.text2!r}")
    if columns.label is not None:
        label = label.strip() if isinstance(label, str) else label
        check_label(label, f"column {columns.label!r}")
    return Row(text, label, text2)


def _choose_pair(path: str | Path, text: str | None, text2: str | None, names: list[str]) -> tuple[str, str]:
    if text and text2:
        return text, text2
    pairs = [(a, b) for a, b in _habitual_pairs(names) if text in (None, a) and text2 in (None, b)]
    if len(pairs) != 1:
        raise LimelightError(
            f"{path}: which two columns are the pair of texts? Name them (--text, --text2); "
            f"it has the columns: {listed(names)}"
        )
    return pairs[0]


def _habitual_pairs(names: list[str]) -> list[tuple[str, str]]:
    spelled = {name.lower(): name for name in names}
    return [(spelled[a], spelled[b]) for a, b in PAIRS if a in spelled and b in spelled]


def _only_pairs(names: list[str]) -> bool:
    """Whether there is a pair of texts and no column that could be a single one."""
    return len(_habitual_pairs(names)) == 1 and not any(name.lower() in TEXTS for name in names)


def _guess(path: str | Path, what: str, habits: Sequence[str], rest: list[str], names: list[str]) -> str:
    found = [name for name in rest if name.lower() in habits]
    if len(found) != 1:
        raise LimelightError(
            f"{path}: which column is the {what}? Name it (--{what}); it has the columns: {listed(names)}"
        )
    return found[0]


def _check_name(path: str | Path, name: str, names: list[str]) -> None:
    if names.count(name) > 1:
        raise LimelightError(f"{path} has {names.count(name)} columns named {name!r}; rename all but one")
    if name not in names:
        near = difflib.get_close_matches(name.lower(), [n.lower() for n in names], n=1, cutoff=0.8)
        hint = f"did you mean {next(n for n in names if n.lower() == near[0])!r}? It" if near else "it"
        raise LimelightError(f"{path} has no column {name!r}; {hint} has the columns: {listed(names)}")
