"""Rows with all their cells, on their way from one table to another of any format, beside new columns."""

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import LimelightError
from ..storage.json_file import to_json_values

_FORMULA = re.compile(r"(?![+-]?\d+(\.\d+)?(e[+-]?\d+)?\Z)[=+@\t\r-]", re.ASCII)  # not a number


class ArrowBlock:
    """Some rows of a parquet table; they become Python values only if another format is written."""

    def __init__(self, batch: Any) -> None:
        self.batch = batch
        self._values: list[Sequence[Any]] = []

    def cells(self, index: int) -> Sequence[Any]:
        if not self._values:
            self._values = list(zip(*map(_to_python, self.batch.columns), strict=True))
        return self._values[index]


class ArrowRow(NamedTuple):
    """A row of a parquet table."""

    block: ArrowBlock
    place: int


ABSENT: Any = object()  # a key that a JSON row does not have, unlike one that is null


class NewColumn(NamedTuple):
    """A column that is added, by kind "label", "labels", "number", "probability", "words", "vector", ..."""

    name: str
    kind: str
    type: str = ""  # of labels, as in cells.find_type


@dataclass(frozen=True)
class KeptColumns:
    """The names of a table's columns, in order, and their types as in `find_type`, or Arrow's own."""

    names: Sequence[str]
    types: Sequence[Any]
    where: str = ""


def free_names(names: Sequence[str], taken: Iterable[str]) -> list[str]:
    """The names under which columns are written: none twice, and none of those `taken`."""
    used, found, numbers = set(taken), [], dict[str, int]()
    ours, given = frozenset(used), frozenset(names)
    for name in names:
        free = f"given_{name}" if name in ours else name
        while free in used or (free != name and free in given):
            numbers[name] = numbers.get(name, 1) + 1
            free = f"{name}_{numbers[name]}"
        used.add(free)
        found.append(free)
    return found


def list_cells(cells: Any, names: Sequence[str]) -> Sequence[Any]:
    """The cells in the order of the columns, as they were read: by position, by name, or from Arrow."""
    if isinstance(cells, ArrowRow):
        return cells.block.cells(cells.place)
    if isinstance(cells, dict):
        return [cells.get(name, ABSENT) for name in names]
    found: Sequence[Any] = cells
    return found


def as_text(value: Any) -> str:
    """A value for csv: text as it is, nothing for what is missing, JSON for what is nested."""
    if isinstance(value, str):
        return value
    if value is None or value is ABSENT or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool | list | dict):
        return json.dumps(to_json_values(value, str), ensure_ascii=False)
    return str(value)


def as_unicode(text: str) -> str:
    """The text without halves of characters, which JSON can hold and other formats cannot.

    >>> as_unicode("caf\\udce9"), as_unicode("café")
    ('caf?', 'café')
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would take a text for a formula; a number is none."""
    return _FORMULA.match(text) is not None


def find_type(values: Iterable[Any], before: str = "") -> str:
    """What a column holds: "bool", "int", "float", "text" for all else and mixtures, "" if nothing yet."""
    for value in values:
        found = _type_of(value)
        if not found or found == before:
            continue
        if not before:
            before = found
        else:
            before = "float" if {before, found} == {"int", "float"} else "text"
    return before


def _type_of(value: Any) -> str:
    if value is None or value is ABSENT:
        return ""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if -(2**63) <= value < 2**63 else "text"
    return "float" if isinstance(value, float) else "text"


def _to_python(column: Any) -> list[Any]:
    """The values of an Arrow column. Dates and times become text: Python has no nanoseconds."""
    import pyarrow as pa

    is_time = pa.types.is_temporal(column.type)
    try:
        values: list[Any] = (column.cast(pa.string()) if is_time else column).to_pylist()
    except (ValueError, pa.ArrowException) as error:  # such as nanoseconds inside a list
        fault = f"a column of type {column.type} cannot be text ({error}); write .parquet instead"
        raise LimelightError(fault, code="column-type") from None
    return values
