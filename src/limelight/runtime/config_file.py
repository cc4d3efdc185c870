"""A saved model's config.json: kind, labels, recipe, facts, and the checksums of the other files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from .. import __version__
from ..config.recipe import Recipe
from ..errors import LimelightError
from ..storage.json_file import parse_object
from ..storage.open_files import read_whole
from ..text.labels import Label

FORMAT = 1
MODEL_KINDS = ("text", "pair")
MAX_CONFIG = 2**26  # bytes
_FIELDS = {"kind": str, "labels": list, "recipe": dict, "facts": dict, "files": dict, "sha256": str}


def format_config(
    recipe: Recipe,
    labels: Sequence[Label],
    pair: bool,
    facts: Mapping[str, Any],
    contents: Mapping[str, bytes],
) -> bytes:
    """The bytes of config.json for a folder of files with these `contents`."""
    config = {
        "format": FORMAT,
        "limelight": __version__,
        "kind": MODEL_KINDS[pair],
        "labels": list(labels),
        "recipe": recipe.to_dict(),
        "facts": facts,
        "files": {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in contents.items()
        },
    }
    config["sha256"] = _checksum(config)
    content = json.dumps(config, indent=2).encode()
    if len(content) > MAX_CONFIG:
        raise LimelightError(
            f"config.json would be {len(content):,} bytes; the limit is {MAX_CONFIG:,}: shorten the facts"
        )
    return content


def parse_config(content: bytes, files: Sequence[str]) -> dict[str, Any]:
    """Parse a config.json and check its fields; it must list exactly `files`."""
    config = parse_object(content, "config.json")
    version = config.get("format")
    if type(version) is not int or version < 1 or "limelight" not in config:
        raise LimelightError("config.json was not written by Limelight; give a folder saved by Limelight")
    if version > FORMAT:
        raise LimelightError(
            f"this model has format {version}, and this Limelight reads up to {FORMAT}: upgrade limelight"
        )
    for name, kind in _FIELDS.items():
        if not isinstance(config.get(name), kind):
            raise LimelightError(f"{name!r} in config.json is missing or not of type {kind.__name__}")
    if _checksum(config) != config["sha256"]:
        raise LimelightError("config.json was altered: its checksum does not match; fetch the folder again")
    if config["kind"] not in MODEL_KINDS:
        raise LimelightError(
            f"the model's kind is {config['kind'][:60]!r}; it must be one of {', '.join(MODEL_KINDS)}"
        )
    if set(config["files"]) != set(files):
        raise LimelightError(f"config.json must list exactly the files {', '.join(files)}")
    return config


def read_checked(file: BinaryIO, name: str, entry: Any, largest: int) -> bytes:
    """The bytes of an open file, which must have the size and checksum of its entry in config.json."""
    if not isinstance(entry, dict) or set(entry) != {"bytes", "sha256"}:
        raise LimelightError(f"config.json must give bytes and sha256 of {name}")
    if (size := os.fstat(file.fileno()).st_size) != entry["bytes"]:
        expected = str(entry["bytes"])[:20]
        raise LimelightError(f"{name} has {size} bytes, not the {expected} it was saved with; fetch it again")
    content = read_whole(file, name, largest)
    if hashlib.sha256(content).hexdigest() != entry["sha256"]:
        raise LimelightError(f"{name} was altered: its checksum does not match; fetch it again")
    return content


def _checksum(config: Mapping[str, Any]) -> str:
    """The checksum of everything in config.json but the checksum itself, whatever the layout."""
    rest = {name: value for name, value in config.items() if name != "sha256"}
    try:
        content = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except RecursionError as error:
        raise LimelightError("config.json is nested too deeply") from error
    return hashlib.sha256(content.encode()).hexdigest()
