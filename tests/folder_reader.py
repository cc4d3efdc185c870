"""A second reader of saved folders, written from docs/format.md alone: json, numpy, safetensors, tokenizers.

The mathematics is that of the reference, in float64, one text at a time.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from safetensors.numpy import load
from tokenizers import Tokenizer

import reference

Array = np.ndarray
FILES = ("tokenizer.json", "model.safetensors", "model.onnx", "model.int8.onnx")


class FolderReader:
    """What the document says."""

    def __init__(self, folder: Path) -> None:
        config = json.loads((folder / "config.json").read_bytes())
        rest = {key: value for key, value in config.items() if key != "sha256"}
        content = json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()
        assert config["format"] == 2
        assert hashlib.sha256(content).hexdigest() == config["sha256"]
        contents = {name: (folder / name).read_bytes() for name in FILES}
        assert config["files"] == {
            name: {"bytes": len(each), "sha256": hashlib.sha256(each).hexdigest()}
            for name, each in contents.items()
        }
        self.pair, self.labels = config["kind"] == "pair", config["labels"]
        self.text, self.model = config["recipe"]["text"], config["recipe"]["model"]
        self.task = self.text.get("task", "auto")
        self.tokenizer = Tokenizer.from_buffer(contents["tokenizer.json"])
        stored = load(contents["model.safetensors"])
        self.weights = {name: x.astype(np.float64) for name, x in stored.items()}
        if "words.weight.scale" in stored:  # 4 bits
            packed, scale = stored["words.weight"], self.weights.pop("words.weight.scale")
            numbers = np.stack([packed & 15, packed >> 4], axis=2).reshape(len(packed), -1) - 8.0
            self.weights["words.weight"] = numbers * np.repeat(scale, 32, axis=1)

    def ids(self, text: str) -> list[int]:
        ids = self.tokenizer.encode(text).ids or [1]
        return ids[: self.text["max_length"] or None]

    def embed(self, text: str) -> tuple[Array, Array]:
        """M, (R, Z), and A, (R, n)."""
        return reference.embed(SimpleNamespace(**self.model), self.weights, self.ids(text))

    def probabilities(self, *texts: str) -> Array:
        return self.classify(*(self.embed(text)[0] for text in texts))

    def classify(self, *M: Array) -> Array:
        F = reference.relation(self.weights, *M) if self.pair else M[0]
        return reference.answers(self.task, reference.classify(self.weights, F))
