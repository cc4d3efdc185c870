"""Means, differences and trends against numpy and scipy, one group at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from limelight.explain.intervals import (
    Difference,
    Mean,
    certain,
    differences,
    mean_of,
    means,
    t_chance,
    t_limit,
    trend,
    widened,
)  # fmt: skip


def test_student_t():
    freedom = np.array([6.0, 9, 15, 40, 1000])
    assert t_limit(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=0.003)
    assert (t_limit(np.arange(1.0, 6)) >= stats.t.ppf(0.975, np.arange(1.0, 6))).all()
    for t, v in ((0.0, 5.0), (1.3, 9), (-2.5, 18), (4.0, 400)):
        assert t_chance(t, v) == pytest.approx(2 * stats.t.sf(abs(t), v), abs=0.003)


def some_groups() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 5, 200)  # -1: of no group
    return rng.normal(100 + codes / 2, 1), codes


def test_means_of_groups():
    values, codes = some_groups()
    for k, found in enumerate(means(values, codes, 5)):
        own = values[codes == k]
        half = stats.t.ppf(0.975, len(own) - 1) * own.std(ddof=1) / np.sqrt(len(own))
        assert found.n == len(own)
        assert found[1:] == pytest.approx((own.mean(), own.mean() - half, own.mean() + half), rel=1e-5)
    assert mean_of(np.array([])) == Mean(0, None)
    assert mean_of(np.array([0.5])) == Mean(1, 0.5)
    assert mean_of(np.array([0.5, 0.5])) == Mean(2, 0.5, 0.5, 0.5)


def test_differences_from_all_others():
    values, codes = some_groups()
    for k, found in enumerate(differences(values, codes, 5, least=10)):
        welch = stats.ttest_ind(values[codes == k], values[codes != k], equal_var=False)
        low, high = welch.confidence_interval()
        assert found is not None
        assert found.difference == pytest.approx(values[codes == k].mean() - values[codes != k].mean())
        assert found[1:3] == pytest.approx((low, high), abs=0.002)
        assert found.chance == pytest.approx(welch.pvalue, abs=0.001)


def test_too_few_or_equal_values_are_not_compared():
    codes = np.array([0] * 10 + [1] * 9)
    assert differences(np.arange(19.0), codes, 3, least=10) == [None, None, None]
    assert differences(np.array([]), np.array([], int), 2, least=10) == [None, None]
    one, other = differences(np.array([1.0, 1, 2, 2]), np.array([0, 0, 1, 1]), 2, least=2)
    assert (one, other) == ((-1.0, -1.0, -1.0, 0.0), (1.0, 1.0, 1.0, 0.0))
    assert differences(np.full(4, 7.0), np.array([0, 0, 1, 1]), 2, least=2)[0] == (0.0, 0.0, 0.0, 1.0)


def test_trend():
    rng = np.random.default_rng(1)
    times = 734000 + rng.integers(0, 500, 80).astype(float)
    values = 0.002 * times + rng.normal(0, 1, 80)
    line, span = stats.linregress(times, values), np.ptp(times)
    half = stats.t.ppf(0.975, 78) * line.stderr
    found = trend(times, values)
    assert found is not None
    expected = np.array([line.slope, line.slope - half, line.slope + half]) * span
    assert found[:3] == pytest.approx(expected, rel=1e-5)
    assert found.chance == pytest.approx(line.pvalue, abs=1e-4)
    assert trend(np.array([1.0, 2]), np.array([1.0, 2])) is None
    assert trend(np.ones(9), np.arange(9.0)) is None
    assert trend(np.array([]), np.array([])) is None
    assert trend(np.arange(3.0), np.ones(3)) == (0.0, 0.0, 0.0, 1.0)


def test_few_of_many_equal_groups_are_called_certain():
    rng = np.random.default_rng(2)
    values, codes = rng.normal(size=20_000), np.arange(20_000) % 1000
    values[codes == 7] += 2
    found = differences(values, codes, 1000, least=10)
    chances = [each.chance for each in found if each]
    assert sum(chance < 0.05 for chance in chances) > 30
    assert [k for k, sure in enumerate(certain(chances)) if sure] == [7]
    assert certain([]) == []
    expected = stats.false_discovery_control(chances) <= 0.05
    assert certain(chances) == expected.tolist()


def test_a_further_error_widens_an_interval():
    found = widened(Difference(1.0, 0.5, 1.5, 0.0001), 0.3)
    half = np.hypot(0.5, stats.norm.ppf(0.975) * 0.3)
    assert found[:3] == pytest.approx((1.0, 1 - half, 1 + half), rel=1e-5)
    assert found.chance == pytest.approx(2 * stats.norm.sf(stats.norm.ppf(0.975) / half), rel=1e-4)
    assert widened(found, 0.0) == found
