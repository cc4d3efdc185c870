"""A trained model in ONNX operators: the equations of `network/torch/`, and the graphs made of them.

Whole graphs are for programs that run model.onnx, parts for our runtime. docs/format.md has the inputs and
outputs of the whole ones; older readers have no `stems`.
"""

from collections.abc import Mapping

import numpy as np

from ...config.recipe import DEFAULT_TASK, ModelRecipe
from ...text.spelling import MAX_GRAMS, MAX_STEMS
from ...text.tasks import find_task
from ..parts import matrix_shape, rows_of, state_size
from ..quantise import Weights
from .arithmetic import Float32, Int8
from .graph import Graph, Location


def encode(net: Float32, recipe: ModelRecipe, ids: str, lengths: str, X: str = "") -> tuple[str, str, str]:
    """ids, or their vectors X (n, batch, d) -> M (batch, r, 2u), A (batch, r, n), H (batch, n, 2u)."""
    g = net.graph
    lengths = g.op("Max", lengths, g.constant(1, "int32"))  # an empty sentence reads one padding word
    X = X or net.words(g.op("Transpose", ids, perm=[1, 0]))  # (n, batch, d): ONNX's LSTM reads time first
    words = is_word(g, ids, lengths)
    return pool(net, recipe, ids, words, ENCODERS[recipe.encoder](net, recipe, X, lengths, words))


def pool(net: Float32, recipe: ModelRecipe, ids: str, words: str, H: str) -> tuple[str, str, str]:
    """H (batch, n, 2u) -> M, A and H."""
    M, A = POOLINGS[recipe.pooling](net, recipe, H, ids, words)
    if rows_of(recipe).has_max_row:
        below = _max_pooling(net, recipe, H, ids, words)
        M, A = (net.graph.op("Concat", *rows, axis=1) for rows in zip((M, A), below, strict=True))
    return M, A, H


# ---------------------------------------------------------------- words to H


def is_word(g: Graph, ids: str, lengths: str) -> str:
    """(batch, n): True on words, False on padding."""
    n = g.op("Gather", g.op("Shape", ids), g.constant(1, "int64"))
    zero, one = g.constant(0, "int32"), g.constant(1, "int32")
    t = g.op("Range", zero, g.op("Cast", n, to=6), one)
    return g.op("Less", t, _unsqueeze(g, lengths, 1))


def _bilstm(net: Float32, recipe: ModelRecipe, X: str, lengths: str, words: str) -> str:
    """Equations 2 to 4; each layer reads the words and the layers below it."""
    g, below = net.graph, [X]
    for k in range(recipe.layers):
        X = below[0] if k == 0 else g.op("Concat", *below, axis=2)
        Y = net.lstm(X, lengths, k)  # (n, 2, batch, u)
        if k < recipe.layers - 1:
            below.append(_side_by_side(g, Y, perm=[0, 2, 1, 3]))
    return states(g, Y)


def states(g: Graph, Y: str) -> str:
    """H (batch, n, 2u) from an LSTM's Y (n, 2, batch, u)."""
    return _side_by_side(g, Y, perm=[2, 0, 1, 3])


def _side_by_side(g: Graph, Y: str, perm: list[int]) -> str:
    return g.op("Reshape", g.op("Transpose", Y, perm=perm), g.constant([0, 0, -1], "int64"))


def _cnn(net: Float32, recipe: ModelRecipe, X: str, lengths: str, words: str) -> str:
    """One convolution over the words, ReLU; zero on padding."""
    g = net.graph
    S = g.op("Transpose", _words(net, recipe, X, lengths, words), perm=[0, 2, 1])  # (batch, d, n)
    pads = [1, 1]  # a filter sees three words
    C = g.op("Conv", S, net.weight("encoder.W"), net.weight("encoder.b"), pads=pads)
    return g.op("Mul", g.op("Transpose", g.op("Relu", C), perm=[0, 2, 1]), _on(g, words))


def _words(net: Float32, recipe: ModelRecipe, X: str, lengths: str, words: str) -> str:
    """The words themselves, (batch, n, d); zero on padding."""
    return net.graph.op("Mul", net.graph.op("Transpose", X, perm=[1, 0, 2]), _on(net.graph, words))


def _on(g: Graph, words: str) -> str:
    """(batch, n, 1): 1 on words, 0 on padding."""
    return _unsqueeze(g, g.op("Cast", words, to=1), 2)


ENCODERS = {"bilstm": _bilstm, "cnn": _cnn, "words": _words}


# ---------------------------------------------------------------- H to M and A


def _self_attention(net: Float32, recipe: ModelRecipe, H: str, ids: str, words: str) -> tuple[str, str]:
    """Equations 5 and 6: A = softmax(W_s2 tanh(W_s1 H^T)), M = A H."""
    g = net.graph
    b_s1, b_s2 = ("pooling.b_s1", "pooling.b_s2") if recipe.author_code else ("", "")
    hidden = g.op("Tanh", net.linear(H, "pooling.W_s1", b_s1))  # (batch, n, d_a)
    scores = net.linear(hidden, "pooling.W_s2", b_s2)  # (batch, n, r)
    A = _masked_softmax(g, g.op("Transpose", scores, perm=[0, 2, 1]), words)
    return g.op("MatMul", A, H), A


def _max_pooling(net: Float32, recipe: ModelRecipe, H: str, ids: str, words: str) -> tuple[str, str]:
    """Each unit's maximum; in A, the share of units whose maximum a word holds."""
    g, size = net.graph, state_size(recipe)
    states = g.op("Where", _unsqueeze(g, words, 2), H, g.constant(float("-inf"), "float32"))
    M = g.op("ReduceMax", states, axes=[1], keepdims=1)  # (batch, 1, size)
    winners = g.op("ArgMax", states, axis=1, keepdims=0)  # (batch, size)
    share = g.op("Expand", g.constant([1 / size], "float32"), g.op("Shape", winners))
    nothing = g.op("Expand", g.constant([0], "float32"), g.op("Shape", ids))  # (batch, n)
    A = g.op("ScatterElements", nothing, winners, share, axis=1, reduction="add")
    return M, _unsqueeze(g, A, 1)


POOLINGS = {"self-attention": _self_attention, "max": _max_pooling}


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


def _scaled_vector(net: Float32, recipe: ModelRecipe, M: str) -> str:
    """(batch, 1, vector): v with a mean square of 1."""
    g, v = net.graph, _vector(net, recipe, M)
    length = g.op("Max", g.op("ReduceL2", v, axes=[1], keepdims=1), g.constant(1e-12, "float32"))
    size = g.constant(recipe.vector_size**0.5, "float32")
    return _unsqueeze(g, g.op("Mul", g.op("Div", v, length), size), 1)


def activate(g: Graph, logits: str, activation: str) -> str:
    """Probabilities, or the logits without activation: (batch, classes)."""
    if activation == "Softmax":
        return g.op("Softmax", logits, axis=-1)
    return g.op(activation, logits) if activation else logits


def classify(net: Float32, recipe: ModelRecipe, M: str) -> str:
    """M or F_r (batch, rows, size) -> logits (batch, classes); of a reader, its vector."""
    return HEADS[recipe.head](net, recipe, M)


def _full(net: Float32, recipe: ModelRecipe, M: str) -> str:
    g = net.graph
    hidden = g.op("Relu", net.dense(_flatten(g, M), "head.W_1", "head.b_1"))
    return net.dense(hidden, "head.W_2", "head.b_2")


def _linear(net: Float32, recipe: ModelRecipe, M: str) -> str:
    return net.dense(_flatten(net.graph, M), "head.W_o", "head.b_o")


def _vector(net: Float32, recipe: ModelRecipe, M: str) -> str:
    """v (batch, vector), a sum over the rows of M: M_r times W_shared, then times the row's own map."""
    rows = _flatten(net.graph, net.linear(M, "vector.W_shared"))  # (batch, r * rank)
    return net.linear(rows, "vector.W_rows")


def _pruned(net: Float32, recipe: ModelRecipe, M: str) -> str:
    g, parts = net.graph, []
    if recipe.row_units:
        parts.append(_groups(net, "v", g.op("Transpose", M, perm=[1, 0, 2])))
    if recipe.column_units:
        parts.append(_groups(net, "h", g.op("Transpose", M, perm=[2, 0, 1])))
    units = parts[0] if len(parts) == 1 else g.op("Concat", *parts, axis=1)
    if recipe.mix_units:
        units = g.op("Relu", net.dense(units, "head.W_m", "head.b_m"))
    return net.dense(units, "head.W_o", "head.b_o")


def _groups(net: Float32, side: str, groups: str) -> str:
    """M^v or M^h: (groups, batch, in) -> (batch, groups * units)."""
    g = net.graph
    groups = g.op("Relu", net.grouped(groups, f"head.W_{side}_0", f"head.b_{side}_0"))
    return _flatten(g, g.op("Transpose", groups, perm=[1, 0, 2]))


HEADS = {"full": _full, "pruned": _pruned, "linear": _linear, "vector": _vector}


def _unsqueeze(g: Graph, X: str, axis: int) -> str:
    return g.op("Unsqueeze", X, g.constant([axis], "int64"))


def _flatten(g: Graph, X: str) -> str:
    return g.op("Flatten", X, axis=1)


# ---------------------------------------------------------------- the graphs


def arithmetic(g: Graph, weights: Weights, int8: bool) -> Float32:
    return Int8(g, weights) if int8 else Float32(g, weights)


def export_onnx(
    weights: Weights,
    recipe: ModelRecipe,
    classes: int,
    pair: bool,
    *,
    task: str = DEFAULT_TASK,
    int8: bool = False,
    locations: Mapping[str, Location] | None = None,
) -> bytes:
    """The whole model as the bytes of an ONNX file; weights named in `locations` stay outside it."""
    g = Graph("limelight")
    net = arithmetic(g, weights, int8)
    ids, lengths = _sentence_inputs(g)
    X = _spelled_words(net, recipe, ids) if recipe.spells_words else ""
    M, A, _ = encode(net, recipe, ids, lengths, X)
    features = M
    if pair:
        pairs = g.input("pairs", "int32", "pairs", 2)
        places = (g.op("Gather", pairs, g.constant(k, "int64"), axis=1) for k in (0, 1))
        features = pair_features(net, recipe, *(g.op("Gather", M, place) for place in places))
    output = classify(net, recipe, features)
    if recipe.is_reader:
        g.output("vector", output, "float32", "batch", recipe.vector_size)
    else:
        name, rows = find_task(task).output, "pairs" if pair else "batch"
        g.output(name, activate(g, output, find_task(task).operator), "float32", rows, classes)
    _embedding_outputs(g, recipe, M, A)
    return g.to_bytes(locations)


def _spelled_words(net: Float32, recipe: ModelRecipe, ids: str) -> str:
    """X (n, batch, d): the table's words; ids beyond it are read by their spelling."""
    g = net.graph
    known, zero = g.constant(len(net.weights["words.weight"]), "int32"), g.constant(0, "int32")
    given = g.input("buckets", "int32", "words", MAX_GRAMS)
    spelled = _mean_rows(net, "grams.weight", given, MAX_GRAMS)
    if recipe.stems:
        stems = g.input("stems", "int32", "words", MAX_STEMS)
        spelled = g.op("Add", spelled, _mean_rows(net, "words.weight", stems, MAX_STEMS))
    ids = g.op("Transpose", ids, perm=[1, 0])
    is_known, no_word = g.op("Less", ids, known), g.op("Cast", g.op("Shape", given, start=0, end=1), to=6)
    last = g.constant([-1], "int64")
    others = g.op("Gather", spelled, g.op("Where", is_known, no_word, g.op("Sub", ids, known)))
    table = net.words(g.op("Where", is_known, ids, zero))
    return g.op("Where", g.op("Unsqueeze", is_known, last), table, others)


def _mean_rows(net: Float32, name: str, rows: str, size: int) -> str:
    """(words + 1, d): the mean of the table's rows (words, size) that are not 0; the last, of none, is 0."""
    g = net.graph
    rows = g.op("Concat", rows, g.constant(np.zeros((1, size)), "int32"), axis=0)
    one, last = g.constant([1], "int64"), g.constant([-1], "int64")
    on = g.op("Cast", g.op("Greater", rows, g.constant(0, "int32")), to=1)  # (words + 1, size)
    found = g.op("Mul", net.rows(name, rows), g.op("Unsqueeze", on, last))  # (words + 1, size, d)
    count = g.op("Max", g.op("ReduceSum", on, one, keepdims=1), g.constant(1, "float32"))
    return g.op("Div", g.op("ReduceSum", found, one, keepdims=0), count)


def encoder_graph(weights: Weights, recipe: ModelRecipe, int8: bool) -> Graph:
    """ids, lengths -> M, A, H; where words are spelled, also from their vectors X (n, batch, d)."""
    g = Graph("encoder")
    net = arithmetic(g, weights, int8)
    X = g.input("X", "float32", "n", "batch", recipe.word_size) if recipe.spells_words else ""
    _embedding_outputs(g, recipe, *encode(net, recipe, *_sentence_inputs(g), X))
    return g


def direction_graph(weights: Weights, layer: int, direction: str, int8: bool) -> Graph:
    """One direction of one layer of the LSTM, "forward" or "reverse": X, lengths -> Y."""
    k = ("forward", "reverse").index(direction)
    names = (f"encoder.{x}_{layer}" for x in ("W_ih", "W_hh", "b"))
    one_side = {**weights, **{name: weights[name][k : k + 1] for name in names}}
    _, units, d = one_side[f"encoder.W_ih_{layer}"].shape
    g = Graph(direction)
    X, lengths = g.input("X", "float32", "n", "batch", d), g.input("lengths", "int32", "batch")
    Y = arithmetic(g, one_side, int8).lstm(X, lengths, layer, direction)
    g.output("Y", Y, "float32", "n", 1, "batch", units // 4)
    return g


def pooling_graph(weights: Weights, recipe: ModelRecipe, int8: bool) -> Graph:
    """ids, lengths and the LSTM's Y -> M, A, H."""
    g = Graph("pooling")
    net = arithmetic(g, weights, int8)
    ids, lengths = _sentence_inputs(g)
    H = states(g, g.input("Y", "float32", "n", 2, "batch", recipe.hidden))
    _embedding_outputs(g, recipe, *pool(net, recipe, ids, is_word(g, ids, lengths), H))
    return g


def head_graph(
    weights: Weights, recipe: ModelRecipe, classes: int, pair: bool, int8: bool, task: str = DEFAULT_TASK
) -> Graph:
    """M (and for pairs M2) -> logits, probabilities (in regression both are the numbers; of a reader, v)."""
    g = Graph("head")
    net = arithmetic(g, weights, int8)
    rows, size = matrix_shape(recipe)
    features = g.input("M", "float32", "batch", rows, size)
    if pair:
        features = pair_features(net, recipe, features, g.input("M2", "float32", "batch", rows, size))
    logits = classify(net, recipe, features)
    if recipe.is_reader:
        g.output("vector", logits, "float32", "batch", recipe.vector_size)
        return g
    g.output("logits", logits, "float32", "batch", classes)
    g.output("probabilities", activate(g, logits, find_task(task).operator), "float32", "batch", classes)
    return g


def linear_graph(weights: Weights, name: str) -> Graph:
    """X (n, in) -> Y (n, out), times one of the weights, always in float32."""
    out, size = weights[name].shape
    g = Graph(name)
    X = g.input("X", "float32", "n", size)
    g.output("Y", Float32(g, weights).linear(X, name), "float32", "n", out)
    return g


def _sentence_inputs(g: Graph) -> tuple[str, str]:
    return g.input("ids", "int32", "batch", "n"), g.input("lengths", "int32", "batch")


def _embedding_outputs(g: Graph, recipe: ModelRecipe, M: str, A: str, H: str = "") -> None:
    rows, size = matrix_shape(recipe)
    g.output("M", M, "float32", "batch", rows, size)
    g.output("A", A, "float32", "batch", rows, "n")
    if H:
        g.output("H", H, "float32", "batch", "n", size)
