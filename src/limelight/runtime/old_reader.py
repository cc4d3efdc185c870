"""The folder of a reader as version 0.2 wrote it: words and weights in one reader.safetensors.

Tables and matrices are in few bits as in model.safetensors; the words are the bytes `vocabulary`, one to a
line. The network is not described: its sizes are those of the weights.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..config.recipe import Recipe
from ..errors import LimelightError, damaged
from ..network.parts import check_weights, shapes
from ..network.quantise import SCALE
from ..network.weights import header_of, read_weights
from ..text.tokenizer import SPECIAL, Tokenizer, has_joined_characters
from .config_file import OLD_READER, SavedFiles

MAX_BYTES = 2**31
Parts = tuple[Recipe, Tokenizer, dict[str, np.ndarray], dict[str, Any]]


def read_old_reader(saved: SavedFiles) -> Parts:
    content = saved.read(OLD_READER, MAX_BYTES)
    header, _ = header_of(content, OLD_READER)
    recipe = recipe_of({name: _shape(name, entry) for name, entry in header.items()})
    length = _shape("vocabulary", header.get("vocabulary"))
    expected = shapes(recipe.model, _shape("words.weight", header["words.weight"])[0], 0, False)
    stored = read_weights(content, {**expected, "vocabulary": length}, OLD_READER)
    words = _parse_words(stored.pop("vocabulary"))
    if len(words) + len(SPECIAL) != len(stored["words.weight"]):
        raise _damaged(f"it has {len(words):,} words and vectors for {len(stored['words.weight']):,}")
    check_weights(stored, expected)
    facts = {**saved.config["facts"], "pretraining": saved.config["recipe"]}
    return recipe, tokenizer_of(words), stored, facts


def tokenizer_of(words: list[str] | tuple[str, ...]) -> Tokenizer:
    return Tokenizer.from_words(words, split_characters=not has_joined_characters(words))


def recipe_of(found: Mapping[str, tuple[int, ...]]) -> Recipe:
    """The recipe of a reader, by the shapes of its weights as numbers."""
    try:
        sizes: dict[str, Any] = {
            "word_size": found["words.weight"][1], "buckets": found["grams.weight"][0] - 1,
            "hidden": found["encoder.W_hh_0"][2], "vector_size": found["vector.W_rows"][0],
            "vector_rank": found["vector.W_shared"][0], "head": "vector", "pooling": "max",
        }  # fmt: skip
        if "pooling.W_s2" in found:
            rows, d_a = found["pooling.W_s2"]
            sizes |= {"pooling": "self-attention", "rows": rows, "attention_hidden": d_a}
    except (KeyError, IndexError, ValueError):
        raise _damaged("it is not a reader") from None
    return Recipe().override(**sizes)


def _shape(name: str, entry: Any) -> tuple[int, ...]:
    """The shape of a tensor as numbers, from its entry in the header: 4 bits hold two to a byte."""
    shape = entry.get("shape") if isinstance(entry, dict) else None
    if name.endswith(SCALE) or name == "__metadata__":
        return ()
    if not isinstance(shape, list) or not all(type(n) is int and n > 0 for n in shape):
        raise _damaged(f"{name[:60]} has the shape {str(shape)[:60]}")
    packed = entry.get("dtype") == "U8" and name != "vocabulary"
    return (*shape[:-1], 2 * shape[-1]) if packed else tuple(shape)


def _parse_words(stored: np.ndarray) -> list[str]:
    try:
        words = stored.tobytes().decode().split("\n")
    except UnicodeDecodeError:
        raise _damaged("its words are not UTF-8") from None
    if not all(words) or len(set(words)) < len(words):
        raise _damaged("its words are empty or not distinct")
    return words


def _damaged(what: str) -> LimelightError:
    return damaged(f"{OLD_READER} is damaged: {what}; fetch it again")
