"""A run under way: epochs, evaluations, checkpoints, and the choice of the best weights."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..config.recipe import Recipe
from ..errors import LimelightError
from ..model.network import Network
from ..text.batches import training_plan
from ..text.dataset import Dataset
from . import run_folder as runfiles
from .checkpoint import Checkpoints, State, weights_of
from .distributed import Group
from .evaluate import Scores, evaluate
from .progress import Progress, memory_line
from .setup import build, identity, row_weights
from .step import Stepper

AfterEpoch = Callable[[Network], dict[str, float]]


@dataclass(frozen=True)
class Fitted:
    """The model that was chosen, and how the run went."""

    network: Network
    recipe: Recipe  # what it was trained by, with the word vectors' own size; of a teacher, its own
    state: State
    interrupted: bool

    @property
    def history(self) -> list[dict[str, Any]]:
        """One record per epoch."""
        return self.state.history


@dataclass(frozen=True)
class Setting:
    """Where a run takes place, and who watches it."""

    device: torch.device
    processes: Group
    progress: Progress
    checkpoint_every: float  # seconds
    stop: threading.Event  # somebody has asked to end


class Run:
    """One network in training: fit -> epoch -> step.

    With `targets`, the training rows are to be answered by these probabilities, not by their labels.
    """

    def __init__(
        self,
        dataset: Dataset,
        recipe: Recipe,
        folder: Path | None,
        setting: Setting,
        targets: np.ndarray | None = None,
        after_epoch: AfterEpoch | None = None,
    ) -> None:
        self.dataset, self.recipe, self.setting = dataset, recipe, setting
        self.processes, self.progress = setting.processes, setting.progress
        self.train_split, self.dev_split = dataset.splits["train"], dataset.splits.get("dev")
        self.dev_weights = row_weights(dataset, recipe, "dev")
        self.network = build(dataset, recipe).to(setting.device)
        self.stepper = Stepper(
            self.network, self.train_split, recipe, self.processes, row_weights(dataset, recipe), targets
        )
        self.state = State()
        self.best: dict[str, Tensor] | None = None
        self.checkpoints = Checkpoints(folder, identity(dataset, recipe)) if folder else None
        self.tensorboard: Any = None
        self.after_epoch = after_epoch

    def fit(self, resume: bool, tensorboard: bool = False) -> Fitted:
        """Start or go on, to the end or until interrupted."""
        self.begin(resume, tensorboard)
        try:
            interrupted = self.train()
        finally:
            self.close()
        return Fitted(self.chosen(), self.recipe, self.state, interrupted)

    def begin(self, resume: bool, tensorboard: bool) -> None:
        """A folder that cannot be used is an error now, not after the first epoch."""
        if self.checkpoints:
            if resume:
                self.resume()
            if self.processes.first:
                self.checkpoints.prepare(self.state.history)
                if tensorboard:
                    self.tensorboard = _tensorboard(self.checkpoints.folder, self.state.number)

    def close(self) -> None:
        """Leave the terminal and TensorBoard's files tidy, however the run ended."""
        self.progress.close()
        if self.tensorboard:
            self.tensorboard.close()

    def train(self) -> bool:
        """Run to the end, or until interrupted: then True."""
        interrupted = False
        self.next_checkpoint = time.monotonic() + self.setting.checkpoint_every
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
        """The rest of the current epoch and its evaluation; True if it was interrupted."""
        recipe, state = self.recipe.training, self.state
        plan = training_plan(self.stepper.lengths, recipe.batch_size, recipe.seed, state.epoch)
        done = sum(map(len, plan[: state.batch]))
        self.progress.begin_epoch(state.epoch, recipe.epochs, len(self.train_split), done)
        self.network.train()
        self.stepper.begin()
        for rows in plan[state.batch :]:
            self.stepper.step(rows, state.number)
            state.batch += 1
            state.number += 1
            # only the first process shows its progress, so nothing may be exchanged for it
            self.progress.step(len(rows), lambda: _figures(self._sums()))
            wishes = [self.setting.stop.is_set(), time.monotonic() > self.next_checkpoint]
            stopping, due = self.processes.any(wishes, self.stepper.device)
            if stopping:
                return True
            if due:
                self.checkpoint()
                self.next_checkpoint = time.monotonic() + self.setting.checkpoint_every
        self.end_epoch()
        return False

    def end_epoch(self) -> None:
        """Evaluate, keep the best weights, decide how to go on, and write it all down."""
        recipe, state = self.recipe.training, self.state
        figures = _figures(self._sums_of_all())  # waits for the last step, which the rate depends on
        rate = float(self.stepper.optimiser.present_rate())
        record = {"epoch": state.epoch + 1, "steps": state.number, "rate": rate, **figures}
        with self.stepper.averaged():
            scores = self._evaluate()
        if not math.isfinite(record["loss"]) or (scores and not math.isfinite(scores.loss)):
            self._give_up()
            return
        if scores:
            record |= {"dev_accuracy": scores.accuracy, "dev_loss": scores.loss}
            if scores.weighted:
                accuracy, loss = scores.weighted
                record |= {"dev_weighted_accuracy": accuracy, "dev_weighted_loss": loss}
        with self.stepper.averaged():
            if self.after_epoch and self.processes.first:
                record |= self.after_epoch(self.network)
            better = self._note_best(scores)
        state.history.append(record)
        self.progress.end_epoch(record, better)
        if self.tensorboard:
            for name, value in record.items():
                self.tensorboard.add_scalar(name, value, state.number)
        if not better and recipe.halve_on_plateau and self.best is not None:
            self.stepper.optimiser.rate.mul_(0.5)
            self.stepper.load(self.best)
        state.epoch, state.batch = state.epoch + 1, 0
        self.stepper.sums.zero_()
        state.finished = self._is_finished()
        self.checkpoint()

    def _is_finished(self) -> bool:
        recipe, state = self.recipe.training, self.state
        return state.epoch >= recipe.epochs or 0 < recipe.patience <= state.waited

    def _sums(self) -> Tensor:
        """Loss, penalty, right answers and rows of this process over the epoch so far."""
        self.stepper.finish()
        return self.stepper.sums.clone()

    def _sums_of_all(self) -> Tensor:
        """The same of all processes together; all must ask at once."""
        sums = self._sums()
        self.processes.sum(sums)
        return sums

    def _evaluate(self) -> Scores | None:
        if self.dev_split is None:
            return None
        shared = torch.zeros(4, dtype=torch.float64, device=self.stepper.device)
        if self.processes.first:
            scores = evaluate(self.network, self.dev_split, self.dev_weights)
            shared = shared.new_tensor([*scores[:2], *(scores.weighted or (0, 0))])
        self.processes.broadcast([shared])
        accuracy, entropy, *weighted = shared.tolist()
        rows = len(self.dev_split)
        return Scores(accuracy, entropy, rows, None if self.dev_weights is None else tuple(weighted))

    def _note_best(self, scores: Scores | None) -> bool:
        """Keep the weights if they are the best so far: by accuracy, then by loss. Without a development
        split, and as long as it has no say, the newest."""
        state = self.state
        if scores is not None:
            accuracy, loss = scores.weighted or scores[:2]
            no_better = (accuracy, -loss) <= (state.best_accuracy, -state.best_loss)
            if no_better and self._is_judged(state.best_epoch):
                state.waited += 1
                return False
            state.best_accuracy, state.best_loss = accuracy, loss
        state.waited, state.best_epoch = 0, state.epoch
        self.best = {name: w.detach().clone() for name, w in self.network.state_dict().items()}
        return True

    def _is_judged(self, epoch: int) -> bool:
        """Whether the development split had its say on that epoch, in the way that it has now."""
        if epoch < 0:
            return False
        record = self.state.history[epoch]
        by_weights = self.dev_weights is None or "dev_weighted_accuracy" in record
        return bool(by_weights and record["steps"] > self.recipe.training.min_steps)

    def checkpoint(self) -> None:
        """Write where the run stands. A disk that is full does not end it: the last good one stays."""
        sums = self._sums_of_all()
        if self.checkpoints and self.processes.first:
            self._save(self.checkpoints, sums)
        self.processes.barrier()  # nobody goes on, or resumes, before it is there

    def _save(self, checkpoints: Checkpoints, sums: Tensor) -> None:
        tensors = {f"weights.{k}": v for k, v in self.network.state_dict().items()}
        tensors |= self.stepper.tensors()
        tensors["sums"] = sums
        try:
            checkpoints.save(self.state, tensors, self.best)
        except LimelightError as error:
            there = runfiles.checkpoints(checkpoints.folder)
            kept = "the last good checkpoint is kept" if there else "with no checkpoint to resume from so far"
            self.progress.note(f"warning: {error}; training goes on, {kept}")

    def resume(self) -> None:
        """Go on from the newest readable checkpoint; without one, from the start."""
        found = self.checkpoints.newest() if self.checkpoints else None
        self._check_same(found.state.number if found else 0)
        if found is None:
            if not self.progress.title and not self.recipe.training.teachers:
                self.progress.note("no checkpoint yet: starting from the beginning")
            return
        for line in found.problems:
            self.progress.note(f"warning: {line}; going on from the one before it")
        self.state, self.best = found.state, found.best
        self.state.finished = self._is_finished()  # by this run's epochs and patience
        self.stepper.load(weights_of(found.tensors, "weights."))
        self.stepper.restore(found.tensors)
        if self.processes.first:
            self.stepper.sums.copy_(found.tensors["sums"])
        where = f"resuming in epoch {self.state.epoch + 1}"
        if self.state.finished:
            where = f"resuming after epoch {self.state.epoch}, the last,"
        where = f"{where} at step {self.state.number}{self._schedule_from_here()}"
        self.progress.note(f"{self.progress.title}{where}")

    def _schedule_from_here(self) -> str:
        """With other epochs than before, the rate may rise again here: whoever resumes should know."""
        recipe = self.recipe.training
        if recipe.schedule == "constant" or self.state.finished:
            return ""
        rate = float(self.stepper.optimiser.present_rate())
        return f"; the rate, {rate:.2g} here, falls to nothing by the end of epoch {recipe.epochs}"

    def _check_same(self, number: int) -> None:
        """All processes must go on from the same step."""
        first = self.processes.first_has(number, self.stepper.device)
        if number != first:
            raise LimelightError(
                f"process {self.processes.rank} found a checkpoint of step {number}, the first process one "
                f"of step {first}: the folder must be the same for all of them"
            )

    def chosen(self) -> Network:
        """The network with the best weights; before the first evaluation, with the present ones."""
        if self.best is None:
            with self.stepper.averaged():
                present = {name: w.clone() for name, w in self.network.state_dict().items()}
        self.stepper.load(present if self.best is None else self.best)
        self.network.zero_grad(set_to_none=True)
        self.network.eval()
        return self.network

    def _give_up(self) -> None:
        """The weights are beyond repair: what was best before is kept, and nothing of this is written."""
        epoch, rate = self.state.epoch + 1, float(self.stepper.optimiser.rate)
        line = f"the loss is no longer a number in epoch {epoch}: lower the rate ({rate:g}) or set clip_norm"
        if self.best is None:
            raise LimelightError(line)
        self.progress.close()
        self.progress.note(f"warning: {line}; the model of epoch {self.state.best_epoch + 1} is kept")
        self.state.finished = True


def _figures(sums: Tensor) -> dict[str, float]:
    """Means over the rows that were counted."""
    loss, penalty, right, rows = sums.tolist()
    rows = max(rows, 1)
    return {"loss": loss / rows, "penalty": penalty / rows, "accuracy": right / rows}


def need_tensorboard() -> Any:
    """TensorBoard's writer; one line where it is missing."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise LimelightError("TensorBoard is not installed: pip install tensorboard") from None
    return SummaryWriter


def _tensorboard(folder: Path, number: int) -> Any:
    # what a killed run wrote after its last checkpoint is written again
    return need_tensorboard()(str(folder / "tensorboard"), purge_step=number + 1)
