"""A saved model's config.json: kind, labels, recipe, facts, and the checksums of the other files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import LimelightError
from ..storage.json_file import parse_object
from ..text.labels import Label

FORMAT = 1
MODEL_KINDS = ("text", "pair")
MAX_CONFIG = 2**26  # bytes
_FIELDS = {"kind": str, "labels": list, "recipe": dict, "facts": dict, "files": dict, "sha256": str}


def format_config(
    kind: str,
    recipe: Mapping[str, Any],
    labels: Sequence[Label],
    facts: Mapping[str, Any],
    contents: Mapping[str, bytes],
) -> bytes:
    """The bytes of config.json for a folder of files with these `contents`."""
    config = {
        "format": FORMAT,
        "limelight": __version__,
        "kind": kind,
        "labels": list(labels),
        "recipe": dict(recipe),
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


def read_config(folder: Path, files: Sequence[str], kinds: Sequence[str] = MODEL_KINDS) -> dict[str, Any]:
    """Read a folder's config.json and check its fields; it must be of one of `kinds` and list `files`."""
    if not (folder / "config.json").exists():
        best = folder / "best"  # of a run in progress
        hint = f"; the best model of its run so far is {best}" if (best / "config.json").exists() else ""
        raise LimelightError(f"not a model saved by Limelight: it has no config.json{hint}")
    config = parse_object(_read_bytes(folder / "config.json"), "config.json")
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
    if config["kind"] not in kinds:
        raise LimelightError(
            f"the model's kind is {config['kind'][:60]!r}; it must be one of {', '.join(kinds)}"
        )
    if set(config["files"]) != set(files):
        raise LimelightError(f"config.json must list exactly the files {', '.join(files)}")
    return config


def check_file(file: Path, entry: Any) -> None:
    """Raise unless the file has the size and checksum of its entry in config.json."""
    if not isinstance(entry, dict) or set(entry) != {"bytes", "sha256"}:
        raise LimelightError(f"config.json must give bytes and sha256 of {file.name}")
    if not file.is_file():
        raise LimelightError(f"{file.name} is missing; fetch the folder again")
    if (size := file.stat().st_size) != entry["bytes"]:
        expected = str(entry["bytes"])[:20]
        raise LimelightError(
            f"{file.name} has {size} bytes, not the {expected} it was saved with; fetch it again"
        )
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
    if digest.hexdigest() != entry["sha256"]:
        raise LimelightError(f"{file.name} was altered: its checksum does not match; fetch it again")


def _checksum(config: Mapping[str, Any]) -> str:
    """The checksum of everything in config.json but the checksum itself, whatever the layout."""
    rest = {name: value for name, value in config.items() if name != "sha256"}
    try:
        content = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except RecursionError as error:
        raise LimelightError("config.json is nested too deeply") from error
    return hashlib.sha256(content.encode()).hexdigest()


def _read_bytes(file: Path) -> bytes:
    """Read a regular file of limited size: a pipe or a device would never end."""
    if file.stat().st_size > MAX_CONFIG or not file.is_file():
        raise LimelightError(f"{file.name} is not a file of at most {MAX_CONFIG:,} bytes")
    return file.read_bytes()
