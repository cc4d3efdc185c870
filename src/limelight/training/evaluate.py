"""Every row of a split through the network exactly once, in the order of the split."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..model.network import Network
from ..text.batches import gather, reading_plan, row_lengths
from ..text.dataset import Split

WORDS = {"cpu": 8_192, "cuda": 32_768}  # in a batch, with padding: more saves no time and takes gigabytes


class Scores(NamedTuple):
    """How well a network does on a split."""

    accuracy: float
    loss: float  # cross-entropy
    rows: int
    weighted: tuple[float, float] | None = None  # accuracy and loss, where rows count differently


def logits(network: Network, split: Split) -> np.ndarray:
    """(rows, classes): the network's logits for every row."""
    found = list(batches(network, split, plan_for(network, split)))
    values = torch.cat([values for _, values in found]).cpu().numpy()
    in_order = np.empty_like(values)
    in_order[np.concatenate([rows for rows, _ in found])] = values
    return in_order


def plan_for(network: Network, split: Split) -> list[np.ndarray]:
    """The rows of each batch, as large as the network's device does well with."""
    return reading_plan(row_lengths(split), WORDS[next(network.parameters()).device.type])


@torch.no_grad()
def batches(network: Network, split: Split, plan: list[np.ndarray]) -> Iterator[tuple[np.ndarray, Tensor]]:
    """The rows of each batch of a plan with their logits, (batch, classes), on the network's device."""
    device = next(network.parameters()).device
    was_training = network.training
    network.eval()
    try:
        for rows in plan:
            found = gather(split, rows)
            inputs = (found.ids, found.lengths, found.ids2, found.lengths2)
            tensors = [None if x is None else torch.from_numpy(x).to(device) for x in inputs]
            yield rows, network(*tensors).logits.float()
    finally:
        network.train(was_training)


def evaluate(network: Network, split: Split, weights: np.ndarray | None = None) -> Scores:
    """Accuracy and mean cross-entropy over all rows; with weights, also those of the weighted rows."""
    values = torch.from_numpy(logits(network, split)).double()
    labels = torch.from_numpy(np.asarray(split.labels, dtype=np.int64))
    entropies = torch.nn.functional.cross_entropy(values, labels, reduction="none").numpy()
    right = (values.argmax(dim=1) == labels).numpy()
    weighted = None
    if weights is not None:
        weighted = float(np.average(right, weights=weights)), float(np.average(entropies, weights=weights))
    return Scores(int(right.sum()) / len(labels), float(entropies.mean()), len(labels), weighted)
