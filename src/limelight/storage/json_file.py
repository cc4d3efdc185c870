"""Reading JSON from outside, where any bytes give an object or a one-line error; and values JSON can hold."""

import json
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import numpy as np

from ..errors import LimelightError


def parse_object(content: bytes | str, what: str) -> dict[str, Any]:
    """Parse a JSON object with distinct keys and finite numbers; `what` names it in errors."""
    try:
        numbers: Any = {"parse_constant": _check_finite, "parse_float": _check_finite}
        data = json.loads(content, object_pairs_hook=_check_distinct, **numbers)
    except (ValueError, RecursionError) as error:
        fault = f"{what} is not valid JSON: {' '.join(str(error).split())[:100]}"
        raise LimelightError(fault, code="json") from error
    if not isinstance(data, dict):
        raise LimelightError(f"{what} is not a JSON object", code="json")
    return data


def to_json_values(value: Any, other: Callable[[Any], Any] | None = None) -> Any:
    """Turn NumPy numbers and tuples into Python's own types, and what is not finite into None.

    What JSON has no form for is an error, or what `other` makes of it.
    """
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): to_json_values(each, other) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_values(each, other) for each in value]
    if isinstance(value, np.generic | np.ndarray):
        return to_json_values(value.tolist(), other)
    if other is not None:
        return other(value)
    raise LimelightError(f"facts about a model must be JSON values; got {type(value).__name__}", code="json")


def _check_distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return data


def _check_finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text[:20]} is not a finite number")
    return number
