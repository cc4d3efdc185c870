"""What the others say about a label, against a plain version with its numbers written out."""

from __future__ import annotations

import numpy as np
import pytest

from limelight.labelling import left_out
from limelight.labelling.left_out import find_neighbours, judge
from limelight.labelling.refit import Space, fit

CLASS_WEIGHTS, NEAR_WEIGHTS = (0.3, 0.5, 0.8, 1.0), (0.0, 0.15, 0.3, 0.6, 1.0)


def make(seed: int, n: int = 30, size: int = 4, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors, and classes that follow them more or less."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, classes, n)
    X = draw.normal(size=(n, size)) + draw.choice([0.2, 0.7, 2.0]) * np.eye(size)[y]
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), y


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


def reference_pools(X: np.ndarray, y: np.ndarray) -> dict[tuple[float, float], np.ndarray]:
    logits = fit(X, np.eye(3)[y], Space.of(X)).left_out.astype(np.float64)  # tests/labelling/test_refit.py
    by_class = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
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
        pools = reference_pools(X.astype(np.float64), y)
        best = min(pools, key=lambda each: ((pools[each] - np.eye(3)[y]) ** 2).sum())
        found = judge(X, y, 3, find_neighbours(X))
        np.testing.assert_allclose(found.P, pools[best], rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(found.by_class, pools[1.0, 0.0], rtol=1e-3, atol=1e-6)
        chosen.add(best)
    assert {a for a, _ in chosen} >= {0.3, 1.0}
    assert {b for _, b in chosen} >= {0.0, 1.0}


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
