"""The tasks: what a label is, and all that differs by it, from a cell of a table to the answer and its words.

| task | a label | `Split.labels` |
|---|---|---|
| classification | text, a number or a boolean | (rows,) int32: the number of the class |
| multi-label | any number of those | (rows, labels) uint8: 1 for each label of the row |
| ordinal | a number, one of a few | (rows,) int32: the number of the class, in their order |
| regression | a number | (rows,) float32 |

A model's outputs are probabilities of the classes; where the answer is a number, the number itself. The loss
is in training/loss.py, which needs PyTorch; serve/explorer/page/tasks.js has the same for the page.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..config.recipe import DEFAULT_TASK, TASKS
from ..tables.formats import BadRowError, shorten
from ..tables.rows import check_label, is_missing
from .labels import LARGEST, Label, LabelColumn, LabelSets, NumberColumn, OrderedLabels
from .metrics import AnyMetrics, LabelMetrics, Metrics, OrdinalMetrics, ValueMetrics
from .questions import Between, Mean, Number, Probability, Question, class_values, softmax


class Task:
    """What all tasks have. Here: one class for each text, the most probable."""

    name = DEFAULT_TASK
    column: type[LabelColumn] = LabelColumn  # the labels of a table
    metrics: type[Metrics | LabelMetrics | ValueMetrics] = Metrics
    operator = "Softmax"  # of ONNX, from logits to outputs; empty for none
    output = "probabilities"  # the name of the outputs in an exported graph

    is_number = False  # the answer is a number: no classes, no probabilities
    has_several = False  # a text may have any number of labels
    is_ordered = False  # the classes have an order, and a mean

    in_repr = "label"  # what an answer is called
    rule = "most probable"  # how it follows from the outputs, in a word or two
    amount = ""  # what words raise or lower, where that is not a probability
    unit = "probability"  # of what words add to the answer
    classes = "classes"  # what the labels are called
    does = "Classifies {what}"
    use = "Classifying {what} like those it was trained on into the labels above"

    @property
    def is_class(self) -> bool:
        """Whether the answer is one class, which has a probability."""
        return not (self.is_number or self.has_several)

    def parse(self, value: Any, where: str, separator: str = "") -> Any:
        """The label in a cell; what is none is a BadRowError about `where`."""
        return check_label(value, where)

    def activate(self, logits: np.ndarray) -> np.ndarray:
        """The outputs (rows, classes) from logits."""
        return softmax(logits)

    def decide(self, outputs: np.ndarray, thresholds: np.ndarray | None = None) -> np.ndarray:
        """From outputs (rows, classes): the class of each row (rows,), or what the task has in its place."""
        return np.asarray(outputs.argmax(axis=1))

    def explained(self, outputs: np.ndarray, thresholds: np.ndarray | None = None) -> list[int]:
        """The classes that what decided is shown for, from the outputs (classes,) of one text."""
        return [int(self.decide(outputs[None])[0])]

    def to_labels(self, decided: np.ndarray, labels: Sequence[Label]) -> list[Any]:
        """What `decide` gives in the user's own terms: labels, tuples of labels, or numbers."""
        return [labels[k] for k in decided]

    def question(self, k: int, labels: Sequence[Label], asked: bool = False) -> Question:
        """What a picture explains: of class k its probability, of ordered ones their mean, or k if `asked`.

        >>> ORDINAL.question(1, ["bad", "fair", "good"]), ORDINAL.question(1, ["bad", "good"], asked=True)
        (Mean(values=(0.0, 1.0, 2.0)), Probability(k=1))
        """
        return Probability(k)

    def measure(
        self, outputs: np.ndarray, truth: np.ndarray, thresholds: np.ndarray | None = None
    ) -> AnyMetrics:
        """The metrics of a model's outputs beside the true labels, which are as in `Split.labels`."""
        return self.metrics.of(outputs, truth, self.decide(outputs, thresholds))


class _MultiLabel(Task):
    """All labels with a probability of at least their threshold, 0.5 without any: (rows, labels) bool."""

    name = "multi-label"
    column = LabelSets
    metrics = LabelMetrics
    operator = "Sigmoid"
    has_several = True
    in_repr = "labels"
    rule = "above thresholds"
    classes = "labels, any number each"
    does = "Gives {what} any number of labels"

    def parse(self, value: Any, where: str, separator: str = "") -> tuple[Label, ...]:
        """An empty list, or an empty cell with a separator, is a text without any label."""
        if isinstance(value, str) and separator:
            return tuple(part for each in value.split(separator) if (part := each.strip()))
        if isinstance(value, str) and value:
            raise BadRowError(
                f"{shorten(repr(value))} in {where} is not a list of labels; if a mark separates them, name "
                "it with --separator"
            )
        if not isinstance(value, _COLLECTIONS):
            value = [check_label(value, where)]
        return tuple(check_label(each.strip() if isinstance(each, str) else each, where) for each in value)

    def activate(self, logits: np.ndarray) -> np.ndarray:
        return np.asarray(0.5 * (1 + np.tanh(logits / 2)))  # which cannot overflow

    def decide(self, outputs: np.ndarray, thresholds: np.ndarray | None = None) -> np.ndarray:
        return np.asarray(outputs >= (0.5 if thresholds is None else thresholds))

    def explained(self, outputs: np.ndarray, thresholds: np.ndarray | None = None) -> list[int]:
        """The label furthest above its threshold, whether it reaches that or not, then all that do."""
        above = outputs - (0.5 if thresholds is None else thresholds)
        first = int(above.argmax())
        return [first, *(k for k in np.flatnonzero(above >= 0).tolist() if k != first)]

    def to_labels(self, decided: np.ndarray, labels: Sequence[Label]) -> list[Any]:
        return [tuple(labels[k] for k in np.flatnonzero(row).tolist()) for row in decided]

    def question(self, k: int, labels: Sequence[Label], asked: bool = False) -> Question:
        return Between(k)


class _Ordinal(Task):
    """The median class: the first at which the sum of the probabilities reaches a half."""

    name = "ordinal"
    column = OrderedLabels
    metrics = OrdinalMetrics
    is_ordered = True
    rule = "median"
    amount = unit = "mean"
    classes = "ordered classes"

    def decide(self, outputs: np.ndarray, thresholds: np.ndarray | None = None) -> np.ndarray:
        # the last sum is 1, whatever the rounding
        return np.asarray((outputs.cumsum(axis=1)[:, :-1] < 0.5).sum(axis=1))

    def question(self, k: int, labels: Sequence[Label], asked: bool = False) -> Question:
        return Probability(k) if asked else Mean(class_values(labels))


class _Regression(Task):
    """The number itself: (rows,)."""

    name = "regression"
    column = NumberColumn
    metrics = ValueMetrics
    operator = ""
    output = "values"
    is_number = True
    in_repr = "value"
    rule = "number"
    amount = "value"
    unit = "number"
    does = "Predicts a number for {what}"
    use = "Predicting this number for {what} like those it was trained on"

    def parse(self, value: Any, where: str, separator: str = "") -> float:
        if is_missing(value):
            raise BadRowError(f"no number in {where}")
        number = math.nan
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            with suppress(ValueError, OverflowError):
                number = float(value)
        if not abs(number) <= LARGEST:  # nan neither
            raise BadRowError(f"{shorten(repr(value))} in {where} is not a number")
        return number

    def activate(self, logits: np.ndarray) -> np.ndarray:
        return logits

    def decide(self, outputs: np.ndarray, thresholds: np.ndarray | None = None) -> np.ndarray:
        return np.asarray(outputs[:, 0])

    def explained(self, outputs: np.ndarray, thresholds: np.ndarray | None = None) -> list[int]:
        return [0]

    def to_labels(self, decided: np.ndarray, labels: Sequence[Label]) -> list[Any]:
        return [float(value) for value in decided]

    def question(self, k: int, labels: Sequence[Label], asked: bool = False) -> Question:
        return Number()


_COLLECTIONS = (list, tuple, set, frozenset)
CLASSIFICATION, MULTI_LABEL, ORDINAL, REGRESSION = Task(), _MultiLabel(), _Ordinal(), _Regression()
_TASKS = {each.name: each for each in (CLASSIFICATION, MULTI_LABEL, ORDINAL, REGRESSION)}
assert tuple(_TASKS) == TASKS


def find_task(name: str) -> Task:
    """A task by its name; 'auto', in what older versions wrote, is classification."""
    return _TASKS[DEFAULT_TASK if name == "auto" else name]


@dataclass(frozen=True)
class LabelFormat:
    """How the labels of a table are written."""

    task: str = "auto"
    separator: str = ""

    def parse(self, value: Any, where: str) -> Any:
        """A label, several as a tuple, or a number; what is none is a BadRowError about `where`."""
        several = self.task == "auto" and (self.separator or isinstance(value, _COLLECTIONS))
        return (MULTI_LABEL if several else find_task(self.task)).parse(value, where, self.separator)


def count_labels(task: str, labels: np.ndarray, classes: Sequence[Label]) -> dict[str, int]:
    """How many rows have each class."""
    counts = find_task(task).column.counts(labels, len(classes)).tolist()
    return dict(zip(map(str, classes), counts, strict=True))
