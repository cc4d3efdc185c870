"""What is minimised: cross-entropy plus the penalty on the attention."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..config.recipe import TrainingRecipe
from ..model.attention import aspect_penalty, penalty
from ..model.network import Output


class Loss(NamedTuple):
    """The parts of the loss, each averaged over the batch."""

    total: Tensor  # what is minimised
    cross_entropy: Tensor  # of the labels, also where targets are learnt: comparable between recipes
    penalty: Tensor


def loss(output: Output, batch: Tensors, recipe: TrainingRecipe, rows: int, vocabulary: int = 0) -> Loss:
    """Cross-entropy (each row by its weight) + coefficient * P; for a pair, P of both sentences is added.

    The aspect penalty, if there is one, is added too. Both apply to the first `rows` rows of A, those of the
    attention; a baseline has none. With `targets` in the batch, `total` has the cross-entropy with those
    probabilities in place of the labels.
    """
    plain = goal = _cross_entropy(output.logits, batch.labels, batch.weights)
    if batch.targets is not None:
        goal = _cross_entropy(output.logits, batch.targets, batch.weights)
    if rows and recipe.aspect_penalty:
        sides = [(output.A[:, :rows], batch.ids)]
        if output.A2 is not None and batch.ids2 is not None:
            sides.append((output.A2[:, :rows], batch.ids2))
        goal = goal + recipe.aspect_penalty * aspect_penalty(sides, vocabulary)
    if rows == 0 or recipe.penalty == 0:
        return Loss(goal, plain.detach(), torch.zeros_like(plain))
    P = penalty(output.A[:, :rows], batch.lengths, recipe.penalty_scale)
    if output.A2 is not None:
        P = P + penalty(output.A2[:, :rows], batch.lengths2, recipe.penalty_scale)
    return Loss(goal + recipe.penalty * P, plain.detach(), P.detach())


def _cross_entropy(logits: Tensor, wanted: Tensor, weights: Tensor | None) -> Tensor:
    """The mean over the batch, in float32 or better; `wanted` are labels, or a probability for each class."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    wanted = wanted.to(logits.dtype) if wanted.is_floating_point() else wanted
    entropy = torch.nn.functional.cross_entropy(logits, wanted, reduction="none")
    return (entropy if weights is None else entropy * weights).mean()


class Tensors(NamedTuple):
    """A batch as tensors on the device."""

    ids: Tensor  # (batch, n)
    lengths: Tensor  # (batch,)
    labels: Tensor  # (batch,)
    weights: Tensor | None = None  # (batch,)
    ids2: Tensor | None = None
    lengths2: Tensor | None = None
    targets: Tensor | None = None  # (batch, classes)
