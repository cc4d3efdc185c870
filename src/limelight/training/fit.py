"""A recipe plus an encoded data set gives a chosen model, whatever interrupts it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import LimelightError
from ..model.network import Network
from ..recipe import Recipe
from ..text.batches import training_plan
from ..text.encoded import Dataset
from .checkpoint import Checkpoints, State, weights_of
from .distributed import Group, group
from .evaluate import Scores, evaluate
from .progress import Progress, memory_line
from .step import Stepper


@dataclass(frozen=True)
class Fitted:
    """The model that was chosen, and how the run went."""

    network: Network
    recipe: Recipe  # as it was given, with the word vectors' own size
    state: State
    interrupted: bool

    @property
    def history(self) -> list[dict[str, Any]]:
        """One record per epoch."""
        return self.state.history


def fit(
    dataset: Dataset,
    recipe: Recipe,
    folder: str | Path | None = None,
    *,
    device: str = "auto",
    resume: bool = False,
    show: bool = True,
    checkpoint_every: float = 600.0,
    tensorboard: bool = False,
) -> Fitted:
    """Train on the data set's training split and choose by its development split.

    With a `folder`, checkpoints and `history.jsonl` are kept there: every `checkpoint_every` seconds, after
    every epoch and on Ctrl-C. `resume` goes on from the newest one, and ends with the same bits.
    """
    where = choose_device(device)
    if dataset.vectors is not None:
        recipe = recipe.override(word_size=dataset.vectors.shape[1])
    with group(where) as processes:
        run = Run(
            dataset,
            recipe,
            Path(folder) if folder else None,
            where,
            processes,
            Progress(show and processes.first),
        )
        run.tensorboard = _tensorboard(folder) if tensorboard and processes.first else None
        if resume:
            run.resume()
        interrupted = run.train(checkpoint_every)
        return Fitted(run.chosen(), recipe, run.state, interrupted)


class Run:
    """A run under way: fit -> epoch -> step."""

    def __init__(
        self,
        dataset: Dataset,
        recipe: Recipe,
        folder: Path | None,
        device: torch.device,
        processes: Group,
        progress: Progress,
    ) -> None:
        self.dataset, self.recipe, self.processes, self.progress = dataset, recipe, processes, progress
        self.train_split, self.dev_split = dataset.splits["train"], dataset.splits.get("dev")
        self.network = build(dataset, recipe).to(device)
        self.stepper = Stepper(
            self.network, self.train_split, recipe, processes, row_weights(dataset, recipe)
        )
        self.state = State()
        self.best: dict[str, Tensor] | None = None
        self.checkpoints = Checkpoints(folder, _identity(dataset, recipe)) if folder else None
        self.tensorboard: Any = None
        if self.checkpoints and processes.first:
            self.checkpoints.folder.mkdir(parents=True, exist_ok=True)

    def train(self, checkpoint_every: float) -> bool:
        """Run to the end, or until interrupted: then True."""
        self.next_checkpoint = time.monotonic() + checkpoint_every
        with _interruptions() as stop:
            while not self.state.finished:
                if self.epoch(stop, checkpoint_every):
                    self.progress.close()
                    self.checkpoint()
                    return True
        self.progress.note(memory_line(self.stepper.device.type))
        return False

    def epoch(self, stop: threading.Event, checkpoint_every: float) -> bool:
        """The rest of the current epoch and its evaluation; True if it was interrupted."""
        recipe, state = self.recipe.training, self.state
        plan = training_plan(self.stepper.lengths, recipe.batch, recipe.seed, state.epoch)
        done = sum(map(len, plan[: state.batch]))
        self.progress.begin_epoch(state.epoch, recipe.epochs, len(self.train_split), done)
        self.network.train()
        for rows in plan[state.batch :]:
            self.stepper.step(rows, state.number)
            state.batch += 1
            state.number += 1
            self.progress.step(len(rows), self.figures)
            if self._agreed(stop.is_set()):
                return True
            if time.monotonic() > self.next_checkpoint and self.processes.size == 1:
                self.checkpoint()
                self.next_checkpoint = time.monotonic() + checkpoint_every
        self.stepper.finish()
        self.end_epoch()
        return False

    def end_epoch(self) -> None:
        """Evaluate, keep the best weights, decide how to go on, and write it all down."""
        recipe, state = self.recipe.training, self.state
        record = {
            "epoch": state.epoch + 1,
            "steps": state.number,
            "rate": float(self.stepper.optimiser.rate),
            **self.figures(),
        }
        scores = self._evaluate()
        if scores:
            record |= {"dev_accuracy": scores.accuracy, "dev_loss": scores.loss}
        better = self._note_best(scores)
        state.history.append(record)
        self.progress.end_epoch(record, better)
        if self.tensorboard:
            for name, value in record.items():
                self.tensorboard.add_scalar(name, value, state.number)
        if not better and recipe.halve and self.best is not None:
            self.stepper.optimiser.rate.mul_(0.5)
            self.stepper.load(self.best)
        state.epoch, state.batch = state.epoch + 1, 0
        self.stepper.sums.zero_()
        state.finished = state.epoch >= recipe.epochs or (0 < recipe.patience <= state.waited)
        self.checkpoint()

    def figures(self) -> dict[str, float]:
        """Loss, penalty and accuracy over the epoch so far."""
        self.stepper.finish()
        sums = self.stepper.sums.clone()
        self.processes.sum(sums)
        loss, penalty, right, rows = sums.tolist()
        rows = max(rows, 1)
        return {"loss": loss / rows, "penalty": penalty / rows, "accuracy": right / rows}

    def _evaluate(self) -> Scores | None:
        if self.dev_split is None:
            return None
        scores = evaluate(self.network, self.dev_split) if self.processes.first else Scores(0, 0, 0)
        shared = torch.tensor(scores[:2], dtype=torch.float64, device=self.stepper.device)
        self.processes.broadcast([shared])
        accuracy, entropy = shared.tolist()
        return Scores(accuracy, entropy, len(self.dev_split))

    def _note_best(self, scores: Scores | None) -> bool:
        """Keep the weights if they are the best so far: by accuracy, then by loss; without a development
        split, the newest."""
        state = self.state
        if scores is not None:
            if (scores.accuracy, -scores.loss) <= (state.best_accuracy, -state.best_loss):
                state.waited += 1
                return False
            state.best_accuracy, state.best_loss = scores.accuracy, scores.loss
        state.waited, state.best_epoch = 0, state.epoch
        self.best = {name: w.detach().clone() for name, w in self.network.state_dict().items()}
        if self.checkpoints and self.processes.first:
            self._write(lambda: self.checkpoints.save_best(state.epoch, self.best))  # type: ignore[union-attr,arg-type]
        return True

    def checkpoint(self) -> None:
        """Write where the run stands. A disk that is full does not end it: the last good one stays."""
        self.stepper.finish()
        sums = self.stepper.sums.clone()
        self.processes.sum(sums)
        if not self.checkpoints or not self.processes.first:
            return
        tensors = {f"weights.{k}": v for k, v in self.network.state_dict().items()}
        tensors |= {f"optimiser.{k}": v for k, v in self.stepper.optimiser.tensors().items()}
        tensors["sums"] = sums
        self._write(lambda: self.checkpoints.save(self.state, tensors))  # type: ignore[union-attr]

    def _write(self, save: Any) -> None:
        try:
            save()
        except LimelightError as error:
            self.progress.note(f"warning: {error}; training goes on, the last good checkpoint is kept")

    def resume(self) -> None:
        """Go on from the newest readable checkpoint; without one, from the start."""
        found = self.checkpoints.newest() if self.checkpoints else None
        if found is None:
            self.progress.note("no checkpoint yet: starting from the beginning")
            return
        self.state, tensors, problems = found
        for line in problems:
            self.progress.note(f"warning: {line}; using the one before it")
        self.stepper.load(weights_of(tensors, "weights."))
        self.stepper.optimiser.restore(weights_of(tensors, "optimiser."))
        if self.processes.first:
            self.stepper.sums.copy_(tensors["sums"])
        if self.checkpoints and self.state.best_epoch >= 0:
            self.best = self.checkpoints.load_best(self.state.best_epoch)
        self.progress.note(f"resuming at epoch {self.state.epoch + 1}, step {self.state.number}")

    def chosen(self) -> Network:
        """The network with the best weights; before the first evaluation, with the present ones."""
        if self.best is not None:
            self.stepper.load(self.best)
        self.network.eval()
        return self.network

    def _agreed(self, stop: bool) -> bool:
        if self.processes.size == 1:
            return stop
        wish = torch.tensor(float(stop), device=self.stepper.device)
        self.processes.sum(wish)
        return bool(wish > 0)


def build(dataset: Dataset, recipe: Recipe) -> Network:
    """The network for a data set, with its starting weights and word vectors."""
    torch.manual_seed(recipe.training.seed)
    network = Network(recipe.model, len(dataset.tokenizer), len(dataset.labels), dataset.splits["train"].pair)
    if dataset.vectors is not None:
        with torch.no_grad():
            network.words.weight.copy_(torch.from_numpy(np.array(dataset.vectors)))
    network.words.weight.requires_grad_(recipe.training.tune_words)
    if recipe.model.embedding != "cnn":
        network.encoder.clip = recipe.training.clip_gates  # type: ignore[union-attr,assignment]
    return network


def row_weights(dataset: Dataset, recipe: Recipe) -> np.ndarray | None:
    """How much each training row counts, 1 on average; None if all count the same."""
    split = dataset.splits["train"]
    weights = None if split.weights is None else np.array(split.weights, dtype=np.float64)
    if recipe.training.class_weight == "balanced":
        labels = np.asarray(split.labels)
        balance = (len(split) / np.maximum(np.bincount(labels, minlength=len(dataset.labels)), 1))[labels]
        weights = balance if weights is None else weights * balance
    return None if weights is None else (weights / weights.mean()).astype(np.float32)


def choose_device(name: str) -> torch.device:
    """'auto' is the GPU where there is one.

    >>> choose_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name not in ("cpu", "cuda"):
        raise LimelightError(f"device is {name!r}; it must be auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise LimelightError("device is 'cuda', but PyTorch sees no GPU here; use 'cpu' or 'auto'")
    return torch.device(name)


def _identity(dataset: Dataset, recipe: Recipe) -> dict[str, Any]:
    """What a checkpoint must share with the run that resumes from it."""
    options = {k: v for section in recipe.to_dict().values() for k, v in section.items()}
    rows = {name: len(split) for name, split in dataset.splits.items()}
    return {**options, "tokenizer": dataset.tokenizer.hash, "rows": rows}


def _tensorboard(folder: str | Path | None) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise LimelightError("TensorBoard is not installed: pip install tensorboard") from None
    return SummaryWriter(str(Path(folder or ".") / "tensorboard"))


@contextmanager
def _interruptions() -> Iterator[threading.Event]:
    """An event that Ctrl-C (or a polite kill) sets; a second Ctrl-C ends the program at once."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle(number: int, frame: Any) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
