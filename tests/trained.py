"""Tiny networks with random weights of every architecture, and texts for them to read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from limelight.config.recipe import Recipe
from limelight.network.parts import ENCODERS, POOLINGS
from limelight.network.torch.network import Network, with_weights
from limelight.runtime.folder import Parts, save_folder
from limelight.runtime.model import Model
from limelight.runtime.predictions import Predictions
from limelight.tables.columns import choose_columns
from limelight.tables.rows import open_rows
from limelight.tables.table import open_table
from limelight.tables.writers import require_format, write_table
from limelight.text.tokenizer import Tokenizer

WORDS = tuple(f"w{k}" for k in range(40))
SIZES = {
    "word_size": 8, "hidden": 6, "attention_hidden": 5, "rows": 3, "head_hidden": 7, "row_units": 4,
    "column_units": 2, "vector_size": 8, "vector_rank": 4,
}  # fmt: skip

# name -> options of the recipe: every way through the network at least once
ARCHITECTURES: dict[str, dict[str, Any]] = {
    **{name: {"pooling": name} for name in POOLINGS},
    "biases": {"author_code": True},
    "biases, max row": {"author_code": True, "max_row": True},
    "max row": {"max_row": True},
    "max row, pruned": {"max_row": True, "head": "pruned"},
    "two layers": {"layers": 2},
    "three layers": {"layers": 3, "author_code": True},
    "max of two layers": {"pooling": "max", "layers": 2},
    "cnn": {"encoder": "cnn", "pooling": "max"},
    **{f"{name}, rows": {"encoder": name} for name in ENCODERS if name != "bilstm"},
    "projected": {"projection": 5},
    "projected to more": {"projection": 12, "layers": 2},
    "projected cnn": {"encoder": "cnn", "pooling": "max", "projection": 5},
    "pruned": {"head": "pruned"},
    "pruned rows": {"head": "pruned", "column_units": 0},
    "pruned columns": {"head": "pruned", "row_units": 0},
    "mixed pruned": {"head": "pruned", "mix_units": 6},
    "pruned baseline": {"pooling": "max", "head": "pruned"},
    "one unit": {"rows": 1, "hidden": 1, "attention_hidden": 1, "word_size": 1},
}
PAIRS = (None, "gated", "concat", "vectors")
LABELS = ("bad", "fair", "good")
FACTS = {"data": {"train": 120}, "results": {"test": {"accuracy": 0.75}}}


def recipe_of(options: dict[str, Any], pair: str | None = None) -> Recipe:
    return Recipe().override(**{**SIZES, "pair": pair or "gated", **options})


def network_of(recipe: Recipe, pair: bool = False, classes: int = 3, seed: int = 0) -> Network:
    """A network whose parameters are all away from zero, so that none can be forgotten unnoticed."""
    network = Network(recipe.model, len(WORDS) + 2, classes, pair).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.4)
        network.words.weight[0] = 0
    return network


def restored(model: Model) -> Network:
    """The network of a model."""
    sizes = len(model.tokenizer), len(model.labels), model.pair
    return with_weights(lambda: Network(model.recipe.model, *sizes), model.weights)


def weights_of(network: Network) -> dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in network.state_dict().items()}


def tokenizer() -> Tokenizer:
    return Tokenizer.from_words(WORDS)


def texts_of(count: int, longest: int = 30, seed: int = 0) -> list[str]:
    """Texts of 0 to `longest` words, some of them unknown."""
    rng = np.random.default_rng(seed)
    vocabulary = [*WORDS, "unheard"]
    return [" ".join(rng.choice(vocabulary, size=n)) for n in rng.integers(0, longest + 1, size=count)]


def predict_table(model: Model, table: Path, out: Path, **options: Any) -> int:
    """What `limelight predict` writes, of a model that has no folder."""
    form = require_format(out)
    with open_table(table) as opened:
        columns = choose_columns(opened, need_label=False, pair=model.pair)
        rows, kept = open_rows(opened, columns, "error")
        found = Predictions(model, form, kept, **options)
        with write_table(out, form, found.columns, kept) as writer:
            return found.write(rows, writer, False)


def save(path: Path, pair: str | None = None, **changes: Any) -> Path:
    """A good folder of a tiny model."""
    recipe = recipe_of({"rows": 2}, pair)
    parts = {
        "weights": weights_of(network_of(recipe, pair is not None)), "recipe": recipe,
        "tokenizer": tokenizer(), "labels": LABELS, "pair": pair is not None, "facts": FACTS,
    }  # fmt: skip
    overwrite = changes.pop("overwrite", False)
    save_folder(path, Parts(**{**parts, **changes}), overwrite=overwrite)
    return path


def edit(folder: Path, change: Callable[[dict[str, Any]], Any], seal: bool = True) -> None:
    """Change config.json, with a new checksum of its own unless told otherwise."""
    config = json.loads((folder / "config.json").read_text())
    change(config)
    if seal and "sha256" in config:
        rest = {k: v for k, v in config.items() if k != "sha256"}
        content = json.dumps(rest, sort_keys=True, separators=(",", ":"))
        config["sha256"] = hashlib.sha256(content.encode()).hexdigest()
    (folder / "config.json").write_text(json.dumps(config))


def replace(folder: Path, name: str, content: bytes) -> None:
    """Another file with a checksum that fits: damage that only a look inside can find."""
    (folder / name).write_bytes(content)
    entry = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    edit(folder, lambda c: c["files"].update({name: entry}))
