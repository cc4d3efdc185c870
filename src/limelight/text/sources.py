"""Where the rows of a split come from: table files, or sequences in memory. Both can be read repeatedly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import LimelightError
from ..reading import Label
from .formats import BadRowError
from .tables import Columns, Row, check_label, check_text, rows


class Texts(NamedTuple):
    """Labelled texts in memory: the development or test part for `encode_texts`."""

    texts: Sequence[str]
    labels: Sequence[Label] | None = None
    texts2: Sequence[str] | None = None
    weights: Sequence[float] | None = None


@dataclass
class Tables:
    """The rows of one split, from files; may be read again and again."""

    paths: list[Path]
    columns: Columns
    on_bad: str
    skipped: int = 0
    labelled = True
    weights = None

    @property
    def pair(self) -> bool:
        return self.columns.text2 is not None

    @property
    def where(self) -> str:
        return (
            str(self.paths[0]) if len(self.paths) == 1 else f"{self.paths[0]} and {len(self.paths) - 1} more"
        )

    def rows(self) -> Iterator[Row]:
        self.skipped = 0
        for path in self.paths:
            reader = rows(path, self.columns, on_bad=self.on_bad)
            yield from reader
            self.skipped += reader.skipped


class InMemory:
    """The rows of one split, from sequences."""

    def __init__(self, texts: Texts, where: str) -> None:
        self.where = where
        self._texts = _as_list(texts.texts, f"{where}: texts")
        self._labels = None if texts.labels is None else _as_list(texts.labels, f"{where}: labels")
        self._texts2 = None if texts.texts2 is None else _as_list(texts.texts2, f"{where}: second texts")
        self.weights = None if texts.weights is None else np.asarray(texts.weights, dtype=np.float32)
        self.labelled, self.pair = self._labels is not None, self._texts2 is not None
        for other, what in (
            (self._labels, "labels"), (self._texts2, "second texts"), (self.weights, "weights"),
        ):  # fmt: skip
            if other is not None and len(other) != len(self._texts):
                raise LimelightError(f"{where}: {len(self._texts)} texts but {len(other)} {what}")
        if not self._texts:
            raise LimelightError(f"{where}: there are no texts; give at least one")
        if self.weights is not None and not (np.isfinite(self.weights).all() and (self.weights >= 0).all()):
            raise LimelightError(f"{where}: weights must be numbers of at least 0")

    def rows(self) -> Iterator[Row]:
        nothing = [None] * len(self._texts)
        columns = (self._texts, self._labels or nothing, self._texts2 or nothing)
        for number, (text, label, text2) in enumerate(zip(*columns, strict=True)):
            try:
                check_text(text, f"texts[{number}]")
                if self.pair:
                    check_text(text2, f"second texts[{number}]")
                if self.labelled:
                    check_label(label, f"labels[{number}]")
            except BadRowError as error:
                raise LimelightError(f"{self.where}: {error}; correct it or leave it out") from None
            yield Row(text, label, text2)


Part = Tables | InMemory


def _as_list(values: Any, where: str) -> list[Any]:
    """A plain list from a list, a tuple, an array or a data frame's column; a bare string is a mistake."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise LimelightError(f"{where} must be a sequence, not {type(values).__name__}")
    return [value.item() if isinstance(value, np.generic) else value for value in values]
