"""A model as a few megabytes that run in a browser: the most frequent words, numbers in float16, gzip.

Four bytes for the length of a JSON header, the header, the arrays it names; page/model_file.js reads them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import LimelightError
from ..reading import captions
from ..runtime.decided import way_of
from ..runtime.model import Model
from ..runtime.weights import WORDS, pack_words
from ..text.rules import CHARACTERS, javascript_rules
from ..text.tokenizer import SPECIAL

PRECISIONS = ("float16", "float32")
TEXTS = (
    ("The soup was cold, but the waiter was lovely.",),
    ("I have never been so bored in my life!",),
    ("Not bad at all.",),
)  # fmt: skip
PAIRS = (
    ("A man is playing a guitar on stage.", "A musician performs."),
    ("Two children play in the snow.", "The children are asleep."),
)  # fmt: skip
LEAST_WORDS = 5_000  # kept, however large the rest is


def pack_model(
    model: Model, *, words: int | None, most: int, precision: str = "float16"
) -> tuple[bytes, int]:
    """The model as gzip, and how many words are in it: the first `words`, or as many as fit `most` bytes.

    The words are in the order of the vocabulary, the most frequent in the training data first; the others are
    read as unknown.
    """
    if model.recipe.model.embedding == "cnn":
        raise LimelightError("a page cannot run a model with embedding 'cnn'; take one with an LSTM")
    if model.task != "classification":
        raise LimelightError(
            f"a page runs classifiers into one class; the task of this model is {model.task!r}: draw single "
            "texts with limelight explain"
        )
    if precision not in PRECISIONS:
        raise LimelightError(f"precision is {precision!r}; it must be one of: {', '.join(PRECISIONS)}")
    known = len(model.tokenizer) - len(SPECIAL)
    if words is not None:
        if words < 1:
            raise LimelightError(f"words is {words}; it must be at least 1")
        return _pack(model, min(words, known), precision), min(words, known)
    return _pack_most(model, known, most, precision)


def _pack_most(model: Model, known: int, most: int, precision: str) -> tuple[bytes, int]:
    """As many words as fit, to within a percent: bytes grow evenly with words."""
    packed, least = _pack(model, known, precision), min(known, LEAST_WORDS)
    if len(packed) <= most or known == least:
        return packed, known
    low, high = (least, len(smallest := _pack(model, least, precision))), (known, len(packed))
    best = smallest, least
    for _ in range(4):
        count = int(low[0] + (most - low[1]) / (high[1] - low[1]) * (high[0] - low[0]) * 0.998)
        if count <= low[0]:
            break
        packed = _pack(model, count, precision)
        if len(packed) > most:
            high = count, len(packed)
        else:
            low, best = (count, len(packed)), (packed, count)
            if len(packed) > 0.99 * most:
                break
    return best


def _pack(model: Model, words: int, precision: str) -> bytes:
    size = words + len(SPECIAL)
    weights = pack_words({**model.weights, WORDS: np.ascontiguousarray(model.weights[WORDS][:size])})
    arrays = {name: _typed(name, array, precision) for name, array in weights.items()}
    header = {
        "about": about_packed(model, words),
        "recipe": _recipe(model),
        "tokenizer": {
            "pattern": javascript_rules(),
            "characters": javascript_rules(CHARACTERS) if model.tokenizer.split_characters else None,
            "lowercase": model.tokenizer.lowercase,
            "words": model.tokenizer.vocabulary[len(SPECIAL) : size],
        },
    }
    return gzip.compress(join_arrays(header, arrays), mtime=0)


def join_arrays(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """The length of a JSON header in four bytes, the header, the arrays it names."""
    named = [{"name": name, "type": str(array.dtype), "shape": array.shape} for name, array in arrays.items()]
    text = json.dumps({**header, "arrays": named}, ensure_ascii=False, separators=(",", ":"))
    content = text.encode(errors="replace")  # half a character is not text
    return b"".join([len(content).to_bytes(4, "little"), content, *map(_bytes, arrays.values())])


def _typed(name: str, array: np.ndarray, precision: str) -> np.ndarray:
    """Biases are few: they stay float32. So does what float16 cannot hold."""
    if array.dtype != np.float32 or precision == "float32" or ".b" in name or np.abs(array).max() > 60_000:
        return array
    halves = array.astype(np.float16)
    return _shorter(halves) if name.startswith("encoder.") else halves


def _shorter(halves: np.ndarray) -> np.ndarray:
    """Without the last bit, rounded: the LSTM is most of the file, and hardly notices."""
    bits = halves.view(np.uint16)
    return ((bits + (bits >> 1 & 1)) & 0xFFFE).astype(np.uint16).view(np.float16)


def _bytes(array: np.ndarray) -> bytes:
    """float16 as all first bytes, then all second bytes, which gzip packs better."""
    content = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return content[::2] + content[1::2] if array.dtype == np.float16 else content


def name_of(model: Model) -> str:
    """What the page is called."""
    kind = "A classifier of pairs of texts" if model.pair else "A classifier of texts"
    return str(model.facts.get("name") or kind)


def about_model(model: Model) -> dict[str, Any]:
    """What a page says of a model, wherever that runs."""
    return {
        "name": name_of(model),
        "labels": list(map(str, model.labels)),
        "pair": model.pair,
        "rows": model.embedding_shape[0],
        "rowNames": list(model.row_names),
        "rowsLine": captions.rows_line(model.embedding_shape[0]),
        "examples": PAIRS if model.pair else TEXTS,
        "vocabulary": "the model's vocabulary",
        "notes": [
            captions.METHODS[way_of(model.recipe.model, model.pair)],
            model.trust or captions.NOT_MEASURED,
        ],
    }


def about_packed(model: Model, words: int) -> dict[str, Any]:
    """The same for a model in the page, with so many of its words."""
    about, known = about_model(model), len(model.tokenizer) - len(SPECIAL)
    kept = (
        f"The page has {words:,} of the model's {known:,} words, the most frequent ones; all others are read "
        "as one unknown word."
        if words < known
        else f"The page has all of the model's {known:,} words."
    )
    here = "The model runs in this page. It needs no network, and nothing that is typed leaves it."
    return {**about, "vocabulary": "this page's vocabulary", "notes": [*about["notes"], kept, here]}


def _recipe(model: Model) -> Mapping[str, Any]:
    recipe = model.recipe.model
    return {
        "embedding": recipe.embedding,
        "projection": recipe.projection,
        "hidden": recipe.hidden,
        "layers": recipe.layers,
        "rows": recipe.attention_rows,
        "maxRow": recipe.has_max_row,
        "attentionBias": recipe.author_code,
        "pair": recipe.pair,
        "head": recipe.head,
        "rowUnits": recipe.row_units,
        "columnUnits": recipe.column_units,
        "mixUnits": recipe.mix_units,
        "maxLength": model.recipe.text.max_length,
    }
