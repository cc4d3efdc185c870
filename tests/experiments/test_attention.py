"""How sharp attention is, and how different its rows are, beside plain numpy."""

from __future__ import annotations

import numpy as np
import torch
from experiments.paper.attention import describe


def test_figures_of_attention_are_those_of_numpy():
    scores = np.random.default_rng(0).normal(size=(3, 4, 6))
    lengths = np.array([6, 4, 1])
    scores[np.broadcast_to(np.arange(6) >= lengths[:, None, None], scores.shape)] = -np.inf
    A = np.exp(scores) / np.exp(scores).sum(axis=2, keepdims=True)
    largest, even, cosine = describe(torch.from_numpy(A), torch.from_numpy(lengths)).numpy()
    for k, each in enumerate(A):
        norms = np.linalg.norm(each, axis=1)
        pairs = [each[i] @ each[j] / norms[i] / norms[j] for i in range(4) for j in range(4) if i != j]
        np.testing.assert_allclose(cosine[k], np.mean(pairs))
        np.testing.assert_allclose(largest[k], each.max(axis=1).mean())
    np.testing.assert_allclose(even, 1 / lengths)
    np.testing.assert_allclose(cosine[2], 1)  # one word: all rows read it
