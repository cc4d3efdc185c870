"""Train the teachers one after another and collect their predictions for the final network to learn from."""

from __future__ import annotations

import dataclasses
import gc
from pathlib import Path

import torch

from ..config.recipe import Recipe
from ..errors import LimelightError
from ..text.dataset import Dataset
from .distillation import Distillation, Predictions, TrainingData
from .run import Fitted, RunContext, TrainingRun


def has_extra_data(recipe: Recipe) -> bool:
    """Whether the network learns from more than the texts and their labels."""
    training = recipe.training
    return training.noisy_copies > 0 or (training.teachers > 0 and training.teacher_weight > 0)


def train_teachers(
    dataset: Dataset, recipe: Recipe, folder: Path | None, context: RunContext, resume: bool
) -> tuple[TrainingData | None, Fitted | None]:
    """What the final network learns from, and the best teacher; if interrupted, the best teacher only."""
    progress, best = context.progress, None
    if copies := recipe.training.noisy_copies:
        progress.note(f"making {copies} noisy {'copy' if copies == 1 else 'copies'} of every text")
    distillation = Distillation(dataset, recipe, folder)
    if resume:
        load_predictions(distillation, context)
    for teacher in distillation.remaining:
        progress.start_network(f"teacher {teacher} of {recipe.training.teachers}: ")
        fitted = _train_teacher(distillation, teacher, context, resume)
        best = better_of(fitted, best)
        if fitted.interrupted:
            return None, best
    progress.start_network("")
    accuracy = distillation.accuracy()
    if accuracy is not None and len(distillation.done) > 1:
        progress.note(f"the teachers together: dev {accuracy:.2%}")
    return distillation.training_data(), best


def better_of(fitted: Fitted, before: Fitted | None) -> Fitted:
    """The better by the development split; without one, the later that has finished."""
    if before and _quality(before) > _quality(fitted):
        return dataclasses.replace(before, interrupted=fitted.interrupted)
    return fitted


def _quality(fitted: Fitted) -> tuple[bool, float, float, bool]:
    state = fitted.state
    return state.best_epoch >= 0, state.best_accuracy, -state.best_loss, not fitted.interrupted


def load_predictions(distillation: Distillation, context: RunContext) -> None:
    """Load what teachers of an interrupted run predicted; all processes must find the same."""
    for line in distillation.load(tidy=context.processes.first):
        context.progress.note(f"warning: {line}")
    done = len(distillation.done)
    if context.processes.first_value(done, context.device) != done:
        raise LimelightError(
            "the processes found predictions of different teachers; all of them must use the same folder"
        )
    if distillation.recipe.training.teachers:
        context.progress.note(f"{done} of {distillation.recipe.training.teachers} teachers are done")


def _train_teacher(distillation: Distillation, teacher: int, context: RunContext, resume: bool) -> Fitted:
    """Train a teacher and store its predictions."""
    recipe, folder = distillation.teacher_recipe(teacher), distillation.teacher_folder(teacher)
    run = TrainingRun(distillation.dataset, recipe, folder, context)
    fitted = run.fit(resume)
    del run
    _free_memory(context.device)
    if fitted.interrupted:
        return fitted
    what = "pairs" if distillation.dataset.pair else "texts"
    context.progress.note(f"{context.progress.title}predicting {distillation.rows:,} {what}")
    predictions = distillation.predict(fitted.network, context.processes, context.stop)
    if context.processes.any([context.stop.is_set()], context.device)[0]:
        return dataclasses.replace(fitted, interrupted=True)
    predictions = _combine(predictions, context)
    distillation.add(teacher, predictions)
    if context.processes.first:
        try:
            distillation.save(teacher, predictions)
        except LimelightError as error:
            context.progress.note(f"warning: {error}; training continues")
    context.processes.barrier()
    return fitted


def _combine(predictions: Predictions, context: RunContext) -> Predictions:
    """The predictions of all processes; each has zeros where another has predicted."""
    if context.processes.size == 1:
        return predictions
    shared = {name: torch.from_numpy(found).to(context.device) for name, found in predictions.items()}
    for found in shared.values():
        context.processes.sum(found)
    return {name: found.cpu().numpy() for name, found in shared.items()}


def _free_memory(device: torch.device) -> None:
    """Free a network's optimiser and captured steps before the next network needs as much."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
