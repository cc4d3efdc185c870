"""The last layer of a network's head, and what it reads: fitting one to the other is convex."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..model.network import Network
from ..text.batches import gather, reading_plan, row_lengths
from ..text.dataset import Split

WORDS = 8192  # in a batch, with padding


def last_layer(network: Network) -> tuple[Tensor, Tensor]:
    """The weights (classes, f) and biases (classes,) of the head's last layer."""
    parts = dict(network.head.named_parameters())
    names = next(pair for pair in (("W_2", "b_2"), ("W_scaled", "b_o"), ("W_o", "b_o")) if pair[0] in parts)
    return parts[names[0]], parts[names[1]]


def draw_rows(split: Split, most: int, seed: int) -> np.ndarray:
    """The numbers of all rows, or of `most` drawn at random, in their order."""
    rows = np.arange(len(split))
    return rows if len(rows) <= most else np.sort(np.random.default_rng(seed).choice(rows, most, False))


@torch.no_grad()
def read_features(network: Network, split: Split, rows: np.ndarray) -> Tensor:
    """(rows, f) in float64: what the last layer reads."""
    last, _ = last_layer(network)
    was_training, device = network.training, last.device
    found = torch.empty(len(rows), last.shape[1], dtype=torch.float64, device=device)
    network.eval()
    for batch in reading_plan(row_lengths(split)[rows], WORDS):
        words = gather(split, rows[batch])
        inputs = (words.ids, words.lengths, words.ids2, words.lengths2)
        output = network(*(None if x is None else torch.from_numpy(x).to(device) for x in inputs))
        F = output.M if output.M2 is None else network.relate(output.M, output.M2)
        found[torch.from_numpy(batch).to(device)] = network.head.features(F).double()  # type: ignore[operator]
    network.train(was_training)
    return found
