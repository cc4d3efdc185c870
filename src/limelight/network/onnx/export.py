"""A trained model as ONNX graphs: whole, for programs that run model.onnx, and in parts, for our runtime.

The whole graph of a text model:    ids, lengths          -> probabilities, M, A
The whole graph of a pair model:    ids, lengths, pairs   -> probabilities, M, A
The whole graph of a reader:        ids, lengths, buckets, stems -> vector, M, A
where `pairs` (p, 2) holds the indices of the sentences in each pair. A sentence is encoded once, however many
pairs it is in. `buckets` (w, 32) holds the n-grams of words outside the vocabulary, `stems` (w, 4) the ids of
known words in them, 0 for none (text/spelling.py); older readers have no `stems`. The ids of these words
begin after those of the vocabulary. All inputs are int32; padding at the end of a row of ids is 0 and changes
nothing. In regression the first output is `values`.
"""

from collections.abc import Mapping

import numpy as np

from ...config.recipe import DEFAULT_TASK, ModelRecipe
from ...text.spelling import MAX_GRAMS, MAX_STEMS
from ...text.tasks import find_task
from ..parts import matrix_shape
from ..quantise import Weights
from .arithmetic import Float32, Int8
from .graph import Graph, Location
from .layers import activate, classify, encode, is_word, pair_features, pool, states


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
    """The whole model as the bytes of an ONNX file; weights named in `locations` stay outside it.

    >>> from limelight.network.parts import shapes
    >>> recipe = ModelRecipe(word_size=4, hidden=3, attention_hidden=5, rows=2, head_hidden=6)
    >>> weights = {n: np.ones(s, np.float32) for n, s in shapes(recipe, 10, 2, pair=False).items()}
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(export_onnx(weights, recipe, classes=2, pair=False))
    >>> given = {"ids": np.array([[2, 7, 1]], np.int32), "lengths": np.array([3], np.int32)}
    >>> session.run(["probabilities"], given)[0].tolist()
    [[0.5, 0.5]]
    """
    g = Graph("limelight")
    net = arithmetic(g, weights, int8)
    ids, lengths = _sentence_inputs(g)
    X = _spelled_words(net, recipe, ids) if recipe.spells_words else ""
    M, A, _ = encode(net, recipe, ids, lengths, X)
    features = M
    if pair:
        pairs = g.input("pairs", "int32", "pairs", 2)
        first, second = (
            g.op("Gather", M, g.op("Gather", pairs, g.constant(k, "int64"), axis=1)) for k in (0, 1)
        )
        features = pair_features(net, recipe, first, second)
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
