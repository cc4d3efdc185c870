"""What the others say about a label, against a plain version with its numbers written out."""

from __future__ import annotations

import numpy as np
import pytest

from limelight.labelling import left_out
from limelight.labelling.left_out import find_neighbours, left_out_probabilities, split_folds

CLASS_WEIGHTS, NEAR_WEIGHTS = (0.15, 0.3, 0.5, 0.8), (0.0, 0.15, 0.3, 0.6, 1.0)


def make(seed: int, n: int = 30, size: int = 4, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors, and classes that follow them more or less."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, classes, n)
    X = draw.normal(size=(n, size)) + draw.choice([0.2, 0.7, 2.0]) * np.eye(size)[y]
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), y


def reference_folds(y: np.ndarray, seed: int) -> np.ndarray:
    order = np.random.default_rng(seed).permutation(len(y)).tolist()
    fold = np.empty(len(y), int)
    for rank, row in enumerate(sorted(order, key=lambda row: y[row])):
        fold[row] = rank % 5
    return fold


def reference_classes(X: np.ndarray, y: np.ndarray, classes: int, fold: np.ndarray) -> np.ndarray:
    """Linear discriminant analysis of the other folds: log-probabilities (n, classes)."""
    D = X - X.mean(axis=0)
    found = np.empty((len(X), classes))
    for row, x in enumerate(D):
        rest = fold != fold[row]
        own, n = D[rest], rest.sum()
        counts = np.array([(y[rest] == c).sum() for c in range(classes)])
        means = [(own[y[rest] == c].sum(axis=0) + own.mean(axis=0)) / (counts[c] + 1) for c in range(classes)]
        C = sum(np.outer(d - means[c], d - means[c]) for d, c in zip(own, y[rest], strict=True)) / n
        C = 0.4 * C + 0.6 * np.trace(C) / len(C) * np.eye(len(C))
        for c, m in enumerate(means):
            frequent = np.log((counts[c] + 0.5) / (counts + 0.5).sum())
            found[row, c] = x @ np.linalg.inv(C) @ m - m @ np.linalg.inv(C) @ m / 2 + frequent
    return found - np.log(np.exp(found).sum(axis=1, keepdims=True))


def reference_around(X: np.ndarray, y: np.ndarray, classes: int) -> np.ndarray:
    """The classes of all others, each by exp(20 * cosine), and three texts as frequent as they are."""
    found = np.empty((len(X), classes))
    for row, x in enumerate(X):
        weights = np.exp(20 * (X @ x))
        weights[row] = 0
        shares = np.array([weights[y == c].sum() for c in range(classes)]) / weights.sum()
        frequent = np.array([(y == c).mean() for c in range(classes)])
        found[row] = (shares * (len(X) - 1) + 3 * frequent) / (len(X) + 2)
    return np.log(found)


def reference_pools(X: np.ndarray, y: np.ndarray, seed: int) -> dict[tuple[float, float], np.ndarray]:
    by_class = reference_classes(X, y, 3, reference_folds(y, seed))
    around, pools = reference_around(X, y, 3), {}
    for a in CLASS_WEIGHTS:
        for b in NEAR_WEIGHTS:
            P = np.exp(a * by_class + b * around)
            pools[a, b] = P / P.sum(axis=1, keepdims=True)
    return pools


def test_both_opinions_are_pooled_by_the_weights_with_the_least_brier_score():
    chosen = set()
    for seed in range(60):
        X, y = make(seed)
        pools = reference_pools(X.astype(np.float64), y, seed % 3)
        best = min(pools, key=lambda each: ((pools[each] - np.eye(3)[y]) ** 2).sum())
        found = left_out_probabilities(X, y, 3, find_neighbours(X), seed % 3)
        np.testing.assert_allclose(found, pools[best], rtol=1e-4, atol=1e-7)
        chosen.add(best)
    assert {a for a, _ in chosen} == set(CLASS_WEIGHTS)
    assert {b for _, b in chosen} == set(NEAR_WEIGHTS)


def test_the_seed_is_0_unless_given():
    X, y = make(1)
    near = find_neighbours(X)
    first, same, other = (left_out_probabilities(X, y, 3, near, *seed) for seed in ((), (0,), (1,)))
    assert (first == same).all()
    assert (first != other).any()


@pytest.mark.parametrize("block", [1, 7, 512])
def test_neighbours_are_all_others_by_their_cosines_in_any_blocks(monkeypatch, block):
    monkeypatch.setattr(left_out, "BLOCK", block)
    X = make(2)[0]
    X[5] = X[9] = X[20]  # of the same cosine the first comes first
    S = X @ X.T
    found = find_neighbours(X, 6)
    for row in range(len(X)):
        expected = sorted((-S[row, k], k) for k in range(len(X)) if k != row)[:6]
        assert found.rows[row].tolist() == [k for _, k in expected]
        np.testing.assert_allclose(found.cosines[row], [-s for s, _ in expected], atol=1e-6)


def test_there_are_300_neighbours_or_all_others():
    X = np.ones((302, 1), np.float32)
    assert find_neighbours(X).rows.shape == (302, 300)
    assert find_neighbours(X[:4]).cosines.shape == (4, 3)


def test_each_class_is_spread_over_the_folds():
    y = np.array([0] * 7 + [1] * 4 + [2] * 2)
    for seed in range(5):
        assert split_folds(y, seed).tolist() == reference_folds(y, seed).tolist()
    assert sorted(split_folds(y, 0, folds=2).tolist()) == [0] * 7 + [1] * 6
