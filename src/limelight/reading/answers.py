"""From a model's outputs to its answer, by task.

The outputs are probabilities of the classes; in regression there is one, the number itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..text.labels import Label


def decide(task: str, outputs: np.ndarray, thresholds: np.ndarray | None = None) -> np.ndarray:
    """From outputs (rows, classes): the class of each row (rows,), or what the task has in its place.

    Of ordered classes that is the median: the first at which the sum of the probabilities reaches a half. Of
    several labels, those with a probability of at least their threshold, 0.5 if there are none: (rows,
    labels) bool. In regression, the numbers: (rows,).

    >>> P = np.array([[0.4, 0.3, 0.3]])
    >>> decide("classification", P).tolist(), decide("ordinal", P).tolist()
    ([0], [1])
    >>> decide("multi-label", P, np.array([0.4, 0.5, 0.1])).tolist()
    [[True, False, True]]
    """
    if task == "multi-label":
        return np.asarray(outputs >= (0.5 if thresholds is None else thresholds))
    if task == "regression":
        return np.asarray(outputs[:, 0])
    if task == "ordinal":  # the last sum is 1, whatever the rounding
        return np.asarray((outputs.cumsum(axis=1)[:, :-1] < 0.5).sum(axis=1))
    return np.asarray(outputs.argmax(axis=1))


def explained_classes(task: str, outputs: np.ndarray, thresholds: np.ndarray | None = None) -> list[int]:
    """The classes that what decided is shown for, from the outputs (classes,) of one text.

    That is the answer; of several labels the one furthest above its threshold, whether it reaches that or
    not, and then all others that do.

    >>> explained_classes("multi-label", np.array([0.6, 0.1, 0.5]), np.array([0.5, 0.5, 0.2]))
    [2, 0]
    """
    if task == "regression":
        return [0]
    if task != "multi-label":
        return [int(decide(task, outputs[None])[0])]
    above = outputs - (0.5 if thresholds is None else thresholds)
    first = int(above.argmax())
    return [first, *(k for k in np.flatnonzero(above >= 0).tolist() if k != first)]


def name_answers(task: str, decided: np.ndarray, labels: Sequence[Label]) -> list[Any]:
    """What `decide` gives in the user's own terms: labels, tuples of labels, or numbers.

    >>> name_answers("multi-label", np.array([[True, False], [False, False]]), ["cold", "soup"])
    [('cold',), ()]
    """
    if task == "multi-label":
        return [tuple(labels[k] for k in np.flatnonzero(row).tolist()) for row in decided]
    if task == "regression":
        return [float(value) for value in decided]
    return [labels[k] for k in decided]
