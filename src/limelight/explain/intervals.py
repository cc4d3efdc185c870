"""Means with 95% intervals, differences between groups of texts, trends: plain statistics on arrays."""

from math import erfc, hypot, sqrt
from typing import NamedTuple

import numpy as np

from ..text.metrics import Z, wilson

FALSE_SHARE = 0.05  # of the differences called certain, that may be chance


class Mean(NamedTuple):
    """A mean over n texts, and its 95% interval; None where too few texts say."""

    n: int
    mean: float | None
    low: float | None = None
    high: float | None = None


class Difference(NamedTuple):
    """How far a mean is from another one, with its 95% interval."""

    difference: float
    low: float
    high: float
    chance: float  # the probability of one this large between equal means


def t_limit(freedom: np.ndarray | float) -> np.ndarray:
    """How many standard errors a 95% interval reaches to each side: Student's t, as Wallace (1959) has it.

    Within 0.2% from 6 degrees of freedom on, and too wide rather than too narrow below.
    """
    v = np.asarray(freedom, float)
    return np.asarray(np.sqrt(v * np.expm1((Z * (8 * v + 3) / (8 * v + 1)) ** 2 / v)))


def t_chance(t: float, freedom: float) -> float:
    """The probability of a t at least this far from 0, by the same formula."""
    z = (8 * freedom + 1) / (8 * freedom + 3) * sqrt(freedom * np.log1p(t * t / freedom))
    return erfc(z / sqrt(2))


def _around(centre: float, half: float, chance: float) -> Difference:
    return Difference(centre, centre - half, centre + half, chance)


class _Moments(NamedTuple):
    n: np.ndarray
    mean: np.ndarray
    error: np.ndarray  # the square of the standard error


def _moments(n: np.ndarray, sums: np.ndarray, squares: np.ndarray) -> _Moments:
    with np.errstate(divide="ignore", invalid="ignore"):
        return _Moments(n, sums / n, np.maximum(squares - sums**2 / n, 0) / (n - 1) / n)


def _by_group(x: np.ndarray, codes: np.ndarray, groups: int) -> list[np.ndarray]:
    """The number of the values of each group, their sum and that of their squares."""
    known = codes >= 0
    return [np.bincount(codes[known], (x**power)[known], groups) for power in (0, 1, 2)]


def means(values: np.ndarray, codes: np.ndarray, groups: int) -> list[Mean]:
    """The mean of each group; `codes` (texts,) are the groups of the values, below 0 for none."""
    centre = float(values.mean()) if len(values) else 0.0
    found = _moments(*_by_group(values - centre, codes, groups))
    with np.errstate(divide="ignore", invalid="ignore"):
        half = t_limit(found.n - 1) * np.sqrt(found.error)
    every = zip(found.n.tolist(), (found.mean + centre).tolist(), half.tolist(), strict=True)
    return [_mean(int(n), mean, half) for n, mean, half in every]


def _mean(n: int, mean: float, half: float) -> Mean:
    if not n:
        return Mean(0, None)
    return Mean(n, mean, mean - half, mean + half) if n > 1 else Mean(n, mean)


def mean_of(values: np.ndarray) -> Mean:
    return means(values, np.zeros(len(values), int), 1)[0]


def differences(values: np.ndarray, codes: np.ndarray, groups: int, least: int) -> list[Difference | None]:
    """How far the mean of each group is from that of all other values, by Welch's test.

    None for a group of fewer than `least` values, or with fewer others.
    """
    if not len(values):
        return [None] * groups
    x = values - values.mean()
    sums = _by_group(x, codes, groups)
    own, rest = _moments(*sums), _moments(*((x**power).sum() - each for power, each in enumerate(sums)))
    enough = np.minimum(own.n, rest.n) >= max(least, 2)
    return [_difference(own, rest, k) if enough[k] else None for k in range(groups)]


def _difference(own: _Moments, rest: _Moments, k: int) -> Difference:
    a, b = float(own.error[k]), float(rest.error[k])
    apart = float(own.mean[k] - rest.mean[k])
    if a + b == 0:  # values that are all the same
        return _around(apart, 0.0, float(apart == 0))
    freedom = (a + b) ** 2 / (a * a / (own.n[k] - 1) + b * b / (rest.n[k] - 1))
    half = float(t_limit(freedom)) * sqrt(a + b)
    return _around(apart, half, t_chance(apart / sqrt(a + b), freedom))


def trend(times: np.ndarray, values: np.ndarray) -> Difference | None:
    """How far the straight line through the values rises from the first time to the last; None of too few."""
    n, x = len(values), times - np.mean(times) if len(times) else times
    spread = float((x * x).sum())
    if n < 3 or spread == 0:
        return None
    slope = float((x * values).sum()) / spread
    left = values - values.mean() - slope * x
    span, error = float(np.ptp(x)), sqrt(float((left * left).sum()) / (n - 2) / spread)
    if error == 0:
        return _around(slope * span, 0.0, float(slope == 0))
    return _around(slope * span, float(t_limit(n - 2)) * error * span, t_chance(slope / error, n - 2))


def widened(found: Difference, error: float) -> Difference:
    """The same with a further standard error of its own, such as that of a model."""
    if not error:
        return found
    apart, half = found.difference, hypot((found.high - found.low) / 2, Z * error)
    return _around(apart, half, erfc(Z * abs(apart) / half / sqrt(2)))


def widened_mean(found: Mean, error: float) -> Mean:
    """The same of a mean."""
    if found.mean is None or found.low is None:
        return found
    half = hypot(found.mean - found.low, Z * error)
    return found._replace(low=found.mean - half, high=found.mean + half)


def share_of(count: int, n: int) -> Mean:
    """A share with Wilson's 95% interval."""
    return Mean(n, count / n, *wilson(count / n, n)) if n else Mean(0, None)


def certain(chances: list[float]) -> list[bool]:
    """Which differences are beyond chance when many are looked at, after Benjamini and Hochberg (1995).

    Of a thousand pairs that do not differ, fifty have an interval without 0; few of these are certain here.
    """
    ranked, n = sorted(chances), len(chances)
    limit = max((chance for k, chance in enumerate(ranked, 1) if chance <= FALSE_SHARE * k / n), default=-1.0)
    return [chance <= limit for chance in chances]
