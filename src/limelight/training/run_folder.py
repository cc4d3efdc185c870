"""The files a run keeps in its folder: their names, and how to find and remove them."""

from __future__ import annotations

import shutil
from pathlib import Path


def checkpoint_path(folder: Path, number: int) -> Path:
    """The checkpoint after `number` steps."""
    return folder / f"checkpoint-{number:09d}.safetensors"


def checkpoints(folder: Path) -> list[Path]:
    """All checkpoints, the newest first."""
    return sorted(folder.glob("checkpoint-*.safetensors"), reverse=True)


def best_path(folder: Path, epoch: int) -> Path:
    """The best weights so far, from that epoch."""
    return folder / f"best-{epoch:04d}.safetensors"


def best_weights(folder: Path) -> list[Path]:
    """All files of best weights, the earliest epoch first."""
    return sorted(folder.glob("best-*.safetensors"))


def answers_path(folder: Path, teacher: int) -> Path:
    """A teacher's predictions."""
    return folder / f"answers-{teacher}.safetensors"


def teacher_folder(folder: Path, teacher: int) -> Path:
    """The folder of a teacher in training, a run of its own."""
    return folder / f"teacher-{teacher}"


def vector_files(folder: Path) -> list[Path]:
    """The vectors that a sentence encoder gave for the texts, in order."""
    return sorted(folder.glob("vectors-*.npy"))


def teacher_files(folder: Path) -> list[Path]:
    """Predictions of the teachers that are done, and folders of those that are not."""
    return sorted([*folder.glob("answers-*.safetensors"), *folder.glob("teacher-*")])


def is_resumable(folder: Path) -> bool:
    """Whether there is a checkpoint, or anything learnt or computed by a teacher.

    >>> is_resumable(Path("no such folder"))
    False
    """
    taught = any(path.is_file() or checkpoints(path) for path in teacher_files(folder))
    return taught or bool(checkpoints(folder) or vector_files(folder))


def has_weights(folder: Path) -> bool:
    """Whether there are best weights, of the network or of a teacher; perhaps without a checkpoint.

    >>> has_weights(Path("no such folder"))
    False
    """
    return any(best_weights(each) for each in (folder, *teacher_files(folder)))


def clear(folder: Path) -> None:
    """Remove all of these files: they are large, and a finished run does not need them."""
    for path in (*checkpoints(folder), *best_weights(folder), *teacher_files(folder)):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
