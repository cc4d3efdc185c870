"""Metrics on labelled texts: what the model card, `train` and `evaluate` report.

Each is made by `of(outputs, truth, predicted)`, where the task makes the answers `predicted` of the outputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar, Self

import numpy as np

Z = 1.959964  # 95% of the normal distribution lie between -Z and Z


def wilson(share: float, n: float) -> tuple[float, float]:
    """The 95% confidence interval of a share of n texts, after Wilson (1927): always within 0 to 1.

    >>> [round(x, 4) for x in wilson(0.8, 10)]
    [0.4902, 0.9433]
    """
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


class AnyMetrics:
    figures: ClassVar[tuple[str, ...]]  # names of attributes, the one that matters most first

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, ready for `json.dumps`."""
        return {name: getattr(self, name) for name in self.figures}

    def of_classes(self, labels: Sequence[Any]) -> dict[str, Any]:
        """The figures of each class, ready for `json.dumps`, where there are classes."""
        return {}


class _ByClass(AnyMetrics):
    """What both kinds of classifiers have in common."""

    counts: Any  # (3, classes): rows where the class is predicted rightly, is predicted, is true

    @property
    def per_class(self) -> np.ndarray:
        """(classes, 3): precision, recall and F1 of each class; 0 where they are undefined."""
        right, predicted, true = self.counts.astype(np.float64)
        precision, recall = right / np.maximum(predicted, 1), right / np.maximum(true, 1)
        return np.stack([precision, recall, 2 * right / np.maximum(predicted + true, 1)], axis=1)

    @property
    def macro_f1(self) -> float:
        """The mean F1 over the classes that occur or are predicted, each counting the same."""
        seen = self.counts[1:].any(axis=0)
        return float(self.per_class[seen, 2].mean()) if seen.any() else 0.0

    def of_classes(self, labels: Sequence[Any]) -> dict[str, Any]:
        found = zip(labels, self.per_class.tolist(), self.counts[2].tolist(), strict=True)
        names = "precision", "recall", "f1", "rows"
        classes = {str(label): dict(zip(names, (*each, n), strict=True)) for label, each, n in found}
        return {"classes": classes, "labels": list(labels)}


@dataclass(frozen=True, eq=False)
class Metrics(_ByClass):
    """Metrics over some rows, and the confusion matrix they come from."""

    confusion: np.ndarray  # (classes, classes) int: rows are the true classes, columns the predicted ones
    loss: float  # mean cross-entropy
    figures: ClassVar[tuple[str, ...]] = ("accuracy", "macro_f1", "loss", "rows")

    @classmethod
    def of(cls, probabilities: np.ndarray, truth: np.ndarray, predicted: np.ndarray) -> Self:
        """Compare probabilities (rows, classes) and answers with each row's true class, (rows,) both."""
        classes = probabilities.shape[1]
        confusion = np.zeros((classes, classes), dtype=np.int64)
        np.add.at(confusion, (truth, predicted), 1)
        likelihood = probabilities[np.arange(len(truth)), truth].astype(np.float64)
        return cls(confusion, float(-np.log(np.maximum(likelihood, 1e-12)).mean()) + 0.0)  # not -0.0

    @property
    def rows(self) -> int:
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """The share of rows whose most probable class is the true one."""
        return float(np.trace(self.confusion) / self.rows)

    @property
    def counts(self) -> np.ndarray:
        """(3, classes): rows where the class is predicted rightly, is predicted, is the true one."""
        sums = self.confusion.sum(axis=0), self.confusion.sum(axis=1)
        return np.stack([np.diag(self.confusion), *sums])

    def of_classes(self, labels: Sequence[Any]) -> dict[str, Any]:
        return {**super().of_classes(labels), "confusion": self.confusion.tolist()}


@dataclass(frozen=True, eq=False)
class OrdinalMetrics(Metrics):
    """The same for ordered classes, and how far predictions are off."""

    figures: ClassVar[tuple[str, ...]] = ("accuracy", "mae", "macro_f1", "loss", "rows")

    @property
    def mae(self) -> float:
        """The mean absolute error, in classes."""
        k = np.arange(len(self.confusion))
        return float((np.abs(k[:, None] - k) * self.confusion).sum() / self.rows)


@dataclass(frozen=True, eq=False)
class LabelMetrics(_ByClass):
    """Metrics where a row has any number of labels."""

    counts: np.ndarray  # (3, labels): rows where the label is predicted rightly, is predicted, is true
    subset_accuracy: float  # the share of rows whose labels are all right, and no others
    loss: float  # mean over the rows of the binary cross-entropy, summed over the labels
    rows: int
    figures: ClassVar[tuple[str, ...]] = ("micro_f1", "macro_f1", "subset_accuracy", "loss", "rows")

    @classmethod
    def of(cls, probabilities: np.ndarray, truth: np.ndarray, predicted: np.ndarray) -> Self:
        """Compare probabilities (rows, labels) and answers with each row's labels, tables of ones both."""
        true = truth.astype(bool)
        counts = np.stack([each.sum(axis=0) for each in (predicted & true, predicted, true)])
        likelihood = np.where(true, probabilities, 1 - probabilities.astype(np.float64))
        loss = -np.log(np.maximum(likelihood, 1e-12)).sum(axis=1).mean()
        exact = float((predicted == true).all(axis=1).mean())
        return cls(counts, exact, float(loss) + 0.0, len(truth))

    @property
    def micro_f1(self) -> float:
        """F1 of all decisions together."""
        right, predicted, true = self.counts.sum(axis=1).tolist()
        return float(2 * right / max(predicted + true, 1))


@dataclass(frozen=True, eq=False)
class ValueMetrics(AnyMetrics):
    """Metrics of predicted numbers."""

    rows: int
    mae: float  # mean absolute error
    loss: float  # mean squared error
    r2: float  # share of the variance that is explained; 0 where the true numbers do not vary
    pearson: float  # correlations; 0 where one side does not vary
    spearman: float
    figures: ClassVar[tuple[str, ...]] = ("r2", "mae", "pearson", "spearman", "loss", "rows")

    @classmethod
    def of(cls, values: np.ndarray, truth: np.ndarray, predicted: np.ndarray) -> Self:
        """Compare predicted numbers with the true ones, (rows,) both."""
        x, y = predicted.astype(np.float64), truth.astype(np.float64)
        error, variance = np.square(x - y).mean(), y.var()
        r2 = 1 - error / variance if variance else 0.0
        mae = float(np.abs(x - y).mean())
        return cls(len(y), mae, float(error), float(r2), _correlation(x, y), spearman(x, y))


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """The correlation of two rankings, from -1 to 1; equal values share their mean rank."""
    return _correlation(_ranks(x), _ranks(y))


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    x, y = x - x.mean(), y - y.mean()
    size = float(np.sqrt(np.square(x).sum() * np.square(y).sum()))
    return float((x * y).sum() / size) if size else 0.0


def _ranks(values: np.ndarray) -> np.ndarray:
    """Equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[inverse])
