"""A trained model as ONNX graphs: whole, for programs that run model.onnx, and in parts, for our runtime.

The whole graph of a text model:    ids, lengths        -> probabilities, M, A
The whole graph of a pair model:    ids, lengths, pairs -> probabilities, M, A
where `pairs` (p, 2) holds the indices of the sentences in each pair. A sentence is encoded once, however many
pairs it is in. All inputs are int32; padding at the end of a row of ids is 0 and changes nothing. In
regression the first output is `values`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...config.recipe import ModelRecipe
from ..outputs import ACTIVATIONS, OUTPUT_NAMES
from .arithmetic import Float32, Int8
from .graph import Graph, Location
from .layers import activate, classify, encode, pair_features, pool, vector

Weights = Mapping[str, np.ndarray]


def export_onnx(
    weights: Weights,
    recipe: ModelRecipe,
    classes: int,
    pair: bool,
    *,
    task: str = "classification",
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
    net = Int8(g, weights) if int8 else Float32(g, weights)
    M, A, _ = encode(net, recipe, *_sentence_inputs(g))
    if pair:
        pairs = g.input("pairs", "int32", "pairs", 2)
        first, second = (
            g.op("Gather", M, g.op("Gather", pairs, g.constant(k, "int64"), axis=1)) for k in (0, 1)
        )
        features = pair_features(net, recipe, first, second)
    else:
        features = M
    outputs = activate(g, classify(net, recipe, features), ACTIVATIONS[task])
    rows = "pairs" if pair else "batch"
    g.output(OUTPUT_NAMES.get(task, "probabilities"), outputs, "float32", rows, classes)
    _embedding_outputs(g, recipe, M, A)
    return g.to_bytes(locations)


def encoder_graph(weights: Weights, recipe: ModelRecipe, int8: bool) -> Graph:
    """ids, lengths -> M, A, H."""
    g = Graph("encoder")
    net = Int8(g, weights) if int8 else Float32(g, weights)
    _embedding_outputs(g, recipe, *encode(net, recipe, *_sentence_inputs(g)))
    return g


def vector_encoder_graph(weights: Weights, recipe: ModelRecipe, int8: bool) -> Graph:
    """X, ids, lengths -> M, A, H for word vectors X, one layer. Of the ids, only the shape counts."""
    g = Graph("vector encoder")
    net = Int8(g, weights) if int8 else Float32(g, weights)
    X = g.input("X", "float32", "n", "batch", recipe.word_size)
    ids, lengths = _sentence_inputs(g)
    _embedding_outputs(g, recipe, *pool(net, recipe, ids, lengths, net.lstm(X, lengths, 0)))
    return g


def direction_graph(weights: Weights, layer: int, direction: str, int8: bool) -> Graph:
    """One direction of one layer of the LSTM, "forward" or "reverse": X, lengths -> Y."""
    k = ("forward", "reverse").index(direction)
    names = (f"encoder.{x}_{layer}" for x in ("W_ih", "W_hh", "b"))
    one_side = {**weights, **{name: weights[name][k : k + 1] for name in names}}
    _, units, d = one_side[f"encoder.W_ih_{layer}"].shape
    g = Graph(direction)
    net = Int8(g, one_side) if int8 else Float32(g, one_side)
    X, lengths = g.input("X", "float32", "n", "batch", d), g.input("lengths", "int32", "batch")
    Y = net.lstm(X, lengths, layer, direction)
    g.output("Y", Y, "float32", "n", 1, "batch", units // 4)
    return g


def pooling_graph(weights: Weights, recipe: ModelRecipe, int8: bool) -> Graph:
    """ids, lengths and the LSTM's Y -> M, A, H."""
    g = Graph("pooling")
    net = Int8(g, weights) if int8 else Float32(g, weights)
    ids, lengths = _sentence_inputs(g)
    Y = g.input("Y", "float32", "n", 2, "batch", recipe.hidden)
    _embedding_outputs(g, recipe, *pool(net, recipe, ids, lengths, Y))
    return g


def head_graph(
    weights: Weights, recipe: ModelRecipe, classes: int, pair: bool, int8: bool, task: str = "classification"
) -> Graph:
    """M (and for pairs M2) -> logits, probabilities (in regression both are the numbers)."""
    g = Graph("head")
    net = Int8(g, weights) if int8 else Float32(g, weights)
    rows, size = rows_and_size(recipe)
    features = g.input("M", "float32", "batch", rows, size)
    if pair:
        features = pair_features(net, recipe, features, g.input("M2", "float32", "batch", rows, size))
    logits = classify(net, recipe, features)
    g.output("logits", logits, "float32", "batch", classes)
    g.output("probabilities", activate(g, logits, ACTIVATIONS[task]), "float32", "batch", classes)
    return g


def vector_graph(weights: Weights, recipe: ModelRecipe, int8: bool) -> Graph:
    """The reader's v."""
    g = Graph("vector")
    net = Int8(g, weights) if int8 else Float32(g, weights)
    M = g.input("M", "float32", "batch", *rows_and_size(recipe))
    g.output("v", vector(net, M), "float32", "batch", len(weights["vector.W_rows"]))
    return g


def linear_graph(weights: Weights, name: str) -> Graph:
    """X (n, in) -> Y (n, out), times one of the weights, always in float32."""
    out, size = weights[name].shape
    g = Graph(name)
    X = g.input("X", "float32", "n", size)
    g.output("Y", Float32(g, weights).linear(X, name), "float32", "n", out)
    return g


def rows_and_size(recipe: ModelRecipe) -> tuple[int, int]:
    """The shape of M: (r, 2u).

    >>> rows_and_size(ModelRecipe(rows=30, hidden=300)), rows_and_size(ModelRecipe(embedding="max", hidden=7))
    ((30, 600), (1, 14))
    """
    return recipe.matrix_rows, 2 * recipe.hidden


def _sentence_inputs(g: Graph) -> tuple[str, str]:
    return g.input("ids", "int32", "batch", "n"), g.input("lengths", "int32", "batch")


def _embedding_outputs(g: Graph, recipe: ModelRecipe, M: str, A: str, H: str = "") -> None:
    rows, size = rows_and_size(recipe)
    g.output("M", M, "float32", "batch", rows, size)
    g.output("A", A, "float32", "batch", rows, "n")
    if H:
        g.output("H", H, "float32", "batch", "n", size)
