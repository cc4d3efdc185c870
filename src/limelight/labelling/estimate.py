"""How accurate the model is, from the labels themselves, and what more of them would add.

Texts that were chosen because they are hard, or accepted because they are easy, say little about the others.
The rows of a table have a random order (vectors.py), and one label in five is of the next text in it: the
texts at its start, all labelled, are a fair sample of the table, however the other labels came about. Each is
judged by the model that was fitted without it. The share that is right has Wilson's interval.

The confidence of the model in all other texts makes the estimate finer: where it is right about how sure it
is, only the difference between sureness and truth is left to be measured on the sample
(prediction-powered inference, Angelopoulos et al. 2023). The interval counts that as a larger sample.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from ..text.metrics import wilson

MIN_SAMPLE = 10  # texts in the sample, before there is an estimate
HORIZON = 50  # labels ahead, whose gain is predicted
MIN_GAIN = 0.01  # of accuracy, over the horizon: less is not worth the labels
MIN_SAMPLE_TO_STOP = 30  # texts in the sample, before it may say that it is enough
MAX_WIDTH = 0.2  # of the interval: a wider one may hide that the model is poor


class Estimate(NamedTuple):
    """An accuracy with its 95% interval."""

    accuracy: float
    low: float
    high: float


def estimate(correct: np.ndarray, sure: np.ndarray, sure_of_all: float) -> Estimate:
    """From a fair sample: whether each is right (n,), how sure the model is of it (n,), and of all texts.

    >>> even = np.full(10, 0.8)
    >>> [round(x, 4) for x in estimate(np.array([1.0] * 8 + [0.0] * 2), even, 0.8)]
    [0.8, 0.4902, 0.9433]
    """
    n, share = len(correct), float(np.mean(correct))
    slope = _slope(correct, sure)
    left = correct - slope * sure
    middle = min(max(float(np.mean(left)) + slope * sure_of_all, 0.0), 1.0)
    spread = share * (1 - share)
    # As large a sample as would give the same variance by itself; at most half as large again, to be safe.
    size = n * min(1.5, spread / max(float(np.var(left)), 1e-9)) if spread > 0 else n
    return Estimate(middle, *wilson(middle, max(size, n)))


def _slope(correct: np.ndarray, sure: np.ndarray) -> float:
    """How much of the sureness to believe: the least squares, drawn to 0 where the sample is small."""
    centred = sure - sure.mean()
    return float(np.clip(centred @ (correct - correct.mean()) / (centred @ centred + 1.0), 0.0, 1.0))


def expected_gain(
    now: np.ndarray, before: np.ndarray, labels: int, accuracy: float, more: int = HORIZON
) -> float | None:
    """What `more` labels add, if accuracy goes on growing with the logarithm of their number.

    `now` and `before` (n,) say which texts of the sample are right with all labels, and with the first half;
    `accuracy` is the estimate, which cannot grow past 1.

    >>> now, before = np.array([1.0, 1, 1, 0] * 5), np.array([1.0, 1, 0, 0] * 5)
    >>> round(expected_gain(now, before, labels=50, accuracy=0.7), 4)
    0.2727
    >>> expected_gain(now, before, labels=50, accuracy=0.75)
    0.25
    """
    n = len(now)
    if n < MIN_SAMPLE:
        return None
    # As if one text more had become right: a sample of 20 without a change does not mean that none will come.
    doubled = (float(np.sum(now) - np.sum(before)) + 1) / (n + 2)
    gain = max(0.0, doubled) / log(2) * log((labels + more) / labels)
    return min(gain, 1 - accuracy)


def advise(found: Estimate | None, gain: float | None, drawn: int) -> tuple[bool, str]:
    """Whether to stop, and why, in one sentence.

    >>> advise(Estimate(0.9, 0.8, 0.95), 0.004, 40)
    (True, 'The next 50 labels are expected to add 0.4 points: you can stop.')
    """
    if found is None or gain is None:
        more = MIN_SAMPLE - drawn
        gives = f"{more} more texts drawn at random give" if more > 1 else "1 more text drawn at random gives"
        return False, f"Go on: {gives} a first estimate."
    says = f"The next {HORIZON} labels are expected to add {100 * gain:.1f} points"
    if found.high - found.low > MAX_WIDTH:
        return False, f"{says}, but the estimate is rough: go on, more texts drawn at random are needed."
    if gain >= MIN_GAIN:
        return False, f"{says}: go on."
    if drawn < MIN_SAMPLE_TO_STOP:
        return False, f"{says}, but the sample is small: go on."
    return True, f"{says}: you can stop."
