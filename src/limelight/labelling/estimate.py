"""How accurate the model is, from texts drawn at random.

Texts that were chosen because they are hard, or accepted because they are easy, say little about the others.
The rows of a table have a random order (vectors.py), and every second label is of the next text in it. The
texts at its start, all labelled, are a fair sample of the table, less those that were chosen by the model: of
the texts that are left, that is. Each is judged by the model that was fitted without it. The share that is
right has Wilson's interval.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..text.metrics import wilson

MIN_SAMPLE = 10  # texts in the sample, before there is a range
MIN_SAMPLE_FOR_SHARE = 50  # with fewer, one share would say more than is known
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


def advise(found: Estimate | None, drawn: int) -> str:
    """What to do next, in one sentence.

    >>> advise(None, 7)
    'Go on: 3 more texts drawn at random give a first estimate.'
    """
    if found is None:
        more = MIN_SAMPLE - drawn
        gives = f"{more} more texts drawn at random give" if more > 1 else "1 more text drawn at random gives"
        return f"Go on: {gives} a first estimate."
    if found.accuracy is None or found.high - found.low > MAX_WIDTH:
        return "The estimate is rough: go on, more texts drawn at random are needed."
    return "Where the curve no longer rises, more labels add little."
