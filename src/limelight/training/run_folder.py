"""What a run under way keeps in its folder: the names of its files, to write, find and clear them by."""

from __future__ import annotations

import shutil
from pathlib import Path


def checkpoint(folder: Path, number: int) -> Path:
    """The state of a network after so many steps."""
    return folder / f"checkpoint-{number:09d}.safetensors"


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints there are, the newest first."""
    return sorted(folder.glob("checkpoint-*.safetensors"), reverse=True)


def best(folder: Path, epoch: int) -> Path:
    """The best weights so far, of that epoch."""
    return folder / f"best-{epoch:04d}.safetensors"


def bests(folder: Path) -> list[Path]:
    """The best weights there are, of all epochs."""
    return sorted(folder.glob("best-*.safetensors"))


def answers(folder: Path, teacher: int) -> Path:
    """What a teacher has answered."""
    return folder / f"answers-{teacher}.safetensors"


def teacher(folder: Path, number: int) -> Path:
    """The folder of a teacher that learns: a run of its own."""
    return folder / f"teacher-{number}"


def of_teachers(folder: Path) -> list[Path]:
    """All that teachers have left: their answers, and the folders of those that have not answered yet."""
    return sorted([*folder.glob("answers-*.safetensors"), *folder.glob("teacher-*")])


def half_written(folder: Path) -> list[Path]:
    """What a killed process has left of any of them, and of the history beside them."""
    names = ("checkpoint-*", "best-*", "answers-*", "history.jsonl")
    return [path for name in names for path in folder.glob(f".{name}.*.part")]


def can_go_on(folder: Path) -> bool:
    """Whether there is anything that has been learnt.

    >>> can_go_on(Path("no such folder"))
    False
    """
    taught = of_teachers(folder)
    return bool(checkpoints(folder)) or any(path.is_file() or checkpoints(path) for path in taught)


def has_weights(folder: Path) -> bool:
    """Whether there are best weights, of the network itself or of a teacher: perhaps without a checkpoint.

    >>> has_weights(Path("no such folder"))
    False
    """
    return any(bests(each) for each in (folder, *of_teachers(folder)))


def clear(folder: Path) -> None:
    """Remove all of it: a run that has come to its end needs none, and it is large."""
    for path in (*checkpoints(folder), *bests(folder), *of_teachers(folder)):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
