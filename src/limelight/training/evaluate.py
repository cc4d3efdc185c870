"""Every row of a split through the network exactly once, in the order of the split."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from ..model.network import Network
from ..text.batches import gather, reading_plan, row_lengths
from ..text.encoded import Split

WORDS = {"cpu": 8_192, "cuda": 32_768}  # in a batch, with padding: more saves no time and takes gigabytes


class Scores(NamedTuple):
    """How well a network does on a split."""

    accuracy: float
    loss: float  # cross-entropy
    rows: int


@torch.no_grad()
def logits(network: Network, split: Split) -> np.ndarray:
    """(rows, classes): the network's logits for every row."""
    device = next(network.parameters()).device
    was_training = network.training
    network.eval()
    lengths = row_lengths(split)
    results, order = [], []
    for rows in reading_plan(lengths, WORDS[device.type]):
        found = gather(split, rows)
        inputs = (found.ids, found.lengths, found.ids2, found.lengths2)
        tensors = [None if x is None else torch.from_numpy(x).to(device) for x in inputs]
        results.append(network(*tensors).logits.float())
        order.append(rows)
    network.train(was_training)
    values = torch.cat(results).cpu().numpy()
    in_order = np.empty_like(values)
    in_order[np.concatenate(order)] = values
    return in_order


def evaluate(network: Network, split: Split) -> Scores:
    """Accuracy and mean cross-entropy over all rows."""
    values = torch.from_numpy(logits(network, split)).double()
    labels = torch.from_numpy(np.asarray(split.labels, dtype=np.int64))
    entropy = torch.nn.functional.cross_entropy(values, labels).item()
    right = int((values.argmax(dim=1) == labels).sum())
    return Scores(right / len(labels), entropy, len(labels))
