"""The network, described once: four parts, the names and shapes of their weights, and when each is there.

    text -> words -> ids -> H (n, size) -> A (r, n) -> M (r, size) -> a label, a number, a vector
            Words           Encoder        Pooling                    Head

A new encoder, pooling or head is an entry in a table below, a module in `torch/`, a function of operators in
`onnx/layers.py` and a float64 version in tests/reference.py.
"""

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..config.recipe import ModelRecipe
from ..errors import LimelightError, bad_value
from .modules import OURS, Modules
from .quantise import Weights

FILTER_WIDTH = 3  # words that a CNN filter sees at once
MAX_LAYERS = 1000  # a recipe from outside must not keep us looping
Shapes = dict[str, tuple[int, ...]]


class Encoder(NamedTuple):
    """From words to states H."""

    title: str  # what people call it
    size: Callable[[ModelRecipe], int]  # of a state
    weights: Callable[[ModelRecipe, int], Shapes]  # for words of d numbers


# ---------------------------------------------------------------- words and encoders


def _words(recipe: ModelRecipe, vocabulary: int) -> Shapes:
    """A vector for each word; those of n-grams spell other words; a projection stands between."""
    d, c = recipe.table_size, recipe.projection
    return {
        "words.weight": (vocabulary, d),
        **({"grams.weight": (recipe.buckets + 1, d)} if recipe.spells_words else {}),
        **({"projection.W": (c, d), "projection.b": (c,)} if c else {}),
    }


def word_size(recipe: ModelRecipe) -> int:
    """The size of a word as the encoder reads it [d]."""
    return recipe.projection or recipe.table_size


def _bilstm(recipe: ModelRecipe, d: int) -> Shapes:
    u, layers = recipe.hidden, Shapes()
    if recipe.layers > MAX_LAYERS:
        raise bad_value(f"layers is {recipe.layers}; it must be at most {MAX_LAYERS}")
    for k in range(recipe.layers):
        layers[f"encoder.W_ih_{k}"] = (2, 4 * u, d + 2 * u * k)
        layers[f"encoder.W_hh_{k}"] = (2, 4 * u, u)
        layers[f"encoder.b_{k}"] = (2, 4 * u)
    return layers


def _cnn(recipe: ModelRecipe, d: int) -> Shapes:
    return {"encoder.W": (2 * recipe.hidden, d, FILTER_WIDTH), "encoder.b": (2 * recipe.hidden,)}


ENCODERS = {
    "bilstm": Encoder("a bidirectional LSTM", lambda recipe: 2 * recipe.hidden, _bilstm),
    "cnn": Encoder("a CNN", lambda recipe: 2 * recipe.hidden, _cnn),
    "words": Encoder("its words alone", word_size, lambda recipe, d: {}),  # H is the words themselves
}
# Of the user's own; its weights are those of its state_dict, `module_shapes`.
MODULE = Encoder("an encoder of its author's own", lambda recipe: recipe.hidden, lambda recipe, d: {})


def encoder_of(recipe: ModelRecipe) -> Encoder:
    return MODULE if recipe.has_encoder_module else ENCODERS[recipe.encoder]


def module_shapes(part: str, module: Any) -> Shapes:
    """The weights of a module of the user's own: its floating-point tensors, in the order of `state_dict`."""
    return {f"{part}.module.{name}": tuple(w.shape) for name, w in module_tensors(module).items()}


def module_tensors(module: Any) -> dict[str, Any]:
    """What of a module's state is saved; counters and places of words stay as the module makes them."""
    return {name: w for name, w in module.state_dict().items() if w.is_floating_point()}


def state_size(recipe: ModelRecipe) -> int:
    """The size of a state h_t, and of a row of M: 2u for an LSTM."""
    return encoder_of(recipe).size(recipe)


# ---------------------------------------------------------------- poolings


def _self_attention(recipe: ModelRecipe, size: int) -> Shapes:
    d_a, r = recipe.attention_hidden, recipe.rows
    biases: Shapes = {"pooling.b_s1": (d_a,), "pooling.b_s2": (r,)} if recipe.author_code else {}
    return {"pooling.W_s1": (d_a, size), "pooling.W_s2": (r, d_a), **biases}


class Rows(NamedTuple):
    """How many rows of M are made in each way, in this order; it says what M is without a word.

    Rows of means and of attention are A H: without a word, the others share its weight. Of a maximum, each
    unit falls to the next best word.
    """

    attention: int = 0  # with an A that is learnt, whose rows the penalty keeps apart
    means: int = 0  # with another A
    maxima: int = 0  # of each unit over the words; one at most
    own: int = 0  # by a module of the user's own, which is asked again without the word

    @property
    def has_max_row(self) -> bool:
        """Whether the maxima stand below other rows."""
        return self.maxima > 0 and sum(self) > self.maxima


class Pooling(NamedTuple):
    """How the states of words become the rows of M."""

    title: Callable[[ModelRecipe], str]  # what people call it
    rows: Callable[[ModelRecipe], Rows]
    weights: Callable[[ModelRecipe, int], Shapes] = lambda recipe, size: {}


POOLINGS = {
    "self-attention": Pooling(
        lambda recipe: f"structured self-attention with {recipe.rows} rows",
        lambda recipe: Rows(attention=recipe.rows, maxima=int(recipe.max_row)),
        _self_attention,
    ),
    "max": Pooling(lambda recipe: "max pooling", lambda recipe: Rows(maxima=1)),
}
OWN_POOLING = Pooling(lambda recipe: "a pooling of its author's own", lambda recipe: Rows(own=recipe.rows))


def pooling_of(recipe: ModelRecipe) -> Pooling:
    return OWN_POOLING if recipe.has_pooling_module else POOLINGS[recipe.pooling]


def rows_of(recipe: ModelRecipe) -> Rows:
    return pooling_of(recipe).rows(recipe)


def matrix_shape(recipe: ModelRecipe) -> tuple[int, int]:
    """The shape of M: (r, 2u)."""
    return sum(rows_of(recipe)), state_size(recipe)


# ---------------------------------------------------------------- heads as linear functions of M


class LinearPart(NamedTuple):
    """A head for some texts: a hidden layer of ReLUs is linear once it is known which units are on.

    `toward` takes directions (k, classes) of texts (k,) and gives W (k, r, 2u), for which <W, M> is
    <direction, logits - biases>.
    """

    biases: np.ndarray  # (batch, classes): the logits that no word gives
    toward: Callable[[np.ndarray, np.ndarray], np.ndarray]


def _linear_part(weights: Weights, M: np.ndarray) -> LinearPart:
    """Without hidden layer: M does not matter."""
    W, b = weights["head.W_o"], weights["head.b_o"]
    return LinearPart(
        np.repeat(b[None], len(M), axis=0),
        lambda direction, texts: (direction @ W).reshape(len(direction), *M.shape[1:]),
    )


def _full_part(weights: Weights, M: np.ndarray) -> LinearPart:
    """A hidden layer that reads all of M."""
    W_1, b_1, W_2, b_2 = (weights[f"head.{name}"] for name in ("W_1", "b_1", "W_2", "b_2"))
    on = M.reshape(len(M), -1) @ W_1.T + b_1 > 0
    return LinearPart(
        (on * b_1) @ W_2.T + b_2,
        lambda direction, texts: (direction @ W_2 * on[texts] @ W_1).reshape(len(direction), *M.shape[1:]),
    )


def _pruned_part(weights: Weights, M: np.ndarray) -> LinearPart:
    """Groups of hidden units, each of a row ("v") or a column ("h") of M, and a layer that may mix them."""
    sides = {  # name -> units before the ReLU (batch, groups, units)
        name: _grouped(X, weights[f"head.W_{name}_0"]) + weights[f"head.b_{name}_0"]
        for name, X in (("v", M), ("h", M.transpose(0, 2, 1)))
        if f"head.W_{name}_0" in weights
    }
    on = {name: before > 0 for name, before in sides.items()}
    units, alone = (
        np.concatenate([each.reshape(len(M), -1) for each in parts], axis=1)
        for parts in (
            [np.maximum(before, 0) for before in sides.values()],
            [on[name] * weights[f"head.b_{name}_0"] for name in sides],
        )
    )
    W_o, mixes = weights["head.W_o"], "head.W_m" in weights
    if mixes:
        W_m, b_m = weights["head.W_m"], weights["head.b_m"]
        on_m = units @ W_m.T + b_m > 0
        alone = on_m * (alone @ W_m.T + b_m)

    def toward(direction: np.ndarray, texts: np.ndarray) -> np.ndarray:
        W = direction @ W_o  # (k, units of both sides, or of the mix)
        if mixes:
            W = W * on_m[texts] @ W_m
        total, start = np.zeros((len(direction), *M.shape[1:]), W.dtype), 0
        for name, each in on.items():
            end = start + each[0].size
            back = W[:, start:end].reshape(each[texts].shape) * each[texts]
            part = _grouped(back, weights[f"head.W_{name}_0"].transpose(0, 2, 1))
            total += part if name == "v" else part.transpose(0, 2, 1)
            start = end
        return total

    return LinearPart(alone @ W_o.T + weights["head.b_o"], toward)


def _grouped(X: np.ndarray, W: np.ndarray) -> np.ndarray:
    """X (batch, groups, in) times W (groups, in, out), each group with weights of its own."""
    return np.asarray((X.transpose(1, 0, 2) @ W).transpose(1, 0, 2))


# ---------------------------------------------------------------- heads


def _relation(recipe: ModelRecipe) -> Shapes:
    """What makes F_r of two texts' M."""
    rows, size = matrix_shape(recipe)
    if recipe.pair == "gated":
        return {"gate.W_fp": (rows, size, size), "gate.W_fh": (rows, size, size)}
    return _vector(recipe, rows, size) if recipe.pair == "vectors" else {}


def head_inputs(recipe: ModelRecipe, pair: bool) -> tuple[int, int]:
    """Rows and size of what the head reads: of M or, for pairs, of F_r."""
    rows, size = matrix_shape(recipe)
    if not pair or recipe.pair == "gated":
        return rows, size
    return (1, 4 * recipe.vector_size) if recipe.pair == "vectors" else (rows, 4 * size)


def _vector(recipe: ModelRecipe, rows: int, size: int, outputs: int = 0) -> Shapes:
    """v = sum over the rows of M: V_r U m_r; U is shared, each row has its own V_r."""
    k, v = recipe.vector_rank, recipe.vector_size
    return {"vector.W_shared": (k, size), "vector.W_rows": (v, rows * k)}


def _full(recipe: ModelRecipe, rows: int, size: int, outputs: int) -> Shapes:
    b = recipe.head_hidden
    hidden: Shapes = {"head.W_1": (b, rows * size), "head.b_1": (b,)}
    return {**hidden, "head.W_2": (outputs, b), "head.b_2": (outputs,)}


def _pruned(recipe: ModelRecipe, rows: int, size: int, outputs: int) -> Shapes:
    p, q, mix = recipe.row_units, recipe.column_units, recipe.mix_units
    groups, units = Shapes(), rows * p + size * q
    if p:
        groups |= {"head.W_v_0": (rows, size, p), "head.b_v_0": (rows, p)}
    if q:
        groups |= {"head.W_h_0": (size, rows, q), "head.b_h_0": (size, q)}
    if mix:
        groups |= {"head.W_m": (mix, units), "head.b_m": (mix,)}
    return {**groups, "head.W_o": (outputs, mix or units), "head.b_o": (outputs,)}


def _linear(recipe: ModelRecipe, rows: int, size: int, outputs: int) -> Shapes:
    return {"head.W_o": (outputs, rows * size), "head.b_o": (outputs,)}


class Head(NamedTuple):
    """From M or F_r to outputs."""

    weights: Callable[[ModelRecipe, int, int, int], Shapes]  # of rows, size and outputs
    # as a linear function of M (batch, r, 2u), for what decided; of classifiers
    linear_part: Callable[[Weights, np.ndarray], LinearPart] | None = None
    is_linear: bool = False  # whatever M is


HEADS = {
    "full": Head(_full, _full_part),
    "pruned": Head(_pruned, _pruned_part),
    "linear": Head(_linear, _linear_part, is_linear=True),
    "vector": Head(_vector, is_linear=True),
}


def linear_part(weights: Weights, recipe: ModelRecipe, M: np.ndarray) -> LinearPart:
    """The head of a classifier as a linear function of M (batch, r, 2u) of single texts."""
    found = HEADS[recipe.head].linear_part
    assert found is not None, "a reader has no classes"
    return found(weights, M)


# ---------------------------------------------------------------- the whole


def shapes(recipe: ModelRecipe, vocabulary: int, classes: int, pair: bool, modules: Modules = OURS) -> Shapes:
    """The name and shape of every tensor, as in `network.state_dict()`; `modules` are the user's own."""
    return {
        **_words(recipe, vocabulary),
        **encoder_of(recipe).weights(recipe, word_size(recipe)),
        **(module_shapes("encoder", modules.encoder) if modules.encoder is not None else {}),
        **pooling_of(recipe).weights(recipe, state_size(recipe)),
        **(module_shapes("pooling", modules.pooling) if modules.pooling is not None else {}),
        **(_relation(recipe) if pair else {}),
        **HEADS[recipe.head].weights(recipe, *head_inputs(recipe, pair), classes),
    }


def check_weights(weights: Weights, expected: Shapes) -> None:
    """Raise unless `weights` are exactly the expected tensors, float32 and finite."""
    check_names(set(weights), set(expected))
    for name, shape in expected.items():
        array = weights[name]
        if array.shape != shape or array.dtype != np.float32:
            wrong = f"weight {name} is {array.dtype} {array.shape}; the recipe needs float32 {shape}"
            raise LimelightError(wrong, code="weights-shape")
        if not np.isfinite(array).all():
            wrong = f"weight {name} contains numbers that are not finite; train again"
            raise LimelightError(wrong, code="not-finite")


def check_names(found: set[str], expected: set[str]) -> None:
    """Raise unless the weights have exactly the expected names."""
    if missing := sorted(expected - found):
        names = ", ".join(missing[:3])
        raise LimelightError(f"the weights lack {names}, which the recipe needs", code="weights-names")
    if extra := sorted(found - expected):
        wrong = f"the weights include {str(extra[0])[:60]!r}, which the recipe does not have"
        raise LimelightError(wrong, code="weights-names")


def parameters_by_part(tensors: Shapes) -> dict[str, int]:
    """Count the parameters of each part of a network, as in the paper's pruning table."""
    parts = dict.fromkeys(
        ("words", "grams", "projection", "encoder", "attention", "gate", "vector",
         "hidden", "hidden biases", "softmax", "softmax biases"), 0,
    )  # fmt: skip
    for name, shape in tensors.items():
        part, _, rest = name.partition(".")
        if part == "head":
            part = "softmax" if rest in ("W_2", "b_2", "W_o", "b_o") else "hidden"
            part += " biases" if rest.startswith("b_") else ""
        parts["attention" if part == "pooling" else part] += prod(shape)
    return parts
