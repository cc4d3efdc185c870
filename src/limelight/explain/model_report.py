"""What a report says of one model: figures, what decided, and what an accuracy stands beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..reading.captions import NO_LABEL
from ..reading.pieces import printable
from ..reading.reading import AnyReading
from ..runtime.card import with_baselines
from ..runtime.model import Model
from ..text.metrics import LabelMetrics, Metrics, wilson
from ..text.tasks import find_task
from .telling import DecidedText, TellingTerm, telling_terms

FEW_CLASSES = 12  # up to which each class has more words and examples
BINS = 10  # of confidence
MAX_TERMS = (10, 6)  # telling words and phrases of each of few classes, and of many


@dataclass(frozen=True, eq=False)
class Calibration:
    """Texts by the confidence of their predictions, in ten bins of equal width."""

    counts: np.ndarray  # (bins,)
    confidence: np.ndarray  # (bins,): the mean; 0 in an empty bin
    accuracy: np.ndarray  # (bins,): the share of correct predictions; 0 in an empty bin

    @property
    def error(self) -> float:
        """The expected calibration error: |accuracy - confidence|, averaged over the texts."""
        return float((self.counts * np.abs(self.accuracy - self.confidence)).sum() / self.counts.sum())


def measure_calibration(confidence: np.ndarray, correct: np.ndarray) -> Calibration:
    """Bin the confidence (texts,) of each prediction and whether it is correct (texts,).

    >>> calibration = measure_calibration(np.array([0.95, 0.95, 0.55]), np.array([True, False, True]))
    >>> calibration.counts.tolist(), round(calibration.error, 3)
    ([0, 0, 0, 0, 0, 1, 0, 0, 0, 2], 0.45)
    """
    bins = np.clip(np.ceil(confidence * BINS).astype(int) - 1, 0, BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    means = [np.bincount(bins, each, BINS) / np.maximum(counts, 1) for each in (confidence, correct)]
    return Calibration(counts, *means)


@dataclass(frozen=True, eq=False)
class ModelReport:
    name: str
    model: Model
    metrics: Metrics | LabelMetrics  # of the texts that are `measured`, like all figures
    calibration: Calibration
    correct: np.ndarray  # (texts,): whether the prediction is right, all labels of it
    confidence: np.ndarray  # (texts,)
    measured: np.ndarray  # (texts,) bool: those that it did not learn from, if there are any
    sample: np.ndarray  # (read,): the numbers of the texts that the following are of
    readings: list[AnyReading]
    truth: np.ndarray  # (read,): indices of the true classes; of several labels (read, labels)
    trust: str  # how far to trust what decided, in a sentence; empty if it could not be measured

    @cached_property
    def predicted(self) -> np.ndarray:
        """(read,): indices of the predicted classes; of several labels, of the surest."""
        return np.array([each.target for each in self.readings])

    @property
    def several(self) -> bool:
        return find_task(self.model.task).has_several

    @property
    def accuracy(self) -> float:
        return float(self.correct[self.measured].mean())

    @property
    def baselines(self) -> dict[str, float]:
        """Accuracies to compare with: of simple models, and what training measured on its held-out rows."""
        if self.several:
            return {}
        label, share = self.largest_class
        found = {"This model": self.accuracy, f"Always the largest class, here “{label}”": share}
        for name, figures in with_baselines(self.model.facts).items():
            value = figures.get("accuracy") if isinstance(figures, Mapping) else None
            if isinstance(value, float):
                found[f"At training, on {name}"] = value
        return found

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.accuracy, self.metrics.rows)

    @property
    def largest_class(self) -> tuple[str, float]:
        """The most frequent class of the data, and its share."""
        true = self.metrics.counts[2]
        return self.labels[int(true.argmax())], float(true.max() / self.metrics.rows)

    def true_label(self, read: int) -> str:
        if not self.several:
            return self.labels[int(self.truth[read])]
        return ", ".join(self.labels[k] for k in np.flatnonzero(self.truth[read])) or NO_LABEL

    @property
    def labels(self) -> list[str]:
        return [printable(str(label)) for label in self.model.labels]

    @cached_property
    def telling(self) -> list[list[TellingTerm]]:
        """For each class, the words and phrases that decided for it."""
        given: list[list[DecidedText]] = [[] for _ in self.labels]
        for reading, truth in zip(self.readings, self.truth, strict=True):
            for label, weights in _decided(reading):
                right = bool(truth[label] if self.several else truth == label)
                given[label].append(DecidedText(list(zip(reading.sides, weights, strict=True)), right))
        most = MAX_TERMS[len(self.labels) > FEW_CLASSES]
        return [telling_terms(each, most) for each in given]


def _decided(reading: AnyReading) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Each class that a text is given, and for each side how much every word supports it."""
    sides, target = reading.sides, reading.target
    is_given = not find_task(sides[0].task).has_several or reading.label in reading.answer
    supporting = [side.supporting for side in sides]
    if is_given and all(weights is not None for weights in supporting):
        yield target, [np.asarray(weights) for weights in supporting]
    for further in zip(*(side.decided_further for side in sides), strict=True):
        yield further[0][0], [weights for _, weights in further]
