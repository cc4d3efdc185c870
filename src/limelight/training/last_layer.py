"""The last layer of a network's head, and what it reads: fitting one to the other is convex."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ..network.torch.network import Network
from ..text.batches import gather, reading_plan, row_lengths
from ..text.dataset import Split

WORDS = 8192  # in a batch, with padding
ITERATIONS = 100


def last_layer(network: Network) -> tuple[Tensor, Tensor]:
    """The weights (classes, f) and biases (classes,) of the head's last layer."""
    parts = dict(network.head.named_parameters())
    names = next(pair for pair in (("W_2", "b_2"), ("W_scaled", "b_o"), ("W_o", "b_o")) if pair[0] in parts)
    return parts[names[0]], parts[names[1]]


def draw_rows(split: Split, most: int, seed: int) -> np.ndarray:
    """The numbers of all rows, or of `most` drawn at random, in their order."""
    rows = np.arange(len(split))
    return rows if len(rows) <= most else np.sort(np.random.default_rng(seed).choice(rows, most, False))


def minimise(W: Tensor, b: Tensor, loss: Callable[[], Tensor]) -> tuple[Tensor, Tensor]:
    """W and b with the least `loss`, from where they are."""
    optimiser = torch.optim.LBFGS(
        [W.requires_grad_(), b.requires_grad_()], max_iter=ITERATIONS, tolerance_grad=1e-4,
        tolerance_change=1e-7, line_search_fn="strong_wolfe",
    )  # fmt: skip

    @torch.enable_grad()
    def step() -> Tensor:
        optimiser.zero_grad()
        total = loss()
        total.backward()
        return total

    optimiser.step(step)
    return W.detach(), b.detach()


def weights_at(rows: np.ndarray, weights: np.ndarray | None, like: Tensor) -> Tensor:
    """(rows,): how much each of these rows counts, 1 if all count equally."""
    return like.new_ones(len(rows)) if weights is None else torch.from_numpy(weights[rows]).to(like)


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
