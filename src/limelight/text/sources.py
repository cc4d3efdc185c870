"""Where the rows of a split come from: table files, each of which is read once, or sequences in memory."""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import LimelightError, no_rows
from ..tables.columns import Columns
from ..tables.formats import BadRowError, file_of
from ..tables.rows import Row, TableRows, check_text
from ..tables.table import Table, open_table
from .coerce import as_list, as_weights
from .reasons import with_reasons
from .tasks import LabelFormat

MAX_OPEN = 32  # tables at a time: each holds a megabyte; of more, the header is read twice


class Texts(NamedTuple):
    """Labelled texts in memory: the development or test split for `encode_texts`."""

    texts: Sequence[str]
    labels: Sequence[Any] | None = None  # a collection each where a text may have several
    texts2: Sequence[str] | None = None
    weights: Sequence[float] | None = None
    reasons: Sequence[Any] | None = None  # of each text: words that are the reason for its label
    not_reasons: Sequence[Any] | None = None  # words that must not be one


@dataclass
class TableSource:
    """The rows of one split, from files."""

    paths: list[Path]
    columns: Columns
    on_bad: str
    folder: Path = Path()  # that relative paths start from; they are named as given
    table: Table | None = None  # the one that is open
    labels: LabelFormat = field(default_factory=LabelFormat)
    weights: ClassVar[None] = None
    _seen: dict[Path, tuple[int, int]] = field(default_factory=dict)
    _done: list[TableRows] = field(default_factory=list)  # one for each file that is being read or was
    _begun: Iterator[Row] | None = None
    _waiting: deque[Table] = field(default_factory=deque)  # open, but not read yet

    def __post_init__(self) -> None:
        first, *others = self._files()
        self.table = self.table or open_table(first)
        self._read(self.table)
        for path in others:  # a missing file or column is an error before the long work
            table = open_table(path)
            self._read(table)
            if len(self._waiting) < MAX_OPEN:
                self._waiting.append(table)
            else:
                table.close()

    @property
    def labelled(self) -> bool:
        return self.columns.label is not None

    @property
    def pair(self) -> bool:
        return self.columns.text2 is not None

    @property
    def where(self) -> str:
        more = len(self.paths) - 1
        return f"{self.paths[0]} and {more} more" if more else str(self.paths[0])

    @property
    def skipped(self) -> int:
        return sum(each.skipped for each in self._done)

    def first(self) -> Row | None:
        """The first row, which `rows` gives all the same."""
        rows = self._rows()
        first = next(rows, None)
        self._begun = rows if first is None else chain([first], rows)
        return first

    def rows(self) -> Iterator[Row]:
        """Every row of every file, once; a file that changes meanwhile is an error."""
        return self._begun or self._rows()

    def _rows(self) -> Iterator[Row]:
        for path in self._files():
            self.table = self.table or (self._waiting.popleft() if self._waiting else open_table(path))
            self._done.append(self._read(self.table))
            self._check_unchanged(path)
            yield from self._done[-1]
            self._check_unchanged(path)
            self.close()

    def name_row(self, index: int) -> str:
        """The file and number of the row at an index among those that `rows` has given."""
        for rows in self._done:
            if index < len(rows.numbers):
                return rows.name_row(index)
            index -= len(rows.numbers)
        raise IndexError(index)

    def _files(self) -> list[Path]:
        return [self.folder / path for path in self.paths]

    def _read(self, table: Table) -> TableRows:
        marked = self.columns.reasons or self.columns.not_reasons
        return TableRows(
            table, self.columns, on_bad=self.on_bad,
            parse_label=lambda value, where: self.labels.parse(value, where),  # settled by the first row
            parse_reasons=with_reasons if marked else None,
        )  # fmt: skip

    def close(self) -> None:
        if self.table is not None:
            self.table.close()
            self.table = None

    def _check_unchanged(self, path: Path) -> None:
        now = file_of(path).stat()
        if self._seen.setdefault(path, (now.st_size, now.st_mtime_ns)) != (now.st_size, now.st_mtime_ns):
            raise LimelightError(
                f"{path} changed while it was being read; run this again", code="file-changed"
            )


class MemorySource:
    """The rows of one split, from sequences."""

    skipped = 0

    def __init__(self, given: Texts, where: str) -> None:
        self.where, self.labels = where, LabelFormat()
        self._texts = self._as_list(given.texts, "texts")
        self._labels = None if given.labels is None else self._as_list(given.labels, "labels")
        self._texts2 = None if given.texts2 is None else self._as_list(given.texts2, "second texts")
        self.weights = None
        if given.weights is not None:
            plain = as_weights(self._as_list(given.weights, "weights"), f"{where}: weights")
            self.weights = np.array(plain, dtype=np.float32)
        self.labelled, self.pair = self._labels is not None, self._texts2 is not None
        if not self.labelled and (given.reasons is not None or given.not_reasons is not None):
            raise LimelightError("reasons are those of labels; give the labels too", code="argument-missing")
        self._marks = [
            None if marks is None else self._as_list(marks, what)
            for marks, what in ((given.reasons, "reasons"), (given.not_reasons, "not_reasons"))
        ]

    def first(self) -> Row | None:
        return next(self.rows(), None)

    def rows(self) -> Iterator[Row]:
        nothing = [None] * len(self._texts)
        columns = (self._texts, self._labels or nothing, self._texts2 or nothing)
        for number, (text, label, text2) in enumerate(zip(*columns, strict=True)):
            try:
                text = check_text(text, f"texts[{number}]")
                if self.pair:
                    text2 = check_text(text2, f"second texts[{number}]")
                if self.labelled:
                    label = self.labels.parse(label, f"labels[{number}]")
                row = Row(text, label, text2)
                if any(self._marks):
                    row = with_reasons(row._replace(reasons=[m and m[number] for m in self._marks]))
            except BadRowError as error:
                raise LimelightError(
                    f"{self.where}: {error}; correct it or leave it out", code="row-unusable"
                ) from None
            yield row

    def name_row(self, index: int) -> str:
        """The row at an index among those that `rows` yields."""
        return f"{self.where}: texts[{index}]"

    def _as_list(self, values: Any, what: str) -> list[Any]:
        plain = as_list(values, f"{self.where}: {what}")
        if not plain:
            raise no_rows(f"{self.where}: no {what}; give at least one")
        if what != "texts" and len(plain) != len(self._texts):
            raise LimelightError(
                f"{self.where}: {len(self._texts):,} texts but {len(plain):,} {what}", code="length-mismatch"
            )
        return plain


TextSource = TableSource | MemorySource


def table_paths(given: Mapping[str, Any]) -> dict[str, list[Path]]:
    """The files of each split, given as one path or several; `train` must have at least one."""
    found: dict[str, list[Path]] = {}
    for name, each in given.items():
        one = isinstance(each, str | os.PathLike | Mapping) or hasattr(each, "ndim")
        several = list(each) if isinstance(each, Iterable) and not one else [each]
        for path in several if each is not None else ():
            if not isinstance(path, str | os.PathLike) or not os.fspath(path):
                shown = "''" if isinstance(path, str) else type(path).__name__
                what = f"{name} must be a file or a list of files, not {shown}"
                raise LimelightError(what, code="path-type")
            found.setdefault(name, []).append(Path(path))
    if "train" not in found:
        raise LimelightError("no training table; name at least one", code="no-tables")
    return found
