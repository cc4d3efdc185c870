"""What decided: how much of a class's logit rests on each word, in one reading and without PyTorch.

In a single text M is a sum over words, M_r = sum_t A_rt h_t, and a linear head sums over M, so that its logit
is exactly

    z = b + sum_t sum_r A_rt <w_r, h_t>

and the inner sum is the word's weight. The bias b belongs to no word and is a term of its own. A hidden layer
of ReLUs is linear too once it is known which of its units are on for this text; b is then what the biases of
all layers add.

In a pair the texts are multiplied and compared, and nothing is a sum over words. A word's weight is what the
logit loses when the word is left out of its text's attention (word_parts.py): the states H stay, M changes,
and the classifier is asked again. Without its only word, M is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..config.recipe import ModelRecipe
from .word_parts import matrix_without

Weights = Mapping[str, np.ndarray]
Classifier = Callable[[np.ndarray, np.ndarray], np.ndarray]  # M, M2 (k, r, 2u) -> logits (k, classes)
LinearPart = tuple[np.ndarray, np.ndarray]
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # of the words, for comprehensiveness and sufficiency
AT_ONCE = 256  # words left out: for each there is an M in memory


def attribution_method(recipe: ModelRecipe, pair: bool) -> str:
    """How it is found what decided: a key of captions.METHODS.

    >>> [attribution_method(ModelRecipe(head="linear"), pair) for pair in (False, True)]
    ['sum', 'left out of attention']
    """
    if pair:
        return "left out of attention"
    return "sum" if recipe.head == "linear" else "linear part"


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


def word_losses(
    classify: Classifier,
    logits: np.ndarray,
    M: Sequence[np.ndarray],
    texts: Sequence[tuple[np.ndarray, np.ndarray]],
    max_rows: int = 0,
    off: Sequence[int] = (),
) -> list[np.ndarray]:
    """(n, classes) and (m, classes): what each of a pair's logits (classes,) loses without each word.

    `M` has both matrices (r, 2u), `texts` A (r, n) and H (n, 2u) of each; rows in `off` are zero throughout.

    >>> texts = [(np.array([[0.5, 0.5]]), np.array([[1.0], [3.0]])), (np.array([[1.0]]), np.array([[5.0]]))]
    >>> M, product = [A @ H for A, H in texts], lambda M, M2: (M * M2)[:, 0]
    >>> [each.ravel().tolist() for each in word_losses(product, np.array([10.0]), M, texts)]
    [[-5.0, 5.0], [10.0]]
    """
    losses = []
    for side, (A, H) in enumerate(texts):
        parts = []
        for start in range(0, len(H), AT_ONCE):
            without = matrix_without(H, A, max_rows, slice(start, start + AT_ONCE))
            without[:, list(off)] = 0
            both = [np.repeat(m[None], len(without), axis=0) for m in M]
            both[side] = without
            parts.append(logits - classify(*both))
        losses.append(np.concatenate(parts))
    return losses


def row_losses(classify: Classifier, logits: np.ndarray, M: Sequence[np.ndarray]) -> np.ndarray:
    """(r, classes): what each of a pair's logits (classes,) loses if a row of both matrices is zero.

    >>> M, product = [np.array([[2.0], [3.0]])] * 2, lambda M, M2: (M * M2).sum(axis=1)
    >>> row_losses(product, np.array([13.0]), M).ravel().tolist()
    [4.0, 9.0]
    """
    others = 1 - np.eye(len(M[0]), dtype=M[0].dtype)[:, :, None]  # (r, r, 1)
    return np.asarray(logits - classify(*(others * m for m in M)))


def linear_part(weights: Weights, recipe: ModelRecipe, direction: np.ndarray, M: np.ndarray) -> LinearPart:
    """W (batch, r, 2u) and b (batch,): <W, M> + b is <direction, logits> of single texts, M (batch, r, 2u).

    That is with the hidden units that are on for M; `direction` is (batch, classes).
    """
    if recipe.head == "linear":
        return (direction @ weights["head.W_o"]).reshape(M.shape), direction @ weights["head.b_o"]
    if recipe.head == "full":
        on = M.reshape(len(M), -1) @ weights["head.W_1"].T + weights["head.b_1"] > 0
        back = direction @ weights["head.W_2"] * on
        b = direction @ weights["head.b_2"] + back @ weights["head.b_1"]
        return (back @ weights["head.W_1"]).reshape(M.shape), b
    return _pruned(weights, recipe, direction, M)


def _pruned(weights: Weights, recipe: ModelRecipe, direction: np.ndarray, M: np.ndarray) -> LinearPart:
    sides = {}  # name -> units before the ReLU (batch, groups, units)
    if recipe.row_units:
        sides["v"] = _grouped(M, weights["head.W_v_0"]) + weights["head.b_v_0"]
    if recipe.column_units:
        sides["h"] = _grouped(M.transpose(0, 2, 1), weights["head.W_h_0"]) + weights["head.b_h_0"]
    W = direction @ weights["head.W_o"]  # (batch, units of both sides, or of the mix)
    b = direction @ weights["head.b_o"]
    if recipe.mix_units:
        units = np.concatenate([np.maximum(each, 0).reshape(len(M), -1) for each in sides.values()], axis=1)
        W = W * (units @ weights["head.W_m"].T + weights["head.b_m"] > 0)
        W, b = W @ weights["head.W_m"], b + W @ weights["head.b_m"]
    total, start = np.zeros_like(M), 0
    for name, before in sides.items():
        end = start + before[0].size
        back = W[:, start:end].reshape(before.shape) * (before > 0)
        part = _grouped(back, weights[f"head.W_{name}_0"].transpose(0, 2, 1))
        total += part if name == "v" else part.transpose(0, 2, 1)
        b = b + (back * weights[f"head.b_{name}_0"]).sum(axis=(1, 2))
        start = end
    return total, b


def _grouped(X: np.ndarray, W: np.ndarray) -> np.ndarray:
    """X (batch, groups, in) times W (groups, in, out), each group with weights of its own."""
    return np.asarray((X.transpose(1, 0, 2) @ W).transpose(1, 0, 2))
