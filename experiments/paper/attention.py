"""How sharp the attention of a network is, and how different its rows are."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from limelight.network.parts import rows_of
from limelight.network.torch.network import Network
from limelight.text.dataset import Split
from limelight.training.evaluate import read_batches

TEXTS, BATCH = 256, 32


def describe_attention(network: Network, split: Split) -> dict[str, float]:
    """Means over the first texts: a row's largest weight, that of even attention, two rows' cosine."""
    rows = np.arange(min(TEXTS, len(split)))
    plan = [rows[k : k + BATCH] for k in range(0, len(rows), BATCH)]
    lengths = torch.from_numpy(np.asarray(split.lengths).astype(np.int64))
    found = [
        describe(output.A[:, : rows_of(network.recipe).attention].double().cpu(), lengths[batch])
        for batch, output in read_batches(network, split, plan)
    ]
    largest, even, cosine = torch.cat(found, dim=1).mean(dim=1).tolist()
    return {"largest_weight": largest, "even_weight": even, "row_cosine": cosine}


def describe(A: Tensor, lengths: Tensor) -> Tensor:
    """(3, batch) from A (batch, r, n): largest weight, 1/n, mean cosine of two rows (1 for a single row).

    >>> describe(torch.tensor([[[1.0, 0.0], [0.6, 0.8]]]), torch.tensor([2])).tolist()[1]
    [0.5]
    """
    r = A.shape[1]
    unit = torch.nn.functional.normalize(A, dim=2)
    cosines = unit @ unit.transpose(1, 2)  # (batch, r, r)
    others = cosines.sum(dim=(1, 2)) - cosines.diagonal(dim1=1, dim2=2).sum(dim=1)
    cosine = others / (r * (r - 1)) if r > 1 else torch.ones_like(others)
    return torch.stack([A.amax(dim=2).mean(dim=1), (1 / lengths).to(A), cosine])
