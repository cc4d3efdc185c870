"""Filters: which texts of an index a search may find, by the values of their columns."""

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import chain, compress
from threading import Lock
from typing import Any

import numpy as np

from ..errors import LimelightError, bad_value
from ..storage.json_file import to_json_values
from .shards import Shard, living_texts

MAX_CONDITIONS, MAX_CHARACTERS = 32, 2**14  # of a search, and of a condition; as many are kept
_ORDERS = {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}
_SIGN = re.compile("<=|>=|!=|=|<|>")
_PASSES, _HAS_COLUMN, _HAS_NUMBER = 1, 2, 4  # what is kept of a text and a condition


@dataclass(frozen=True)
class Condition:
    """What a column's value must be."""

    column: str
    sign: str  # =, !=, <, >, <= or >=
    value: str  # as text: Python takes 1 and True for the same, which they are not

    def holds(self, value: Any) -> bool:
        """Whether a value is equal, or not, as a number or as text; or smaller or larger, as a number."""
        number, wanted = _number(value), self._wanted
        if self.sign in _ORDERS:
            return number is not None and wanted is not None and bool(_ORDERS[self.sign](number, wanted))
        same_text = value is not None and _text(value) == self.value
        return (same_text if wanted is None else number == wanted) == (self.sign == "=")

    @cached_property
    def _wanted(self) -> Decimal | None:
        return _number(self.value)

    def flags(self, columns: Mapping[str, Any]) -> int:
        """What there is to know of a text with these columns."""
        value = columns.get(self.column)
        found = _PASSES if self.holds(value) else 0
        if self.column in columns:
            found |= _HAS_COLUMN
            if self.sign in _ORDERS and _number(value) is not None:
                found |= _HAS_NUMBER
        return found


def parse_conditions(given: Iterable[str]) -> list[Condition]:
    """Conditions as typed: `city=Ghent`, `stars>=4`."""
    found = []
    for each in given:
        sign = _SIGN.search(each) if isinstance(each, str) else None
        if not sign or not (column := each[: sign.start()].strip()):
            todo = "write column=value, or !=, or <, >, <=, >= and a number"
            raise bad_value(f"cannot filter by {shown(each)}; {todo}")
        found.append(_checked(column, sign[0], each[sign.end() :].strip()))
    return found


def make_conditions(where: Mapping[str, Any] | Iterable[str]) -> list[Condition]:
    """Conditions from a mapping: a value, a pair of a sign and a value, or a list of such pairs; or as typed.

    >>> make_conditions({"city": "Ghent", "stars": [(">", 1), ("<", 5)]})[1:]
    [Condition(column='stars', sign='>', value='1'), Condition(column='stars', sign='<', value='5')]
    """
    found = []
    if isinstance(where, Mapping):
        for column, wanted in where.items():
            pairs = wanted if isinstance(wanted, list) else [wanted]
            found += [_checked(column, *(each if isinstance(each, tuple) else ("=", each))) for each in pairs]
    elif isinstance(where, Iterable):
        found = parse_conditions([where] if isinstance(where, str) else where)
    else:
        expected = "columns and their values, such as {'stars': 4}, or conditions, such as ['stars>=4']"
        raise bad_value(f"where is {shown(where)}; it must be {expected}")
    if len(set(found)) > MAX_CONDITIONS:
        raise bad_value(f"{len(set(found)):,} conditions; a search takes at most {MAX_CONDITIONS}")
    return list(dict.fromkeys(found))


def _checked(column: Any = None, sign: Any = None, value: Any = None, *more: Any) -> Condition:
    if more or not isinstance(sign, str) or sign not in ("=", "!=", *_ORDERS):
        fault = f"cannot filter {shown(column)} by {shown(sign)}"
        raise bad_value(f"{fault}; use =, !=, <, >, <= or >= and one value")
    text = _as_typed(value)
    if text is None or not isinstance(column, str):
        fault = f"cannot filter {shown(column)} by {shown(value)}"
        raise bad_value(f"{fault}; give the name of a column, and a text, a number, or true or false")
    if len(column) + len(text) > MAX_CHARACTERS:
        raise bad_value(f"a condition has more than {MAX_CHARACTERS:,} characters; give a shorter value")
    found = Condition(column, sign, text)
    if sign in _ORDERS and found._wanted is None:
        raise bad_value(f"cannot filter by {column[:40]}{sign}{text[:40]}; {sign} needs a number")
    return found


def _as_typed(value: Any) -> str | None:
    """A value as someone would type it; None if it is not a single one."""
    if isinstance(value, Mapping | list | tuple):
        return None
    plain = to_json_values(value, str)  # such as a date, or a number of NumPy
    try:
        return _text(plain) if isinstance(plain, str | int | float) else None
    except ValueError:  # Python writes no integer of thousands of digits
        return None


class Filters:
    """Which texts conditions let through. What is found for a shard is kept: its file never changes."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[Condition, dict[tuple[str, int], np.ndarray]] = {}  # the last used at the end

    def allowed(self, shards: Sequence[Shard], conditions: Sequence[Condition]) -> np.ndarray:
        """(texts,): True where every condition holds and the text is not deleted."""
        with self._lock:
            found = self._find(shards, conditions)
        passing = np.ones(sum(map(len, shards)), bool)
        for condition, parts in zip(conditions, found, strict=True):
            flags = np.concatenate(parts) * living_texts(shards)
            _check_column(condition, flags, shards)
            passing &= (flags & _PASSES) > 0
        return passing

    def _find(self, shards: Sequence[Shard], conditions: Sequence[Condition]) -> list[list[np.ndarray]]:
        """The flags of each condition, for each shard (n,); the columns of new ones are read."""
        known = [self._kept.pop(each, {}) for each in conditions]
        names = [(shard.sha256, len(shard)) for shard in shards]
        for shard, name in zip(shards, names, strict=True):
            if new := [at for at, kept in enumerate(known) if name not in kept]:
                flags = {at: bytearray(len(shard)) for at in new}
                for place, columns in enumerate(shard.columns()):  # every text's are read
                    for at, each in flags.items():
                        each[place] = conditions[at].flags(columns)
                for at, each in flags.items():
                    known[at][name] = np.frombuffer(each, np.uint8)
        for condition, kept in zip(conditions, known, strict=True):
            self._kept[condition] = {name: kept[name] for name in names}
        while len(self._kept) > MAX_CONDITIONS:
            del self._kept[next(iter(self._kept))]
        return [[kept[name] for name in names] for kept in known]


def _check_column(condition: Condition, flags: np.ndarray, shards: Sequence[Shard]) -> None:
    """Raise if no text has the column, or none has a number there to compare."""
    if not (flags & _HAS_COLUMN).any():
        columns = compress(chain.from_iterable(shard.columns() for shard in shards), living_texts(shards))
        known = ", ".join(map(repr, dict.fromkeys(chain.from_iterable(columns)))) or "none"
        fault = f"no text of the index has a column {shown(condition.column)}"
        raise LimelightError(f"{fault}; its columns: {known[:200]}", code="column-missing")
    if condition.sign in _ORDERS and not (flags & _HAS_NUMBER).any():
        fault = f"column {shown(condition.column)} holds no number; <, >, <= and >= compare numbers"
        raise bad_value(f"{fault}; use = or != for text")


def _number(value: Any) -> Decimal | None:
    """A number exactly as it is written, also in a text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, str) and "_" in value:  # Python ignores it in numbers; "1_2" is a name
        return None
    try:
        found = Decimal(repr(value) if isinstance(value, float) else value)
    except InvalidOperation:
        return None
    return None if found.is_nan() else found


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def shown(value: Any) -> str:
    """A value for an error message, which may be anything."""
    if value is None or isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**40):
        return repr(value)
    return repr(value[:40]) if isinstance(value, str) else f"a value of type {type(value).__name__}"
