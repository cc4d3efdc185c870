"""What every format of tables offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .cells import KeptColumns
from .formats import BadRowError

Values = Sequence[Any] | BadRowError


class Table(ABC):
    """An open table: its path, the names of its columns, and its rows."""

    names: list[str]
    _file: Any

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @abstractmethod
    def rows(self, wanted: Sequence[str | None], keep: bool = False) -> Iterator[Values]:
        """Yield the `wanted` columns of every row (None for None), or what is wrong with the row.

        With `keep`, all cells of the row follow, for `cells.list_cells`.
        """

    def columns(self) -> KeptColumns:
        """All columns. A jsonl table is read to its end: any row may have another key."""
        return KeptColumns(self.names, ["text"] * len(self.names), str(self.path))
