"""The saved folder: everything a trained model is, complete by itself, checked before use.

    config.json         kind, labels, recipe, facts; sizes and checksums of the files, and its own
    tokenizer.json      the words
    model.safetensors   the weights
    model.onnx          the whole model for other programs; its weights are the bytes of model.safetensors
    model.int8.onnx     the same in int8, complete in one small file
    README.md           the model card, yours to edit

Whom to trust: a folder may come from anyone. Python reads only the first three files. They are data, checked
for names, sizes, types and checksums, and the graphs that run are built from the recipe by this program; the
two ONNX files are never run here, so a crafted one can do nothing. Checksums find damage, not malice: who can
change a file can change its checksum too, and get a model that answers differently, but no code to run. The
splitting rules in a foreign tokenizer.json are a regular expression that may be made slow on purpose.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..config.recipe import Recipe
from ..errors import LimelightError, tidy_os_errors
from ..storage.files import FolderLayout, atomic_folder
from ..storage.json_file import parse_object, to_json_values
from ..text.labels import Label
from ..text.tokenizer import SPECIAL, UNKNOWN, Tokenizer
from .card import model_card
from .export import export_onnx
from .shapes import check_weights, shapes
from .weights import read_weights, tensor_places, write_weights

FORMAT = 1
FILES = ("tokenizer.json", "model.safetensors", "model.onnx", "model.int8.onnx")  # beside config.json
LAYOUT = FolderLayout("a model folder", ("config.json", "model.safetensors"), (*FILES, "README.md"))
KINDS = ("text", "pair")
MAX_CONFIG = 2**26


@dataclass(frozen=True, eq=False)
class Folder:
    """What an opened folder holds, checked."""

    recipe: Recipe
    tokenizer: Tokenizer
    labels: tuple[Label, ...]
    pair: bool
    facts: dict[str, Any]
    weights: dict[str, np.ndarray]


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
) -> None:
    """Write a folder, all of it or nothing; `facts` is anything JSON can say about data and results.

    >>> import tempfile
    >>> recipe = Recipe().override(embedding="max", word_size=4, hidden=3, head_hidden=6)
    >>> words = Tokenizer.from_words(["good", "bad"])
    >>> weights = {n: np.ones(s, np.float32) for n, s in shapes(recipe.model, 4, 2, False).items()}
    >>> with tempfile.TemporaryDirectory() as place:
    ...     save_folder(place, weights=weights, recipe=recipe, tokenizer=words, labels=[1, 5], pair=False)
    ...     open_folder(place).labels
    (1, 5)
    """
    labels, facts = plain_labels(labels), to_json_values(facts or {})
    expected = shapes(recipe.model, len(tokenizer), len(labels), pair)
    weights = {name: np.asarray(array) for name, array in weights.items()}
    check_weights(weights, expected)
    tensors = write_weights(weights)
    options: dict[str, Any] = {"recipe": recipe.model, "classes": len(labels), "pair": pair}
    contents = {
        "tokenizer.json": tokenizer.to_json().encode(),
        "model.safetensors": tensors,
        "model.onnx": export_onnx(weights, **options, places=tensor_places(tensors, expected)),
        "model.int8.onnx": export_onnx(weights, **options, int8=True),
    }
    if card is None:
        card = model_card(
            recipe=recipe, labels=labels, pair=pair, vocabulary=len(tokenizer) - len(SPECIAL), facts=facts
        )
    contents["config.json"] = _config(recipe, labels, pair, facts, contents)
    contents["README.md"] = card.encode(errors="replace")  # file names need not be UTF-8
    with atomic_folder(path, LAYOUT, overwrite) as folder:
        for name, content in contents.items():
            (folder / name).write_bytes(content)


def _config(
    recipe: Recipe,
    labels: Sequence[Label],
    pair: bool,
    facts: Mapping[str, Any],
    contents: Mapping[str, bytes],
) -> bytes:
    config = {
        "format": FORMAT,
        "limelight": __version__,
        "kind": KINDS[pair],
        "labels": list(labels),
        "recipe": recipe.to_dict(),
        "facts": facts,
        "files": {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in contents.items()
        },
    }
    config["sha256"] = _own_checksum(config)
    written = json.dumps(config, indent=2).encode()
    if len(written) > MAX_CONFIG:
        raise LimelightError(
            f"config.json would have {len(written):,} bytes, and {MAX_CONFIG:,} are read; shorten the facts"
        )
    return written


def _own_checksum(config: Mapping[str, Any]) -> str:
    """Of all of config.json but the checksum itself, however it is laid out."""
    rest = {name: value for name, value in config.items() if name != "sha256"}
    try:
        content = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except RecursionError as error:
        raise LimelightError("config.json is nested too deeply") from error
    return hashlib.sha256(content.encode()).hexdigest()


def plain_labels(labels: Sequence[Any]) -> tuple[Label, ...]:
    """Labels as Python's own strings, numbers and booleans: distinct, at least two.

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
    if len(plain) < 2:
        raise LimelightError(f"a classifier needs at least two labels; got {plain}")
    if len(set(plain)) != len(plain):
        raise LimelightError(f"the labels are not distinct: {str(plain)[:80]}")
    return tuple(plain)


# ---------------------------------------------------------------- reading


def open_folder(path: str | Path) -> Folder:
    """Read a folder and check all of it; whatever is wrong with it is one line."""
    path = Path(path)
    with tidy_os_errors(f"cannot read {path}"):
        if not path.is_dir():
            raise LimelightError(f"{path} is not a folder; give one that Limelight saved")
        try:
            return _open(path)
        except LimelightError as error:
            raise LimelightError(f"{path}: {error}") from error


def _open(path: Path) -> Folder:
    config = _read_config(path)
    recipe, labels = Recipe.from_dict(config["recipe"]), plain_labels(config["labels"])
    pair = config["kind"] == "pair"
    for name in FILES:
        _check_file(path / name, config["files"][name])
    tokenizer = _tokenizer((path / "tokenizer.json").read_bytes())
    expected = shapes(recipe.model, len(tokenizer), len(labels), pair)
    weights = read_weights((path / "model.safetensors").read_bytes(), expected)
    check_weights(weights, expected)
    return Folder(recipe, tokenizer, labels, pair, config["facts"], weights)


def _tokenizer(content: bytes) -> Tokenizer:
    """Words that Limelight wrote: the splitting rules and the vocabulary are its own, nothing is added."""
    data = parse_object(content, "tokenizer.json")
    model = data.get("model")
    added = any(data.get(name) for name in ("added_tokens", "post_processor", "truncation", "padding"))
    if added or not isinstance(model, dict) or model.get("unk_token") != SPECIAL[UNKNOWN]:
        raise LimelightError("tokenizer.json is not one of Limelight's")
    try:
        return Tokenizer(content.decode())
    except LimelightError as error:
        raise LimelightError(f"tokenizer.json is not one of Limelight's: {str(error)[:120]}") from error


_CONFIG = {"kind": str, "labels": list, "recipe": dict, "facts": dict, "files": dict, "sha256": str}


def _read_config(path: Path) -> dict[str, Any]:
    if not (path / "config.json").exists():
        best = path / "best"  # of a run under way
        hint = f"; the best of its run so far is {best}" if (best / "config.json").exists() else ""
        raise LimelightError(
            f"there is no config.json in it, so it is not a model that Limelight saved{hint}"
        )
    config = parse_object(_config_bytes(path / "config.json"), "config.json")
    version = config.get("format")
    if type(version) is not int or version < 1 or "limelight" not in config:
        raise LimelightError("config.json is not Limelight's; give a folder that Limelight saved")
    if version > FORMAT:
        raise LimelightError(
            f"this is format {version}, this Limelight reads up to {FORMAT}: upgrade limelight"
        )
    for name, kind in _CONFIG.items():
        if not isinstance(config.get(name), kind):
            raise LimelightError(f"{name!r} in config.json is missing or not of type {kind.__name__}")
    if _own_checksum(config) != config["sha256"]:
        raise LimelightError("config.json was altered: its checksum does not match; fetch the folder again")
    if config["kind"] not in KINDS:
        raise LimelightError(
            f"the kind of model is {config['kind'][:60]!r}; it must be one of {', '.join(KINDS)}"
        )
    if set(config["files"]) != set(FILES):
        raise LimelightError(f"config.json must list exactly the files {', '.join(FILES)}")
    return config


def _check_file(file: Path, entry: Any) -> None:
    """Raise one line unless size and checksum are as config.json says."""
    if not isinstance(entry, dict) or set(entry) != {"bytes", "sha256"}:
        raise LimelightError(f"config.json must give bytes and sha256 of {file.name}")
    if not file.is_file():
        raise LimelightError(f"{file.name} is missing; fetch the folder again")
    if (size := file.stat().st_size) != entry["bytes"]:
        was = str(entry["bytes"])[:20]
        raise LimelightError(f"{file.name} has {size} bytes, not the {was} it was saved with; fetch it again")
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
    if digest.hexdigest() != entry["sha256"]:
        raise LimelightError(f"{file.name} was altered: its checksum does not match; fetch it again")


def _config_bytes(file: Path) -> bytes:
    """A regular file of a sane size: a pipe or a device would never end."""
    if file.stat().st_size > MAX_CONFIG or not file.is_file():
        raise LimelightError(f"{file.name} is not a file of at most {MAX_CONFIG:,} bytes")
    return file.read_bytes()
