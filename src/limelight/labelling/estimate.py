"""How accurate the model is, from texts drawn at random, and what more labels would add.

Texts that were chosen because they are hard, or accepted because they are easy, say little about the others.
The rows of a table have a random order (vectors.py), and every second label is of the next text in it: the
texts at its start, all labelled, are a fair sample of the table, however the other labels came about. Each is
judged by the model that was fitted without it. The share that is right has Wilson's interval.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from ..text.metrics import wilson

MIN_SAMPLE = 10  # texts in the sample, before there is a range
MIN_SAMPLE_FOR_SHARE = 50  # with fewer, one share would say more than is known
HORIZON = 50  # labels ahead, whose gain is predicted
MIN_GAIN = 0.01  # of accuracy, over the horizon: less is not worth the labels
MAX_WIDTH = 0.2  # of the interval: a wider one may hide that the model is poor


class Estimate(NamedTuple):
    """How many of the texts drawn at random are right, and the 95% interval of the accuracy."""

    right: int
    drawn: int
    low: float
    high: float

    @property
    def accuracy(self) -> float | None:
        """The share that is right; None of a sample that is too small for one number."""
        return self.right / self.drawn if self.drawn >= MIN_SAMPLE_FOR_SHARE else None

    def __str__(self) -> str:
        share = "" if self.accuracy is None else f"{self.accuracy:.0%}, "
        interval = f"{self.low:.0%} to {self.high:.0%} with 95% confidence"
        return f"accuracy {share}{interval}, from {self.drawn:,} texts drawn at random"


def estimate(correct: np.ndarray) -> Estimate | None:
    """From a fair sample: whether each text is right (n,).

    >>> print(estimate(np.array([True] * 40 + [False] * 10)))
    accuracy 80%, 67% to 89% with 95% confidence, from 50 texts drawn at random
    >>> print(estimate(np.array([True] * 8 + [False] * 2)))
    accuracy 49% to 94% with 95% confidence, from 10 texts drawn at random
    """
    n, right = len(correct), int(np.sum(correct))
    return Estimate(right, n, *wilson(right / n, n)) if n >= MIN_SAMPLE else None


def expected_gain(now: np.ndarray, before: np.ndarray, labels: int, more: int = HORIZON) -> float:
    """What `more` labels add, if accuracy goes on growing with the logarithm of their number.

    `now` and `before` (n,) say which texts of the sample are right with all labels, and with the first half.
    Nothing can grow past 1.

    >>> now, before = np.array([1.0, 1, 1, 0] * 5), np.array([1.0, 1, 0, 0] * 5)
    >>> round(expected_gain(now, before, labels=100), 4)
    0.1595
    >>> expected_gain(now, before, labels=50)
    0.25
    """
    # As if one text more had become right: a sample of 20 without a change does not mean that none will come.
    doubled = (float(np.sum(now) - np.sum(before)) + 1) / (len(now) + 2)
    gain = max(0.0, doubled) / log(2) * log((labels + more) / labels)
    return min(gain, 1 - float(np.mean(now)))


def advise(found: Estimate | None, gain: float | None, drawn: int) -> tuple[bool, str]:
    """Whether to stop, and why, in one sentence.

    >>> advise(Estimate(72, 80, 0.8, 0.95), 0.004, 80)
    (True, 'The next 50 labels are expected to add 0.4 points: you can stop.')
    """
    if found is None or gain is None:
        more = MIN_SAMPLE - drawn
        gives = f"{more} more texts drawn at random give" if more > 1 else "1 more text drawn at random gives"
        return False, f"Go on: {gives} a first estimate."
    if found.accuracy is None or found.high - found.low > MAX_WIDTH:
        return False, "The estimate is rough: go on, more texts drawn at random are needed."
    says = f"The next {HORIZON} labels are expected to add {100 * gain:.1f} points"
    return gain < MIN_GAIN, f"{says}: {'you can stop' if gain < MIN_GAIN else 'go on'}."
