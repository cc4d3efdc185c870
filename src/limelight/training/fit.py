"""A recipe plus an encoded data set gives a chosen model, whatever interrupts it."""

from __future__ import annotations

import gc
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch

from ..errors import LimelightError
from ..locks import locked
from ..recipe import Recipe
from ..text.encoded import Dataset
from .checkpoint import Checkpoints
from .distributed import Group, group
from .progress import Progress
from .run import AfterEpoch, Fitted, Run, Setting
from .start import choose_device
from .teaching import Lessons


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
    `epochs`. What `after_epoch` finds in the network joins the epoch's record.
    """
    where = choose_device(device)
    if folder is None and (resume or tensorboard):
        raise LimelightError(f"{'resume' if resume else 'tensorboard'} needs the run's folder: give one")
    if dataset.splits["train"].labels is None:
        raise LimelightError("the data set has no labels to learn from; encode it with a column of labels")
    if dataset.vectors is not None:
        recipe = recipe.override(word_size=dataset.vectors.shape[1])
    folder = Path(folder) if folder else None
    with group(where) as processes, _alone(folder, processes), torch.random.fork_rng(devices=[]):
        setting = Setting(where, processes, Progress(show and processes.first), checkpoint_every)
        if folder and not resume:
            Checkpoints(folder).check_unused()
        if recipe.training.teachers or recipe.training.noisy_copies:
            return _taught(dataset, recipe, folder, setting, resume, tensorboard, after_epoch)
        run = Run(dataset, recipe, folder, setting, after_epoch=after_epoch)
        return run.fit(resume, tensorboard)


def _taught(
    dataset: Dataset,
    recipe: Recipe,
    folder: Path | None,
    setting: Setting,
    resume: bool,
    tensorboard: bool,
    after_epoch: AfterEpoch | None,
) -> Fitted:
    """Train the teachers, then the one that learns from them; interrupted before, the teacher so far."""
    lessons = Lessons(dataset, recipe, folder)
    if resume and lessons.missing:
        _find_answers(lessons, setting)
    for teacher in lessons.missing:
        fitted = _teach(lessons, teacher, setting, resume)
        resume = False  # nothing of what follows has begun
        if fitted.interrupted:
            return fitted
    setting.progress.title = ""
    taught = lessons.taught()
    run = Run(taught.dataset, recipe, folder, setting, taught.targets, after_epoch)
    return run.fit(resume, tensorboard)


def _find_answers(lessons: Lessons, setting: Setting) -> None:
    """What an interrupted run's teachers have answered: all processes must find the same."""
    for line in lessons.resume():
        setting.progress.note(f"warning: {line}")
    done = len(lessons.answers)
    if setting.processes.first_has(done, setting.device) != done:
        raise LimelightError("the processes found answers of different teachers: the folder must be the same")
    setting.progress.note(f"{done} of {lessons.recipe.training.teachers} teachers are done")


def _teach(lessons: Lessons, teacher: int, setting: Setting, resume: bool) -> Fitted:
    """Train a teacher and have it answer; the first process alone does so, and tells the others."""
    progress, processes = setting.progress, setting.processes
    progress.title = f"teacher {teacher} of {lessons.recipe.training.teachers}: "
    fitted = Run(lessons.dataset, lessons.recipe_of(teacher), lessons.folder_of(teacher), setting).fit(resume)
    gc.collect()  # the optimiser's state and the captured steps, before the next needs as much
    if fitted.interrupted:
        return fitted
    progress.note(f"{progress.title}answering {lessons.rows:,} texts")
    answers = torch.zeros(
        lessons.rows, len(lessons.dataset.labels), dtype=torch.float32, device=setting.device
    )
    if processes.first:
        answers.copy_(torch.from_numpy(lessons.answered(fitted.network)))
    processes.broadcast([answers])
    lessons.add(teacher, answers.cpu().numpy(), write=processes.first)
    processes.barrier()
    return fitted


def _alone(folder: Path | None, processes: Group) -> AbstractContextManager[None]:
    """Nobody else writes checkpoints there meanwhile; of several processes, the first alone writes."""
    if folder is None or not processes.first:
        return nullcontext()
    return locked(folder / ".lock", f"another process is training in {folder}; choose another folder")
