"""A recipe plus an encoded data set gives a chosen model, whatever interrupts it."""

from __future__ import annotations

import dataclasses
import gc
import threading
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch

from ..config.recipe import Recipe
from ..errors import LimelightError
from ..storage.locks import locked
from ..text.dataset import Dataset
from . import run_folder as runfiles
from .checkpoint import Checkpoints
from .distributed import Group, group
from .progress import Progress
from .run import AfterEpoch, Fitted, Run, Setting, need_tensorboard
from .setup import choose_device
from .signals import interruptions
from .teaching import Answers, Lessons, Taught

_TURN = threading.RLock()  # PyTorch has one source of random numbers for all threads


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
    after_epoch: AfterEpoch | None = None,
) -> Fitted:
    """Train on the data set's training split and choose by its development split.

    With a `folder`, which one process at a time may use, checkpoints and `history.jsonl` are kept there:
    every `checkpoint_every` seconds, after every epoch and on Ctrl-C. `resume` goes on from the newest one,
    and ends with the same bits; `epochs` and `patience` may then be others, and a schedule ends with the new
    `epochs`; what teachers have answered stays. What `after_epoch` finds in the network joins the epoch's
    record. An interrupted run gives the best network there is, which may be one of its teachers.
    Threads that call this at once take turns.
    """
    where = choose_device(device)
    if folder is None and (resume or tensorboard):
        raise LimelightError(f"{'resume' if resume else 'tensorboard'} needs the run's folder: give one")
    if dataset.splits["train"].labels is None:
        raise LimelightError("the data set has no labels to learn from; encode it with a column of labels")
    if dataset.vectors is not None:
        recipe = recipe.override(word_size=dataset.vectors.shape[1])
    folder = Path(folder) if folder else None
    with (
        _TURN,
        group(where) as processes,
        _alone(folder, processes),
        torch.random.fork_rng(devices=[]),
        interruptions() as stop,
    ):
        setting = Setting(where, processes, Progress(show and processes.first), checkpoint_every, stop)
        _check_folder(folder, recipe, resume, tensorboard)
        processes.barrier()  # nobody makes files there before all have looked
        if not _has_lessons(recipe):
            return Run(dataset, recipe, folder, setting, after_epoch=after_epoch).fit(resume, tensorboard)
        taught, teacher = _taught(dataset, recipe, folder, setting, resume)
        if taught is None:
            assert teacher is not None
            return teacher
        run = Run(taught.dataset, recipe, folder, setting, taught.targets, after_epoch)
        fitted = run.fit(resume, tensorboard)
        return _best_so_far(fitted, teacher) if fitted.interrupted else fitted


def _has_lessons(recipe: Recipe) -> bool:
    """Whether there is more to learn from than the texts and their labels."""
    training = recipe.training
    return training.noisy_copies > 0 or (training.teachers > 0 and training.teacher_weight > 0)


def _check_folder(folder: Path | None, recipe: Recipe, resume: bool, tensorboard: bool) -> None:
    """Say before the work what would be in its way."""
    if folder is None:
        return
    if not resume:
        Checkpoints(folder).check_unused()
    elif not recipe.training.teachers and runfiles.of_teachers(folder):
        raise LimelightError(
            f"{folder} holds a run with teachers; resume with them, or choose another folder"
        )
    if tensorboard:
        need_tensorboard()


def _taught(
    dataset: Dataset, recipe: Recipe, folder: Path | None, setting: Setting, resume: bool
) -> tuple[Taught | None, Fitted | None]:
    """What the network that is kept learns from, and the best teacher; if interrupted, that one alone."""
    progress, best = setting.progress, None
    if copies := recipe.training.noisy_copies:
        progress.note(f"making {copies} noisy {'copy' if copies == 1 else 'copies'} of every text")
    lessons = Lessons(dataset, recipe, folder)
    if resume:
        _find_answers(lessons, setting)
    for teacher in lessons.missing:
        progress.of(f"teacher {teacher} of {recipe.training.teachers}: ")
        fitted = _teach(lessons, teacher, setting, resume)
        best = _best_so_far(fitted, best)
        if fitted.interrupted:
            return None, best
    progress.of("")
    accuracy = lessons.accuracy()
    if accuracy is not None and len(lessons.done) > 1:
        progress.note(f"the teachers together: dev {accuracy:.2%}")
    return lessons.taught(), best


def _best_so_far(fitted: Fitted, before: Fitted | None) -> Fitted:
    """The better by the development split; without one, the later that has come to its end."""
    if before and _merit(before) > _merit(fitted):
        return dataclasses.replace(before, interrupted=fitted.interrupted)
    return fitted


def _merit(fitted: Fitted) -> tuple[bool, float, float, bool]:
    state = fitted.state
    return state.best_epoch >= 0, state.best_accuracy, -state.best_loss, not fitted.interrupted


def _find_answers(lessons: Lessons, setting: Setting) -> None:
    """What an interrupted run's teachers have answered: all processes must find the same."""
    for line in lessons.resume(tidy=setting.processes.first):
        setting.progress.note(f"warning: {line}")
    done = len(lessons.done)
    if setting.processes.first_has(done, setting.device) != done:
        raise LimelightError("the processes found answers of different teachers: the folder must be the same")
    if lessons.recipe.training.teachers:
        setting.progress.note(f"{done} of {lessons.recipe.training.teachers} teachers are done")


def _teach(lessons: Lessons, teacher: int, setting: Setting, resume: bool) -> Fitted:
    """Train a teacher and have it answer."""
    run = Run(lessons.dataset, lessons.recipe_of(teacher), lessons.folder_of(teacher), setting)
    fitted = run.fit(resume)
    del run
    _free(setting.device)
    if fitted.interrupted:
        return fitted
    what = "pairs" if lessons.dataset.pair else "texts"
    setting.progress.note(f"{setting.progress.title}answering {lessons.rows:,} {what}")
    answers = lessons.answered(fitted.network, setting.processes, setting.stop)
    if setting.processes.any([setting.stop.is_set()], setting.device)[0]:
        return dataclasses.replace(fitted, interrupted=True)
    answers = _shared(answers, setting)
    lessons.add(teacher, answers)
    if setting.processes.first:
        try:
            lessons.keep(teacher, answers)
        except LimelightError as error:
            setting.progress.note(f"warning: {error}; training goes on")
    setting.processes.barrier()
    return fitted


def _shared(answers: Answers, setting: Setting) -> Answers:
    """The answers of all processes together."""
    if setting.processes.size == 1:
        return answers
    shared = {name: torch.from_numpy(found).to(setting.device) for name, found in answers.items()}
    for found in shared.values():
        setting.processes.sum(found)
    return {name: found.cpu().numpy() for name, found in shared.items()}


def _free(device: torch.device) -> None:
    """Let go of a network's optimiser and captured steps before the next one needs as much."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def _alone(folder: Path | None, processes: Group) -> AbstractContextManager[None]:
    """Nobody else writes checkpoints there meanwhile; of several processes, the first alone writes."""
    if folder is None or not processes.first:
        return nullcontext()
    return locked(folder / ".lock", f"another process is training in {folder}; choose another folder")
