"""What a run starts from: the device, the network, the row weights, and the identity of the run."""

from __future__ import annotations

import zlib
from math import prod
from typing import Any

import numpy as np
import torch

from ..config.recipe import Recipe
from ..errors import LimelightError
from ..network.parts import shapes
from ..network.torch.heads import LAST_LAYER, ScaledLinearHead, VectorHead
from ..network.torch.network import Network
from ..runtime.start import Start
from ..storage.memory import check_memory
from ..text.dataset import Dataset, Split
from .optimiser import STATES

FEWEST = 3  # rows per class; with fewer, a reader stays as it is: docs/log/2026-11-16-start.md


def build_network(dataset: Dataset, recipe: Recipe, start: Start | None = None) -> Network:
    """The network for a data set on the CPU, with its starting weights and word vectors."""
    sizes = len(dataset.tokenizer), len(dataset.labels), dataset.splits["train"].pair
    check_fits(recipe, *sizes)
    torch.default_generator.manual_seed(recipe.training.seed)  # the GPUs' generators stay as they are
    network = Network(recipe.model, *sizes)
    if dataset.vectors is not None:
        with torch.no_grad():
            network.words.weight.copy_(torch.from_numpy(np.array(dataset.vectors)))
    network.words.weight.requires_grad_(recipe.training.fine_tune_words)
    if recipe.model.encoder == "bilstm":
        network.encoder.clip = recipe.training.clip_gates  # type: ignore[union-attr,assignment]
    if start is not None:
        _copy_weights(network, start, dataset, recipe)
    return network


def check_fits(recipe: Recipe, vocabulary: int = 2, classes: int = 2, pair: bool = False) -> None:
    """Raise if there is not even room for the weights and the optimiser's state, before any is taken.

    >>> check_fits(Recipe().override(hidden=10**9))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    limelight.errors.LimelightError: a network of 8,000,181,508,000,019,702 weights needs at ...
    """
    weights = sum(map(prod, shapes(recipe.model, vocabulary, classes, pair).values()))
    copies = 1 + len(STATES[recipe.training.optimizer])
    what = f"a network of {min(weights, 10**30):,} weights"
    check_memory(4 * copies * weights, what, "choose a smaller hidden or word_size")


@torch.no_grad()
def _copy_weights(network: Network, start: Start, dataset: Dataset, recipe: Recipe) -> None:
    """Give the network the pretrained weights; of a classifier's, those of the classes that both have."""
    start.check_kind(dataset.pair, recipe.text.start, dataset.task)
    both = [(k, start.labels.index(c)) for k, c in enumerate(dataset.labels) if c in start.labels]
    given = {name: torch.from_numpy(np.array(w)) for name, w in start.weights.items()}
    for name, weight in network.state_dict().items():
        found = given.get(name)
        if name == "words.weight" or found is None or found.shape[1:] != weight.shape[1:]:
            continue
        if name in LAST_LAYER and both:
            new, old = (torch.tensor(column) for column in zip(*both, strict=True))
            weight[new] = found[old]
        elif found.shape == weight.shape and (both or not name.startswith(("head.", "gate."))):
            weight.copy_(found)
    if recipe.model.head == "linear":
        if "vector.W_rows" in given and not dataset.pair:
            maps = given["vector.W_shared"], given["vector.W_rows"]
            network.head = VectorHead(*maps, len(dataset.labels), recipe.model.dropout)
            if len(dataset.splits["train"]) < FEWEST * len(dataset.labels):
                _freeze(network)
        else:
            network.head = ScaledLinearHead(network.head)  # type: ignore[arg-type]


def _freeze(network: Network) -> None:
    """Train nothing but the classifier's last layer."""
    for name, weight in network.named_parameters():
        weight.requires_grad_(name in ("head.W_o", "head.b_o"))


def row_weights(dataset: Dataset, recipe: Recipe, name: str = "train") -> np.ndarray | None:
    """How much each row of a split counts, 1 on average; None if all count equally."""
    split = dataset.splits.get(name)
    if split is None:
        return None
    if split.weights is not None and not np.any(split.weights):
        if name == "train":
            raise LimelightError("every training row has a weight of 0; at least one must have more")
        return None  # held-out rows may all have weight 0: then they count equally
    weights = None if split.weights is None else np.array(split.weights, dtype=np.float64)
    if recipe.training.class_weight == "balanced":
        labels = np.asarray(split.labels)
        if labels.dtype.kind != "i":
            raise LimelightError(
                f"class_weight is 'balanced', but the task is {dataset.task!r}; weights are for rows of one "
                "class each: leave it out"
            )
        weights = np.ones(len(split)) if weights is None else weights
        totals = np.bincount(labels, weights, minlength=len(dataset.labels))
        weights = weights / np.where(totals > 0, totals, 1)[labels]
    return None if weights is None else (weights / weights.mean()).astype(np.float32)


def choose_device(name: str) -> torch.device:
    """The device of that name; 'auto' is the GPU if there is one.

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


def run_identity(dataset: Dataset, recipe: Recipe, start: Start | None = None) -> dict[str, Any]:
    """What a checkpoint and the run that resumes from it must have in common."""
    options = {k: v for section in recipe.to_dict().values() for k, v in section.items()}
    options["task"] = dataset.task
    for name in ("epochs", "patience"):  # a run may be resumed to train longer
        del options[name]
    data = {f"{name} rows": _fingerprint(dataset.splits.get(name)) for name in ("train", "dev")}
    if start is not None:  # a path may hold other weights by now
        data["start"] = start.fingerprint
    return {**options, "tokenizer": dataset.tokenizer.hash, "labels": list(dataset.labels), **data}


def _fingerprint(split: Split | None) -> str:
    """Enough of a split to tell it from another, without reading all of its words."""
    if split is None:
        return "none"
    check = 0
    for array in (split.lengths, split.labels, split.lengths2):
        if array is not None:
            plain = array if array.dtype.kind == "f" else np.asarray(array, dtype=np.int32)
            check = zlib.crc32(np.ascontiguousarray(plain).data, check)
    return f"{len(split)} of {split.words} words ({check:08x})"
