"""Made-up data sets and recipes so small that a run takes a fraction of a second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from limelight.config.recipe import Recipe
from limelight.text.dataset import Dataset, Split
from limelight.text.tokenizer import Tokenizer

WORDS = 40
CLASSES = ("bad", "fair", "good")


def split(rows: int, pair: bool = False, weighted: bool = False, seed: int = 0, longest: int = 12) -> Split:
    """Sentences whose words are mostly of their class: those whose numbers leave its number modulo 3."""
    rng = np.random.default_rng([seed, rows])
    labels = rng.integers(0, 3, rows).astype(np.int32)

    def side() -> tuple[np.ndarray, np.ndarray]:
        lengths = rng.integers(1, longest + 1, rows).astype(np.int32)
        any_word = rng.integers(2, WORDS + 2, lengths.sum())
        own = rng.integers(1, WORDS // 3, lengths.sum()) * 3 + np.repeat(labels, lengths)
        return np.where(rng.random(lengths.sum()) < 0.7, own, any_word).astype(np.int32), lengths

    ids, lengths = side()
    ids2, lengths2 = side() if pair else (None, None)
    weights = rng.uniform(0.2, 2, rows).astype(np.float32) if weighted else None
    return Split(ids, lengths, labels, weights, ids2, lengths2)


def dataset(rows: int = 50, dev: int = 20, **options: Any) -> Dataset:
    splits = {"train": split(rows, **options)}
    if dev:
        splits["dev"] = split(dev, **{**options, "seed": 100})
    return Dataset(Tokenizer.from_words([f"w{k}" for k in range(WORDS)]), CLASSES, splits, None, {})


def recipe(**options: Any) -> Recipe:
    small = {
        "word_size": 8, "hidden": 6, "attention_hidden": 5, "rows": 3, "head_hidden": 7, "batch_size": 8,
        "epochs": 3, "optimizer": "adam", "learning_rate": 0.02, "task": "classification",
    }  # fmt: skip
    return Recipe().override(**{**small, **options})


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a run's folder, hidden ones too."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
