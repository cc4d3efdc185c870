"""A reading as JSON: all of its numbers, and its row groups."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from .picture import Weights, make_picture
from .row_groups import group_rows

if TYPE_CHECKING:
    from .reading import AnyReading


def to_json(reading: AnyReading, *, weights: Weights | None = None) -> str:
    """The reading's numbers as JSON; rows are counted from 0, in the order of `attention`.

    >>> from limelight.reading import Reading
    >>> reading = Reading(
    ...     text="Good soup", offsets=np.array([[0, 4], [5, 9]]), known=np.ones(2, bool),
    ...     attention=np.array([[0.9, 0.1], [0.8, 0.2]]), embedding=np.zeros((2, 4)),
    ...     labels=("bad", "good"), probabilities=np.array([0.2, 0.8]))
    >>> json.loads(to_json(reading))["groups"]
    [{'rows': [0, 1], 'focus': 0.39...}]
    """
    if weights:
        make_picture(reading, weights)  # raises if they do not fit
    groups = group_rows(tuple(each.attention for each in reading.sides))
    content: dict[str, Any] = reading.to_dict()
    content["groups"] = [{"rows": list(group.rows), "focus": group.focus} for group in groups]
    if weights:
        content["weights"] = {name: _to_lists(given) for name, given in weights.items()}
    return json.dumps(content)


def _to_lists(given: Any) -> Any:
    """Lists of numbers; for a pair, one per text."""
    return (
        np.asarray(given, dtype=float).tolist()
        if np.ndim(given[0]) == 0
        else [_to_lists(each) for each in given]
    )
