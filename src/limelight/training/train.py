"""Train a network on an encoded data set by a recipe; the run can be interrupted and resumed at any step."""

from __future__ import annotations

import dataclasses
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..config.recipe import Recipe
from ..errors import LimelightError
from ..network.outputs import activate, choose_thresholds
from ..runtime.start import Start, start_of
from ..storage.locks import locked
from ..text.dataset import Dataset
from . import run_folder
from .callbacks import Callback, check_callbacks
from .checkpoint import Checkpoints
from .distributed import Processes, join_processes
from .evaluate import logits
from .progress import Progress
from .run import Fitted, RunContext, TrainingRun
from .scaling import Scale, scale_start, standardise, unscale
from .setup import choose_device
from .teachers import better_of, has_extra_data, train_teachers

_TURN = threading.RLock()  # PyTorch has one random number generator for all threads


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
) -> Fitted:
    """Train on the data set's training split and choose the best epoch by its development split.

    With a `folder`, checkpoints and `history.jsonl` are written there: every `checkpoint_every` seconds,
    after every epoch and on Ctrl-C. One process at a time may use it. `resume` continues from the newest
    checkpoint and ends with the same bits; `epochs` and `patience` may change, and a schedule then ends with
    the new `epochs`. `callbacks` are called after every step and epoch. An interrupted run returns the best
    network so far, which may be one of its teachers. Threads that call this take turns.
    `start` holds the weights that `recipe.text.start` names; they are loaded if it is not given.
    """
    where, hooks = choose_device(device), check_callbacks(callbacks)
    if folder is None and resume:
        raise LimelightError("resume needs the run's folder: give one")
    if dataset.splits["train"].labels is None:
        raise LimelightError("the data set has no labels to learn from; encode it with a column of labels")
    if dataset.vectors is not None:
        recipe = recipe.override(word_size=dataset.vectors.shape[1])
    recipe = recipe.override(task=dataset.task)
    if dataset.task != "classification" and recipe.training.teachers:
        raise LimelightError(
            f"teachers is {recipe.training.teachers}, but the task is {dataset.task!r}; teachers predict "
            "classes: set it to 0"
        )
    if start is None:
        recipe, start = start_of(recipe)
    if dataset.pair:
        recipe = _settle_pair(recipe, dataset.task, start)
    folder = Path(folder) if folder else None
    dataset, scale = standardise(dataset)
    if start is not None and scale is not None:
        start = scale_start(start, scale)
    with run_context(where, folder, show, checkpoint_every, start) as context:
        _check_folder(folder, recipe, resume)
        context.processes.barrier()  # no process writes files there before all have looked
        if not has_extra_data(recipe):
            fitted = TrainingRun(dataset, recipe, folder, context, callbacks=hooks).fit(resume)
            return _complete(fitted, dataset, scale)
        data, teacher = train_teachers(dataset, recipe, folder, context, resume)
        if data is None:
            assert teacher is not None
            return teacher
        fitted = TrainingRun(data.dataset, recipe, folder, context, data.targets, hooks).fit(resume)
        return _complete(better_of(fitted, teacher) if fitted.interrupted else fitted, dataset, scale)


def _settle_pair(recipe: Recipe, task: str, start: Start | None) -> Recipe:
    """How texts are compared, where that is left open: docs/log/2026-11-16-pair-numbers.md."""
    if recipe.model.pair == "auto":
        from_reader = start is not None and not start.labels
        recipe = recipe.override(pair="vectors" if from_reader and task == "regression" else "concat")
    if recipe.model.head == "linear" and recipe.model.pair != "vectors":
        recipe = recipe.override(head="pruned")  # how two texts relate is no sum over their words
    return recipe


def _complete(fitted: Fitted, dataset: Dataset, scale: Scale | None) -> Fitted:
    """Make outputs numbers in the user's unit; choose the thresholds of several labels a text."""
    if scale is not None:
        unscale(fitted.network, scale)
    if dataset.task != "multi-label" or "dev" not in dataset.splits:
        return fitted
    dev = dataset.splits["dev"]
    P = activate(dataset.task, logits(fitted.network, dev).astype(np.float64))
    return dataclasses.replace(fitted, thresholds=choose_thresholds(P, np.asarray(dev.labels)))


@contextmanager
def run_context(
    device: torch.device, folder: Path | None, show: bool, checkpoint_every: float, start: Start | None = None
) -> Iterator[RunContext]:
    """Join the other processes, keep other runs out of the folder, and note when the user asks to stop."""
    with (
        _TURN,
        join_processes(device) as processes,
        _lock(folder, processes),
        random_state_restored(device),
        catch_interrupts() as stop,
    ):
        progress = Progress(show and processes.first, log=processes.first)
        yield RunContext(device, processes, progress, checkpoint_every, stop, start)


@contextmanager
def random_state_restored(device: torch.device) -> Iterator[None]:
    """Leave PyTorch's random state as it was: of the CPU, and of the GPU that is used."""
    devices = [torch.cuda.current_device()] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        yield


def _check_folder(folder: Path | None, recipe: Recipe, resume: bool) -> None:
    """Raise before the work if the folder holds another run."""
    if folder is None:
        return
    if not resume:
        Checkpoints(folder).check_unused()
    elif not recipe.training.teachers and run_folder.teacher_files(folder):
        raise LimelightError(
            f"{folder} holds a run with teachers; resume with them, or choose another folder"
        )


def _lock(folder: Path | None, processes: Processes) -> AbstractContextManager[None]:
    """Keep other runs out of the folder; of several processes, only the first writes."""
    if folder is None or not processes.first:
        return nullcontext()
    return locked(folder / ".lock", f"another process is training in {folder}; choose another folder")


@contextmanager
def catch_interrupts() -> Iterator[threading.Event]:
    """An event set by the first Ctrl-C or SIGTERM; a second one goes to the handler from before.

    >>> with catch_interrupts() as stop:
    ...     signal.raise_signal(signal.SIGINT)
    ...     stop.is_set()
    True
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle(number: int, frame: Any) -> None:
        if not stop.is_set():
            stop.set()
        elif callable(original := before[number]):
            original(number, frame)
        else:
            raise KeyboardInterrupt

    ours = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) is not signal.SIG_IGN]
    before: dict[int, Any] = {n: signal.signal(n, handle) for n in ours}  # an ignored one stays ignored
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
