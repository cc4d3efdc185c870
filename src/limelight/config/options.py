"""What an option is: its default, its sentence, the values it accepts, and when it has an effect."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import field
from typing import Any, NamedTuple

from ..errors import bad_value


class Needs(NamedTuple):
    """What must hold for an option to have an effect, in words and as a test of all options' values."""

    what: str
    holds: Callable[[Any], bool]


def option(
    default: Any,
    help: str,
    *,
    choices: tuple[str, ...] = (),
    further: tuple[str, ...] = (),
    low: float | None = None,
    high: float | None = None,
    needs: Needs | tuple[Needs, ...] = (),
    basic: bool = False,
    flag: bool = True,
    metavar: str = "",
) -> Any:
    """A dataclass field: `basic` ones are in the short help, those without a `flag` are set by presets alone.

    `further` choices stand in recipes, but nobody types them.
    """
    conditions = (needs,) if isinstance(needs, Needs) else needs
    values = {"choices": choices, "low": low, "high": high, "metavar": metavar}
    about = {"help": help, **values, "further": further, "needs": conditions, "basic": basic, "flag": flag}
    return field(default=default, metadata=about)


def check_value(f: dataclasses.Field, value: Any) -> None:
    """Raise unless `value` is of the option's type, one of its choices and within its bounds."""
    kind, choices = type(f.default), f.metadata["choices"]
    low, high = f.metadata["low"], f.metadata["high"]
    right = isinstance(value, kind) or (kind is float and isinstance(value, int))
    if not right or (isinstance(value, bool) and kind is not bool):
        allowed = f"of type {kind.__name__}"
    elif choices and value not in (*choices, *f.metadata["further"]):
        allowed = f"one of: {', '.join(choices)}"
    elif low is not None and not value >= low:
        allowed = f"at least {low}"
    elif high is not None and not value <= high:
        allowed = f"at most {high}"
    else:
        return
    raise bad_value(f"{f.name} is {value!r}; it must be {allowed}")


def to_builtin(value: Any) -> Any:
    """A Python number for a numpy one, which hyper-parameter searches pass.

    >>> import numpy
    >>> to_builtin(numpy.float64(0.5)), to_builtin("adam")
    (0.5, 'adam')
    """
    return value.item() if hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0 else value
