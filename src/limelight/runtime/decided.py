"""What decided: how much of an answer rests on each word, in one reading and without PyTorch.

In a single text M is a sum over words, M_r = sum_t A_rt h_t, and a linear head sums over M, so that the logit
of a class is exactly

    z = b + sum_t sum_r A_rt <w_r, h_t>

where the inner sum is what the word adds to the class. The bias b belongs to no word. Other heads are linear
for a text, too (network/parts.py). text/questions.py has the step from the logits to the
answer, a probability or a number: it gives the mix of classes whose sum over words is the answer.

In a pair the texts are multiplied and compared, and nothing is a sum over words. A word's weight is what the
answer loses when the word is left out of its text's attention (word_parts.py): the states H stay, M changes,
and the classifier is asked again. Without its only word, M is zero. So it is where a pooling of the user's
own makes M: it is asked for M of the other states.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ..config.recipe import ModelRecipe
from ..network.parts import HEADS, rows_of
from .word_parts import Without, matrix_without

Classifier = Callable[[np.ndarray, np.ndarray], np.ndarray]  # M, M2 (k, r, 2u) -> logits (k, classes)
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # of the words, for comprehensiveness and sufficiency
AT_ONCE = 256  # words left out: for each there is an M in memory


def is_sum(recipe: ModelRecipe, pair: bool) -> bool:
    """Whether logits are sums over words: not of a pair, nor where a module of one's own makes M."""
    return not pair and not rows_of(recipe).own


def attribution_method(recipe: ModelRecipe, pair: bool) -> str:
    """How it is found what decided: a key of captions.METHODS."""
    if not is_sum(recipe, pair):
        return "left out of attention"
    return "sum" if HEADS[recipe.head].is_linear else "linear part"


def word_weights(A: np.ndarray, H: np.ndarray, W: np.ndarray, max_rows: int) -> np.ndarray:
    """(n,): the sum over rows of A_rt <W_r, h_t>, for A (r, n), H (n, 2u) and W (r, 2u) of one text.

    The last `max_rows` rows are max-pooled: each of their units belongs to the word where it is largest.
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
    without_words: Without = matrix_without,
    off: Sequence[int] = (),
) -> list[np.ndarray]:
    """(n, classes) of each text, one or a pair: what each of the logits (classes,) loses without each word.

    `M` has the matrices (r, 2u), `texts` A (r, n) and H (n, 2u) of each; rows in `off` are zero throughout.
    """
    losses = []
    for side, (A, H) in enumerate(texts):
        parts = []
        for start in range(0, len(H), AT_ONCE):
            without = without_words(H, A, words=slice(start, start + AT_ONCE))
            without[:, list(off)] = 0
            both = [np.repeat(m[None], len(without), axis=0) for m in M]
            both[side] = without
            parts.append(logits - classify(*both))
        losses.append(np.concatenate(parts))
    return losses


def row_losses(classify: Classifier, logits: np.ndarray, M: Sequence[np.ndarray]) -> np.ndarray:
    """(r, classes): what each of the logits (classes,) loses if a row of M, in a pair of both, is zero."""
    others = 1 - np.eye(len(M[0]), dtype=M[0].dtype)[:, :, None]  # (r, r, 1)
    return np.asarray(logits - classify(*(others * m for m in M)))
