"""What every format of tables offers: names, and rows that are read from the file once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

from .aside import Aside
from .cells import KeptColumns
from .formats import BadRowError

Values = Sequence[Any] | BadRowError
HEAD = 100  # rows that columns are guessed from


class Table(ABC):
    """An open table: its path, the names of its columns, and its rows, which are read once.

    A subclass sets `_source`, what its file gives bit by bit. What is looked at before (`head`) or put aside
    on the way (`hold`) comes from there when it is asked for again.
    """

    names: list[str]
    number = 0  # of the last row, as people see it who open the file; `unit` is what they call it
    unit = "row"
    _source: Iterator[Any]
    _aside_type = Aside

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open = ExitStack()
        self._head: list[Any] = []
        self._aside: Aside | None = None
        self._is_gone = False  # something was read and neither looked at nor put aside

    @abstractmethod
    def begin(self) -> None:
        """Open the file and read the names; whoever calls it closes the table if that fails."""

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and forget what was put aside."""
        self._open.close()

    @property
    def place(self) -> str:
        """Where the last row is: its file and number."""
        return f"{self.path}, {self.unit} {self.number}"

    @abstractmethod
    def rows(self, wanted: Sequence[str | None], keep: bool = False) -> Iterator[Values]:
        """Yield the `wanted` columns of every row (None for None), or what is wrong with the row.

        With `keep`, all cells of the row follow, for `cells.list_cells`. The rows are given once; after
        `hold`, as often as they are asked for, one pass at a time.
        """

    @abstractmethod
    def head(self) -> list[Sequence[Any]]:
        """The first rows that can be read, each with the cells of all columns in order, to guess from."""

    def hold(self) -> None:
        """Put the rows aside as they are read, for another pass."""
        assert not self._is_gone, f"{self.path} is read once"
        if self._aside is None:
            self._aside = self._aside_type(self.path)
            self._open.callback(self._aside.close)

    def columns(self) -> KeptColumns:
        """All columns. Where any row may have another key or type, the table is held and read to its end."""
        return KeptColumns(self.names, ["text"] * len(self.names), str(self.path))

    def _look(self, most: int) -> list[Any]:
        self._head += islice(self._source, most - len(self._head))
        return self._head

    def _items(self) -> Iterator[Any]:
        """What the file gives, from the start."""
        assert not self._is_gone, f"{self.path} is read once; hold it for another pass"
        yield from self._head
        yield from self._aside or ()
        for item in self._source:
            if self._aside is None:
                self._is_gone = True
            else:
                self._aside.append(item)
            yield item


class CellTable(Table):
    """A table whose file gives row after row: a number and the cells, in order or by name.

    Of a row that cannot be used, there is the fault in place of the cells.
    """

    def rows(self, wanted: Sequence[str | None], keep: bool = False) -> Iterator[Values]:
        pick = self._picker(wanted)
        for number, cells, fault in self._items():
            self.number = number
            if fault is not None:
                yield BadRowError(fault)
            else:
                yield [*pick(cells), cells] if keep else pick(cells)

    def head(self) -> list[Sequence[Any]]:
        pick = self._picker(self.names)
        return [pick(cells) for _, cells, fault in self._look(HEAD) if fault is None]

    def _picker(self, wanted: Sequence[str | None]) -> Callable[[Any], list[Any]]:
        """From the cells of a row to those that are wanted; of two columns of one name, the first."""
        places = {name: k for k, name in reversed(list(enumerate(self.names)))}
        found = [None if name is None else places[name] for name in wanted]
        return lambda cells: [None if k is None else cells[k] for k in found]
