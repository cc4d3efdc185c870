"""When not to answer: the temperature of the probabilities, and the confidence below which a model abstains.

A network is often surer than it should be. Dividing its logits by one number, the temperature (Guo et al.
2017), makes its probabilities say how often it is right; which class is the most probable stays the same. It
is fitted on the development set, and goes into the weights of the last layer when the model is saved, so that
whatever runs the model has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import LimelightError, bad_value
from ..reading.answers import answers_of

FEWEST = 100  # rows of a development set; with fewer, chance decides
BOUNDS = 0.05, 20.0  # of a temperature
POINTS = 100  # of a saved curve
SURE, QUANTILE = "90%", 1.2816  # how sure a wanted precision is; one-sided, of the normal distribution


def fit_temperature(logits: np.ndarray, truth: np.ndarray) -> float:
    """The temperature by which logits (rows, classes) predict `truth` (rows,) best, by cross-entropy.

    One in n + 2 of the targets is spread over all classes, as in Platt scaling: where every answer is right,
    the temperature would be 0 otherwise, and the model always certain.

    >>> logits = np.array([[4.0, 0.0], [4.0, 0.0], [0.0, 4.0], [0.0, 4.0]] * 30)
    >>> right, half_right = np.array([0, 0, 1, 1] * 30), np.array([0, 1, 1, 0] * 30)
    >>> fit_temperature(logits, right) < 1 < fit_temperature(logits, half_right)
    True
    """
    z = logits.astype(np.float64)
    z = z - z.max(axis=1, keepdims=True)
    blur = 1 / (len(z) + 2)
    target = (1 - blur) * z[np.arange(len(z)), truth] + blur * z.mean(axis=1)  # (rows,)

    def slope(inverse: float) -> float:
        """The derivative of the cross-entropy by 1 / temperature, in which it is convex."""
        powers = np.exp(inverse * z)
        expected = (powers * z).sum(axis=1) / powers.sum(axis=1)
        return float((expected - target).mean())

    low, high = 1 / BOUNDS[1], 1 / BOUNDS[0]
    for _ in range(60):
        middle = np.sqrt(low * high)
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return float(1 / np.sqrt(low * high))


class Answered(NamedTuple):
    """What a model answers if it abstains below a threshold."""

    threshold: float
    share: float  # of the texts, that are answered
    precision: float  # the share of the answers that are right

    def __str__(self) -> str:
        return f"answers {self.share:.1%} of the texts, {self.precision:.1%} of them correctly"


def answered(confidence: np.ndarray, correct: np.ndarray, threshold: float) -> Answered:
    """What is answered at a threshold, from the confidence (texts,) of each text and whether it is right.

    >>> print(answered(np.array([0.9, 0.8, 0.4]), np.array([True, False, False]), 0.5))
    answers 66.7% of the texts, 50.0% of them correctly
    """
    sure = confidence >= threshold
    return Answered(float(threshold), float(sure.mean()), float(correct[sure].mean()) if sure.any() else 1.0)


def answer_curve(confidence: np.ndarray, correct: np.ndarray) -> list[Answered]:
    """What is answered at each of a hundred thresholds, from the lowest.

    >>> curve = answer_curve(np.array([0.9, 0.8, 0.4]), np.array([True, True, False]))
    >>> [(each.threshold, round(each.share, 2), round(each.precision, 2)) for each in curve]
    [(0.4, 1.0, 0.67), (0.8, 0.67, 1.0), (0.9, 0.33, 1.0)]
    """
    values = np.unique(confidence)
    places = np.unique(np.linspace(0, len(values) - 1, POINTS).round().astype(int))
    return [answered(confidence, correct, float(values[k])) for k in places]


def precision_bound(point: Answered, rows: int) -> float:
    """The precision that lies behind a point of `rows` texts with 90% confidence, by Wilson's interval.

    Of few answers, many are right by chance: 40 out of 40 speak for 96%, 4 out of 4 for 71%.

    >>> [round(precision_bound(Answered(0.8, share, 1.0), 40), 2) for share in (1.0, 0.1)]
    [0.96, 0.71]
    """
    n, p, z = max(point.share * rows, 1e-9), min(max(point.precision, 0.0), 1.0), QUANTILE
    middle = p + z * z / (2 * n)
    return float((middle - z * np.sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2)) / (1 + z * z / n))


def reaching(curve: Sequence[Answered], precision: float, rows: int) -> Answered | None:
    """The point of a curve of `rows` texts with the most answers whose precision is surely as wanted."""
    return next((point for point in curve if precision_bound(point, rows) >= precision), None)


def threshold_for(curve: Sequence[Answered], precision: float, rows: int) -> Answered:
    """The point of `reaching`, or an error that says what can be had.

    >>> curve = [Answered(0.4, 1.0, 0.67), Answered(0.8, 0.67, 1.0), Answered(0.9, 0.33, 1.0)]
    >>> threshold_for(curve, 0.95, rows=100)
    Answered(threshold=0.8, share=0.67, precision=1.0)
    """
    if not 0 < precision <= 1:
        raise bad_value(f"the wanted precision is {precision:g}; it must be above 0 and at most 1")
    if found := reaching(curve, precision, rows):
        return found
    best = max(curve, key=lambda point: precision_bound(point, rows))
    raise LimelightError(
        f"{rows:,} texts show a precision of {precision:.1%} with {SURE} confidence at no threshold; "
        f"the best is {precision_bound(best, rows):.1%}, at {best.threshold:.3f}; more texts may show more",
        code="precision-unreachable",
    )


def confidence_facts(probabilities: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """What a saved model knows about its confidence on the development set: rows, and the curve."""
    best = probabilities.argmax(axis=1)
    curve = answer_curve(probabilities.max(axis=1).astype(np.float64), best == truth)
    return {"rows": len(truth), "curve": [list(point) for point in curve]}


def saved_curve(facts: Any) -> tuple[list[Answered], int]:
    """The curve that `confidence_facts` wrote, and its rows; empty if there is none, or it is damaged."""
    try:
        return [Answered(*map(float, point)) for point in facts["curve"]], int(facts["rows"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return [], 0  # a folder from elsewhere may hold anything


def check_threshold(value: Any, name: str = "abstain_below", task: str = "classification") -> float:
    """A probability to abstain below, for a task with one class a text.

    >>> check_threshold(80)
    Traceback (most recent call last):
    limelight.errors.LimelightError: abstain_below is 80; it must be a probability from 0 to 1, such as 0.8
    """
    if not isinstance(value, int | float | np.number) or not 0 <= value <= 1:
        raise bad_value(f"{name} is {value!r}; it must be a probability from 0 to 1, such as 0.8")
    if not answers_of(task).is_class:
        raise LimelightError(f"{name} is for one class a text; the task is {task!r}", code="model-task")
    return float(value)
