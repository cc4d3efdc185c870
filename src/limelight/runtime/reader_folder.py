"""The saved folder of a reader, checked before use.

config.json           recipe, facts; size and checksum of the file below, and its own checksum
reader.safetensors    words and weights
README.md             its card, yours to edit
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..storage.files import FolderLayout, atomic_folder, old_folders
from ..storage.json_file import to_json_values
from .config_file import format_config, open_saved
from .reader_card import reader_card
from .reader_file import MAX_BYTES, Weights, pack_reader, unpack_reader

FILE = "reader.safetensors"
LAYOUT = FolderLayout("a reader's folder", ("config.json", FILE), ("README.md",))
BUNDLED = Path(__file__).parents[1] / "bundled" / "reader"


class ReaderFolder(NamedTuple):
    """The checked contents of a reader's folder."""

    words: list[str]
    weights: Weights
    recipe: dict[str, Any]
    facts: dict[str, Any]
    version: str  # of Limelight, that wrote it


def save_reader(
    path: str | Path,
    words: Sequence[str],
    weights: Mapping[str, np.ndarray],
    recipe: Mapping[str, Any],
    facts: Mapping[str, Any],
    overwrite: bool = False,
) -> None:
    """Write a folder, all of it or nothing."""
    content, facts = pack_reader(words, weights), to_json_values(facts)
    unpack_reader(content)  # what cannot be read again is not written
    config = format_config("reader", dict(recipe), [], facts, {FILE: content})
    card = reader_card(len(words), weights, recipe, facts).encode(errors="replace")
    with atomic_folder(path, LAYOUT, overwrite) as folder:
        for name, each in (("config.json", config), (FILE, content), ("README.md", card)):
            (folder / name).write_bytes(each)


def is_reader_folder(path: str | Path) -> bool:
    """Whether a folder holds a reader.

    >>> is_reader_folder(BUNDLED), is_reader_folder("no such folder")
    (True, False)
    """
    return any((place / FILE).is_file() for place in (Path(path), *old_folders(path)))


def holds_reader(path: str | Path, words: Sequence[str], weights: Mapping[str, np.ndarray]) -> bool:
    """Whether a folder holds exactly this reader.

    >>> holds_reader("no such folder", [], {})
    False
    """
    file = Path(path, FILE)
    return file.is_file() and file.read_bytes() == pack_reader(words, weights)


def open_reader(path: str | Path = BUNDLED, sha256: str | None = None) -> ReaderFolder:
    """Read a reader's folder and check all of it; with `sha256`, its config.json must have that checksum.

    >>> found = open_reader()
    >>> found.words[:3], found.weights["encoder.W_hh_0"].shape
    (['.', 'the', ','], (2, 1200, 300))
    """
    with open_saved(Path(path), (FILE,), ("reader",), sha256) as saved:
        found = unpack_reader(saved.read(FILE, MAX_BYTES))
        return ReaderFolder(*found, saved.config["recipe"], saved.config["facts"], saved.version)
