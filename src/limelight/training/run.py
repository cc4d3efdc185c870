"""One network in training: epochs, evaluations, checkpoints, and the best weights."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..config.options import to_builtin
from ..config.recipe import Recipe
from ..errors import LimelightError
from ..network.torch.heads import ScaledLinearHead, VectorHead
from ..network.torch.network import Network
from ..runtime.start import Start
from ..text.batches import training_plan
from ..text.dataset import Dataset
from . import run_folder
from .callbacks import Callback
from .checkpoint import Checkpoints, State, select_prefix
from .distributed import Processes
from .evaluate import Scores, evaluate, is_finished, update_best
from .first_head import FOLDS, fit_first_head
from .new_classes import fit_new_classes
from .progress import Progress, format_measure, memory_line
from .setup import build_network, row_weights, run_identity
from .step import Stepper


@dataclass(frozen=True)
class Fitted:
    """The best network of a run, and how the run went."""

    network: Network
    recipe: Recipe  # as trained, with the size of the word vectors; a teacher has its own
    state: State
    interrupted: bool
    thresholds: np.ndarray | None = None  # (labels,), chosen on the development split

    @property
    def history(self) -> list[dict[str, Any]]:
        """One record per epoch."""
        return self.state.history


@dataclass(frozen=True)
class RunContext:
    """Where a run takes place, and who is watching."""

    device: torch.device
    processes: Processes
    progress: Progress
    checkpoint_every: float  # seconds
    stop: threading.Event  # set when the user asks to stop
    start: Start | None = None  # pretrained weights


class TrainingRun:
    """One network in training: fit -> epoch -> step.

    With `targets`, the network learns these probabilities for the training rows in place of the labels.
    """

    def __init__(
        self,
        dataset: Dataset,
        recipe: Recipe,
        folder: Path | None,
        context: RunContext,
        targets: np.ndarray | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        self.dataset, self.recipe, self.context = dataset, recipe, context
        self.processes, self.progress = context.processes, context.progress
        self.train_split, self.dev_split = dataset.splits["train"], dataset.splits.get("dev")
        self.dev_weights = row_weights(dataset, recipe, "dev")
        self.network: Any = self._build_network().to(context.device)
        self.stepper = self._build_stepper(targets)
        self.state = State()
        self.best: dict[str, Tensor] | None = None
        self.checkpoints = Checkpoints(folder, self._identity()) if folder else None
        self.callbacks = callbacks if context.processes.first else ()

    def _build_network(self) -> Network:
        return build_network(self.dataset, self.recipe, self.context.start)

    def _build_stepper(self, targets: np.ndarray | None) -> Stepper:
        weights = row_weights(self.dataset, self.recipe)
        return Stepper(self.network, self.train_split, self.recipe, self.processes, weights, targets)

    def _identity(self) -> dict[str, Any]:
        return run_identity(self.dataset, self.recipe, self.context.start)

    def fit(self, resume: bool) -> Fitted:
        """Start or resume, and train to the end or until interrupted."""
        self._open_folder(resume)
        if self.state.number == 0:
            self._prepare_start()
        try:
            for each in self.callbacks:
                each.on_train_begin(self)
            interrupted = self.train()
        finally:
            self.progress.close()
            for each in self.callbacks:
                each.on_train_end(self)
        return Fitted(self._best_network(), self.recipe, self.state, interrupted)

    def _open_folder(self, resume: bool) -> None:
        """A folder that cannot be used is an error now, not after the first epoch."""
        if self.checkpoints:
            if resume:
                self.resume()
            if self.processes.first:
                self.checkpoints.prepare(self.state.history)

    def _prepare_start(self) -> None:
        """From a reader, start with a linear model of its vectors; from a model, for its new classes."""
        weights, seed = row_weights(self.dataset, self.recipe), self.recipe.training.seed
        if new := self._new_classes():
            fit_new_classes(self.network, self.train_split, new, weights, seed)
            self.processes.broadcast(self.network.head.parameters())
            self.stepper.load({name: w.clone() for name, w in self.network.state_dict().items()})
        if not self._starts_from_vectors():
            return
        found = fit_first_head(self.network, self.train_split, weights, seed, self.dataset.task)
        self.processes.broadcast(self.network.head.parameters())
        self.stepper.load({name: w.clone() for name, w in self.network.state_dict().items()})
        if found.score is not None:
            objective = self.stepper.objective
            shown = format_measure(objective.measure, found.score)
            how = f"{objective.first_fit} of the frozen reader, {FOLDS}-fold cross-validation"
            self.progress.note(f"{self.progress.title}{shown}: {how}")

    def _starts_from_vectors(self) -> bool:
        """Whether the classifier reads a reader's vectors, as the reader made them."""
        if isinstance(getattr(self.network, "head", None), VectorHead):
            return True
        start, recipe = self.context.start, self.recipe.model
        linear_of_vectors = self.dataset.pair and (recipe.pair, recipe.head) == ("vectors", "linear")
        return start is not None and not start.labels and linear_of_vectors

    def _new_classes(self) -> list[int]:
        """The classes that the model to start from does not have, if it has others of these.

        Where a text may have several labels, each is a classifier of its own: new ones start at random.
        """
        if self.dataset.task == "multi-label":
            return []
        labels, known = self.dataset.labels, set(self.context.start.labels if self.context.start else ())
        new = [k for k, label in enumerate(labels) if label not in known]
        return new if len(new) < len(labels) else []

    def train(self) -> bool:
        """Train to the end, or until interrupted: then True."""
        interrupted = False
        self.next_checkpoint = time.monotonic() + self.context.checkpoint_every
        while not self.state.finished and not interrupted:
            interrupted = self.epoch()
        if interrupted:
            self.progress.close()
            self.checkpoint()
            where = f"in epoch {self.state.epoch + 1} at step {self.state.number}"
            self.progress.note(f"{self.progress.title}interrupted {where}")
        if not self.progress.title:  # of several networks, after the last
            self.progress.note(memory_line(self.stepper.device.type) or "done")
        return interrupted

    def epoch(self) -> bool:
        """The rest of the current epoch and its evaluation; True if interrupted."""
        recipe, state = self.recipe.training, self.state
        plan = training_plan(self.stepper.lengths, recipe.batch_size, recipe.seed, state.epoch)
        done = sum(map(len, plan[: state.batch]))
        may_stop_early = self.dev_split is not None and recipe.patience > 0
        self.progress.begin_epoch(state.epoch, recipe.epochs, len(self.train_split), done, may_stop_early)
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
        figures = self._means(self._total_sums())  # waits for the last step, which sets the rate
        rate = float(self.stepper.optimiser.present_rate())
        record = {"epoch": state.epoch + 1, "steps": state.number, "rate": rate, **figures}
        with self.stepper.averaged():
            scores = self._evaluate()
            if not math.isfinite(record["loss"]) or (scores and not math.isfinite(scores.loss)):
                self._stop_diverged()
                return
            record |= _dev_figures(scores, self.stepper.objective.measure) if scores else {}
            for each in self.callbacks:
                each.on_epoch_end(self, record)
            record = {name: to_builtin(value) for name, value in record.items()}
            better = update_best(state, scores, recipe)
            if better:
                self.best = {name: w.detach().clone() for name, w in self.network.state_dict().items()}
        self._report(record, better)
        if not better and recipe.halve_on_plateau and self.best is not None:
            self.stepper.optimiser.rate.mul_(0.5)
            self.stepper.load(self.best)
        state.epoch, state.batch = state.epoch + 1, 0
        self.stepper.sums.zero_()
        state.finished = is_finished(state, recipe)
        self.checkpoint()

    def _report(self, record: dict[str, Any], better: bool) -> None:
        self.state.history.append(record)
        counts = record["steps"] > self.recipe.training.min_steps  # before that, the newest is kept
        self.progress.end_epoch(record, better and counts)

    def figures(self) -> dict[str, float]:
        """Loss, accuracy and so on over the epoch so far, of this process alone: no exchange is needed."""
        return self._means(self._sums())

    def _sums(self) -> Tensor:
        """The sums of the figures, and the rows, of this process over the epoch so far."""
        self.stepper.finish()
        return self.stepper.sums.clone()

    def _total_sums(self) -> Tensor:
        """The same over all processes, which must all call this."""
        sums = self._sums()
        self.processes.sum(sums)
        return sums

    def _means(self, sums: Tensor) -> dict[str, float]:
        """The figures' means over the rows counted."""
        *figures, rows = sums.tolist()
        return {name: x / max(rows, 1) for name, x in zip(self.stepper.figures, figures, strict=True)}

    def _evaluate(self) -> Scores | None:
        if self.dev_split is None:
            return None
        return evaluate(
            self.network, self.dev_split, self.dev_weights, self.processes, self.stepper.objective
        )

    def _stop_diverged(self) -> None:
        """The weights are beyond repair: keep the best from before, and write nothing of this epoch."""
        epoch, rate = self.state.epoch + 1, float(self.stepper.optimiser.rate)
        todo = f"lower learning_rate ({rate:g}) or set clip_norm"
        line = f"the loss became NaN or infinite in epoch {epoch}: {todo}"
        if self.best is None:
            raise LimelightError(line)
        self.progress.close()
        self.progress.note(f"warning: {line}; keeping the model of epoch {self.state.best_epoch + 1}")
        self.state.finished = True

    def checkpoint(self) -> None:
        """Save the state of the run. A full disk does not end it: the last good checkpoint stays."""
        sums = self._total_sums()
        if self.checkpoints and self.processes.first:
            self._save(self.checkpoints, sums)
        self.processes.barrier()  # no process continues, or resumes, before it is there

    def _tensors(self, sums: Tensor) -> dict[str, Tensor]:
        """All of the run that a checkpoint holds."""
        weights = {f"weights.{k}": v for k, v in self.network.state_dict().items()}
        return {**weights, **self.stepper.tensors(), "sums": sums}

    def _save(self, checkpoints: Checkpoints, sums: Tensor) -> None:
        try:
            checkpoints.save(self.state, self._tensors(sums), self.best)
        except LimelightError as error:
            exists = run_folder.checkpoints(checkpoints.folder)
            kept = "the last good checkpoint is kept" if exists else "with no checkpoint to resume from yet"
            self.progress.note(f"warning: {error}; training continues, {kept}")

    def resume(self) -> None:
        """Resume from the newest readable checkpoint; without one, from the start."""
        expected = self._tensors(self.stepper.sums), self.network.state_dict()
        found = self.checkpoints.newest(*expected) if self.checkpoints else None
        self._check_same_step(found.state.number if found else 0)
        if found is None:
            if not self.progress.title and not self.recipe.training.teachers:
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
        self.progress.note(f"{self.progress.title}{self._describe_position()}")

    def _describe_position(self) -> str:
        recipe, state = self.recipe.training, self.state
        if state.finished:
            return f"resuming after epoch {state.epoch}, the last, at step {state.number}"
        line = f"resuming in epoch {state.epoch + 1} at step {state.number}"
        if recipe.schedule == "constant":
            return line
        rate = float(self.stepper.optimiser.present_rate())  # with more epochs than before, it may rise here
        return f"{line}; the rate, {rate:.2g} here, falls to zero by the end of epoch {recipe.epochs}"

    def _check_same_step(self, number: int) -> None:
        """All processes must resume from the same step."""
        first = self.processes.first_value(number, self.stepper.device)
        if number != first:
            raise LimelightError(
                f"process {self.processes.rank} found a checkpoint of step {number}, the first process one "
                f"of step {first}; all of them must use the same folder"
            )

    def _best_network(self) -> Any:
        """The network with its best weights; before the first evaluation, with the present ones."""
        if self.best is None:
            with self.stepper.averaged():
                present = {name: w.clone() for name, w in self.network.state_dict().items()}
        self.stepper.load(present if self.best is None else self.best)
        self.network.zero_grad(set_to_none=True)
        self.network.eval()
        if isinstance(head := getattr(self.network, "head", None), VectorHead | ScaledLinearHead):
            self.network.head = head.to_linear()
        return self.network


def _dev_figures(scores: Scores, measure: str) -> dict[str, float]:
    figures = {f"dev_{measure}": scores.score, "dev_loss": scores.loss}
    if scores.weighted:
        score, loss = scores.weighted
        figures |= {f"dev_weighted_{measure}": score, "dev_weighted_loss": loss}
    return figures
