"""Train a network on an encoded data set by a recipe; the run can be interrupted and resumed at any step."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from ..config.recipe import Recipe
from ..errors import LimelightError
from ..network.modules import TO_TRAIN, Modules, check_fits_recipe
from ..network.outputs import activate, choose_thresholds
from ..network.parts import HEADS
from ..network.torch.heads import LAST_LAYER
from ..network.torch.network import Network
from ..runtime.start import Start, start_of
from ..text.dataset import Dataset
from ..text.tasks import find_task
from .callbacks import Callback, check_callbacks
from .context import choose_device, run_context
from .label_objective import LabelObjective
from .loss import TASK_LOSSES, BatchLoss
from .run import Fitted, TrainingRun


def fit(
    dataset: Dataset,
    recipe: Recipe,
    folder: str | Path | None = None,
    *,
    device: str = "auto",
    resume: bool = False,
    show: bool = True,
    checkpoint_every: float = 600.0,
    callbacks: Iterable[Callback] | None = None,
    start: Start | None = None,
    targets: np.ndarray | None = None,
    encoder: nn.Module | None = None,
    pooling: nn.Module | None = None,
    loss: BatchLoss | None = None,
) -> Fitted:
    """Train on the data set's training split and choose the best epoch by its development split.

    With a `folder`, checkpoints and `history.jsonl` are written there: every `checkpoint_every` seconds,
    after every epoch and on Ctrl-C. One process at a time may use it. `resume` continues from the newest
    checkpoint and ends with the same bits; `epochs` and `patience` may change, and a schedule then ends with
    the new `epochs`. `callbacks` are called after every step and epoch. An interrupted run returns the best
    network so far. Threads that call this take turns. `start` holds the weights that `recipe.text.start`
    names; they are loaded if it is not given. With `targets` (rows, classes), probabilities of the classes
    are learnt in place of the labels. `encoder` and `pooling` are modules of your own, which the recipe must
    be made for (`network.modules.recipe_with`), and `loss` a function of your own: docs/network.md.
    """
    where, hooks = choose_device(device), check_callbacks(callbacks)
    modules = Modules(encoder, pooling)
    check_fits_recipe(modules, recipe, "the recipe", TO_TRAIN)
    if loss is not None and not callable(loss):
        wrong = f"loss is a {type(loss).__name__}; it must be a function of (output, labels)"
        raise LimelightError(wrong, code="loss-type")
    if folder is None and resume:
        raise LimelightError("resume needs the run's folder: give one", code="folder-needed")
    if dataset.splits["train"].labels is None:
        wrong = "the data set has no labels to learn from; encode it with a column of labels"
        raise LimelightError(wrong, code="no-labels")
    if dataset.vectors is not None and recipe.model.table_size:
        recipe = recipe.override(word_size=dataset.vectors.shape[1])
    recipe = recipe.override(task=dataset.task)
    if start is None:
        recipe, start = start_of(recipe)
    if start is not None:
        start.check_forbidden(dataset.facts)
    if dataset.pair:
        recipe = _settle_pair(recipe, start)
    folder, scaled, scale = Path(folder) if folder else None, dataset, None
    if TASK_LOSSES[dataset.task].standardises:
        scaled, scale = standardise(dataset)
        start = scale_start(start, scale) if start else None
    with run_context(where, folder, show, checkpoint_every) as context:
        objective = LabelObjective(scaled, recipe, start, targets, modules, loss)
        fitted = TrainingRun(objective, folder, context, hooks).fit(resume)
    if scale:
        unscale(fitted.network, scale)
    fitted.splits.update(dataset.splits)
    if TASK_LOSSES[dataset.task].chooses_thresholds and "dev" in dataset.splits:
        P = activate(dataset.task, fitted.logits("dev"))
        fitted.thresholds = choose_thresholds(P, np.asarray(dataset.splits["dev"].labels))
    return fitted


def _settle_pair(recipe: Recipe, start: Start | None) -> Recipe:
    """How texts are compared, where that is left open: docs/log/2026-11-16-pair-numbers.md."""
    if recipe.model.pair == "auto":
        from_reader = start is not None and not start.labels
        numbers = find_task(recipe.text.task).is_number
        recipe = recipe.override(pair="vectors" if from_reader and numbers else "concat")
    if HEADS[recipe.model.head].is_linear and recipe.model.pair != "vectors":
        recipe = recipe.override(head="pruned")  # how two texts relate is no sum over their words
    return recipe


# ---------------------------------------------------------------- numbers, whatever their unit


class Scale(NamedTuple):
    """number = mean + deviation * output, of mean 0 and variance 1; the last layer takes the unit in."""

    mean: float
    deviation: float


def standardise(dataset: Dataset) -> tuple[Dataset, Scale]:
    """The data set with scaled numbers, and their scale."""
    values = np.asarray(dataset.splits["train"].labels, dtype=np.float64)
    scale = Scale(float(values.mean()), float(values.std()) or 1.0)  # all others may be held out
    splits = {}
    for name, split in dataset.splits.items():
        scaled = (np.asarray(split.labels, dtype=np.float64) - scale.mean) / scale.deviation
        splits[name] = dataclasses.replace(split, labels=scaled.astype(np.float32))
    return dataclasses.replace(dataset, splits=splits), scale


@torch.no_grad()
def unscale(network: Network, scale: Scale) -> None:
    """Make the network's output a number in the user's unit."""
    W, b = network.head.last_layer()
    W.mul_(scale.deviation)
    b.mul_(scale.deviation).add_(scale.mean)


def scale_start(start: Start, scale: Scale) -> Start:
    """A trained model to go on with, whose output is scaled as the numbers are."""
    if not start.labels:
        return start
    weights = dict(start.weights)
    for name in LAST_LAYER:
        if name in weights:
            bias = scale.mean if name.startswith("head.b") else 0.0
            weights[name] = ((weights[name] - bias) / scale.deviation).astype(np.float32)
    return dataclasses.replace(start, weights=weights)
