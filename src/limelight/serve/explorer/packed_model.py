"""A model as a few megabytes that run in a browser.

The most frequent words are kept as they are. Each of the others is read as the kept word most similar to it,
so many times as long: three bytes in place of a vector.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from ...errors import LimelightError, check_at_least, check_choice, wrong_task
from ...explain.joint import page_rules
from ...network.outputs import unit
from ...network.parts import rows_of
from ...network.weights import pack_words
from ...runtime.model import Model
from ...text.rules import CHARACTERS, javascript_rules
from ...text.tokenizer import SPECIAL
from ..page.bundle import about_model
from ..page.packed_arrays import Steps, pack_arrays

PRECISIONS = ("float16", "float32")
MIN_WORDS_KEPT = 5_000  # kept, however large the rest is
MAX_WORDS_READ = 2**16  # read as a similar word, with those kept; what is less frequent is unknown
STEP_PARTS = 512, 1024  # of one text and of pairs, whose M are multiplied: probabilities are right to 1e-3
FACTOR_STEPS = 100  # steps of a factor by which a similar word's vector is longer or shorter
RUNS_IN_PAGE = "The model runs in this page. It needs no network, and nothing that is typed leaves it."


def check_packable(model: Model, words: int | None = None, precision: str = "float16") -> None:
    """Raise if a page cannot run a model: before its data is read, which takes long."""
    if model.recipe.model.has_module:
        fault = "a page cannot run a part of your own; show the model with 'limelight explore' or 'serve'"
        raise wrong_task(fault)
    if model.tokenizer.forbidden:
        fault = "a page cannot leave out forbidden words; show the model with 'limelight explore' or 'serve'"
        raise LimelightError(fault, code="forbidden-words")
    check_choice("precision", precision, PRECISIONS)
    check_at_least("words", words, 1)


def pack_model(
    model: Model, *, words: int | None, most: int, precision: str = "float16"
) -> tuple[bytes, int]:
    """The model as gzip, and how many words are kept: the first `words`, or as many as fit `most` bytes.

    The words are in the order of the vocabulary, the most frequent in the training data first.
    """
    check_packable(model, words, precision)
    known = len(model.tokenizer) - len(SPECIAL)
    kept = _count_words(model, known, most, precision) if words is None else min(words, known)
    return _pack(model, kept, precision, _similar(model, kept)), kept


def _count_words(model: Model, known: int, most: int, precision: str) -> int:
    """As many words as fit, to within a percent: bytes grow evenly with words."""

    def size(words: int) -> int:
        others = max(0, min(known, MAX_WORDS_READ) - words)
        return len(_pack(model, words, precision, np.zeros((2, others)))) + 3 * others

    low, high = min(known, MIN_WORDS_KEPT), known
    low_size, high_size = size(low), size(high)
    if high_size <= most or low_size >= most:
        return known if high_size <= most else low
    for _ in range(4):
        words = int(low + (most - low_size) / (high_size - low_size) * (high - low) * 0.998)
        if words <= low:
            break
        if (found := size(words)) > most:
            high, high_size = words, found
            continue
        low, low_size = words, found
        if found > 0.99 * most:
            break
    return low


def _similar(model: Model, kept: int) -> np.ndarray:
    """(2, others): the kept word most similar to each other word, from 0 on, and the factor of its vector."""
    table, first = model.weights["words.weight"], len(SPECIAL)
    start, end = first + kept, min(len(table), first + MAX_WORDS_READ)
    own = table[first : min(start, end)]
    directions = unit(own)
    found = np.zeros((2, max(0, end - start)))
    for at in range(start, end, 2048):
        scores = table[at : min(at + 2048, end)] @ directions.T
        best = scores.argmax(axis=1)
        place = slice(at - start, at - start + len(best))
        lengths = np.maximum(np.linalg.norm(own[best], axis=1), 1e-9)
        found[:, place] = best, scores.max(axis=1).clip(0) / lengths
    return found


def _pack(model: Model, kept: int, precision: str, similar: np.ndarray) -> bytes:
    """`similar` is about the words after those that are kept."""
    size, recipe = kept + len(SPECIAL), model.recipe.model
    words = np.ascontiguousarray(model.weights["words.weight"][:size])
    weights = pack_words({**model.weights, "words.weight": words})
    parts = {"float32": 0, "float16": STEP_PARTS[model.pair]}[precision]
    arrays = {name: _typed(name, array, parts) for name, array in weights.items()}
    best, factor = similar
    arrays["similar"] = best.astype(np.uint16)
    arrays["factor"] = np.rint(factor * FACTOR_STEPS).clip(0, 255).astype(np.uint8)
    header = {
        "about": _about(model, kept),
        "recipe": {
            **asdict(recipe),
            "rows": rows_of(recipe).attention,
            "max_row": rows_of(recipe).has_max_row,
            "max_length": model.recipe.text.max_length,
        },
        "tokenizer": {
            "pattern": javascript_rules(),
            "characters": javascript_rules(CHARACTERS) if model.tokenizer.split_characters else None,
            "lowercase": model.tokenizer.lowercase,
            "words": model.tokenizer.vocabulary[len(SPECIAL) : size + len(best)],
        },
    }
    return pack_arrays(header, arrays)


def _typed(name: str, array: np.ndarray, parts: int) -> np.ndarray | Steps:
    """Biases are few: they stay float32. So does what 16 bits cannot hold."""
    if array.dtype != np.float32 or not parts or ".b" in name:
        return array
    steps = Steps(array, parts)
    return steps if steps.fits else array


def _about(model: Model, kept: int) -> dict[str, Any]:
    about, known = about_model(model), len(model.tokenizer) - len(SPECIAL)
    note = f"The page has all of the model's {known:,} words."
    if kept < known:
        note = f"The page has {kept:,} of the model's {known:,} words, the most frequent ones; each of the "
        note += "others is read as the most similar of them. The model itself may answer a text with such a "
        note += "word differently: its answer says so."
    dotted = "are not in this page's vocabulary. Point at one to see how it is read."
    lost = max(kept, MAX_WORDS_READ) < known  # unknown to the page, but not to the model
    notes = [*about["notes"], note, RUNS_IN_PAGE]
    joint = page_rules(model.task, model.labels)
    return {**about, "lostWords": lost, "dotted": dotted, "notes": notes, "joint": joint}
