"""Calibration of a model's probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BINS = 10


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
