"""The network in ONNX operators: the same equations as in model/, one function per part."""

from __future__ import annotations

from ...config.recipe import ModelRecipe
from .arithmetic import Float32
from .graph import Graph


def encode(net: Float32, recipe: ModelRecipe, ids: str, lengths: str) -> tuple[str, str, str]:
    """ids (batch, n), lengths (batch,) -> M (batch, r, 2u), A (batch, r, n), H (batch, n, 2u)."""
    g = net.graph
    lengths = g.op("Max", lengths, g.constant(1, "int32"))  # an empty sentence reads one padding word
    if recipe.embedding == "cnn":
        words = _is_word(g, ids, lengths)
        H = _convolution(net, recipe, ids, words)
        return *_max_pooling(g, H, ids, words, 2 * recipe.hidden), H
    return pool(net, recipe, ids, lengths, _bilstm(net, recipe.layers, ids, lengths))


def pool(net: Float32, recipe: ModelRecipe, ids: str, lengths: str, Y: str) -> tuple[str, str, str]:
    """The LSTM's states Y (n, 2, batch, u) -> M, A and H."""
    g = net.graph
    words = _is_word(g, ids, lengths)
    H = _side_by_side(g, Y, perm=[2, 0, 1, 3])  # (batch, n, 2u)
    if recipe.embedding == "self-attention":
        M, A = _self_attention(net, recipe, H, words)
        if not recipe.has_max_row:
            return M, A, H
        M_max, A_max = _max_pooling(g, H, ids, words, 2 * recipe.hidden)
        return g.op("Concat", M, M_max, axis=1), g.op("Concat", A, A_max, axis=1), H
    return *_max_pooling(g, H, ids, words, 2 * recipe.hidden), H


# ---------------------------------------------------------------- words to H


def _is_word(g: Graph, ids: str, lengths: str) -> str:
    """(batch, n): True on words, False on padding."""
    n = g.op("Gather", g.op("Shape", ids), g.constant(1, "int64"))
    zero, one = g.constant(0, "int32"), g.constant(1, "int32")
    t = g.op("Range", zero, g.op("Cast", n, to=6), one)
    return g.op("Less", t, _unsqueeze(g, lengths, 1))


def _bilstm(net: Float32, layers: int, ids: str, lengths: str) -> str:
    """Equations 2 to 4: the states Y (n, 2, batch, u)."""
    g = net.graph
    below = [net.words(g.op("Transpose", ids, perm=[1, 0]))]  # (n, batch, d): ONNX reads time first
    for k in range(layers):
        X = below[0] if k == 0 else g.op("Concat", *below, axis=2)
        Y = net.lstm(X, lengths, k)  # (n, 2, batch, u)
        if k < layers - 1:
            below.append(_side_by_side(g, Y, perm=[0, 2, 1, 3]))
    return Y


def _side_by_side(g: Graph, Y: str, perm: list[int]) -> str:
    """Concatenate the states of the two directions."""
    return g.op("Reshape", g.op("Transpose", Y, perm=perm), g.constant([0, 0, -1], "int64"))


def _convolution(net: Float32, recipe: ModelRecipe, ids: str, words: str) -> str:
    """The CNN's H (batch, n, filters), zero on padding."""
    g = net.graph
    on = _unsqueeze(g, g.op("Cast", words, to=1), 2)  # (batch, n, 1)
    S = g.op("Transpose", g.op("Mul", net.words(ids), on), perm=[0, 2, 1])  # (batch, d, n)
    pads = [1, 1]  # a filter sees three words
    C = g.op("Conv", S, net.weight("encoder.W"), net.weight("encoder.b"), pads=pads)
    return g.op("Mul", g.op("Transpose", g.op("Relu", C), perm=[0, 2, 1]), on)


# ---------------------------------------------------------------- H to M and A


def _self_attention(net: Float32, recipe: ModelRecipe, H: str, words: str) -> tuple[str, str]:
    """Equations 5 and 6: A = softmax(W_s2 tanh(W_s1 H^T)), M = A H."""
    g = net.graph
    b_s1, b_s2 = ("pooling.b_s1", "pooling.b_s2") if recipe.author_code else ("", "")
    hidden = g.op("Tanh", net.linear(H, "pooling.W_s1", b_s1))  # (batch, n, d_a)
    scores = net.linear(hidden, "pooling.W_s2", b_s2)  # (batch, n, r)
    A = _masked_softmax(g, g.op("Transpose", scores, perm=[0, 2, 1]), words)
    return g.op("MatMul", A, H), A


def _max_pooling(g: Graph, H: str, ids: str, words: str, size: int) -> tuple[str, str]:
    states = g.op("Where", _unsqueeze(g, words, 2), H, g.constant(float("-inf"), "float32"))
    M = g.op("ReduceMax", states, axes=[1], keepdims=1)  # (batch, 1, size)
    winners = g.op("ArgMax", states, axis=1, keepdims=0)  # (batch, size)
    share = g.op("Expand", g.constant([1 / size], "float32"), g.op("Shape", winners))
    nothing = g.op("Expand", g.constant([0], "float32"), g.op("Shape", ids))  # (batch, n)
    A = g.op("ScatterElements", nothing, winners, share, axis=1, reduction="add")
    return M, _unsqueeze(g, A, 1)


def _masked_softmax(g: Graph, scores: str, words: str) -> str:
    """Softmax over the words; padding gets exactly 0."""
    masked = g.op("Where", _unsqueeze(g, words, 1), scores, g.constant(float("-inf"), "float32"))
    return g.op("Softmax", masked, axis=-1)


# ---------------------------------------------------------------- M to a label


def pair_features(net: Float32, recipe: ModelRecipe, M: str, M2: str) -> str:
    """Combine the embeddings of a pair into the features of their relation, F_r."""
    g = net.graph
    if recipe.pair == "gated":
        F_p = net.grouped(g.op("Transpose", M, perm=[1, 0, 2]), "gate.W_fp")  # (rows, batch, size)
        F_h = net.grouped(g.op("Transpose", M2, perm=[1, 0, 2]), "gate.W_fh")
        return g.op("Transpose", g.op("Mul", F_p, F_h), perm=[1, 0, 2])
    if recipe.pair == "vectors":
        M, M2 = (_scaled_vector(net, recipe, X) for X in (M, M2))
    difference = g.op("Abs", g.op("Sub", M, M2))
    return g.op("Concat", M, M2, difference, g.op("Mul", M, M2), axis=2)


def vector(net: Float32, M: str) -> str:
    """v (batch, vector), a sum over the rows of M: M_r times W_shared, then times the row's own map."""
    rows = _flatten(net.graph, net.linear(M, "vector.W_shared"))  # (batch, r * rank)
    return net.linear(rows, "vector.W_rows")


def _scaled_vector(net: Float32, recipe: ModelRecipe, M: str) -> str:
    """(batch, 1, vector): v with a mean square of 1."""
    g, v = net.graph, vector(net, M)
    length = g.op("Max", g.op("ReduceL2", v, axes=[1], keepdims=1), g.constant(1e-12, "float32"))
    size = g.constant(recipe.vector_size**0.5, "float32")
    return _unsqueeze(g, g.op("Mul", g.op("Div", v, length), size), 1)


def activate(g: Graph, logits: str, activation: str) -> str:
    """Probabilities, or the logits without activation: (batch, classes)."""
    if activation == "Softmax":
        return g.op("Softmax", logits, axis=-1)
    return g.op(activation, logits) if activation else logits


def classify(net: Float32, recipe: ModelRecipe, M: str) -> str:
    """M or F_r (batch, rows, size) -> logits (batch, classes)."""
    g = net.graph
    if recipe.head == "full":
        hidden = g.op("Relu", net.dense(_flatten(g, M), "head.W_1", "head.b_1"))
        return net.dense(hidden, "head.W_2", "head.b_2")
    if recipe.head == "linear":
        return net.dense(_flatten(g, M), "head.W_o", "head.b_o")
    parts = []
    if recipe.row_units:
        parts.append(_pruned(net, "v", g.op("Transpose", M, perm=[1, 0, 2])))
    if recipe.column_units:
        parts.append(_pruned(net, "h", g.op("Transpose", M, perm=[2, 0, 1])))
    units = parts[0] if len(parts) == 1 else g.op("Concat", *parts, axis=1)
    if recipe.mix_units:
        units = g.op("Relu", net.dense(units, "head.W_m", "head.b_m"))
    return net.dense(units, "head.W_o", "head.b_o")


def _pruned(net: Float32, side: str, groups: str) -> str:
    """M^v or M^h: (groups, batch, in) -> (batch, groups * units)."""
    g = net.graph
    groups = g.op("Relu", net.grouped(groups, f"head.W_{side}_0", f"head.b_{side}_0"))
    return _flatten(g, g.op("Transpose", groups, perm=[1, 0, 2]))


def _unsqueeze(g: Graph, X: str, axis: int) -> str:
    return g.op("Unsqueeze", X, g.constant([axis], "int64"))


def _flatten(g: Graph, X: str) -> str:
    return g.op("Flatten", X, axis=1)
