"""Predictions as columns of a table: the label, probabilities, further labels, the words that decided."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from ..errors import LimelightError
from ..reading.reading import AnyReading
from ..text.cells import find_type
from ..text.columns import choose_columns
from ..text.kept_columns import KeptColumns, open_rows
from ..text.table_writers import NewColumn, TableWriter, Values, require_format, write_table
from ..text.tables import Row, text_columns
from .batches import chunks
from .confidence import check_threshold
from .model import READ_AT_ONCE, Model


def predict_table(
    model: Model,
    table: str | Path,
    out: str | Path,
    *,
    text: str | None = None,
    text2: str | None = None,
    probabilities: bool = False,
    top: int = 1,
    words: bool = False,
    abstain_below: float | None = None,
    on_bad: str = "error",
    overwrite: bool = False,
    progress: bool = False,
) -> int:
    """Predict labels for a table and write it with them, as .csv, .tsv, .jsonl or .parquet; count its rows.

    The columns `label` and `confidence` come first, then with `probabilities` that of every class, with
    `top=3` the second and third label, with `words` the words that decided; then all columns of the table, in
    order. With `abstain_below`, the label is empty where its confidence is lower. Some rows are in memory at
    a time, and `out` appears when all of it is written.

    >>> model = Model.load("model")  # doctest: +SKIP
    >>> predict_table(model, "new.csv", "answers.parquet", top=3, words=True)  # doctest: +SKIP
    10
    """
    form = require_format(out)
    columns = choose_columns(table, text, None, text2, need_label=False, pair=model.pair)
    rows, kept = open_rows(table, columns, on_bad)
    found = Predictions(
        model, form, kept, probabilities=probabilities, top=top, words=words, abstain_below=abstain_below
    )
    with write_table(out, form, found.columns, kept, overwrite=overwrite) as writer:
        return found.write(rows, writer, progress)


class Predictions:
    """The new columns for a model and a format, and their values for some rows at a time."""

    def __init__(
        self,
        model: Model,
        form: str,
        kept: KeptColumns,
        *,
        probabilities: bool = False,
        top: int = 1,
        words: bool = False,
        abstain_below: float | None = None,
    ) -> None:
        if top < 1:
            raise LimelightError(f"top is {top}; it must be at least 1")
        self.model, self.words, self.probabilities = model, words, probabilities
        self.top = min(top, len(model.labels))
        self.least = 0.0 if abstain_below is None else check_threshold(abstain_below)
        self.unsure = 0  # rows without an answer so far
        self.nested = form == "jsonl"
        self.columns = self._columns(kept.names)

    def _columns(self, kept: Sequence[str]) -> list[NewColumn]:
        kind = find_type(self.model.labels)
        found = [NewColumn("label", "label", kind), NewColumn("confidence", "probability")]
        for k in range(2, self.top + 1):
            found += [NewColumn(f"label_{k}", "label", kind), NewColumn(f"confidence_{k}", "probability")]
        if self.words:
            found += [NewColumn(name, "words") for name in ("words", "words2")[: 1 + self.model.pair]]
        if not self.probabilities:
            return found
        if self.nested:
            return [*found[:2], NewColumn("probabilities", "probabilities"), *found[2:]]
        names = [str(label) for label in self.model.labels]
        if {*kept, *(column.name for column in found)} & {*names}:  # no two columns of one name
            names = [f"probability of {name}" for name in names]
        return [*found[:2], *(NewColumn(name, "probability") for name in names), *found[2:]]

    def write(self, rows: Iterable[Row], writer: TableWriter, progress: bool = False) -> int:
        """Predict for every row, write them and return their number."""
        count = 0
        for some, values in self._stream(rows, progress):
            writer.append(some, values)
            count += len(some)
        return count

    def _stream(self, rows: Iterable[Row], progress: bool) -> Iterator[tuple[list[Row], list[Values]]]:
        pending = deque[Row]()  # rows waiting for their prediction
        first, second = text_columns(rows, self.model.pair, pending.append)
        if not self.words:
            for P in self.model.predict_proba_stream(first, second, progress=progress):
                yield [pending.popleft() for _ in P], self._values(P)
            return
        readings = self.model.read_stream(first, second, progress=progress)
        for some in chunks(readings, READ_AT_ONCE):
            P = np.stack([reading.probabilities for reading in some])
            yield [pending.popleft() for _ in some], self._values(P, some)

    def _values(self, P: np.ndarray, readings: Sequence[AnyReading] = ()) -> list[Values]:
        """Of each new column, for the probabilities P (rows, classes)."""
        labels = self.model.labels
        best = np.argsort(-P, axis=1, kind="stable")[:, : self.top]  # (rows, top)
        shares = np.take_along_axis(P, best, axis=1)
        found: list[Values] = []
        for k in range(self.top):
            found += [[labels[i] for i in best[:, k].tolist()], shares[:, k].tolist()]
        unsure = shares[:, 0] < self.least
        self.unsure += int(unsure.sum())
        found[0] = [None if out else label for label, out in zip(found[0], unsure.tolist(), strict=True)]
        if self.words:
            found += zip(*([side.top_words() for side in each.sides] for each in readings), strict=True)
        if self.probabilities and self.nested:
            names = [str(label) for label in labels]
            found.insert(2, [dict(zip(names, row, strict=True)) for row in P])
        elif self.probabilities:
            found[2:2] = list(P.T)
        return found
