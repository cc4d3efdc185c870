"""A network in training, by a recipe: epochs, evaluations, checkpoints that resume, and the best weights."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ..config.options import to_builtin
from ..config.recipe import Recipe
from ..errors import LimelightError, bad_value
from ..network.modules import TO_TRAIN, Modules, check_fits_recipe
from ..network.outputs import activate, choose_thresholds
from ..network.parts import HEADS
from ..network.torch.heads import LAST_LAYER, ScaledLinearHead, VectorHead
from ..network.torch.network import Network
from ..runtime.start import NO_EPOCHS, Start, start_of
from ..text.batches import training_plan
from ..text.dataset import Dataset, Split
from ..text.tasks import find_task
from .callbacks import Callback, check_callbacks
from .checkpoint import Checkpoints, State, select_prefix
from .context import RunContext, choose_device, run_context
from .evaluate import is_finished, logits, update_best
from .job import checkpoints
from .label_objective import LabelObjective
from .loss import TASK_LOSSES, BatchLoss
from .step import Objective, Stepper


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
    _check_given(dataset, folder, resume, loss)
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
    if find_task(dataset.task).has_several and "dev" in dataset.splits:
        P = activate(dataset.task, fitted.logits("dev"))
        fitted.thresholds = choose_thresholds(P, np.asarray(dataset.splits["dev"].labels))
    return fitted


def _check_given(dataset: Dataset, folder: str | Path | None, resume: bool, loss: BatchLoss | None) -> None:
    if loss is not None and not callable(loss):
        wrong = f"loss is a {type(loss).__name__}; it must be a function of (output, labels)"
        raise LimelightError(wrong, code="loss-type")
    if folder is None and resume:
        raise LimelightError("resume needs the run's folder: give one", code="folder-needed")
    if dataset.splits["train"].labels is None:
        wrong = "the data set has no labels to learn from; encode it with a column of labels"
        raise LimelightError(wrong, code="no-labels")


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


@dataclass
class Fitted:
    """The best network of a run, and how the run went."""

    network: Any
    recipe: Recipe  # as trained, with the size of the word vectors
    state: State
    interrupted: bool
    thresholds: np.ndarray | None = None  # (labels,), chosen on the development split
    splits: dict[str, Split] = field(default_factory=dict)
    _logits: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def history(self) -> list[dict[str, Any]]:
        """One record per epoch."""
        return self.state.history

    def logits(self, split: str) -> np.ndarray:
        """(rows, classes) in float64: the network's logits for a split, which is read once."""
        if split not in self._logits:
            self._logits[split] = logits(self.network, self.splits[split]).astype(np.float64)
        return self._logits[split]


class TrainingRun:
    """One network in training: fit -> epoch -> step."""

    def __init__(
        self, objective: Objective, folder: Path | None, context: RunContext, callbacks: Sequence[Callback]
    ) -> None:
        self.objective, self.recipe, self.context = objective, objective.recipe, context
        self.processes, self.progress = context.processes, context.progress
        self.splits = objective.dataset.splits
        self.network = objective.build_network().to(context.device)
        self.stepper = Stepper(self.network, objective, context.processes)
        self.state = State()
        self.best: dict[str, Tensor] | None = None
        self.checkpoints = Checkpoints(folder, objective.identity()) if folder else None
        self.callbacks = callbacks if context.processes.first else ()

    def fit(self, resume: bool) -> Fitted:
        """Start or resume, and train to the end or until interrupted."""
        self._open_folder(resume)
        if self.state.number == 0:
            self._fit_start()
        interrupted, parameters = False, dict(self.network.named_parameters())
        self.next_checkpoint = time.monotonic() + self.context.checkpoint_every
        try:
            for each in self.callbacks:
                each.on_train_begin(self)
            while not self.state.finished and not interrupted:
                _check_same(parameters, dict(self.network.named_parameters()))
                interrupted = self.epoch()
            if interrupted:
                self.progress.close()
                self.checkpoint()
                self.progress.note(f"interrupted in epoch {self.state.epoch + 1} at step {self.state.number}")
        finally:
            self.progress.close()
            for each in self.callbacks:
                each.on_train_end(self)
        return Fitted(self._best_network(interrupted), self.recipe, self.state, interrupted)

    def _fit_start(self) -> None:
        """What is fitted before the first step is the best so far, until an epoch is better."""
        if self.objective.fit_start(self.stepper, self.progress.note):
            scores, figures = self.objective.evaluate(self.network, self.processes)
            self.state.first = {"steps": 0, **figures}
            if scores is not None:
                self.state.best_accuracy, self.state.best_loss = scores.weighted or scores[:2]
            self.best = {name: w.detach().clone() for name, w in self.network.state_dict().items()}
            self.progress.first(figures)
        elif not self.recipe.training.epochs:
            raise bad_value(NO_EPOCHS)
        self.state.finished = not self.recipe.training.epochs

    def _open_folder(self, resume: bool) -> None:
        """A folder that cannot be used is an error now, not after the first epoch."""
        if not self.checkpoints:
            return
        folder = self.checkpoints.folder
        if not resume and (paths := checkpoints(folder)):
            wrong = f"{folder} already holds a run ({paths[0].name})"
            raise LimelightError(f"{wrong}; resume it, or choose another folder", code="run-unfinished")
        self.processes.barrier()  # no process writes files there before all have looked
        if resume:
            self.resume()
        if self.processes.first:
            self.checkpoints.prepare(self.state.history)

    def epoch(self) -> bool:
        """The rest of the current epoch and its evaluation; True if interrupted."""
        recipe, state = self.recipe.training, self.state
        plan = training_plan(self.stepper.lengths, recipe.batch_size, recipe.seed, state.epoch)
        done = sum(map(len, plan[: state.batch]))
        may_stop_early = "dev" in self.splits and recipe.patience > 0
        self.progress.begin_epoch(state.epoch, recipe.epochs, len(self.splits["train"]), done, may_stop_early)
        self.network.train()
        self.stepper.begin()
        for rows in plan[state.batch :]:
            self.stepper.step(rows, state.number)
            state.batch += 1
            state.number += 1
            self.progress.step(len(rows), self.figures)
            for each in self.callbacks:
                each.on_batch_end(self, len(rows))
            flags = [self.context.stop.is_set(), time.monotonic() > self.next_checkpoint]
            stopping, due = self.processes.any(flags, self.stepper.device)
            if stopping:
                return True
            if due:
                self.checkpoint()
                self.next_checkpoint = time.monotonic() + self.context.checkpoint_every
        self.end_epoch()
        return False

    def end_epoch(self) -> None:
        """Evaluate, keep the best weights, decide how to continue, and write it all down."""
        recipe, state = self.recipe.training, self.state
        figures = self.figures(exchange=True)  # waits for the last step, which sets the rate
        rate = float(self.stepper.optimiser.present_rate())
        record = {"epoch": state.epoch + 1, "steps": state.number, "rate": rate, **figures}
        with self.stepper.averaged():
            scores, dev_figures = self.objective.evaluate(self.network, self.processes)
            if not math.isfinite(record["loss"]) or (scores and not math.isfinite(scores.loss)):
                self._stop_diverged()
                return
            record |= dev_figures
            for each in self.callbacks:
                each.on_epoch_end(self, record)
            record = {name: to_builtin(value) for name, value in record.items()}
            better = update_best(state, scores, recipe)
            if better:
                self.best = {name: w.detach().clone() for name, w in self.network.state_dict().items()}
        state.history.append(record)
        counts = record["steps"] > recipe.min_steps  # before that, the newest is kept
        self.progress.end_epoch(record, better and counts)
        if not better and recipe.halve_on_plateau and self.best is not None:
            self.stepper.optimiser.rate.mul_(0.5)
            self.stepper.load(self.best)
        state.epoch, state.batch = state.epoch + 1, 0
        self.stepper.sums.zero_()
        state.finished = is_finished(state, recipe)
        self.checkpoint()

    def figures(self, exchange: bool = False) -> dict[str, float]:
        """Means of loss, accuracy and so on over the epoch so far, of this process or of all."""
        *figures, rows = self._sums(exchange).tolist()
        return {name: x / max(rows, 1) for name, x in zip(self.stepper.figures, figures, strict=True)}

    def _sums(self, exchange: bool) -> Tensor:
        """The sums of the figures, and the rows; to `exchange` them, all processes must call this."""
        self.stepper.finish()
        sums = self.stepper.sums.clone()
        if exchange:
            self.processes.sum(sums)
        return sums

    def _stop_diverged(self) -> None:
        """The weights are beyond repair: keep the best from before, and write nothing of this epoch."""
        todo = f"lower learning_rate ({float(self.stepper.optimiser.rate):g}) or set clip_norm"
        line = f"the loss became NaN or infinite in epoch {self.state.epoch + 1}: {todo}"
        if self.best is None:
            raise LimelightError(line, code="diverged")
        self.progress.close()
        best = self.state.best_epoch
        kept = f"the model of epoch {best + 1}" if best >= 0 else "the first classifier"
        self.progress.note(f"warning: {line}; keeping {kept}")
        self.state.finished = True

    def checkpoint(self) -> None:
        """Save the state of the run. A full disk does not end it: the last good checkpoint stays."""
        sums = self._sums(exchange=True)
        if self.checkpoints and self.processes.first:
            try:
                self.checkpoints.save(self.state, self._tensors(sums), self.best)
            except LimelightError as error:
                last = checkpoints(self.checkpoints.folder)
                kept = "the last good checkpoint is kept" if last else "with no checkpoint to resume from yet"
                self.progress.note(f"warning: {error}; training continues, {kept}")
        self.processes.barrier()  # no process continues, or resumes, before it is there

    def _tensors(self, sums: Tensor) -> dict[str, Tensor]:
        weights = {f"weights.{k}": v for k, v in self.network.state_dict().items()}
        return {**weights, **self.stepper.tensors(), "sums": sums}

    def resume(self) -> None:
        """Resume from the newest readable checkpoint; without one, from the start."""
        expected = self._tensors(self.stepper.sums), self.network.state_dict()
        found = self.checkpoints.newest(*expected) if self.checkpoints else None
        number = found.state.number if found else 0
        first = torch.tensor(number, device=self.stepper.device)
        self.processes.broadcast([first])
        if number != first:
            mine = f"process {self.processes.rank} found a checkpoint of step {number}"
            wrong = f"{mine}, the first process one of step {int(first)}"
            raise LimelightError(f"{wrong}; all of them must use the same folder", code="processes-disagree")
        if found is None:
            self.progress.note("no checkpoint yet: starting from the beginning")
            return
        for line in found.problems:
            self.progress.note(f"warning: {line}; resuming from the one before it")
        self.state, self.best = found.state, found.best
        self.state.finished = is_finished(self.state, self.recipe.training)  # epochs and patience may be new
        self.stepper.load(select_prefix(found.tensors, "weights."))
        self.stepper.restore(found.tensors)
        if self.processes.first:
            self.stepper.sums.copy_(found.tensors["sums"])
        recipe, state = self.recipe.training, self.state
        line = f"resuming in epoch {state.epoch + 1} at step {state.number}"
        if state.finished:
            line = f"resuming after epoch {state.epoch}, the last, at step {state.number}"
        elif recipe.schedule != "constant":
            rate = float(self.stepper.optimiser.present_rate())  # with more epochs, it may rise here
            line += f"; the rate, {rate:.2g} here, falls to zero by the end of epoch {recipe.epochs}"
        self.progress.note(line)

    def _best_network(self, interrupted: bool) -> Any:
        """The network with its best weights; before the first evaluation, with the present ones."""
        if self.best is None:
            with self.stepper.averaged():
                present = {name: w.clone() for name, w in self.network.state_dict().items()}
        self.stepper.load(present if self.best is None else self.best)
        self.network.zero_grad(set_to_none=True)
        self.network.eval()
        if self.state.best_epoch >= 0 and not interrupted:  # who interrupts does not wait for it
            self.objective.fit_end(self.network, self.progress.note)
        if isinstance(head := getattr(self.network, "head", None), VectorHead | ScaledLinearHead):
            self.network.head = head.to_linear()
        return self.network


def _check_same(before: Mapping[str, nn.Parameter], now: Mapping[str, nn.Parameter]) -> None:
    """Raise if a callback has replaced a part of the network: the optimiser would not know its weights."""
    new = [name for name, w in now.items() if before.get(name) is not w and not name.startswith("words.")]
    if new:
        todo = "change weights in place, or give a module of your own as encoder= or pooling="
        wrong = f"a callback replaced {new[0]}, which would not be trained; {todo}"
        raise LimelightError(wrong, code="network-replaced")
