"""A model on a labelled table: the probabilities of every row, and its true class."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from ..errors import LimelightError
from ..tables.columns import Columns
from ..tables.rows import TableRows, text_columns, without_skipped
from ..tables.table import Table, open_table
from ..text.tasks import find_task
from .model import Model


def predict_labelled(
    model: Model, table: str | Path | Table, columns: Columns, on_bad: str = "error", progress: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Outputs (rows, classes), and the true labels as in text/tasks.py: class numbers (rows,), or others.

    Bad rows and labels are reported before the long work.

    >>> P, truth = predict_labelled(model, "test.csv", Columns("text", "stars"))  # doctest: +SKIP
    """
    with table if isinstance(table, Table) else open_table(table) as table:
        read = partial(TableRows, table, columns, on_bad=on_bad, parse_label=model.label_format.parse)
        checked = read()
        labels = find_task(model.task)(row.label for row in checked)
        truth = labels.index(model.labels, without_skipped(str(table.path), checked.skipped))
        first, second = text_columns(read(), model.pair)
        parts = list(model.predict_proba_stream(first, second, progress=progress))
    if sum(map(len, parts)) != len(truth):
        raise LimelightError(
            f"{table.path} changed while it was being read; run this again", code="file-changed"
        )
    return np.concatenate(parts), truth
