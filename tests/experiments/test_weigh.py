"""How a reader's directions are weighed, against plain numpy in float64."""

from __future__ import annotations

import numpy as np
import torch
from experiments.reader import weigh


def unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def test_directions_are_evened_out_and_that_of_the_mean_is_raised():
    rng = np.random.default_rng(0)
    rows, W = rng.normal(size=(300, 6)) * [3, 2, 2, 1, 1, 1] + 1, rng.normal(size=(4, 6))
    spread, directions = np.linalg.eigh(np.cov(unit(rows @ W.T).T))
    weights = (spread / spread.mean()) ** -(weigh.EVEN / 2)
    evened = directions @ np.diag(weights) @ directions.T @ W
    u = unit(unit(rows @ evened.T).mean(0)[None])
    expected = (np.eye(4) + weigh.MEAN * u.T @ u) @ evened
    found = weigh.weigh_directions(torch.from_numpy(W).float(), torch.from_numpy(rows))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4)
