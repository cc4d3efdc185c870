"""The network that a run starts with: random weights, word vectors, or those of a reader or a model."""

from __future__ import annotations

from math import prod

import numpy as np
import torch

from ..config.recipe import Recipe
from ..errors import LimelightError
from ..network.parts import shapes
from ..network.torch.heads import LAST_LAYER, ScaledLinearHead, VectorHead
from ..network.torch.network import Network
from ..runtime.start import Start
from ..storage.open_files import check_memory
from ..text.dataset import Dataset
from .optimiser import STATES

FEWEST = 3  # rows per class; with fewer, a reader stays as it is: docs/log/2026-11-16-start.md


def build_network(dataset: Dataset, recipe: Recipe, start: Start | None = None) -> Network:
    """The network for a data set on the CPU, with its starting weights and word vectors."""
    if recipe.model.head == "vector":
        raise LimelightError(
            "head is 'vector', which is a reader's; choose another, or use 'limelight pretrain'",
            code="option-value",
        )
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
