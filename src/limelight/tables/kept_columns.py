"""The columns of a table that are written again beside new ones: their names and what they hold."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..text.tables import TableRows
from .cells import find_type
from .columns import Columns
from .formats import column_names, parquet_schema, read_json_rows, table_format


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


def scan_columns(path: str | Path) -> KeptColumns:
    """All columns of a table. A jsonl table is read to its end: any row may have another key.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "reviews.jsonl")
    >>> _ = path.write_text('{"id": 7, "text": "Good soup."}\\n{"id": null, "text": "Old.", "stars": 5.0}\\n')
    >>> found = scan_columns(path)
    >>> found.names, found.types
    (['id', 'text', 'stars'], ['int', 'text', 'float'])
    """
    path = Path(path)
    names, types = column_names(path), []  # type: ignore[var-annotated]
    if table_format(path) == "parquet":
        types = list(parquet_schema(path).types)
    elif table_format(path) == "jsonl":
        found: dict[str, str] = {}
        for row in read_json_rows(path):
            for key, value in row.items():
                found[key] = find_type([value], found.get(key, ""))
        names, types = list(found), list(found.values())
    return KeptColumns(names, types or ["text"] * len(names), str(path))


def open_rows(path: str | Path, columns: Columns, on_bad: str) -> tuple[TableRows, KeptColumns]:
    """The rows of a table with all their cells; unless they are skipped, unusable rows are an error now."""
    if on_bad == "error":
        deque(TableRows(path, columns), maxlen=0)
    return TableRows(path, columns, on_bad=on_bad, keep=True), scan_columns(path)


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
