"""A few texts of every class, kept beside a model by choice, so that it does not forget them as it goes on.

They are in MODEL.rehearsal.jsonl, beside the model's folder and not in it: whoever is sent the model, or
downloads it, does not get the texts.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable
from pathlib import Path

from ..errors import warn
from ..runtime.start import Start
from ..storage.files import atomic_file
from ..tables.columns import Columns
from ..tables.formats import table_format
from ..tables.rows import Row, TableRows
from ..text.labels import Label, LabelColumn


def rehearsal_path(model: str | Path) -> Path:
    """Where the rehearsal set of a model is.

    >>> rehearsal_path("/models/soup/").name
    'soup.rehearsal.jsonl'
    """
    path = Path(os.path.abspath(model))
    return path.with_name(f"{path.name}.rehearsal.jsonl")


class Drawn:
    """A random sample of at most `count` rows of each label, drawn as they pass.

    >>> drawn = Drawn(1, seed=0)
    >>> for row in (Row("good", 1), Row("bad", 0), Row("fine", 1)):
    ...     drawn.add(row)
    >>> [row.text for row in drawn.rows()]
    ['good', 'bad']
    """

    def __init__(self, count: int, seed: int) -> None:
        self._count, self._rng = count, random.Random(seed)
        self._kept, self._seen = dict[Label, list[Row]](), dict[Label, int]()

    def add(self, row: Row) -> None:
        """Keep the row, perhaps in place of another."""
        some = self._kept.setdefault(row.label, [])
        self._seen[row.label] = self._seen.get(row.label, 0) + 1
        if len(some) < self._count:
            some.append(row)
        elif (place := self._rng.randrange(self._seen[row.label])) < self._count:
            some[place] = row

    def rows(self) -> list[Row]:
        """Those that are kept."""
        return [row for some in self._kept.values() for row in some]


def write_rehearsal(path: Path, rows: Iterable[Row], model_sha256: str) -> None:
    """Write the set of a model, which only its owner may read."""
    with atomic_file(path) as file:
        os.chmod(file.name, 0o600)
        for row in rows:
            content = {"text": row.text, "text2": row.text2, "label": row.label, "model": model_sha256}
            file.write((json.dumps(content) + "\n").encode())


def read_rehearsal(path: Path, pair: bool) -> list[Row]:
    """The set of a model, each row with the model's checksum in its cells."""
    return list(TableRows(path, Columns("text", "label", "text2" if pair else None), further=["model"]))


def copy_rehearsal(model: str | Path, start: Start, out: Path, columns: Columns, beside: Path) -> int:
    """Write the rehearsal set of a model as a training table with these columns; the number of its rows.

    Labels are written as in the table `beside` which they will be read: csv has only text.
    """
    path = rehearsal_path(model)
    if not path.is_file() or start.pair != (columns.text2 is not None):  # which is an error later
        return 0
    rows = read_rehearsal(path, start.pair)
    if rows[0].cells != [start.sha256]:
        warn(f"{path} belongs to another model than {model}; it is not used")
        return 0
    numbers = LabelColumn(row.label for row in rows).index(start.labels, str(path))
    is_text = table_format(beside) in ("csv", "tsv")
    with atomic_file(out) as file:
        os.chmod(file.name, 0o600)
        for row, number in zip(rows, numbers.tolist(), strict=True):
            label = start.labels[number]
            content = _content(row, str(label) if is_text else label, columns)
            file.write((json.dumps(content) + "\n").encode())
    return len(rows)


def _content(row: Row, label: Label, columns: Columns) -> dict[str, Label | None]:
    named = {columns.text: row.text, columns.label: label, columns.text2: row.text2}
    named |= {columns.reasons: None, columns.not_reasons: None}
    return {name: value for name, value in named.items() if name is not None}
