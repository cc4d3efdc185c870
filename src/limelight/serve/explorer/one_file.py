"""A page with the model inside: one HTML file that runs it from disk, without a network.

The model, and rows of data if they are given, are blocks of text that no browser takes for code. The most
frequent words are kept as they are. Each of the others is read as the kept word most similar to it, so many
times as long: three bytes in place of a vector.
"""

from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import LimelightError, check_at_least, check_choice, wrong_task
from ...explain.joint import page_rules
from ...network.outputs import unit
from ...network.parts import rows_of
from ...network.weights import pack_words
from ...runtime.model import Model
from ...storage.files import check_output_file, write_file
from ...text.rules import CHARACTERS, javascript_rules
from ...text.tokenizer import SPECIAL
from ..page.bundle import about_model, name_of, render_page
from ..page.packed_arrays import BITS, Steps, pack_arrays
from .explored import ExploredData

MAX_FILE_BYTES = 5_000_000  # bytes of the file, which decide how many words it has, unless the caller does
START = "one_file"
PRECISIONS = ("float16", "float32")
MIN_WORDS_KEPT = 5_000  # kept, however large the rest is
MAX_WORDS_READ = 2**16  # read as a similar word, with those kept; what is less frequent is unknown
STEP_PARTS = 512, 1024  # of one text and of pairs, whose M are multiplied: probabilities are right to 1e-3
FACTOR_STEPS = 100  # steps of a factor by which a similar word's vector is longer or shorter
RUNS_IN_PAGE = "The model runs in this page. It needs no network, and nothing that is typed leaves it."


def save_page(
    model: Model, path: str | Path, *, words: int | None = None, precision: str = "float16",
    data: ExploredData | None = None, overwrite: bool = False,
) -> int:  # fmt: skip
    """Write the model as one page, and return how many of its words are in it.

    The most frequent words are kept: `words` of them, or as many as fit into 5 MB; the page reads others as
    the most similar of these. `precision` is that of the weights: "float32" gives the probabilities of Python
    to 1e-5. The rows of `data` can be browsed in the page.

    >>> save_page(model, "page.html")  # doctest: +SKIP
    """
    check_output_file(path, overwrite)
    page, kept = build_page(model, words=words, precision=precision, data=data)
    write_file(path, page, overwrite)
    return kept


@dataclass(frozen=True)
class NotebookPage:
    """The page in a frame, as a notebook shows it; it stays in the saved notebook."""

    page: str
    height: int

    def __repr__(self) -> str:  # short: a notebook stores it next to the frame
        return f"<NotebookPage of {len(self.page) / 1e6:.1f} MB, shown in a notebook>"

    def _repr_html_(self) -> str:
        kind = f'sandbox="allow-scripts allow-downloads" width="100%" height="{self.height}" style="border:0"'
        return f'<iframe {kind} srcdoc="{escape(self.page)}"></iframe>'


def explore_page(model: Model, *, words: int | None = None, height: int = 900) -> NotebookPage:
    """The page of `save_page` for a notebook, as `model.explore()` gives it.

    >>> explore_page(model)  # doctest: +SKIP
    """
    return NotebookPage(build_page(model, words=words)[0], height)


def build_page(
    model: Model, *, words: int | None = None, precision: str = "float16", data: ExploredData | None = None
) -> tuple[str, int]:
    """The text of the page, and how many words are in it."""
    blocks = {} if data is None else {"data": data.pack(in_page=True)}
    room = MAX_FILE_BYTES - len(render_page(START, name_of(model), blocks, in_file=True).encode()) - 1_000
    blocks["model"], kept = pack_model(model, words=words, most=room * BITS // 16, precision=precision)
    return render_page(START, name_of(model), blocks, in_file=True), kept


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
    """The model as gzip, and how many words are kept: the first `words`, or as many as fit `most` bytes."""
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
    rows, tokenizer = rows_of(recipe), model.tokenizer
    length = model.recipe.text.max_length
    shape = {"rows": rows.attention, "max_row": rows.has_max_row, "max_length": length}
    characters = javascript_rules(CHARACTERS) if tokenizer.split_characters else None
    split: dict[str, Any] = {"pattern": javascript_rules(), "characters": characters}
    split["lowercase"] = tokenizer.lowercase
    split["words"] = tokenizer.vocabulary[len(SPECIAL) : size + len(best)]
    header = {"about": _about(model, kept), "recipe": asdict(recipe) | shape, "tokenizer": split}
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
