"""What is minimised: the loss of each row by its task (labels as by `as_targets`), plus the penalty on A."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from ..config.recipe import TrainingRecipe
from ..errors import LimelightError
from ..network.torch.attention import aspect_penalty, penalty
from ..network.torch.network import Output
from .context import NO_SIDE_STREAM, SideStream

RowFigures = Callable[[Tensor, Tensor], Tensor]  # logits (batch, classes), labels -> (batch,)
BatchLoss = Callable[[Output, Tensor], Tensor]  # the network's output, labels -> (batch,) or one number


class TaskLoss(NamedTuple):
    """What is minimised, what is shown, and what else depends on the task."""

    losses: RowFigures
    scores: RowFigures  # higher is better, 1 at most
    measure: str  # what the mean of the scores is called
    first_fit: str = "logistic regression"  # what `losses` make of a linear model with an L2 penalty
    standardises: bool = False  # labels are scaled to mean 0 and variance 1
    one_class: bool = False  # the answer is the most probable class, which no temperature changes


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Labels are class numbers (batch,), or a probability for each class (batch, classes)."""
    wanted = labels.to(logits.dtype) if labels.is_floating_point() else labels
    return F.cross_entropy(logits, wanted, reduction="none")


def ordinal_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The cross-entropies of being at or below each class but the last: far errors count more."""
    log_p = logits.log_softmax(dim=1)
    steps = torch.arange(logits.shape[1] - 1, device=logits.device)
    below = log_p.logcumsumexp(dim=1)[:, :-1]  # (batch, classes - 1)
    above = log_p.flip(1).logcumsumexp(dim=1).flip(1)[:, 1:]
    right_side = torch.where(labels[:, None] <= steps, below, above)
    return -right_side.sum(dim=1)


def is_median(logits: Tensor, labels: Tensor) -> Tensor:
    """Whether the median of the classes is the true one, as `text/tasks.py` decides."""
    return (logits.softmax(dim=1).cumsum(dim=1)[:, :-1] < 0.5).sum(dim=1) == labels


def binary_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The sum over the labels, as if each were a classifier of its own."""
    return F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype), reduction="none").sum(dim=1)


def row_f1(logits: Tensor, labels: Tensor) -> Tensor:
    """F1 of the labels with a probability above 0.5 and the true ones; 1 where there are neither."""
    found = logits > 0
    both, total = (found * labels).sum(dim=1), found.sum(dim=1) + labels.sum(dim=1)
    return torch.where(total > 0, 2 * both / total.clamp(min=1), 1.0)


def squared_error(logits: Tensor, labels: Tensor) -> Tensor:
    return (logits[:, 0] - labels.to(logits.dtype)).square()


CLASSIFICATION = TaskLoss(cross_entropy, lambda Z, y: Z.argmax(dim=1) == y, "accuracy", one_class=True)
TASK_LOSSES = {
    "auto": CLASSIFICATION,  # of a recipe without labels
    "classification": CLASSIFICATION,
    "multi-label": TaskLoss(binary_cross_entropy, row_f1, "f1"),
    "ordinal": TaskLoss(ordinal_loss, is_median, "accuracy"),
    "regression": TaskLoss(  # the mean score is R2, if the labels have mean 0 and variance 1
        squared_error, lambda Z, y: 1 - squared_error(Z, y), "r2", "ridge regression", standardises=True
    ),
}


# ---------------------------------------------------------------- of a batch


class Loss(NamedTuple):
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
    own: BatchLoss | None = None,
) -> Loss:
    """The rows' losses, each by its weight, + coefficient * P; for a pair, P of both sentences is added.

    Penalties apply to the first `rows` rows of A, those of the attention. `targets` in the batch, or the
    user's `own` loss, take the place of the labels in `total`. P, and so its gradient, is computed on the
    side stream: many small operations, for which the labels' loss need not wait.
    """
    P = None
    if rows and recipe.penalty:
        with side.aside():
            P = _penalty(output, batch, rows, recipe.penalty_scale)
    plain = goal = _mean_loss(task.losses, output.logits, batch.labels, batch.weights)
    if batch.targets is not None:
        goal = _mean_loss(task.losses, output.logits, batch.targets, batch.weights)
    if own is not None:
        goal = _own_loss(own, output, batch)
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


def _own_loss(own: BatchLoss, output: Output, batch: Tensors) -> Tensor:
    """The mean over the batch of what the user's loss gives for each row, or the one number it gives."""
    found = own(output, batch.labels)
    if not isinstance(found, Tensor) or found.shape not in ((), batch.labels.shape[:1]):
        shown = f"a tensor of shape {tuple(found.shape)}" if isinstance(found, Tensor) else repr(found)[:60]
        wrong = f"the loss gave {shown}; it must give a number for each of the {len(batch.labels)} rows"
        raise LimelightError(f"{wrong}, or one for all", code="loss-output")
    return (found if found.dim() == 0 or batch.weights is None else found * batch.weights).mean()


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


STEPS, HISTORY = 100, 5  # a longer history takes more time than it saves
SHORTEST = 1e-6  # no shorter step is tried


def minimise(loss: Callable[[Tensor], tuple[float, Tensor]], x: Tensor, flat: float) -> Tensor:
    """Where a convex loss, given with its slope, is lowest: where no entry of the slope is above `flat`."""
    steps: list[tuple[Tensor, Tensor]] = []  # the last ones, and how the slope changed along each
    value, slope = loss(x)
    for _ in range(STEPS):
        if float(slope.abs().max()) < flat:
            break
        direction = _direction(slope, steps)
        down, length = float(direction @ slope), 1.0
        while length > SHORTEST:
            lower, turned = loss(x + length * direction)
            if lower <= value + 1e-4 * length * down:
                break
            length /= 2
        else:
            break
        step, change = length * direction, turned - slope
        steps = [*steps, (step, change)][-HISTORY:] if float(step @ change) > 0 else steps
        x, value, slope = x + step, lower, turned
    return x


def _direction(slope: Tensor, steps: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """Downhill, as curved as the last steps have shown."""
    found, shares = -slope, []
    for step, change in reversed(steps):
        shares.append(float(step @ found) / float(step @ change))
        found = found - shares[-1] * change
    if steps:
        step, change = steps[-1]
        found = found * (float(step @ change) / float(change @ change))
    for (step, change), share in zip(steps, reversed(shares), strict=True):
        found = found + (share - float(change @ found) / float(step @ change)) * step
    return found
