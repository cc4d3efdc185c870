"""A saved model's config.json: kind, labels, recipe, facts, and the checksums of the other files."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from .. import __version__
from ..config.recipe import MODULES, POOLING_MODULE
from ..errors import LimelightError, damaged, tidy_os_errors
from ..storage.files import old_folders, write_file
from ..storage.json_file import parse_object
from ..storage.locks import locked
from ..storage.open_files import open_together, read_regular, read_whole

FORMAT = 2  # 1: until 0.2, with readers of another file
FILES = {  # beside config.json, by kind
    "text": ("tokenizer.json", "model.safetensors", "model.onnx", "model.int8.onnx"),
    "pair": ("tokenizer.json", "model.safetensors", "model.onnx", "model.int8.onnx"),
    "reader": ("tokenizer.json", "model.safetensors", "model.onnx"),
    "fast": ("model.safetensors",),  # a bundled reader that reads the words of the other one
}
OLD_READER = "reader.safetensors"  # the words and weights of a reader of format 1
OPENED = (*FILES["text"], OLD_READER)
MAX_CONFIG = 2**26  # bytes
_FIELDS = {"kind": str, "labels": list, "recipe": dict, "facts": dict, "files": dict, "sha256": str}


def format_config(
    contents: Mapping[str, bytes], thresholds: Sequence[float] | None = None, **about: Any
) -> bytes:
    """A config.json with the checksums of the other files; `about` are kind, labels, recipe and facts."""
    files = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in contents.items()
    }
    config: dict[str, Any] = {"format": FORMAT, "limelight": __version__, **about, "files": files}
    if thresholds is not None:
        config["thresholds"] = list(thresholds)
    return _sealed(config)


def replace_facts(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Write a folder's config.json with the facts that `change` makes of it.

    The other files stay, and so do their checksums: whichever config.json a reader sees, it fits them.
    """
    path = Path(os.path.realpath(path))
    with locked(path.with_name(f".{path.name}.edit"), f"{path} is being edited; try again"):
        with open_saved(path) as saved:
            config = saved.config
        config["facts"] = change(config)
        content = _sealed(config)
        write_file(path / "config.json", content)


def _sealed(config: dict[str, Any]) -> bytes:
    config["sha256"] = _checksum(config)
    content = json.dumps(config, indent=2).encode()
    if len(content) > MAX_CONFIG:
        fault = f"config.json would be {len(content):,} bytes; the limit is {MAX_CONFIG:,}: shorten the facts"
        raise LimelightError(fault, code="too-large")
    return content


class SavedFiles:
    """The open files of one saved folder: its config, checked, and the others, checked when they are read."""

    def __init__(self, files: Mapping[str, BinaryIO], sha256: str | None) -> None:
        content = read_whole(files["config.json"], "config.json", MAX_CONFIG)
        self.sha256 = hashlib.sha256(content).hexdigest()
        if sha256 is not None and self.sha256 != sha256.lower():
            fault = f"the SHA-256 of config.json is {self.sha256}, not the {sha256[:64]!r} asked for"
            raise LimelightError(fault, code="checksum-other")
        self.config = _parse_config(content)
        self.version = _written_by(self.config)
        self._files = files

    def read(self, name: str, largest: int) -> bytes:
        """The bytes of a file, which must have the size and checksum of its entry in config.json."""
        entry = self.check_size(name)
        content = read_whole(self._files[name], name, largest)
        if hashlib.sha256(content).hexdigest() != entry["sha256"]:
            raise damaged(f"{name} was altered: its checksum does not match; fetch it again")
        return content

    def check_size(self, name: str) -> dict[str, Any]:
        """A file's entry in config.json; the file must be there, and of that size."""
        entry = self.config["files"][name]
        if not isinstance(entry, dict) or set(entry) != {"bytes", "sha256"}:
            raise damaged(f"config.json must give bytes and sha256 of {name}")
        if name not in self._files:
            raise damaged(f"{name} is missing; fetch the folder again")
        if (size := os.fstat(self._files[name].fileno()).st_size) != entry["bytes"]:
            expected = f"not the {str(entry['bytes'])[:20]} it was saved with"
            raise damaged(f"{name} has {size} bytes, {expected}; fetch it again")
        return entry


@contextmanager
def open_saved(path: Path, sha256: str | None = None) -> Iterator[SavedFiles]:
    """Open a saved folder; anything wrong with it is an error of one line.

    Every file is read once, and all of them from one folder, even if a writer replaces it meanwhile. With
    `sha256`, config.json must have this checksum; it holds the checksums of the others.
    """
    with tidy_os_errors(f"cannot read {path}"), ExitStack() as stack:
        try:
            files = open_together(path, ("config.json", *OPENED), stack)
        except (FileNotFoundError, NotADirectoryError) as error:
            fault = f"{path} is not a folder; give a folder saved by Limelight"
            raise LimelightError(fault, code="not-a-model") from error
        except LimelightError as error:
            raise LimelightError(f"{path}: {error}", code=error.code) from error
        if "config.json" not in files:
            best = path / "best"  # of a run in progress
            hint = f"; the best model of its run so far is {best}" if (best / "config.json").exists() else ""
            fault = f"{path}: not a model saved by Limelight: it has no config.json{hint}"
            raise LimelightError(fault, code="not-a-model")
        try:
            yield SavedFiles(files, sha256)
        except LimelightError as error:
            raise LimelightError(f"{path}: {error}", code=error.code) from error


def _parse_config(content: bytes) -> dict[str, Any]:
    """Parse a config.json and check its fields; it must be of a known kind and list the files of its kind."""
    config = parse_object(content, "config.json")
    version = config.get("format")
    if type(version) is not int or version < 1 or "limelight" not in config:
        fault = "config.json was not written by Limelight; give a folder saved by Limelight"
        raise LimelightError(fault, code="not-a-model")
    if version > FORMAT:
        newer = f"this model has format {version}, of Limelight {_written_by(config)}"
        fault = f"{newer}, and this Limelight ({__version__}) reads up to {FORMAT}: upgrade limelight"
        raise LimelightError(fault, code="format-newer")
    for name, kind in _FIELDS.items():
        if not isinstance(config.get(name), kind):
            raise damaged(f"{name!r} in config.json is missing or not of type {kind.__name__}")
    if _checksum(config) != config["sha256"]:
        raise damaged("config.json was altered: its checksum does not match; fetch the folder again")
    kind = config["kind"]
    if kind not in FILES:
        raise damaged(f"the model's kind is {kind[:60]!r}; it must be one of {', '.join(FILES)}")
    files = (OLD_READER,) if kind == "reader" and version == 1 else FILES[kind]
    model = config["recipe"].get("model")
    model = model if isinstance(model, dict) else {}
    if model.get("encoder") in MODULES or model.get("pooling") == POOLING_MODULE:  # PyTorch runs them
        files = tuple(name for name in files if not name.endswith(".onnx"))
    if set(config["files"]) != set(files):
        raise damaged(f"config.json must list exactly the files {', '.join(files)}")
    return config


def saved_kind(path: Path) -> str:
    """The kind that a config.json names, such as "text" or "reader"; "" where there is no saved model."""
    for place in (path, *old_folders(path)):
        with suppress(OSError, LimelightError):
            kind = parse_object(read_regular(place / "config.json", MAX_CONFIG), "config.json").get("kind")
            return kind if kind in FILES else ""
    return ""


def _written_by(config: Mapping[str, Any]) -> str:
    return " ".join(str(config["limelight"]).split())[:20]


def _checksum(config: Mapping[str, Any]) -> str:
    """The checksum of everything in config.json but the checksum itself, whatever the layout."""
    rest = {name: value for name, value in config.items() if name != "sha256"}
    try:
        content = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except RecursionError as error:
        raise damaged("config.json is nested too deeply") from error
    return hashlib.sha256(content.encode()).hexdigest()
