"""Predictions beside true labels, and as columns of a table: labels, probabilities, words that decided."""

from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..aspects.facts import require_aspects
from ..errors import check_at_least, wrong_task
from ..reading.reading import AnyReading
from ..tables.aside import Aside
from ..tables.cells import KeptColumns, NewColumn, find_type
from ..tables.columns import Columns
from ..tables.rows import Row, TableRows, show_reading, text_columns
from ..tables.table import Table, open_table
from ..tables.writers import LISTS, TableWriter, Values
from ..text.learnt_rows import row_hash
from ..text.questions import are_numbers
from ..text.tasks import find_task
from .batches import chunks
from .confidence import check_threshold
from .model import READ_AT_ONCE, Model

Added = list[tuple[NewColumn, Values]]  # new columns, and their values for some rows
SEPARATOR = "|"  # between labels where a cell has no lists, and the training data had


class Labelled(NamedTuple):
    outputs: np.ndarray  # (rows, classes)
    truth: np.ndarray  # as in text/tasks.py: class numbers (rows,), or others
    learnt: np.ndarray | None  # (rows,) bool: whether it learnt from them; None if it does not know


def predict_labelled(
    model: Model, table: str | Path | Table, columns: Columns, on_bad: str = "error", progress: bool = False
) -> Labelled:
    """Predict the rows of a table; bad rows and labels are reported before the long work."""
    known, hashes = model.learnt_rows, array("I")
    with (
        table if isinstance(table, Table) else open_table(table) as table,
        closing(Aside(table.path)) as aside,
    ):
        rows = TableRows(table, columns, on_bad=on_bad, parse_label=model.label_format.parse)
        labels = find_task(model.task).column()
        for row in show_reading(rows, table.path, progress):
            labels.append(row.label)
            aside.append((row.text, None, row.text2))
            if known is not None:
                hashes.append(row_hash(row.text, row.text2))
        truth = labels.index(model.labels, rows.name_row)
        first, second = text_columns((Row(*each) for each in aside), model.pair)
        P = np.concatenate(list(model.predict_proba_stream(first, second, progress=progress)))
        return Labelled(P, truth, None if known is None else known.has_hashes(hashes))


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
        aspects: bool = False,
        abstain_below: float | None = None,
    ) -> None:
        check_at_least("top", top, 1)
        answers = find_task(model.task)
        if answers.has_several and top > 1:
            raise wrong_task(f"top is {top}, but a text may have several labels; ask for probabilities")
        if answers.is_number and (top > 1 or probabilities):
            raise wrong_task("this model predicts numbers: it has no probabilities, and no next labels")
        self.model, self.words, self.probabilities = model, words, probabilities
        self.aspects = require_aspects(model.aspects) if aspects else ()
        self.top = min(top, len(model.labels))
        self.least = 0.0 if abstain_below is None else check_threshold(abstain_below, task=model.task)
        self.unsure = 0  # rows without an answer so far
        self.nested, self.joined = form == "jsonl", form not in LISTS
        self.kept = kept.names
        self.columns = [column for column, _ in self._new(np.empty((0, len(model.labels)), np.float32))]

    def write(self, rows: Iterable[Row], writer: TableWriter, progress: bool = False) -> int:
        count = 0
        for some, values in self.stream(rows, progress):
            writer.append(some, values)
            count += len(some)
        return count

    def stream(self, rows: Iterable[Row], progress: bool = False) -> Iterator[tuple[list[Row], list[Values]]]:
        """Some rows at a time, and for each new column their values."""
        pending = deque[Row]()  # rows waiting for their prediction
        first, second = text_columns(rows, self.model.pair, pending.append)
        if not self.words and not self.aspects:
            for P in self.model.predict_proba_stream(first, second, progress=progress):
                yield [pending.popleft() for _ in P], [values for _, values in self._new(P)]
            return
        readings = self.model.read_stream(first, second, progress=progress)
        for some in chunks(readings, READ_AT_ONCE):
            P = np.stack([reading.probabilities for reading in some])
            yield [pending.popleft() for _ in some], [values for _, values in self._new(P, some)]

    def _new(self, P: np.ndarray, readings: Sequence[AnyReading] = ()) -> Added:
        """The new columns, and their values for the probabilities P (rows, classes)."""
        answer, further = self._answers(P)
        for k, name in enumerate(("words", "words2")[: 1 + self.model.pair] if self.words else ()):
            further.append((NewColumn(name, "words"), [each.sides[k].top_words() for each in readings]))
        further += self._of_aspects(readings)
        names = [str(label) for label in self.model.labels] if self.probabilities else []
        if names and self.nested:
            nested = [dict(zip(names, row, strict=True)) for row in P]
            answer.append((NewColumn("probabilities", "probabilities"), nested))
        elif names:
            if {*self.kept, *(column.name for column, _ in (*answer, *further))} & {*names}:
                names = [f"probability of {name}" for name in names]  # no two of one name
            answer += [(NewColumn(name, "probability"), p) for name, p in zip(names, P.T, strict=True)]
        return [*answer, *further]

    def _of_aspects(self, readings: Sequence[AnyReading]) -> Added:
        """Four columns for each aspect, or three where there are no stars."""
        shares = [each.sides[0].aspects for each in readings]
        numbers = not find_task(self.model.task).is_number and are_numbers(self.model.labels)
        added: Added = []
        for k, aspect in enumerate(self.aspects):
            own = [each[k] for each in shares]
            name = f"{aspect.name}_{{}}".format
            mentioned = [int(each.mentioned) for each in own]
            added.append((NewColumn(name("mentioned"), "label", "int"), mentioned))
            added.append((NewColumn(name("effect"), "number"), [each.effect for each in own]))
            if numbers:
                rounded = [None if each.estimated is None else round(each.estimated, 2) for each in own]
                added.append((NewColumn(name("stars"), "label", "float"), rounded))
            added.append((NewColumn(name("clause"), "label", "text"), [each.clause for each in own]))
        return added

    def _answers(self, P: np.ndarray) -> tuple[Added, Added]:
        """The columns of the prediction, and those of the next labels."""
        labels, answers, kind = self.model.labels, find_task(self.model.task), find_type(self.model.labels)
        if not answers.is_class:
            found, column = answers.to_labels(self.model.decide(P), labels), NewColumn("value", "number")
            if answers.has_several and self.joined:
                mark = self.model.recipe.text.separator or SEPARATOR
                column = NewColumn("labels", "label", "text")
                found = [mark.join(map(str, each)) for each in found]
            elif answers.has_several:
                found, column = list(map(list, found)), NewColumn("labels", "labels", kind)
            return [(column, found)], []
        first, order = self.model.decide(P)[:, None], np.argsort(-P, axis=1, kind="stable")
        others = order[order != first].reshape(len(P), order.shape[1] - 1)  # the answer may be the median
        best = np.hstack([first, others])[:, : self.top]  # (rows, top)
        shares = np.take_along_axis(P, best, axis=1)
        unsure = shares[:, 0] < self.least
        self.unsure += int(unsure.sum())
        both: Added = []
        for k, suffix in enumerate(("", *(f"_{k}" for k in range(2, self.top + 1)))):
            empty = unsure if k == 0 else np.zeros(len(P), bool)
            cells = zip(best[:, k].tolist(), empty.tolist(), strict=True)
            named = [None if is_empty else labels[i] for i, is_empty in cells]
            both.append((NewColumn(f"label{suffix}", "label", kind), named))
            both.append((NewColumn(f"confidence{suffix}", "probability"), shares[:, k].tolist()))
        return both[:2], both[2:]
