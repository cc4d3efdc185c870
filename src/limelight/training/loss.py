"""What is minimised: cross-entropy plus the penalty on the attention."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..config.recipe import TrainingRecipe
from ..model.attention import penalty
from ..model.network import Output


class Loss(NamedTuple):
    """The parts of the loss, each averaged over the batch."""

    total: Tensor  # what is minimised
    cross_entropy: Tensor  # of the labels as they are, never smoothed: comparable between recipes
    penalty: Tensor


def loss(output: Output, batch: Tensors, recipe: TrainingRecipe, rows: int) -> Loss:
    """Cross-entropy (each row by its weight) + coefficient * P; of a pair, both sentences' P are added.

    P is on the first `rows` rows of A, those of the attention; a baseline has none. With label smoothing,
    `total` holds the smoothed cross-entropy and `cross_entropy` the plain one. A row's weight, its class's
    included, counts for all of the row's smoothed label: by the class it has, not by those it is spread over.
    With `targets` in the batch, `total` has the cross-entropy of those probabilities, smoothed or not, in
    place of the labels'. With consistency, the batch is read `twice`; the difference of the two answers has
    no weights.
    """
    plain = goal = _cross_entropy(output.logits, batch.labels, batch.weights)
    if batch.targets is not None or recipe.label_smoothing:
        wanted = batch.labels if batch.targets is None else batch.targets
        goal = _cross_entropy(output.logits, wanted, batch.weights, recipe.label_smoothing)
    if recipe.consistency:
        goal = goal + recipe.consistency * _disagreement(output.logits)
    if rows == 0 or recipe.penalty == 0:
        return Loss(goal, plain.detach(), torch.zeros_like(plain))
    P = penalty(output.A[:, :rows], batch.lengths, recipe.penalty_scale)
    if output.A2 is not None:
        P = P + penalty(output.A2[:, :rows], batch.lengths2, recipe.penalty_scale)
    return Loss(goal + recipe.penalty * P, plain.detach(), P.detach())


def _cross_entropy(logits: Tensor, wanted: Tensor, weights: Tensor | None, smoothing: float = 0.0) -> Tensor:
    """The mean over the batch, in float32 or better; wanted are labels, or a probability for each class."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    wanted = wanted.to(logits.dtype) if wanted.is_floating_point() else wanted
    entropy = torch.nn.functional.cross_entropy(logits, wanted, reduction="none", label_smoothing=smoothing)
    return (entropy if weights is None else entropy * weights).mean()


def _disagreement(logits: Tensor) -> Tensor:
    """The mean of KL(p || q) and KL(q || p) for the two answers to each row of a batch that was read twice.

    >>> _disagreement(torch.tensor([[0.0, 0.0], [1.0, 1.0]])).item()  # the same probabilities
    0.0
    """
    p, q = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(dim=1).chunk(2)
    return ((p.exp() - q.exp()) * (p - q)).sum(dim=1).mean() / 2


class Tensors(NamedTuple):
    """A batch as tensors on the device."""

    ids: Tensor  # (batch, n)
    lengths: Tensor  # (batch,)
    labels: Tensor  # (batch,)
    weights: Tensor | None = None  # (batch,)
    ids2: Tensor | None = None
    lengths2: Tensor | None = None
    targets: Tensor | None = None  # (batch, classes)


def twice(batch: Tensors) -> Tensors:
    """Every row a second time, behind all the others."""
    return batch._replace(**{k: torch.cat([x, x]) for k, x in batch._asdict().items() if x is not None})
