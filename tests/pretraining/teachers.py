"""Made-up texts and a teacher so simple that a run takes a fraction of a second."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

THINGS = ("soup", "train", "dog", "garden", "letter", "river")
WAYS = ("cold", "late", "happy", "green", "long", "wide", "very old", "quite new")
SMALL: dict[str, Any] = {
    "hidden": 5, "rows": 3, "attention_hidden": 4, "rank": 4, "word_size": 32, "buckets": 20, "epochs": 3,
    "batch_size": 16, "words": 12,
}  # fmt: skip


def texts(count: int = 70) -> list[str]:
    random = np.random.default_rng(0)
    return [
        f"The {random.choice(THINGS)} is {random.choice(WAYS)} and the {random.choice(THINGS)} was {word}."
        for word in random.choice(WAYS, count)
    ]


class FakeTeacher:
    """The sum of a fixed random vector for each word; counts the texts it is asked about."""

    def __init__(self, size: int = 8) -> None:
        self.size, self.asked = size, 0

    def encode(self, texts: list[str]) -> np.ndarray:
        self.asked += len(texts)
        return np.array([sum(map(self._word, text.lower().split())) for text in texts])

    def _word(self, word: str) -> np.ndarray:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
        return np.random.default_rng(seed).standard_normal(self.size)


def write(folder: Path, count: int = 70) -> tuple[Path, Path]:
    """A file of lines, and the teacher's vectors of them."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = texts(count)
    (folder / "texts.txt").write_text("\n".join(lines) + "\n")
    np.save(folder / "vectors.npy", FakeTeacher().encode(lines).astype(np.float32))
    return folder / "texts.txt", folder / "vectors.npy"
