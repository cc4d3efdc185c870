"""JSON from outside: any bytes give an object or one clear line; and to the outside: plain values only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np

from ..errors import LimelightError


def parse_object(content: bytes, what: str) -> dict[str, Any]:
    """A JSON object, with distinct names and finite numbers.

    >>> parse_object(b'{"rows": 8}', "config.json")
    {'rows': 8}
    >>> parse_object(b"[8]", "config.json")
    Traceback (most recent call last):
    limelight.errors.LimelightError: config.json is not a JSON object
    """
    try:
        data = json.loads(content, object_pairs_hook=_distinct, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise LimelightError(f"{what} is not valid JSON: {' '.join(str(error).split())[:100]}") from error
    if not isinstance(data, dict):
        raise LimelightError(f"{what} is not a JSON object")
    return data


def plain(value: Any) -> Any:
    """Facts as JSON can hold them: NumPy's numbers and tuples as Python's own, what is not finite as null.

    >>> plain({"loss": float("nan"), "rows": np.int64(3), "sizes": (1, 2)})
    {'loss': None, 'rows': 3, 'sizes': [1, 2]}
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float):
        return value
    raise LimelightError(f"the facts about a model must be plain JSON; got {type(value).__name__}")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return data


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text[:20]} is no finite number")
    return number
