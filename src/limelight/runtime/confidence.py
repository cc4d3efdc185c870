"""When not to answer: the temperature of the probabilities, and the confidence below which a model abstains.

A network is often surer than it should be. Dividing its logits by one number, the temperature (Guo et al.
2017), makes its probabilities say how often it is right; which class is the most probable stays the same. It
is fitted on the development set, and goes into the weights of the last layer when the model is saved, so that
whatever runs the model has it.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..config.recipe import DEFAULT_TASK
from ..errors import LimelightError, bad_value, wrong_task
from ..text.metrics import wilson
from ..text.tasks import find_task

MIN_DEV_ROWS = 100  # with fewer, chance decides
BOUNDS = 0.05, 20.0  # of a temperature
POINTS, MAX_ROWS = 100, 10**7  # of a saved curve
RISK = 0.05  # that a threshold is given if none has the wanted precision
MIN_CHANCE = 0.5  # that a threshold will be given, or none is
CONFIDENCE = f"{1 - RISK / MIN_CHANCE:.0%}"  # how many of the thresholds that are given hold


def fit_temperature(logits: np.ndarray, truth: np.ndarray) -> float:
    """The temperature by which logits (rows, classes) predict `truth` (rows,) best, by cross-entropy.

    One in n + 2 of the targets is spread over all classes, as in Platt scaling: where every answer is right,
    the temperature would be 0 otherwise, and the model always certain.
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
    """What is answered at a threshold, from the confidence (texts,) of each text and whether it is right."""
    sure = confidence >= threshold
    return Answered(float(threshold), float(sure.mean()), float(correct[sure].mean()) if sure.any() else 1.0)


def answer_curve(confidence: np.ndarray, correct: np.ndarray) -> list[Answered]:
    """What is answered at each of a hundred thresholds, from the lowest."""
    values = np.unique(confidence)
    places = np.unique(np.linspace(0, len(values) - 1, POINTS).round().astype(int))
    return [answered(confidence, correct, float(values[k])) for k in places]


def reaching(curve: Sequence[Answered], precision: float, rows: int) -> Answered | None:
    """The point of a curve of `rows` texts with the most answers that are shown to have this precision.

    Of many thresholds one always looks good by chance. So the first is the one that a smooth fit of the curve
    makes most likely to pass; then lower ones are tried until one fails (fixed sequence testing: all tests
    together have the risk of one). Each is an exact binomial test. If even the first is more likely to fail,
    there is no point: what passes then passes mostly by luck. As far as the fit is right, at least
    1 - RISK / MIN_CHANCE of the thresholds that are given hold.
    """
    answers = np.array([round(point.share * rows) for point in curve])
    wrong = np.array([round((1 - point.precision) * n) for point, n in zip(curve, answers, strict=True)])
    most = [_most_wrong(int(n), precision) for n in answers]
    likely = _smoothed(np.array([point.threshold for point in curve]), answers, wrong)
    chances = [_wrong_at_most(k, int(n), p) for k, n, p in zip(most, answers, likely, strict=True)]
    start = max(range(len(curve)), key=chances.__getitem__, default=0)
    found = None
    if curve and chances[start] >= MIN_CHANCE:
        for point, k, limit in list(zip(curve, wrong, most, strict=True))[start::-1]:
            if k > limit:
                break
            found = point
    return found


def _most_wrong(n: int, precision: float) -> int:
    """How many of n answers may be wrong to show this precision; -1 if even n right ones do not."""
    few = _binomial(n, precision, min(n, int(n * (1 - precision)) + 1)).cumsum()
    return int(np.searchsorted(few, RISK, side="right")) - 1


def _wrong_at_most(k: int, n: int, precision: float) -> float:
    return float(_binomial(n, precision, k).sum()) if k >= 0 else 0.0


def _binomial(n: int, precision: float, most: int) -> np.ndarray:
    """(most + 1,): the chance of 0, 1, ... wrong ones among n answers."""
    k = np.arange(1, most + 1)
    with np.errstate(divide="ignore"):  # nothing is wrong where the precision is 1
        steps = np.log((n + 1 - k) / k) + np.log((1 - precision) / precision)
    return np.asarray(np.exp(n * np.log(precision) + np.concatenate([[0.0], steps.cumsum()])))


def _smoothed(thresholds: np.ndarray, answers: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """(points,): the precision at each threshold, if being right is a logistic function of the confidence."""
    texts, errors = (-np.diff(each, append=0) for each in (answers, wrong))  # up to the next threshold
    half = 0.5 * texts / max(texts.sum(), 1)  # a right and a wrong answer more, half of each: none is certain
    texts, right = texts + 2 * half, texts - errors + half
    p = thresholds.clip(1e-6, 1 - 1e-6)
    X = np.stack([np.ones_like(p), np.log(p / (1 - p))], axis=1)
    weights = np.zeros(2)
    for _ in range(30):  # Newton's steps
        p = 1 / (1 + np.exp(-(X @ weights).clip(-30, 30)))
        curvature = (X.T * (texts * p * (1 - p))) @ X + 1e-6 * np.eye(2)
        weights += np.linalg.solve(curvature, X.T @ (right - texts * p)).clip(-2, 2)
    return np.asarray((texts * p)[::-1].cumsum()[::-1] / np.maximum(texts[::-1].cumsum()[::-1], 1e-9))


def threshold_for(curve: Sequence[Answered], precision: float, rows: int) -> Answered:
    """The point of `reaching`, or an error that says what the texts do show."""
    if not 0 < precision <= 1:
        raise bad_value(f"the wanted precision is {precision:g}; it must be above 0 and at most 1")
    if found := reaching(curve, precision, rows):
        return found
    shown = "; ".join(
        f"answering {point.share:.0%}, {point.precision:.1%} are right ({low:.1%} to {high:.1%})"
        for point, low, high in overview(curve, rows)
    )
    raise LimelightError(
        f"{rows:,} texts do not show a precision of {precision:.1%} with {CONFIDENCE} confidence at any "
        f"threshold; {shown}; ask for less, or give more texts",
        code="precision-unreachable",
    )


def overview(curve: Sequence[Answered], rows: int) -> list[tuple[Answered, float, float]]:
    """Points of a curve, from all answers to the surest tenth, each with the interval of its precision."""
    points = [min(curve, key=lambda point: abs(point.share - share)) for share in (1, 0.75, 0.5, 0.25, 0.1)]
    return [(each, *wilson(each.precision, each.share * rows)) for each in dict.fromkeys(points)]


def confidence_facts(probabilities: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """What a saved model knows about its confidence on the development set: rows, and the curve."""
    best = probabilities.argmax(axis=1)
    curve = answer_curve(probabilities.max(axis=1).astype(np.float64), best == truth)
    return {"rows": len(truth), "curve": [list(point) for point in curve]}


def saved_curve(facts: Any) -> tuple[list[Answered], int]:
    """The curve that `confidence_facts` wrote, and its rows; empty if there is none, or it is damaged."""
    try:
        curve, rows = [Answered(*map(float, point)) for point in facts["curve"]], int(facts["rows"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return [], 0  # a folder from elsewhere may hold anything
    within = all(0 < each.share <= 1 and 0 <= each.precision <= 1 for each in curve)
    falling = all(a.threshold < b.threshold and a.share > b.share for a, b in pairwise(curve))
    return (curve, rows) if within and falling and 0 < rows < MAX_ROWS else ([], 0)


def check_threshold(value: Any, name: str = "abstain_below", task: str = DEFAULT_TASK) -> float:
    """A probability to abstain below, for a task with one class a text."""
    if not isinstance(value, int | float | np.number) or not 0 <= value <= 1:
        raise bad_value(f"{name} is {value!r}; it must be a probability from 0 to 1, such as 0.8")
    if not find_task(task).is_class:
        raise wrong_task(f"{name} is for one class a text; the task is {task!r}")
    return float(value)
