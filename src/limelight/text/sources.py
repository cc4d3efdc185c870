"""Where the rows of a split come from: table files, or sequences in memory. Both can be read repeatedly."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import LimelightError
from ..tables.columns import Columns
from ..tables.formats import BadRowError, file_of
from ..tables.rows import Row, TableRows, check_text
from ..tables.table import Table, open_table
from .coerce import as_list, as_weights
from .reasons import with_reasons
from .tasks import LabelFormat


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
    skipped: int = 0  # of the last time the rows were read
    table: Table | None = None  # the one that is open
    labels: LabelFormat = field(default_factory=LabelFormat)
    weights: ClassVar[None] = None
    _seen: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in self._files():  # a missing file or column is an error before the long work
            self._read(path)

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

    def rows(self) -> Iterator[Row]:
        """Every row of every file; a file that has changed since it was first read is an error."""
        self.skipped = 0
        for path in self._files():
            rows = self._read(path)
            self._check_unchanged(path)
            yield from rows
            self._check_unchanged(path)
            self.skipped += rows.skipped

    def name_row(self, index: int) -> str:
        """The file and number of the row at an index among those that `rows` yields."""
        for path in self._files():
            rows = self._read(path)
            for _ in rows:
                if index == 0:
                    return f"{path}, row {rows.number}"
                index -= 1
        raise IndexError(index)

    def _files(self) -> list[Path]:
        return [self.folder / path for path in self.paths]

    def _read(self, path: Path) -> TableRows:
        """The rows of a file, which stays open until another is read: most splits have just one."""
        if self.table is None or self.table.path != path:
            self.close()
            self.table = open_table(path)
        marked = self.columns.reasons or self.columns.not_reasons
        return TableRows(
            self.table, self.columns, on_bad=self.on_bad, parse_label=self.labels.parse,
            parse_reasons=with_reasons if marked else None,
        )  # fmt: skip

    def close(self) -> None:
        """Close the file that is open."""
        if self.table is not None:
            self.table.close()

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

    def rows(self) -> Iterator[Row]:
        """Every row, checked."""
        nothing = [None] * len(self._texts)
        columns = (self._texts, self._labels or nothing, self._texts2 or nothing)
        for number, (text, label, text2) in enumerate(zip(*columns, strict=True)):
            try:
                check_text(text, f"texts[{number}]")
                if self.pair:
                    check_text(text2, f"second texts[{number}]")
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
            raise LimelightError(f"{self.where}: no {what}; give at least one", code="no-rows")
        if what != "texts" and len(plain) != len(self._texts):
            raise LimelightError(
                f"{self.where}: {len(self._texts):,} texts but {len(plain):,} {what}", code="length-mismatch"
            )
        return plain


TextSource = TableSource | MemorySource


def table_paths(given: Mapping[str, Any]) -> dict[str, list[Path]]:
    """The files of each split, given as one path or several; `train` must have at least one.

    >>> table_paths({"train": "train.csv", "dev": None}) == {"train": [Path("train.csv")]}
    True
    >>> table_paths({"train": 3})
    Traceback (most recent call last):
    limelight.errors.LimelightError: train must be a file or a list of files, not int
    """
    found = {name: [] if each is None else _as_paths(name, each) for name, each in given.items()}
    if not found["train"]:
        raise LimelightError("no training table; name at least one", code="no-tables")
    return {name: paths for name, paths in found.items() if paths}


def _as_paths(name: str, given: Any) -> list[Path]:
    one = isinstance(given, str | os.PathLike | Mapping) or hasattr(given, "ndim")
    several = list(given) if isinstance(given, Iterable) and not one else [given]
    for path in several:
        if not isinstance(path, str | os.PathLike) or not os.fspath(path):
            shown = "''" if isinstance(path, str) else type(path).__name__
            raise LimelightError(f"{name} must be a file or a list of files, not {shown}", code="path-type")
    return [Path(path) for path in several]
