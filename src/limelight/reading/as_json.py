"""A reading as JSON: all of its numbers, and its rows in groups."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from .picture import Weights, picture_of
from .row_groups import group_rows

if TYPE_CHECKING:
    from .reading import AnyReading


def to_json(reading: AnyReading, *, weights: Weights | None = None) -> str:
    """The reading's numbers as JSON. Rows are counted from 0, as they stand in `attention`.

    >>> from limelight.reading import Reading
    >>> reading = Reading(
    ...     text="Good soup", offsets=np.array([[0, 4], [5, 9]]), known=np.ones(2, bool),
    ...     attention=np.array([[0.9, 0.1], [0.8, 0.2]]), embedding=np.zeros((2, 4)),
    ...     labels=("bad", "good"), probabilities=np.array([0.2, 0.8]))
    >>> json.loads(to_json(reading))["groups"]
    [{'rows': [0, 1], 'focus': 0.39...}]
    """
    if weights:
        picture_of(reading, weights)  # checks them
    groups = group_rows(tuple(each.attention for each in reading.sides))
    found: dict[str, Any] = reading.to_dict()
    found["groups"] = [{"rows": list(group.rows), "focus": group.focus} for group in groups]
    if weights:
        found["weights"] = {name: _plain(given) for name, given in weights.items()}
    return json.dumps(found)


def _plain(given: Any) -> Any:
    """Lists of numbers, also for the two texts of a pair."""
    return (
        np.asarray(given, dtype=float).tolist()
        if np.ndim(given[0]) == 0
        else [_plain(each) for each in given]
    )
