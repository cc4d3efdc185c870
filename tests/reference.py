"""The paper's mathematics once more: plain numpy, one sentence at a time, loops where the paper has a sum.

Written from the paper alone, to hold the model against. There is no batch and no padding here, so neither
can be got wrong. Every function also takes complex numbers, so that `gradient` is exact to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray
Parameters = Mapping[str, Array]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def relu(x: Array) -> Array:
    return np.where(x.real > 0, x, 0)


def magnitude(x: Array) -> Array:
    """|x| that a complex step can pass through."""
    return np.where(x.real < 0, -x, x)


def softmax(x: Array) -> Array:
    """Of one vector."""
    e = np.exp(x - x.real.max())
    return e / e.sum()


# Equations 1 to 4: S (n, d) -> H (n, 2u)


def lstm(S: Array, W_ih: Array, W_hh: Array, b: Array) -> Array:
    """One direction over the rows of S in their order; the weights hold the gates i, f, g, o in turn."""
    u = W_hh.shape[1]
    h = c = np.zeros(u)
    states = []
    for w_t in S:
        z = W_ih @ w_t + W_hh @ h + b
        i, f, g, o = z[:u], z[u : 2 * u], z[2 * u : 3 * u], z[3 * u :]
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.array(states)


def bilstm(S: Array, W_ih: Array, W_hh: Array, b: Array) -> Array:
    forward = lstm(S, W_ih[0], W_hh[0], b[0])
    backward = lstm(S[::-1], W_ih[1], W_hh[1], b[1])[::-1]
    return np.array([[*forward[t], *backward[t]] for t in range(len(S))])


def projection(S: Array, W: Array, b: Array) -> Array:
    """Not in the paper: each word vector through one layer before it is read."""
    return np.array([relu(W @ w_t + b) for w_t in S])


def stacked_bilstm(S: Array, layers: Sequence[tuple[Array, Array, Array]]) -> Array:
    """Layer k reads the words and the outputs of all layers below it."""
    outputs = [S]
    for W_ih, W_hh, b in layers:
        outputs.append(bilstm(np.concatenate(outputs, axis=1), W_ih, W_hh, b))
    return outputs[-1]


def convolution(S: Array, W: Array, b: Array) -> Array:
    """The CNN baseline: W (filters, d, width); beyond the sentence's ends there are zero vectors."""
    n, (filters, _, width) = len(S), W.shape
    H = []
    for t in range(n):
        z = [b[j] for j in range(filters)]
        for k in range(width):
            s = t + k - (width - 1) // 2
            if 0 <= s < n:
                z = [z[j] + W[j, :, k] @ S[s] for j in range(filters)]
        H.append(relu(np.array(z)))
    return np.array(H)


# Equations 5 to 8: H (n, 2u) -> A (r, n), M (r, 2u), P


def attention(
    H: Array, W_s1: Array, W_s2: Array, b_s1: Array | None = None, b_s2: Array | None = None
) -> tuple[Array, Array]:
    """M and A; without biases unless they are given."""
    hidden = W_s1 @ H.T  # (d_a, n)
    scores = W_s2 @ np.tanh(hidden if b_s1 is None else hidden + b_s1[:, None])  # (r, n)
    if b_s2 is not None:
        scores = scores + b_s2[:, None]
    A = np.array([softmax(row) for row in scores])
    return A @ H, A


def penalty(As: Sequence[Array], scale: str = "paper") -> Array:
    """The mean over the sentences, each with its own A (r, n)."""
    one = {"paper": penalty_paper, "author": penalty_author, "kl": penalty_kl}[scale]
    return sum(one(A) for A in As) / len(As)


def penalty_paper(A: Array) -> Array:
    """||A A^T - I||_F^2, the entries a_ij of A A^T summed up as in equation 9."""
    r, n = A.shape
    P = 0.0
    for i in range(r):
        for j in range(r):
            a_ij = sum(A[i, k] * A[j, k] for k in range(n))
            P = P + (a_ij - (i == j)) ** 2
    return P


def penalty_author(A: Array) -> Array:
    """The mean squared entry of A^T A - I_n."""
    n = A.shape[1]
    return np.mean((A.T @ A - np.eye(n)) ** 2)


def penalty_kl(A: Array) -> Array:
    """Minus the divergence between any two of the rows."""
    r, n = A.shape
    pairs = [(i, j) for i in range(r) for j in range(r) if i != j]
    return -sum(A[i, k] * np.log(A[i, k] / A[j, k]) for i, j in pairs for k in range(n))


# The baselines: H (n, size) -> M (1, size), A (1, n)


def max_pooling(H: Array) -> tuple[Array, Array]:
    """A is the share of the units that hold their maximum at a word, the first of equals."""
    n, size = H.shape
    winners = [int(np.argmax(H[:, j].real)) for j in range(size)]
    M = np.array([[H[winners[j], j] for j in range(size)]])
    return M, np.array([[winners.count(t) / size for t in range(n)]])


# Appendix A: M (rows, size) -> logits (classes,)


def linear_head(M: Array, W_o: Array, b_o: Array) -> Array:
    """Not in the paper: a sum over the rows in order."""
    return W_o @ M.reshape(-1) + b_o


def full_head(M: Array, W_1: Array, b_1: Array, W_2: Array, b_2: Array) -> Array:
    rows_in_order = np.array([m for row in M for m in row])
    return W_2 @ relu(W_1 @ rows_in_order + b_1) + b_2


def groups(X: Array, W: Array | None, b: Array | None) -> Array:
    """Group i of the hidden units sees row i of X and nothing else; no weights, no units."""
    if W is None or b is None:
        return np.zeros((len(X), 0))
    return np.array([relu(X[i] @ W[i] + b[i]) for i in range(len(X))])


def pruned_head(
    M: Array,
    W_o: Array,
    b_o: Array,
    W_v_0: Array | None = None,
    b_v_0: Array | None = None,
    W_h_0: Array | None = None,
    b_h_0: Array | None = None,
    W_m: Array | None = None,
    b_m: Array | None = None,
) -> Array:
    M_v = groups(M, W_v_0, b_v_0)  # (rows, p)
    M_h = groups(M.T, W_h_0, b_h_0)  # (size, q)
    units = np.array([x for part in (M_v, M_h) for row in part for x in row])
    if W_m is not None:
        units = relu(W_m @ units + b_m)
    return W_o @ units + b_o


# Appendix B: M_p, M_h (rows, size) -> F_r (rows, size)


def gated_encoder(M_p: Array, M_h: Array, W_fp: Array, W_fh: Array) -> Array:
    F_h = np.array([M_h[i] @ W_fh[i] for i in range(len(M_h))])
    F_p = np.array([M_p[i] @ W_fp[i] for i in range(len(M_p))])
    return F_h * F_p


def concat_features(u: Array, v: Array) -> Array:
    return np.array([[*a, *b, *magnitude(a - b), *(a * b)] for a, b in zip(u, v, strict=True)])


def scaled_vector(M: Array, W_shared: Array, W_rows: Array) -> Array:
    """(1, vector): a vector whose numbers have a mean square of 1."""
    v = W_rows @ np.concatenate([W_shared @ row for row in M])
    size = np.sqrt((v * v).mean())
    return np.array([v / size if size else v])  # all zeros stay zeros


def relation(parameters: Parameters, M_p: Array, M_h: Array) -> Array:
    """F_r, by what the parameters have: a gate, a map to vectors, or neither."""
    gate, vector = part(parameters, "gate"), part(parameters, "vector")
    if gate:
        return gated_encoder(M_p, M_h, **gate)
    if vector:
        M_p, M_h = scaled_vector(M_p, **vector), scaled_vector(M_h, **vector)
    return concat_features(M_p, M_h)


# The whole network, from word ids to logits, with its parameters by their names


def part(parameters: Parameters, name: str) -> dict[str, Array]:
    """The parameters of one part: those called `name.something`, by that something."""
    return {k.removeprefix(f"{name}."): v for k, v in parameters.items() if k.startswith(f"{name}.")}


def numbered(parameters: Parameters, *names: str) -> list[tuple[Array, ...]]:
    """The stacked layers: `W_0`, `W_1`, ... as far as they go."""
    layers = []
    while f"{names[0]}_{len(layers)}" in parameters:
        layers.append(tuple(parameters[f"{name}_{len(layers)}"] for name in names))
    return layers


ENCODERS: dict[str, Callable[[Array, dict[str, Array]], Array]] = {
    "bilstm": lambda S, weights: stacked_bilstm(S, numbered(weights, "W_ih", "W_hh", "b")),
    "cnn": lambda S, weights: convolution(S, **weights),
    "words": lambda S, weights: S,
}


def states(recipe: Any, parameters: Parameters, S: Array) -> Array:
    """H (n, size) of word vectors S (n, d); the recipe names the encoder."""
    if "projection.W" in parameters:
        S = projection(S, **part(parameters, "projection"))
    return ENCODERS[recipe.encoder](S, part(parameters, "encoder"))


def embed(recipe: Any, parameters: Parameters, ids: Sequence[int]) -> tuple[Array, Array]:
    """M and A of one sentence; with the recipe's `max_row`, not in the paper, a last row of max pooling."""
    H = states(recipe, parameters, np.array([parameters["words.weight"][i] for i in ids]))
    if recipe.pooling == "max":
        return max_pooling(H)
    M, A = attention(H, **part(parameters, "pooling"))
    if not recipe.max_row:
        return M, A
    M_max, A_max = max_pooling(H)
    return np.concatenate([M, M_max]), np.concatenate([A, A_max])


def classify(parameters: Parameters, M: Array) -> Array:
    head = part(parameters, "head")
    if "W_1" in head:
        return full_head(M, **head)
    return pruned_head(M, **head) if {"W_v_0", "W_h_0"} & set(head) else linear_head(M, **head)


def answers(task: str, logits: Array) -> Array:
    """What a model gives: the probabilities of the labels, or the number."""
    if task == "regression":
        return logits
    classes = {"auto": softmax, "classification": softmax, "ordinal": softmax, "multi-label": sigmoid}
    return classes[task](logits)


def network(recipe: Any, parameters: Parameters, ids: Sequence[int]) -> tuple[Array, Array, Array]:
    """Logits, M and A of one sentence."""
    M, A = embed(recipe, parameters, ids)
    return classify(parameters, M), M, A


def pair_network(
    recipe: Any, parameters: Parameters, premise: Sequence[int], hypothesis: Sequence[int]
) -> tuple[Array, Array, Array, Array, Array]:
    """Logits, and M and A of the premise and of the hypothesis."""
    M_p, A_p = embed(recipe, parameters, premise)
    M_h, A_h = embed(recipe, parameters, hypothesis)
    return classify(parameters, relation(parameters, M_p, M_h)), M_p, A_p, M_h, A_h


def cross_entropy(logits: Array, label: int) -> Array:
    return -np.log(softmax(logits)[label])


def slope(f: Callable[[dict[str, Array]], Array], values: Parameters, name: str, direction: Array) -> float:
    """How fast f grows as one of its values moves in a direction.

    By a complex step, f(x + ih) / h: no difference is taken, so no digit is lost.
    """
    h = 1e-30
    return f({**values, name: values[name] + 1j * h * direction}).imag / h


def gradient(f: Callable[[dict[str, Array]], Array], values: Parameters) -> dict[str, Array]:
    """df/dx of every entry x."""
    result = {}
    for name, value in values.items():
        units = np.eye(value.size).reshape(value.size, *value.shape)
        result[name] = np.array([slope(f, values, name, unit) for unit in units]).reshape(value.shape)
    return result
