"""What is minimised: the loss of the labels plus the penalty on the attention."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..config.recipe import TrainingRecipe
from ..network.torch.attention import aspect_penalty, penalty
from ..network.torch.network import Output
from .side_stream import NO_SIDE_STREAM, SideStream
from .task_losses import CLASSIFICATION, RowFigures, TaskLoss


class Loss(NamedTuple):
    """The parts of the loss, each averaged over the batch."""

    total: Tensor  # what is minimised
    labels: Tensor  # their part, also where targets are learnt: comparable between recipes
    penalty: Tensor


def loss(
    output: Output,
    batch: Tensors,
    recipe: TrainingRecipe,
    rows: int,
    vocabulary: int = 0,
    task: TaskLoss = CLASSIFICATION,
    side: SideStream = NO_SIDE_STREAM,
) -> Loss:
    """The rows' losses, each by its weight, + coefficient * P; for a pair, P of both sentences is added.

    The aspect penalty, if there is one, is added too. Both apply to the first `rows` rows of A, those of the
    attention; a baseline has none. With `targets` in the batch, `total` has the cross-entropy with those
    probabilities in place of the labels. P, and so its gradient, is computed on the side stream: many small
    operations, for which the labels' loss need not wait.
    """
    P = None
    if rows and recipe.penalty:
        with side.aside():
            P = _penalty(output, batch, rows, recipe.penalty_scale)
    plain = goal = _mean_loss(task.losses, output.logits, batch.labels, batch.weights)
    if batch.targets is not None:
        goal = _mean_loss(task.losses, output.logits, batch.targets, batch.weights)
    if rows and recipe.aspect_penalty:
        sides = [(output.A[:, :rows], batch.ids)]
        if output.A2 is not None and batch.ids2 is not None:
            sides.append((output.A2[:, :rows], batch.ids2))
        goal = goal + recipe.aspect_penalty * aspect_penalty(sides, vocabulary)
    if P is None:
        return Loss(goal, plain.detach(), torch.zeros_like(plain))
    side.join()
    return Loss(torch.add(goal, P, alpha=recipe.penalty), plain.detach(), P.detach())


def _penalty(output: Output, batch: Tensors, rows: int, scale: str) -> Tensor:
    A = output.A[:, :rows]
    if output.A2 is None:
        return penalty(A, batch.lengths, scale)
    A2 = output.A2[:, :rows]
    if A.shape == A2.shape and batch.lengths2 is not None:  # half as many operations
        lengths = torch.cat([batch.lengths, batch.lengths2]) if scale == "author" else None
        return 2 * penalty(torch.cat([A, A2]), lengths, scale)
    return penalty(A, batch.lengths, scale) + penalty(A2, batch.lengths2, scale)


def _mean_loss(losses: RowFigures, logits: Tensor, wanted: Tensor, weights: Tensor | None) -> Tensor:
    """The mean over the batch, in float32 or better."""
    found = losses(logits.to(torch.promote_types(logits.dtype, torch.float32)), wanted)
    return (found if weights is None else found * weights).mean()


class Tensors(NamedTuple):
    """A batch as tensors on the device."""

    ids: Tensor  # (batch, n)
    lengths: Tensor  # (batch,)
    labels: Tensor  # (batch,), or (batch, labels)
    weights: Tensor | None = None  # (batch,)
    ids2: Tensor | None = None
    lengths2: Tensor | None = None
    targets: Tensor | None = None  # (batch, classes)
