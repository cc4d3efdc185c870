"""What is minimised: cross-entropy plus the penalty on the attention."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..model.attention import penalty
from ..model.network import Output
from ..recipe import TrainingRecipe


class Loss(NamedTuple):
    """The parts of the loss, each averaged over the batch."""

    total: Tensor
    cross_entropy: Tensor
    penalty: Tensor


def loss(output: Output, batch: Tensors, recipe: TrainingRecipe, rows: int) -> Loss:
    """Cross-entropy (each row by its weight) + coefficient * P; of a pair, both sentences' P are added.

    P is on the first `rows` rows of A, those of the attention; a baseline has none.
    """
    logits = output.logits.to(torch.promote_types(output.logits.dtype, torch.float32))
    entropy = torch.nn.functional.cross_entropy(logits, batch.labels, reduction="none")
    if batch.weights is not None:
        entropy = entropy * batch.weights
    mean = entropy.mean()
    if rows == 0 or recipe.penalty == 0:
        return Loss(mean, mean.detach(), torch.zeros_like(mean))
    P = penalty(output.A[:, :rows], batch.lengths, recipe.penalty_scale)
    if output.A2 is not None:
        P = P + penalty(output.A2[:, :rows], batch.lengths2, recipe.penalty_scale)
    return Loss(mean + recipe.penalty * P, mean.detach(), P.detach())


class Tensors(NamedTuple):
    """A batch as tensors on the device."""

    ids: Tensor  # (batch, n)
    lengths: Tensor  # (batch,)
    labels: Tensor  # (batch,)
    weights: Tensor | None = None  # (batch,)
    ids2: Tensor | None = None
    lengths2: Tensor | None = None
