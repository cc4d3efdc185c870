"""The names and shapes of a network's tensors, from its recipe: what a file of weights is checked against."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from ..config.recipe import ModelRecipe
from ..errors import LimelightError
from .onnx.export import rows_and_size

FILTER_WIDTH = 3  # words that a CNN filter sees at once
MAX_LAYERS = 1000  # a recipe from outside must not keep us looping
Shapes = dict[str, tuple[int, ...]]


def shapes(recipe: ModelRecipe, vocabulary: int, classes: int, pair: bool) -> Shapes:
    """The name and shape of every tensor, as in `network.state_dict()`.

    >>> recipe = ModelRecipe(embedding="max", word_size=4, hidden=3, head_hidden=6)
    >>> shapes(recipe, vocabulary=10, classes=2, pair=False)["encoder.W_ih_0"]
    (2, 12, 4)
    """
    if recipe.layers > MAX_LAYERS:
        raise LimelightError(f"layers is {recipe.layers}; it must be at most {MAX_LAYERS}")
    rows, size = rows_and_size(recipe)
    d, c = recipe.word_size, recipe.projection
    gated = {"gate.W_fp": (rows, size, size), "gate.W_fh": (rows, size, size)}
    k, v = recipe.vector_rank, recipe.vector_size
    vector = {"vector.W_shared": (k, size), "vector.W_rows": (v, rows * k)}
    return {
        "words.weight": (vocabulary, d),
        **({"projection.W": (c, d), "projection.b": (c,)} if c else {}),
        **_encoder(recipe),
        **_pooling(recipe, size),
        **(gated if pair and recipe.pair == "gated" else {}),
        **(vector if pair and recipe.pair == "vectors" else {}),
        **_head(recipe, *recipe.head_inputs(pair), classes),
    }


def check_weights(weights: Mapping[str, np.ndarray], expected: Shapes) -> None:
    """Raise unless `weights` are exactly the expected tensors, float32 and finite."""
    check_names(set(weights), set(expected))
    for name, shape in expected.items():
        array = weights[name]
        if array.shape != shape or array.dtype != np.float32:
            raise LimelightError(
                f"weight {name} is {array.dtype} {array.shape}; the recipe needs float32 {shape}"
            )
        if not np.isfinite(array).all():
            raise LimelightError(f"weight {name} contains numbers that are not finite; train again")


def check_names(found: set[str], expected: set[str]) -> None:
    """Raise unless the weights have exactly the expected names."""
    if missing := sorted(expected - found):
        raise LimelightError(f"the weights lack {', '.join(missing[:3])}, which the recipe needs")
    if extra := sorted(found - expected):
        raise LimelightError(f"the weights include {str(extra[0])[:60]!r}, which the recipe does not have")


def _encoder(recipe: ModelRecipe) -> Shapes:
    d, u = recipe.projection or recipe.word_size, recipe.hidden
    if recipe.embedding == "cnn":
        return {"encoder.W": (2 * u, d, FILTER_WIDTH), "encoder.b": (2 * u,)}
    layers: Shapes = {}
    for k in range(recipe.layers):
        layers[f"encoder.W_ih_{k}"] = (2, 4 * u, d + 2 * u * k)
        layers[f"encoder.W_hh_{k}"] = (2, 4 * u, u)
        layers[f"encoder.b_{k}"] = (2, 4 * u)
    return layers


def _pooling(recipe: ModelRecipe, size: int) -> Shapes:
    if recipe.embedding != "self-attention":
        return {}
    d_a, r = recipe.attention_hidden, recipe.rows
    biases: Shapes = {"pooling.b_s1": (d_a,), "pooling.b_s2": (r,)} if recipe.author_code else {}
    return {"pooling.W_s1": (d_a, size), "pooling.W_s2": (r, d_a), **biases}


def _head(recipe: ModelRecipe, rows: int, size: int, classes: int) -> Shapes:
    b, p, q = recipe.head_hidden, recipe.row_units, recipe.column_units
    if recipe.head == "full":
        return {
            "head.W_1": (b, rows * size), "head.b_1": (b,),
            "head.W_2": (classes, b), "head.b_2": (classes,),
        }  # fmt: skip
    if recipe.head == "linear":
        return {"head.W_o": (classes, rows * size), "head.b_o": (classes,)}
    groups: Shapes = {}
    if p:
        groups["head.W_v_0"], groups["head.b_v_0"] = (rows, size, p), (rows, p)
    if q:
        groups["head.W_h_0"], groups["head.b_h_0"] = (size, rows, q), (size, q)
    units = rows * p + size * q
    if recipe.mix_units:
        groups["head.W_m"], groups["head.b_m"] = (recipe.mix_units, units), (recipe.mix_units,)
        units = recipe.mix_units
    return {**groups, "head.W_o": (classes, units), "head.b_o": (classes,)}


def parameters_by_part(tensors: Shapes) -> dict[str, int]:
    """Count the parameters of each part of a network, as in the paper's pruning table.

    >>> yelp = parameters_by_part(shapes(ModelRecipe(), vocabulary=2, classes=5, pair=False))
    >>> yelp["hidden"], yelp["softmax"]
    (54000000, 15000)
    """
    parts = dict.fromkeys(
        ("words", "projection", "encoder", "attention", "gate", "vector",
         "hidden", "hidden biases", "softmax", "softmax biases"), 0,
    )  # fmt: skip
    for name, shape in tensors.items():
        part, _, rest = name.partition(".")
        if part == "head":
            part = "softmax" if rest in ("W_2", "b_2", "W_o", "b_o") else "hidden"
            part += " biases" if rest.startswith("b_") else ""
        parts["attention" if part == "pooling" else part] += prod(shape)
    return parts
