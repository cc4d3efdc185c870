"""The columns of a table that are written again beside new ones: their names and what they hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .table import Table


@dataclass(frozen=True)
class KeptColumns:
    """The names of a table's columns, in order, and their types as in `cells.find_type`, or Arrow's own."""

    names: Sequence[str]
    types: Sequence[Any]
    where: str = ""

    @classmethod
    def of_texts(cls, pair: bool) -> KeptColumns:
        """Of lines of standard input.

        >>> KeptColumns.of_texts(pair=True).names
        ['text', 'text2']
        """
        names = ["text", "text2"] if pair else ["text"]
        return cls(names, ["text"] * len(names))

    @classmethod
    def of_table(cls, table: Table) -> KeptColumns:
        """All columns of a table. A jsonl table is read to its end: any row may have another key.

        >>> import tempfile
        >>> from pathlib import Path
        >>> from limelight.tables.table import open_table
        >>> path = Path(tempfile.mkdtemp(), "reviews.jsonl")
        >>> _ = path.write_text('{"id": 7, "text": "Good."}\\n{"id": null, "text": "Old.", "stars": 5.0}\\n')
        >>> with open_table(path) as table:
        ...     KeptColumns.of_table(table).types
        ['int', 'text', 'float']
        """
        return cls(*table.columns(), str(table.path))


def free_names(names: Sequence[str], taken: Iterable[str]) -> list[str]:
    """The names under which columns are written: none twice, and none of those `taken`.

    >>> free_names(["id", "label", "id"], taken=["label", "confidence"])
    ['id', 'given_label', 'id_2']
    """
    used, found = set(taken), []
    ours = frozenset(used)
    for name in names:
        free, number = f"given_{name}" if name in ours else name, 1
        while free in used or (free != name and free in names):
            number += 1
            free = f"{name}_{number}"
        used.add(free)
        found.append(free)
    return found
