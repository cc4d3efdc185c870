"""What a label is, by task: how one is read, and which arrays many of them make.

| task | a label | `Split.labels` |
|---|---|---|
| classification | text, a number or a boolean | (rows,) int32: the number of the class |
| multi-label | any number of those | (rows, labels) uint8: 1 for each label of the row |
| ordinal | a number, one of a few | (rows,) int32: the number of the class, in their order |
| regression | a number | (rows,) float32 |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..config.recipe import TASKS
from ..tables.formats import BadRowError, shorten
from ..tables.rows import check_label, is_missing
from .labels import LARGEST, Label, LabelColumn, LabelSets, NumberColumn, OrderedLabels


@dataclass(frozen=True)
class LabelFormat:
    """How the labels of a table are written.

    >>> LabelFormat("multi-label", "|").parse("cold | soup", "column 'labels'")
    ('cold', 'soup')
    >>> LabelFormat("regression").parse("3.5", "column 'score'")
    3.5
    """

    task: str = "auto"
    separator: str = ""

    def parse(self, value: Any, where: str) -> Any:
        """A label, several as a tuple, or a number; what is none is a BadRowError about `where`."""
        several = self.separator or isinstance(value, list | tuple | set | frozenset)
        if self.task == "multi-label" or (self.task == "auto" and several):
            return _parse_labels(value, where, self.separator)
        if self.task == "regression":
            return _parse_number(value, where)
        return check_label(value, where)


def _parse_labels(value: Any, where: str, separator: str) -> tuple[Label, ...]:
    """Any number of labels; an empty list, or an empty cell with a separator, is a text without any."""
    if isinstance(value, str) and separator:
        return tuple(part for each in value.split(separator) if (part := each.strip()))
    if isinstance(value, str) and value:
        raise BadRowError(
            f"{shorten(repr(value))} in {where} is not a list of labels; if a mark separates them, name it "
            "with --separator"
        )
    if not isinstance(value, list | tuple | set | frozenset):
        value = [check_label(value, where)]
    return tuple(check_label(each.strip() if isinstance(each, str) else each, where) for each in value)


def _parse_number(value: Any, where: str) -> float:
    if is_missing(value):
        raise BadRowError(f"no number in {where}")
    number = math.nan
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            number = float(value)
    if not abs(number) <= LARGEST:  # nan neither
        raise BadRowError(f"{shorten(repr(value))} in {where} is not a number")
    return number


_TASKS = {each.name: each for each in (LabelColumn, LabelSets, OrderedLabels, NumberColumn)}
assert tuple(_TASKS) == TASKS


def find_task(name: str) -> type[LabelColumn]:
    """A task's labels by its name; 'auto', in what older versions wrote, is classification.

    >>> find_task("auto").name
    'classification'
    """
    return _TASKS["classification" if name == "auto" else name]


def count_labels(task: str, labels: np.ndarray, classes: Sequence[Label]) -> dict[str, int]:
    """How many rows have each class.

    >>> count_labels("multi-label", np.array([[1, 1], [0, 1]], np.uint8), ["cold", "soup"])
    {'cold': 1, 'soup': 2}
    """
    return dict(zip(map(str, classes), find_task(task).counts(labels, len(classes)).tolist(), strict=True))
