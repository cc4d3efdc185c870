"""How answers are decided, named and shown, one entry per task.

A model's outputs are probabilities of the classes; in regression there is one, the number itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..text.labels import Label


class Answers:
    """The answers of a task. Here: one class for each text, the most probable."""

    is_number = False  # the answer is a number: no classes, no probabilities
    has_several = False  # a text may have any number of labels
    in_repr = "label"  # what an answer is called
    rule = "most probable"  # how it follows from the outputs, in a word or two

    @property
    def is_class(self) -> bool:
        """Whether the answer is one class, which has a probability."""
        return not (self.is_number or self.has_several)

    def decide(self, outputs: np.ndarray, thresholds: np.ndarray | None = None) -> np.ndarray:
        """From outputs (rows, classes): the class of each row (rows,), or what the task has in its place."""
        return np.asarray(outputs.argmax(axis=1))

    def explained(self, outputs: np.ndarray, thresholds: np.ndarray | None = None) -> list[int]:
        """The classes that what decided is shown for, from the outputs (classes,) of one text."""
        return [int(self.decide(outputs[None])[0])]

    def name(self, decided: np.ndarray, labels: Sequence[Label]) -> list[Any]:
        """What `decide` gives in the user's own terms: labels, tuples of labels, or numbers."""
        return [labels[k] for k in decided]


class _OrderedClass(Answers):
    """The median class: the first at which the sum of the probabilities reaches a half."""

    rule = "median"

    def decide(self, outputs: np.ndarray, thresholds: np.ndarray | None = None) -> np.ndarray:
        # the last sum is 1, whatever the rounding
        return np.asarray((outputs.cumsum(axis=1)[:, :-1] < 0.5).sum(axis=1))


class _SeveralLabels(Answers):
    """All labels with a probability of at least their threshold, 0.5 without any: (rows, labels) bool."""

    has_several = True
    in_repr = "labels"
    rule = "above thresholds"

    def decide(self, outputs: np.ndarray, thresholds: np.ndarray | None = None) -> np.ndarray:
        return np.asarray(outputs >= (0.5 if thresholds is None else thresholds))

    def explained(self, outputs: np.ndarray, thresholds: np.ndarray | None = None) -> list[int]:
        """The label furthest above its threshold, whether it reaches that or not, then all that do."""
        above = outputs - (0.5 if thresholds is None else thresholds)
        first = int(above.argmax())
        return [first, *(k for k in np.flatnonzero(above >= 0).tolist() if k != first)]

    def name(self, decided: np.ndarray, labels: Sequence[Label]) -> list[Any]:
        return [tuple(labels[k] for k in np.flatnonzero(row).tolist()) for row in decided]


class _Number(Answers):
    """The number itself: (rows,)."""

    is_number = True
    in_repr = "value"
    rule = "number"

    def decide(self, outputs: np.ndarray, thresholds: np.ndarray | None = None) -> np.ndarray:
        return np.asarray(outputs[:, 0])

    def explained(self, outputs: np.ndarray, thresholds: np.ndarray | None = None) -> list[int]:
        return [0]

    def name(self, decided: np.ndarray, labels: Sequence[Label]) -> list[Any]:
        return [float(value) for value in decided]


_ANSWERS = {
    "auto": Answers(),  # in what older versions wrote
    "classification": Answers(),
    "multi-label": _SeveralLabels(),
    "ordinal": _OrderedClass(),
    "regression": _Number(),
}


def answers_of(task: str) -> Answers:
    """The entry of a task.

    >>> P = np.array([[0.4, 0.3, 0.3]])
    >>> answers_of("classification").decide(P).tolist(), answers_of("ordinal").decide(P).tolist()
    ([0], [1])
    >>> several = answers_of("multi-label")
    >>> several.decide(P, np.array([0.4, 0.5, 0.1])).tolist()
    [[True, False, True]]
    >>> several.explained(np.array([0.6, 0.1, 0.5]), np.array([0.5, 0.5, 0.2]))
    [2, 0]
    >>> several.name(np.array([[True, False], [False, False]]), ["cold", "soup"])
    [('cold',), ()]
    """
    return _ANSWERS[task]
