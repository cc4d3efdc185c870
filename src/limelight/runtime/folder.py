"""The saved folder: a complete trained model, checked before use. docs/format.md has its files.

Trust: a folder may come from anyone. Python reads only config.json, the words and the weights. They are data,
checked for names, sizes, types and checksums; the graphs that run are built from the recipe by this program.
The ONNX files are never run here, so a crafted one can do no harm. Checksums detect damage, not malice:
someone who can change a file can change its checksum too, and make the model answer differently, but cannot
make it run code. `sha256` pins a model that you know.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from math import isfinite, prod
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..config.recipe import DEFAULT_TASK, Recipe
from ..errors import LimelightError, bad_value, damaged, needs_extra
from ..network import weights as packing
from ..network.modules import OURS, TO_LOAD, Modules, check_fits_recipe
from ..network.onnx.layers import export_onnx
from ..network.parts import check_weights, shapes
from ..storage.array_files import safetensors_pieces
from ..storage.files import FolderLayout, atomic_folder, old_folders
from ..storage.json_file import to_json_values
from ..tables.rows import MAX_DIGITS, is_too_large
from ..text.labels import Label
from ..text.open_words import OpenTokenizer
from ..text.tasks import find_task
from ..text.tokenizer import MAX_TOKENIZER, SPECIAL, UNKNOWN, Tokenizer
from .card import model_card, reader_card
from .config_file import FILES, OLD_READER, SavedFiles, format_config, open_saved, saved_kind
from .old_reader import read_old_reader

BUNDLED, FAST = (Path(__file__).parents[1] / "bundled" / name for name in ("reader", "reader-fast"))
MULTILINGUAL, PACKAGE = "reader-multilingual", "limelight-multilingual"  # 27 MB, in a package of its own
MODULES_FILE = "modules.json"  # read by sentence-transformers, never by us
_MODULE = {"idx": 0, "name": "0", "path": "", "type": "limelight.sentence_transformers.Reader"}
MAX_FORBIDDEN = 10_000  # words
LAYOUT = FolderLayout(
    "a model folder",
    ("config.json", "model.safetensors"),
    (*FILES["text"], OLD_READER, "README.md", MODULES_FILE),
)


@dataclass(frozen=True, eq=False)
class Parts:
    """All that a trained model consists of: what a folder holds, what runs, what training starts from."""

    recipe: Recipe
    tokenizer: Tokenizer
    weights: Mapping[str, np.ndarray]
    labels: Sequence[Label] = ()  # a reader has none
    pair: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)  # any JSON about the data and the results
    thresholds: np.ndarray | None = None  # (labels,), where a text may have several labels
    version: str = __version__  # of Limelight, that wrote the folder
    sha256: str = ""  # of the folder's config.json, which has the checksums of the other files
    modules: Modules = OURS  # the user's own, torch.nn.Modules

    def __post_init__(self) -> None:
        if self.recipe.model.reads_words and not isinstance(self.tokenizer, OpenTokenizer):
            object.__setattr__(self, "tokenizer", OpenTokenizer(self.tokenizer))
        forbidden = forbidden_words(self.facts.get("forbidden"))
        if forbidden != self.tokenizer.forbidden:
            object.__setattr__(self, "tokenizer", self.tokenizer.forbid(forbidden))

    @property
    def is_reader(self) -> bool:
        return self.recipe.model.is_reader


# ---------------------------------------------------------------- writing


def save_folder(path: str | Path, parts: Parts, *, card: str | None = None, overwrite: bool = False) -> None:
    """Write a folder, all of it or nothing."""
    recipe, tokenizer, pair, thresholds = parts.recipe, parts.tokenizer, parts.pair, parts.thresholds
    task, facts = find_task(recipe.text.task).name, to_json_values(parts.facts)
    kind = "reader" if parts.is_reader else ("text", "pair")[pair]
    labels = () if parts.is_reader else plain_labels(parts.labels, task)
    contents = {"tokenizer.json": tokenizer.to_json().encode(), **_weight_files(parts, len(labels), kind)}
    if card is None:
        words = len(tokenizer) - len(SPECIAL)
        about: dict[str, Any] = {"recipe": recipe, "vocabulary": words, "facts": facts}
        of_model: dict[str, Any] = {"labels": labels, "pair": pair, "thresholds": thresholds}
        card = reader_card(**about) if parts.is_reader else model_card(**about, **of_model)
    least = None if thresholds is None else thresholds.tolist()
    described = {"kind": kind, "labels": list(labels), "recipe": recipe.to_dict(), "facts": facts}
    contents["config.json"] = format_config(contents, least, **described)
    contents["README.md"] = card.encode(errors="replace")  # it may hold file names that are not UTF-8
    if parts.is_reader:
        contents[MODULES_FILE] = json.dumps([_MODULE], indent=2).encode()
    with atomic_folder(path, LAYOUT, overwrite) as folder:
        for name, content in contents.items():
            (folder / name).write_bytes(content)


def _weight_files(parts: Parts, classes: int, kind: str) -> dict[str, bytes]:
    """The weights, checked, and the graphs; a reader's weights are rounded, and it has no graph in int8.

    A module of the user's own is PyTorch's to run: there are no graphs of it.
    """
    recipe = parts.recipe
    expected = shapes(recipe.model, len(parts.tokenizer), classes, kind == "pair", parts.modules)
    given = {name: np.asarray(array) for name, array in parts.weights.items()}
    check_weights(given, expected)
    if parts.modules:
        return {"model.safetensors": b"".join(safetensors_pieces(packing.pack_words(given)))}
    stored = packing.pack_all(without_special(given)) if kind == "reader" else packing.pack_words(given)
    tensors = b"".join(safetensors_pieces(stored))
    task = find_task(recipe.text.task).name
    export = partial(export_onnx, stored, recipe.model, classes, kind == "pair", task=task)
    graph = export(locations=packing.tensor_locations(tensors, expected))
    int8 = {} if kind == "reader" else {"model.int8.onnx": export(int8=True)}
    return {"model.safetensors": tensors, "model.onnx": graph, **int8}


def as_stored(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A reader's weights as they will be read again: rounded to a few bits."""
    return packing.unpack_all(packing.pack_all(without_special(weights)))


def without_special(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A reader's weights with zeros for padding and for the one word of a text without words.

    >>> without_special({"words.weight": np.ones((3, 1))})["words.weight"].tolist()
    [[0.0], [0.0], [1.0]]
    """
    table = weights["words.weight"]
    if table[: UNKNOWN + 1].any():  # not in a folder, and a copy takes as long as reading it
        table = table.copy()
        table[: UNKNOWN + 1] = 0
    return {**weights, "words.weight": table}


def holds_weights(path: str | Path, weights: Mapping[str, np.ndarray]) -> bool:
    """Whether a folder holds a reader with exactly these weights.

    >>> holds_weights("no such folder", {})
    False
    """
    if saved_kind(Path(path)) != "reader":
        return False
    found, rounded = open_folder(path).weights, as_stored(weights)
    return found.keys() == rounded.keys() and all(np.array_equal(found[k], rounded[k]) for k in found)


def plain_labels(labels: Sequence[Any], task: str = DEFAULT_TASK) -> tuple[Label, ...]:
    """Convert labels to plain Python strings, numbers and booleans; they must be distinct.

    A classifier into classes needs two of them at least.
    """
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
    for label in plain:
        if not isinstance(label, str | int | float) or (isinstance(label, float) and not isfinite(label)):
            fault = f"a label must be text, a number or a boolean; got {str(label)[:60]!r}"
            raise LimelightError(fault, code="label-type")
        if is_too_large(label):
            fault = f"a label is an integer of more than {MAX_DIGITS} digits; write it as text"
            raise LimelightError(fault, code="label-type")
    if len(plain) < (2 if find_task(task).is_class else 1):
        raise LimelightError(f"a classifier needs at least two labels; got {plain}", code="label-count")
    if len({str(label) for label in plain}) != len(plain):  # 1 and "1" are one name in JSON and csv
        raise LimelightError(f"the labels are not distinct: {str(plain)[:80]}", code="label-duplicate")
    return tuple(plain)


# ---------------------------------------------------------------- reading


def is_reader(name: str | Path) -> bool:
    """Whether this names one of our readers, which a model folder of that name hides."""
    return str(name) in (BUNDLED.name, FAST.name, MULTILINGUAL) and not any(
        (place / "config.json").exists() for place in (Path(name), *old_folders(name))
    )


def folder_of(name: str | Path) -> Path:
    """The folder that a name stands for: that of one of our readers, or the one of this name."""
    if not isinstance(name, str | Path):
        fault = f"a model is given by its folder, or by a name such as 'reader', not as {type(name).__name__}"
        raise bad_value(fault)
    if not is_reader(name):
        return Path(name)
    if str(name) != MULTILINGUAL:
        return BUNDLED.with_name(str(name))
    found = find_spec(PACKAGE.replace("-", "_"))
    if found is None or not found.submodule_search_locations:
        fault = f"{MULTILINGUAL} is a package of its own: pip install {PACKAGE}"
        raise needs_extra(f"{fault} (from a clone: pip install packages/multilingual)")
    return Path(found.submodule_search_locations[0], "reader")


def is_reader_folder(name: str | Path) -> bool:
    """Whether a folder holds a reader."""
    return saved_kind(folder_of(name)) in ("reader", "fast")


def open_folder(path: str | Path = "reader", sha256: str | None = None, modules: Modules = OURS) -> Parts:
    """Read a folder and check all of it; with `sha256`, its config.json must have that checksum.

    `modules` are the parts of a model that are the user's own.

    The graphs are for other programs: of them only the sizes are checked; config.json has their checksums.
    """
    with open_saved(folder_of(path), sha256) as saved:
        kind = saved.config["kind"]
        if kind == "reader" and saved.config["format"] == 1:
            recipe, tokenizer, weights, facts = read_old_reader(saved)
            found = Parts(recipe, tokenizer, without_special(weights), facts=facts)
        else:
            found = _read_fast(saved) if kind == "fast" else _read_folder(saved, modules)
        return replace(found, version=saved.version, sha256=saved.sha256)


def _read_fast(saved: SavedFiles) -> Parts:
    """A reader of the words of the bundled one: its own weights are those above them."""
    recipe, reader = Recipe.from_dict(saved.config["recipe"]), open_folder(BUNDLED)
    expected = shapes(recipe.model, len(reader.tokenizer), 0, False)
    own = {name: shape for name, shape in expected.items() if name not in packing.TABLES}
    weights = _read_weights(saved, own)
    weights |= {name: reader.weights[name] for name in packing.TABLES}
    check_weights(weights, expected)
    return replace(reader, recipe=recipe, weights=weights, facts=saved.config["facts"])


def _read_folder(saved: SavedFiles, modules: Modules) -> Parts:
    config, kind = saved.config, saved.config["kind"]
    recipe = Recipe.from_dict(config["recipe"])
    check_fits_recipe(modules, recipe, "the model", TO_LOAD)
    if (recipe.model.is_reader) != (kind == "reader"):
        raise damaged(f"the head of a {kind} model is {recipe.model.head!r}")
    task, pair = find_task(recipe.text.task).name, kind == "pair"
    labels = () if kind == "reader" else plain_labels(config["labels"], task)
    thresholds = _parse_thresholds(config.get("thresholds"), task, len(labels))
    for name in config["files"]:
        saved.check_size(name)
    tokenizer = _parse_tokenizer(saved.read("tokenizer.json", MAX_TOKENIZER))
    expected = shapes(recipe.model, len(tokenizer), len(labels), pair, modules)
    weights = _read_weights(saved, expected)
    check_weights(weights, expected)
    return Parts(recipe, tokenizer, weights, labels, pair, config["facts"], thresholds, modules=modules)


def forbidden_words(fact: Any) -> frozenset[str]:
    """The words that a model must not read, which config.json has as a fact, checked; none if it has none."""
    if fact is None:
        return frozenset()
    words: Any = fact["words"] if isinstance(fact, dict) and fact.keys() == {"words", "history"} else None
    is_whole = isinstance(words, list) and isinstance(fact["history"], list) and len(words) <= MAX_FORBIDDEN
    if not is_whole or not all(isinstance(x, str) and x and x == x.casefold() for x in words):
        raise damaged("the forbidden words in config.json are not as Limelight writes them")
    return frozenset(words)


def _read_weights(saved: SavedFiles, expected: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    largest = 4 * sum(map(prod, expected.values())) + packing.MAX_HEADER + 8
    return packing.read_weights(saved.read("model.safetensors", largest), expected)


def _parse_thresholds(given: Any, task: str, labels: int) -> np.ndarray | None:
    """What config.json has as thresholds: nothing, or one for each label."""
    if given is None or not find_task(task).has_several:
        return None
    if not isinstance(given, list) or not all(type(x) in (int, float) and 0 <= x <= 1 for x in given):
        raise damaged("'thresholds' in config.json must be numbers from 0 to 1")
    if len(given) != labels:
        raise damaged(f"config.json has {len(given)} thresholds for {labels} labels")
    return np.array(given, dtype=np.float64)


def _parse_tokenizer(content: bytes) -> Tokenizer:
    try:
        return Tokenizer(content.decode())
    except ValueError as error:
        raise damaged(f"tokenizer.json was not written by Limelight: {str(error)[:120]}") from error
