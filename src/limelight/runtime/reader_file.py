"""The file of a reader, reader.safetensors: words and n-grams in 4 bits, matrices in int8, scales in float16.

A byte of words holds two numbers, the first in its lower half; each 32 numbers have a scale. An int8
matrix has a scale for each output. The words themselves are the bytes `vocabulary`, one to a line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import safetensors
import safetensors.numpy

from ..config.recipe import ModelRecipe, Recipe
from ..errors import LimelightError
from ..network.quantise import pack, quantise, unpack
from ..storage.array_files import safetensors_pieces

TABLES = ("words.weight", "grams.weight")
MAX_BYTES = 2**31

Weights = dict[str, np.ndarray]


def pack_reader(words: Sequence[str], weights: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of the file, from float32 weights.

    >>> weights = {"words.weight": np.ones((3, 32), np.float32), "encoder.b_0": np.ones((2, 4), np.float32)}
    >>> stored = safetensors.numpy.load(pack_reader(["soup"], weights))
    >>> {name: stored[name].shape for name in sorted(stored)}
    {'encoder.b_0': (2, 4), 'vocabulary': (4,), 'words.weight': (3, 16), 'words.weight.scale': (3, 1)}
    """
    packed: Weights = {"vocabulary": np.frombuffer("\n".join(words).encode(), np.uint8)}
    for name, values in weights.items():
        if name in TABLES:
            packed[name], packed[f"{name}.scale"] = pack(values)
        elif name.startswith("encoder.b_"):
            packed[name] = values.astype(np.float32)
        else:
            packed[name], packed[f"{name}.scale"] = quantise(values, 127)
    return b"".join(safetensors_pieces(packed))


def unpack_reader(content: bytes) -> tuple[list[str], Weights]:
    """The words, from id 2 on, and the weights in float32; anything else is an error of one line."""
    try:
        stored = safetensors.numpy.load(content)
    except (safetensors.SafetensorError, KeyError, ValueError) as error:
        reason = " ".join(str(error).split())[:80]
        raise LimelightError(f"reader.safetensors is damaged ({reason}); fetch it again") from None
    words = _unpack_words(stored.pop("vocabulary", np.zeros(0)))
    names = [name for name in stored if not name.endswith(".scale")]
    weights = {name: _unpack(name, stored[name], stored.pop(f"{name}.scale", None)) for name in names}
    if set(stored) != set(names):
        raise _damaged("a scale without its weights")
    check_reader(words, weights)
    return words, weights


def check_reader(words: Sequence[str], weights: Mapping[str, np.ndarray]) -> None:
    """Raise unless the weights are those of a reader of these words, of shapes that fit together."""
    try:
        recipe = reader_recipe(weights).model
    except (KeyError, ValueError, IndexError):
        raise _damaged("it is not a reader") from None
    d, u, size = recipe.word_size, recipe.hidden, 2 * recipe.hidden
    rank = len(weights["vector.W_shared"])
    expected = {
        "words.weight": (len(words) + 2, d), "grams.weight": (len(weights["grams.weight"]), d),
        "encoder.W_ih_0": (2, 4 * u, d), "encoder.W_hh_0": (2, 4 * u, u), "encoder.b_0": (2, 4 * u),
        "vector.W_shared": (rank, size),
        "vector.W_rows": (len(weights["vector.W_rows"]), recipe.matrix_rows * rank),
    }  # fmt: skip
    if recipe.embedding == "self-attention":
        d_a = recipe.attention_hidden
        expected |= {"pooling.W_s1": (d_a, size), "pooling.W_s2": (recipe.rows, d_a)}
    if set(weights) != set(expected):
        raise _damaged(f"its weights are {', '.join(sorted(weights))[:80]}")
    for name, shape in expected.items():
        if weights[name].shape != shape or 0 in shape:
            raise _damaged(f"{name} has the shape {weights[name].shape}, not {shape}")
        if not np.isfinite(weights[name]).all():
            raise _damaged(f"{name} holds numbers that are not finite")


def reader_recipe(weights: Mapping[str, np.ndarray]) -> Recipe:
    """The network that the weights are of, by their shapes.

    >>> shapes = {"words.weight": (3, 32), "encoder.W_hh_0": (2, 12, 3), "pooling.W_s2": (4, 5)}
    >>> shapes |= {"vector.W_shared": (7, 6), "vector.W_rows": (8, 28)}
    >>> recipe = reader_recipe({name: np.zeros(shape) for name, shape in shapes.items()}).model
    >>> recipe.embedding, recipe.rows, recipe.hidden
    ('self-attention', 4, 3)
    """
    sizes = {"word_size": weights["words.weight"].shape[1], "hidden": weights["encoder.W_hh_0"].shape[2]}
    sizes |= {"vector_size": len(weights["vector.W_rows"]), "vector_rank": len(weights["vector.W_shared"])}
    if "pooling.W_s2" not in weights:
        return Recipe(model=ModelRecipe(embedding="max", **sizes))
    rows, d_a = weights["pooling.W_s2"].shape
    return Recipe(model=ModelRecipe(rows=rows, attention_hidden=d_a, **sizes))


def _unpack(name: str, values: np.ndarray, scale: np.ndarray | None) -> np.ndarray:
    if scale is None:
        if values.dtype != np.float32:
            raise _damaged(f"{name} has no scale")
        return values
    try:
        if name not in TABLES:
            return np.asarray(values.astype(np.float32) * scale.astype(np.float32))
        return unpack(values, scale)
    except (ValueError, TypeError, IndexError):
        raise _damaged(f"{name} and its scales do not fit together") from None


def _unpack_words(stored: np.ndarray) -> list[str]:
    try:
        words = stored.tobytes().decode().split("\n")
    except UnicodeDecodeError:
        raise _damaged("its words are not UTF-8") from None
    if not all(words) or len(set(words)) < len(words):
        raise _damaged("its words are empty or not distinct")
    return words


def _damaged(what: str) -> LimelightError:
    return LimelightError(f"reader.safetensors is damaged: {what}; fetch it again")
