"""The saved folder: a complete trained model, checked before use.

    config.json         kind, labels, recipe, facts; sizes and checksums of the files, and its own checksum
    tokenizer.json      the words
    model.safetensors   the weights
    model.onnx          the whole model for other programs; its weights are the bytes of model.safetensors
    model.int8.onnx     the same in int8, complete in one small file
    README.md           the model card, yours to edit

Trust: a folder may come from anyone. Python reads only the first three files. They are data, checked for
names, sizes, types and checksums; the graphs that run are built from the recipe by this program, and of
tokenizer.json only the words are used. The two ONNX files are never run here, so a crafted one can do no
harm. Checksums detect damage, not malice: someone who can change a file can change its checksum too, and make
the model answer differently, but cannot make it run code. `sha256` pins a model that you know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, prod
from pathlib import Path
from typing import Any

import numpy as np

from ..config.recipe import Recipe
from ..errors import LimelightError
from ..network.onnx.export import export_onnx
from ..network.parts import check_weights, shapes
from ..network.weights import MAX_HEADER, pack_words, read_weights, tensor_locations
from ..storage.array_files import safetensors_pieces
from ..storage.files import FolderLayout, atomic_folder, old_folders
from ..storage.json_file import to_json_values
from ..tables.rows import MAX_DIGITS, is_too_large
from ..text.labels import Label
from ..text.tasks import find_task
from ..text.tokenizer import MAX_TOKENIZER, SPECIAL, Tokenizer
from .card import model_card
from .config_file import MODEL_KINDS, format_config, open_saved

FILES = ("tokenizer.json", "model.safetensors", "model.onnx", "model.int8.onnx")  # beside config.json
MAX_GRAPH = 2**26  # bytes of a graph without its weights; a few thousand are usual
LAYOUT = FolderLayout("a model folder", ("config.json", "model.safetensors"), (*FILES, "README.md"))


@dataclass(frozen=True, eq=False)
class Folder:
    """The checked contents of a saved folder."""

    recipe: Recipe
    tokenizer: Tokenizer
    labels: tuple[Label, ...]
    pair: bool
    facts: dict[str, Any]
    weights: dict[str, np.ndarray]
    sha256: str  # of config.json, which has the checksums of the other files
    version: str  # of Limelight, that wrote it
    thresholds: np.ndarray | None = None  # (labels,), where a text may have several labels


# ---------------------------------------------------------------- writing


def save_folder(
    path: str | Path,
    *,
    weights: Mapping[str, np.ndarray],
    recipe: Recipe,
    tokenizer: Tokenizer,
    labels: Sequence[Label],
    pair: bool,
    facts: Mapping[str, Any] | None = None,
    card: str | None = None,
    overwrite: bool = False,
    thresholds: np.ndarray | None = None,
) -> None:
    """Write a folder, all of it or nothing; `facts` is any JSON about the data and the results.

    >>> import tempfile
    >>> recipe = Recipe().override(embedding="max", word_size=4, hidden=3, head_hidden=6)
    >>> words = Tokenizer.from_words(["good", "bad"])
    >>> weights = {n: np.ones(s, np.float32) for n, s in shapes(recipe.model, 4, 2, False).items()}
    >>> with tempfile.TemporaryDirectory() as path:
    ...     save_folder(path, weights=weights, recipe=recipe, tokenizer=words, labels=[1, 5], pair=False)
    ...     open_folder(path).labels
    (1, 5)
    """
    task = find_task(recipe.text.task).name
    labels, facts = plain_labels(labels, task), to_json_values(facts or {})
    expected = shapes(recipe.model, len(tokenizer), len(labels), pair)
    weights = {name: np.asarray(array) for name, array in weights.items()}
    check_weights(weights, expected)
    weights = pack_words(weights)
    tensors = b"".join(safetensors_pieces(weights))
    options: dict[str, Any] = {"recipe": recipe.model, "classes": len(labels), "pair": pair, "task": task}
    contents = {
        "tokenizer.json": tokenizer.to_json().encode(),
        "model.safetensors": tensors,
        "model.onnx": export_onnx(weights, **options, locations=tensor_locations(tensors, expected)),
        "model.int8.onnx": export_onnx(weights, **options, int8=True),
    }
    if card is None:
        card = model_card(
            recipe=recipe,
            labels=labels,
            pair=pair,
            vocabulary=len(tokenizer) - len(SPECIAL),
            facts=facts,
            thresholds=thresholds,
        )
    contents["config.json"] = format_config(
        MODEL_KINDS[pair], recipe.to_dict(), labels, facts, contents,
        None if thresholds is None else thresholds.tolist(),
    )  # fmt: skip
    contents["README.md"] = card.encode(errors="replace")  # it may hold file names that are not UTF-8
    with atomic_folder(path, LAYOUT, overwrite) as folder:
        for name, content in contents.items():
            (folder / name).write_bytes(content)


def plain_labels(labels: Sequence[Any], task: str = "classification") -> tuple[Label, ...]:
    """Convert labels to plain Python strings, numbers and booleans; they must be distinct.

    A classifier into classes needs two of them at least.

    >>> plain_labels(np.array([1, 5]))
    (1, 5)
    >>> plain_labels(["bad"])
    Traceback (most recent call last):
    limelight.errors.LimelightError: a classifier needs at least two labels; got ['bad']
    """
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
    for label in plain:
        if not isinstance(label, str | int | float) or (isinstance(label, float) and not isfinite(label)):
            raise LimelightError(f"a label must be text, a number or a boolean; got {str(label)[:60]!r}")
        if is_too_large(label):
            raise LimelightError(f"a label is an integer of more than {MAX_DIGITS} digits; write it as text")
    if len(plain) < (1 if task in ("multi-label", "regression") else 2):
        raise LimelightError(f"a classifier needs at least two labels; got {plain}")
    if len({str(label) for label in plain}) != len(plain):  # 1 and "1" are one name in JSON and csv
        raise LimelightError(f"the labels are not distinct: {str(plain)[:80]}")
    return tuple(plain)


# ---------------------------------------------------------------- reading


def is_reader(name: str | Path) -> bool:
    """Whether this names the bundled reader, which a model folder of that name hides.

    >>> is_reader("reader"), is_reader("model")
    (True, False)
    """
    return str(name) == "reader" and not any(
        (place / "config.json").exists() for place in (Path(name), *old_folders(name))
    )


def open_folder(path: str | Path, sha256: str | None = None) -> Folder:
    """Read a folder and check all of it; with `sha256`, its config.json must have that checksum."""
    with open_saved(Path(path), FILES, sha256=sha256) as saved:
        config = saved.config
        recipe = Recipe.from_dict(config["recipe"])
        task = find_task(recipe.text.task).name
        labels = plain_labels(config["labels"], task)
        thresholds = _parse_thresholds(config.get("thresholds"), task, len(labels))
        pair = config["kind"] == "pair"
        tokenizer = _parse_tokenizer(saved.read("tokenizer.json", MAX_TOKENIZER))
        expected = shapes(recipe.model, len(tokenizer), len(labels), pair)
        size = 4 * sum(map(prod, expected.values()))
        for name in ("model.onnx", "model.int8.onnx"):  # never run here, but a damaged one is noticed
            saved.read(name, size + MAX_GRAPH)
        weights = read_weights(saved.read("model.safetensors", size + MAX_HEADER + 8), expected)
        check_weights(weights, expected)
        about = config["facts"], weights, saved.sha256, saved.version, thresholds
        return Folder(recipe, tokenizer, labels, pair, *about)


def _parse_thresholds(given: Any, task: str, labels: int) -> np.ndarray | None:
    """What config.json has as thresholds: nothing, or one for each label."""
    if given is None or task != "multi-label":
        return None
    if not isinstance(given, list) or not all(type(x) in (int, float) and 0 <= x <= 1 for x in given):
        raise LimelightError("'thresholds' in config.json must be numbers from 0 to 1")
    if len(given) != labels:
        raise LimelightError(f"config.json has {len(given)} thresholds for {labels} labels")
    return np.array(given, dtype=np.float64)


def _parse_tokenizer(content: bytes) -> Tokenizer:
    try:
        return Tokenizer(content.decode())
    except ValueError as error:
        raise LimelightError(f"tokenizer.json was not written by Limelight: {str(error)[:120]}") from error
