"""Filters: which texts of an index a search may find, by the values of their columns."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan, nan
from typing import Any

import numpy as np

from ..errors import LimelightError
from .shards import Shard

_ORDERS = {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}
_CONDITION = re.compile(r"\s*(.+?)\s*(<=|>=|!=|=|<|>)\s*(.*?)\s*", re.DOTALL)


@dataclass(frozen=True)
class Condition:
    """What a column's value must be.

    >>> Condition("stars", ">=", 4).holds("4.0"), Condition("city", "=", "Ghent").holds(None)
    (True, False)
    """

    column: str
    sign: str  # =, !=, <, >, <= or >=
    value: Any

    def holds(self, value: Any) -> bool:
        """Whether a value is equal, or not, as a number or as text; or smaller or larger, as a number."""
        if self.sign in _ORDERS:
            return bool(_ORDERS[self.sign](_number(value), self._wanted))
        return self._equals(value) == (self.sign == "=")

    def _equals(self, value: Any) -> bool:
        if value is None or self._wanted != self._wanted:  # not a number
            return value is not None and _text(value) == self._text
        return _number(value) == self._wanted or _text(value) == self._text

    @cached_property
    def _wanted(self) -> float:
        return _number(self.value)

    @cached_property
    def _text(self) -> str:
        return _text(self.value)


def parse_conditions(given: Iterable[str]) -> list[Condition]:
    """Conditions as typed: `city=Ghent`, `stars>=4`.

    >>> parse_conditions(["city = New York", "stars<3"])
    [Condition(column='city', sign='=', value='New York'), Condition(column='stars', sign='<', value='3')]
    """
    found = []
    for each in given:
        match = _CONDITION.fullmatch(each)
        if match is None:
            fault = f"cannot filter by {each!r}; write column=value, or !=, or <, >, <=, >= and a number"
            raise LimelightError(fault, code="option-value")
        found.append(_checked(*match.groups()))
    return found


def make_conditions(where: Mapping[str, Any] | Iterable[str]) -> list[Condition]:
    """Conditions from a mapping: a value, a pair of a sign and a value, or a list of such pairs; or as typed.

    >>> make_conditions({"city": "Ghent", "stars": [(">", 1), ("<", 5)]})[1:]
    [Condition(column='stars', sign='>', value=1), Condition(column='stars', sign='<', value=5)]
    """
    if not isinstance(where, Mapping):
        return parse_conditions([where] if isinstance(where, str) else where)
    found = []
    for column, wanted in where.items():
        pairs = wanted if isinstance(wanted, list) else [wanted]
        found += [_checked(column, *(each if isinstance(each, tuple) else ("=", each))) for each in pairs]
    return found


def _checked(column: Any = None, sign: Any = None, value: Any = None, *more: Any) -> Condition:
    if more or sign not in ("=", "!=", *_ORDERS):
        fault = f"cannot filter {column!r} by {sign!r}; use =, !=, <, >, <= or >= and one value"
        raise LimelightError(fault, code="option-value")
    if sign in _ORDERS and _number(value) != _number(value):
        fault = f"cannot filter by {column}{sign}{str(value)[:40]}; {sign} needs a number"
        raise LimelightError(fault, code="option-value")
    return Condition(column, sign, value)


def allowed_texts(shards: Sequence[Shard], conditions: Sequence[Condition]) -> np.ndarray:
    """(texts,): True where every condition holds. Every text's columns are read, but for deleted texts."""
    found, columns = list[np.ndarray](), dict[str, None]()
    compared = {each.column for each in conditions if each.sign in _ORDERS}  # and without a number so far
    for shard in shards:
        here = []
        for values in shard.columns():
            columns.update(dict.fromkeys(values))
            compared -= {name for name in compared if not isnan(_number(values.get(name)))}
            here.append(all(each.holds(values.get(each.column)) for each in conditions))
        found.append(np.array(here, bool) if shard.alive is None else np.array(here, bool) & shard.alive)
    for each in conditions:
        if each.column not in columns:
            known = ", ".join(map(repr, columns)) or "none"
            fault = f"no text of the index has a column {each.column!r}; its columns: {known[:200]}"
            raise LimelightError(fault, code="column-missing")
    if compared:
        fault = f"column {min(compared)!r} holds no number; <, >, <= and >= compare numbers"
        raise LimelightError(f"{fault}; use = or != for text", code="option-value")
    return np.concatenate(found)


def _number(value: Any) -> float:
    """A number, also one written as text; nan for anything else, which is never equal, smaller or larger."""
    try:
        return nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return nan


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
