"""The losses that tune a reader's last map, against plain numpy in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from experiments.reader import tune


def unit(rng: np.random.Generator, rows: int) -> np.ndarray:
    v = rng.normal(size=(rows, 5))
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def test_each_text_of_the_class_is_right_and_the_text_itself_is_left_out():
    v, labels = unit(np.random.default_rng(0), 7), [0, 0, 1, 1, 1, 2, 0]
    terms = []
    for i in range(7):
        others = [j for j in range(7) if j != i]
        total = np.log(sum(np.exp(v[i] @ v[j] / 0.1) for j in others))
        right = [v[i] @ v[j] / 0.1 - total for j in others if labels[j] == labels[i]]
        terms.append(-np.mean(right) if right else 0.0)
    found = tune.class_loss(torch.from_numpy(v), torch.tensor(labels))
    assert float(found) == pytest.approx(np.mean(terms), rel=1e-9)


def test_what_contradicts_a_text_is_among_the_wrong_ones():
    rng = np.random.default_rng(1)
    first, follows, contradicts = (unit(rng, 4) for _ in range(3))
    wrong = np.concatenate([follows, contradicts])
    there = [
        np.log(np.exp(wrong @ a / 0.05).sum()) - a @ b / 0.05 for a, b in zip(first, follows, strict=True)
    ]
    back = [
        np.log(np.exp(first @ b / 0.05).sum()) - a @ b / 0.05 for a, b in zip(first, follows, strict=True)
    ]
    found = tune.pair_loss(*map(torch.from_numpy, (first, follows, contradicts)))
    assert float(found) == pytest.approx((np.mean(there) + np.mean(back)) / 2, rel=1e-9)
