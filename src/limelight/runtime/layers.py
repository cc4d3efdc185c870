"""The network in ONNX operators: the same equations as in model/, one function per part."""

from __future__ import annotations

from ..config.recipe import ModelRecipe
from .arithmetic import Float32
from .onnx_file import Graph


def encode(net: Float32, recipe: ModelRecipe, ids: str, lengths: str) -> tuple[str, str]:
    """ids (batch, n), lengths (batch,) -> M (batch, r, 2u), A (batch, r, n)."""
    g = net.graph
    lengths = g.op("Max", lengths, g.constant(1, "int32"))  # an empty sentence reads one padding word
    if recipe.embedding == "cnn":
        _, words = _positions(g, ids, lengths)
        return _max_pooling(g, _convolution(net, recipe, ids, words), ids, words, 2 * recipe.hidden)
    return pool(net, recipe, ids, lengths, *_bilstm(net, recipe.layers, ids, lengths))


def pool(net: Float32, recipe: ModelRecipe, ids: str, lengths: str, Y: str, H_last: str) -> tuple[str, str]:
    """The LSTM's states Y (n, 2, batch, u) and its last ones (2, batch, u) -> M and A."""
    g = net.graph
    t, words = _positions(g, ids, lengths)
    H = _side_by_side(g, Y, perm=[2, 0, 1, 3])  # (batch, n, 2u)
    if recipe.embedding == "self-attention":
        M, A = _self_attention(net, recipe, H, words)
        if not recipe.has_max_row:
            return M, A
        M_max, A_max = _max_pooling(g, H, ids, words, 2 * recipe.hidden)
        return g.op("Concat", M, M_max, axis=1), g.op("Concat", A, A_max, axis=1)
    if recipe.embedding == "inner":
        return _inner_attention(net, H, lengths, words)
    if recipe.embedding == "mean":
        return _mean_pooling(g, H, lengths, words)
    if recipe.embedding == "last":
        return _last_state(g, H_last, t, lengths)
    return _max_pooling(g, H, ids, words, 2 * recipe.hidden)


# ---------------------------------------------------------------- words to H


def _positions(g: Graph, ids: str, lengths: str) -> tuple[str, str]:
    """t (n,): 0, 1, 2, ...; words (batch, n): True on words, False on padding."""
    n = g.op("Gather", g.op("Shape", ids), g.constant(1, "int64"))
    zero, one = g.constant(0, "int32"), g.constant(1, "int32")
    t = g.op("Range", zero, g.op("Cast", n, to=6), one)
    return t, g.op("Less", t, _unsqueeze(g, lengths, 1))


def _bilstm(net: Float32, layers: int, ids: str, lengths: str) -> tuple[str, str]:
    """Equations 2 to 4: all states (n, 2, batch, u), and where each direction ended (2, batch, u)."""
    g = net.graph
    below = [net.words(g.op("Transpose", ids, perm=[1, 0]))]  # (n, batch, d): ONNX reads time first
    for k in range(layers):
        X = below[0] if k == 0 else g.op("Concat", *below, axis=2)
        Y, H_last = net.lstm(X, lengths, k)  # (n, 2, batch, u)
        if k < layers - 1:
            below.append(_side_by_side(g, Y, perm=[0, 2, 1, 3]))
    return Y, H_last


def _side_by_side(g: Graph, Y: str, perm: list[int]) -> str:
    """Concatenate the states of the two directions."""
    return g.op("Reshape", g.op("Transpose", Y, perm=perm), g.constant([0, 0, -1], "int64"))


def _convolution(net: Float32, recipe: ModelRecipe, ids: str, words: str) -> str:
    """The CNN's H (batch, n, filters), zero on padding."""
    g = net.graph
    on = _unsqueeze(g, g.op("Cast", words, to=1), 2)  # (batch, n, 1)
    S = g.op("Transpose", g.op("Mul", net.words(ids), on), perm=[0, 2, 1])  # (batch, d, n)
    left = (recipe.filter_width - 1) // 2
    pads = [left, recipe.filter_width - 1 - left]
    C = g.op("Conv", S, net.weight("encoder.W"), net.weight("encoder.b"), pads=pads)
    return g.op("Mul", g.op("Transpose", g.op("Relu", C), perm=[0, 2, 1]), on)


# ---------------------------------------------------------------- H to M and A


def _self_attention(net: Float32, recipe: ModelRecipe, H: str, words: str) -> tuple[str, str]:
    """Equations 5 and 6: A = softmax(W_s2 tanh(W_s1 H^T)), M = A H."""
    g = net.graph
    b_s1, b_s2 = ("pooling.b_s1", "pooling.b_s2") if recipe.attention_bias else ("", "")
    hidden = g.op("Tanh", net.linear(H, "pooling.W_s1", b_s1))  # (batch, n, d_a)
    scores = net.linear(hidden, "pooling.W_s2", b_s2)  # (batch, n, r)
    A = _masked_softmax(g, g.op("Transpose", scores, perm=[0, 2, 1]), words)
    return _by_unit(g, A, H, recipe.rows) if recipe.attention == "generalised" else (g.op("MatMul", A, H), A)


def _by_unit(g: Graph, A: str, H: str, rows: int) -> tuple[str, str]:
    """Generalised attention: A (batch, r * 2u, n) has weights for each unit; return their mean as A."""
    n = g.op("Shape", A, start=2)  # 0 in a shape copies the size at the same position only
    by_unit = g.op("Reshape", A, g.op("Concat", g.constant([0, rows, -1], "int64"), n, axis=0))
    weighed = g.op("Mul", by_unit, _unsqueeze(g, g.op("Transpose", H, perm=[0, 2, 1]), 1))
    M = g.op("ReduceSum", weighed, g.constant([3], "int64"), keepdims=0)  # over (batch, r, 2u, n)
    return M, g.op("ReduceMean", by_unit, axes=[2], keepdims=0)


def _inner_attention(net: Float32, H: str, lengths: str, words: str) -> tuple[str, str]:
    g = net.graph
    R_ave, _ = _mean_pooling(g, H, lengths, words)  # (batch, 1, size)
    Y = g.op("Tanh", g.op("Add", net.linear(H, "pooling.W_y"), net.linear(R_ave, "pooling.W_h")))
    scores = g.op("MatMul", Y, net.weight("pooling.w"))  # (batch, n)
    A = _masked_softmax(g, _unsqueeze(g, scores, 1), words)
    return g.op("MatMul", A, H), A


def _mean_pooling(g: Graph, H: str, lengths: str, words: str) -> tuple[str, str]:
    n = _unsqueeze(g, g.op("Cast", lengths, to=1), 1)  # (batch, 1)
    A = _unsqueeze(g, g.op("Div", g.op("Cast", words, to=1), n), 1)
    return g.op("MatMul", A, H), A


def _last_state(g: Graph, H_last: str, t: str, lengths: str) -> tuple[str, str]:
    M = _unsqueeze(g, _flatten(g, g.op("Transpose", H_last, perm=[1, 0, 2])), 1)
    last = g.op("Sub", _unsqueeze(g, lengths, 1), g.constant(1, "int32"))  # (batch, 1)
    ends = [g.op("Cast", g.op("Equal", t, place), to=1) for place in (last, g.constant(0, "int32"))]
    A = g.op("Mul", g.op("Add", *ends), g.constant(0.5, "float32"))  # half on each end; both may be one word
    return M, _unsqueeze(g, A, 1)


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
    if recipe.pair == "concat":
        difference = g.op("Abs", g.op("Sub", M, M2))
        return g.op("Concat", M, M2, difference, g.op("Mul", M, M2), axis=2)
    F_p = net.grouped(g.op("Transpose", M, perm=[1, 0, 2]), "gate.W_fp")  # (rows, batch, size)
    F_h = net.grouped(g.op("Transpose", M2, perm=[1, 0, 2]), "gate.W_fh")
    return g.op("Transpose", g.op("Mul", F_p, F_h), perm=[1, 0, 2])


def classify(net: Float32, recipe: ModelRecipe, M: str) -> str:
    """M or F_r (batch, rows, size) -> probabilities (batch, classes)."""
    g = net.graph
    if recipe.head == "full":
        hidden = g.op("Relu", net.dense(_flatten(g, M), "head.W_1", "head.b_1"))
        return g.op("Softmax", net.dense(hidden, "head.W_2", "head.b_2"), axis=-1)
    parts = []
    if recipe.row_units:
        parts.append(_pruned(net, recipe.head_layers, "v", g.op("Transpose", M, perm=[1, 0, 2])))
    if recipe.column_units:
        parts.append(_pruned(net, recipe.head_layers, "h", g.op("Transpose", M, perm=[2, 0, 1])))
    units = parts[0] if len(parts) == 1 else g.op("Concat", *parts, axis=1)
    if recipe.mix_units:
        units = g.op("Relu", net.dense(units, "head.W_m", "head.b_m"))
    return g.op("Softmax", net.dense(units, "head.W_o", "head.b_o"), axis=-1)


def _pruned(net: Float32, layers: int, side: str, groups: str) -> str:
    """M^v or M^h: (groups, batch, in) -> (batch, groups * units)."""
    g = net.graph
    for k in range(layers):
        groups = g.op("Relu", net.grouped(groups, f"head.W_{side}_{k}", f"head.b_{side}_{k}"))
    return _flatten(g, g.op("Transpose", groups, perm=[1, 0, 2]))


def _unsqueeze(g: Graph, X: str, axis: int) -> str:
    return g.op("Unsqueeze", X, g.constant([axis], "int64"))


def _flatten(g: Graph, X: str) -> str:
    return g.op("Flatten", X, axis=1)
