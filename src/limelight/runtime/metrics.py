"""Metrics on labelled texts: what the model card, `train` and `evaluate` report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Metrics:
    """Metrics over some rows, and the confusion matrix they come from.

    >>> P = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]])
    >>> metrics = Metrics.of(P, np.array([0, 0, 1]))
    >>> metrics.rows, round(metrics.accuracy, 3), metrics.confusion.tolist()
    (3, 0.667, [[1, 1], [0, 1]])
    """

    confusion: np.ndarray  # (classes, classes) int: rows are the true classes, columns the predicted ones
    loss: float  # mean cross-entropy

    @classmethod
    def of(cls, probabilities: np.ndarray, truth: np.ndarray) -> Metrics:
        """Compare probabilities (rows, classes) with the index of each row's true class (rows,)."""
        classes = probabilities.shape[1]
        confusion = np.zeros((classes, classes), dtype=np.int64)
        np.add.at(confusion, (truth, probabilities.argmax(axis=1)), 1)
        likelihood = probabilities[np.arange(len(truth)), truth].astype(np.float64)
        return cls(confusion, float(-np.log(np.maximum(likelihood, 1e-12)).mean()) + 0.0)  # not -0.0

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """The share of rows whose most probable class is the true one."""
        return float(np.trace(self.confusion) / self.rows)

    @property
    def per_class(self) -> np.ndarray:
        """(classes, 3): precision, recall and F1 of each class; 0 where they are undefined."""
        correct = np.diag(self.confusion).astype(np.float64)
        predicted, true = self.confusion.sum(axis=0), self.confusion.sum(axis=1)
        precision, recall = correct / np.maximum(predicted, 1), correct / np.maximum(true, 1)
        return np.stack([precision, recall, 2 * correct / np.maximum(predicted + true, 1)], axis=1)

    @property
    def macro_f1(self) -> float:
        """The mean F1 over the classes that occur or are predicted, each counting the same."""
        seen = self.confusion.sum(axis=0) + self.confusion.sum(axis=1) > 0
        return float(self.per_class[seen, 2].mean())

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, ready for `json.dumps`."""
        return {"accuracy": self.accuracy, "macro_f1": self.macro_f1, "loss": self.loss, "rows": self.rows}


def forgetting_sentence(measured: Any) -> str:
    """What a model forgot as it went on, from the figures saved with it; empty if there are none.

    >>> forgetting_sentence({"data": "dev.csv", "rows": 200, "before": 0.915, "after": 0.905})
    'On the old development set (dev.csv, 200 rows), accuracy was 91.50% before and is 90.50% now.'
    """
    try:
        data, rows = str(measured["data"]), int(measured["rows"])
        before, after = (float(measured[name]) for name in ("before", "after"))
    except (KeyError, TypeError, ValueError, OverflowError):
        return ""  # a folder from elsewhere may hold anything
    accuracies = f"accuracy was {before:.2%} before and is {after:.2%} now"
    return f"On the old development set ({data}, {rows:,} rows), {accuracies}."
