"""What decided: how much of a class's logit comes from each word, in one pass and without PyTorch.

M is a sum over words, M_r = sum_t A_rt h_t, and a linear head sums over M, so that its logit is exactly

    z = b + sum_t sum_r A_rt <w_r, h_t>

and the inner sum is the word's weight. A hidden layer of ReLUs is linear too once it is known which of its
units are on for this text; what their biases add belongs to no word. A product of both texts of a pair is
shared equally between them, and a vector is linear in M once its length is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ..config.recipe import ModelRecipe

Weights = Mapping[str, np.ndarray]
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # of the words, for comprehensiveness and sufficiency


def word_weights(A: np.ndarray, H: np.ndarray, W: np.ndarray, max_rows: int = 0) -> np.ndarray:
    """(n,): the sum over rows of A_rt <W_r, h_t>, for A (r, n), H (n, 2u) and W (r, 2u) of one text.

    The last `max_rows` rows are max-pooled: each of their units belongs to the word where it is largest.

    >>> A, H = np.array([[0.75, 0.25]]), np.array([[1.0, 0.0], [2.0, 2.0]])
    >>> word_weights(A, H, np.array([[1.0, -1.0]])).tolist()
    [0.75, 0.0]
    """
    r = len(A) - max_rows
    found = (A[:r].T * (H @ W[:r].T)).sum(axis=1)
    for row in W[r:]:
        winners = H.argmax(axis=0)  # (2u,)
        found += np.bincount(winners, row * H[winners, np.arange(H.shape[1])], len(H))
    return np.asarray(found)


def most_weighted(weights: np.ndarray) -> np.ndarray:
    """(shares, n): True for the given share of the words, those with the most weight; at least one word.

    Of words with equal weights the earlier one comes first.

    >>> most_weighted(np.array([0.1, 0.6, 0.3]))[[0, -1]].tolist()
    [[False, True, False], [False, True, True]]
    """
    rank = np.empty(len(weights), int)
    rank[np.argsort(-weights, kind="stable")] = np.arange(len(weights))
    counts = np.ceil(np.array(SHARES) * len(weights) - 1e-9)  # 0.05 of 20 is 1, not a little more
    return np.asarray(rank < counts[:, None])


def linear_part(
    weights: Weights, recipe: ModelRecipe, direction: np.ndarray, *M: np.ndarray
) -> list[np.ndarray]:
    """W (batch, r, 2u) for each M (batch, r, 2u): <W, M>, summed over both, is <direction, logits>.

    That is without biases, and with the hidden units that are on for M; `direction` is (batch, classes).
    """
    if len(M) == 1:
        return [_head(weights, recipe, direction, M[0])]
    first, second = M
    if recipe.pair == "gated":
        F_p, F_h = (_grouped(X, weights[f"gate.W_f{side}"]) for X, side in ((first, "p"), (second, "h")))
        W_r = _head(weights, recipe, direction, F_p * F_h)
        both = ((F_h * W_r, "gate.W_fp"), (F_p * W_r, "gate.W_fh"))
        return [_grouped(X, weights[name].transpose(0, 2, 1)) / 2 for X, name in both]
    if recipe.pair == "vectors":
        (u, back), (v, back2) = (_vector(weights, X) for X in M)
        W_u, W_v = _concat(weights, recipe, direction, u, v)
        return [back(W_u), back2(W_v)]
    return _concat(weights, recipe, direction, first, second)


def _concat(
    weights: Weights, recipe: ModelRecipe, direction: np.ndarray, u: np.ndarray, v: np.ndarray
) -> list[np.ndarray]:
    """For u and v, each in its shape: of the features [u; v; |u-v|; u*v]."""
    difference = u - v
    features = np.concatenate([u, v, np.abs(difference), u * v], axis=2)
    W = np.split(_head(weights, recipe, direction, features), 4, axis=2)
    change = np.sign(difference) * W[2]
    return [W[0] + change + v * W[3] / 2, W[1] - change + u * W[3] / 2]


def _vector(weights: Weights, M: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """v (batch, 1, vector) with a mean square of 1, and from weights of v to weights of M (batch, r, 2u)."""
    W_shared, W_rows = weights["vector.W_shared"], weights["vector.W_rows"]
    v = (M @ W_shared.T).reshape(len(M), -1) @ W_rows.T
    scale = len(W_rows) ** 0.5 / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-12)

    def back(W: np.ndarray) -> np.ndarray:
        rows = (W[:, 0] * scale @ W_rows).reshape(*M.shape[:2], -1)  # (batch, r, rank)
        return np.asarray(rows @ W_shared)

    return (v * scale)[:, None], back


def _head(weights: Weights, recipe: ModelRecipe, direction: np.ndarray, F: np.ndarray) -> np.ndarray:
    """(batch, rows, size), the shape of the features F."""
    if recipe.head == "linear":
        return (direction @ weights["head.W_o"]).reshape(F.shape)
    if recipe.head == "full":
        on = F.reshape(len(F), -1) @ weights["head.W_1"].T + weights["head.b_1"] > 0
        return ((direction @ weights["head.W_2"] * on) @ weights["head.W_1"]).reshape(F.shape)
    return _pruned(weights, recipe, direction, F)


def _pruned(weights: Weights, recipe: ModelRecipe, direction: np.ndarray, F: np.ndarray) -> np.ndarray:
    sides = {}  # name -> units before the ReLU (batch, groups, units)
    if recipe.row_units:
        sides["v"] = _grouped(F, weights["head.W_v_0"]) + weights["head.b_v_0"]
    if recipe.column_units:
        sides["h"] = _grouped(F.transpose(0, 2, 1), weights["head.W_h_0"]) + weights["head.b_h_0"]
    W = direction @ weights["head.W_o"]  # (batch, units of both sides, or of the mix)
    if recipe.mix_units:
        units = np.concatenate([np.maximum(each, 0).reshape(len(F), -1) for each in sides.values()], axis=1)
        W = (W * (units @ weights["head.W_m"].T + weights["head.b_m"] > 0)) @ weights["head.W_m"]
    total, start = np.zeros_like(F), 0
    for name, before in sides.items():
        end = start + before[0].size
        back = W[:, start:end].reshape(before.shape) * (before > 0)
        part = _grouped(back, weights[f"head.W_{name}_0"].transpose(0, 2, 1))
        total += part if name == "v" else part.transpose(0, 2, 1)
        start = end
    return total


def _grouped(X: np.ndarray, W: np.ndarray) -> np.ndarray:
    """X (batch, groups, in) times W (groups, in, out), each group with weights of its own."""
    return np.asarray((X.transpose(1, 0, 2) @ W).transpose(1, 0, 2))
