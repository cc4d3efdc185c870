"""Many classes, few texts each: a reader's map fitted to them, so that vectors of one class lie together.

The supervised contrastive loss of Khosla et al. (2020) on the reader's last map alone. SetFit tunes the whole
encoder; here rows are read once, and what decided stays an exact sum, since map and classifier are linear.
What it gives is in docs/log/2026-11-19-many-classes.md.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear, normalize

from ..network.torch.heads import VectorHead
from ..network.torch.network import Network
from ..text.batches import as_targets
from ..text.dataset import Split
from .starting_network import read_features, weights_at

MIN_CLASSES = 15  # with 10, nothing was gained
MAX_CONTRASTED = 2000  # rows: each is compared with each, and more were not tried
STEPS, LENGTH = 20, 0.006  # of a step, by the length of the map: longer ways fit the texts, not the classes
TEMPERATURE = 0.05


def fits_map(network: Network, split: Split, classes: int) -> bool:
    """Whether there are enough classes, and neither too few texts nor too many, to fit the map to."""
    few = MIN_CLASSES <= classes < len(split) <= MAX_CONTRASTED
    return few and isinstance(network.head, VectorHead)


def fit_map(network: Network, split: Split, weights: np.ndarray | None) -> None:
    """Move the vectors of each class together, and those of others apart; rows of weight 0 are not there."""
    head = network.head
    chosen = np.arange(len(split)) if weights is None else np.flatnonzero(weights)
    rows = read_features(network, split, chosen, head.rows).float()  # (n, r * k)
    y = torch.from_numpy(as_targets(np.asarray(split.labels)[chosen])).to(rows.device)
    w = weights_at(chosen, weights, rows)
    W = head.W_rows.detach()
    size = W.norm()
    for step in range(STEPS):
        W.requires_grad_()
        (slope,) = torch.autograd.grad(contrast(linear(rows, W), y, w), W)
        length = LENGTH * size * (1 + math.cos(math.pi * step / STEPS)) / 2
        W = W.detach() - length * slope / slope.norm().clamp(min=1e-12)
    with torch.no_grad():
        head.W_rows.copy_(W)


def contrast(v: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """How little each vector's neighbours tell its class: mean of -log p(j | i) over all j of i's class.

    p(j | i) is the softmax of the cosines of v (n, d), over a temperature, without i itself. Rows count by
    their weights w (n,), those that are alone in their class y (n,) not at all.

    >>> v, y = torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]), torch.tensor([0, 0, 1, 1])
    >>> bool(contrast(v, y, torch.ones(4)) < 1e-3 < contrast(v, y[[0, 2, 1, 3]], torch.ones(4)))
    True
    """
    v, itself = normalize(v, dim=1), torch.eye(len(v), dtype=torch.bool, device=v.device)
    log_p = (v @ v.T / TEMPERATURE).masked_fill(itself, -torch.inf).log_softmax(dim=1)
    together = (y[:, None] == y) & ~itself
    counts = together.sum(dim=1)
    of_row = log_p.masked_fill(~together, 0.0).sum(dim=1) / counts.clamp(min=1)
    return -(w * of_row).sum() / (w * (counts > 0)).sum().clamp(min=1e-12)
