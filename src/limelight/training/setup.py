"""What a run starts from: the device, the network, the weights of the rows, and what makes it this run."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import torch

from ..config.recipe import Recipe
from ..errors import LimelightError
from ..model.network import Network
from ..text.dataset import Dataset, Split


def build(dataset: Dataset, recipe: Recipe) -> Network:
    """The network for a data set, with its starting weights and word vectors."""
    torch.manual_seed(recipe.training.seed)
    network = Network(recipe.model, len(dataset.tokenizer), len(dataset.labels), dataset.splits["train"].pair)
    if dataset.vectors is not None:
        with torch.no_grad():
            network.words.weight.copy_(torch.from_numpy(np.array(dataset.vectors)))
    network.words.weight.requires_grad_(recipe.training.fine_tune_words)
    if recipe.model.embedding != "cnn":
        network.encoder.clip = recipe.training.clip_gates  # type: ignore[union-attr,assignment]
    return network


def row_weights(dataset: Dataset, recipe: Recipe, name: str = "train") -> np.ndarray | None:
    """How much each row of a split counts, 1 on average; None if all count the same."""
    split = dataset.splits.get(name)
    if split is None:
        return None
    if split.weights is not None and not np.any(split.weights):
        if name == "train":
            raise LimelightError("every training row has a weight of 0; at least one must have more")
        return None  # of rows held out, all may be without weight: better judged by them than by none
    weights = None if split.weights is None else np.array(split.weights, dtype=np.float64)
    if recipe.training.class_weight == "balanced":
        labels = np.asarray(split.labels)
        weights = np.ones(len(split)) if weights is None else weights
        totals = np.bincount(labels, weights, minlength=len(dataset.labels))
        weights = weights / np.where(totals > 0, totals, 1)[labels]
    return None if weights is None else (weights / weights.mean()).astype(np.float32)


def choose_device(name: str) -> torch.device:
    """'auto' is the GPU where there is one.

    >>> choose_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name not in ("cpu", "cuda"):
        raise LimelightError(f"device is {name!r}; it must be auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise LimelightError("device is 'cuda', but PyTorch sees no GPU here; use 'cpu' or 'auto'")
    return torch.device(name)


def identity(dataset: Dataset, recipe: Recipe) -> dict[str, Any]:
    """What a checkpoint must share with the run that resumes from it."""
    options = {k: v for section in recipe.to_dict().values() for k, v in section.items()}
    for name in ("epochs", "patience"):  # to train longer is no other run
        del options[name]
    data = {f"{name} rows": _fingerprint(dataset.splits.get(name)) for name in ("train", "dev")}
    return {**options, "tokenizer": dataset.tokenizer.hash, "labels": list(dataset.labels), **data}


def _fingerprint(split: Split | None) -> str:
    """Enough of a split to notice another one, without reading all of its words."""
    if split is None:
        return "none"
    check = 0
    for array in (split.lengths, split.labels, split.lengths2):
        if array is not None:
            check = zlib.crc32(np.ascontiguousarray(array, dtype=np.int32).data, check)
    return f"{len(split)} of {split.words} words ({check:08x})"
