"""Noisy copies of the texts, and teachers, whose answers the network that is kept learns beside the labels.

Several networks together are better than one, and one can learn most of what they know from the probabilities
they give (Bucila, Caruana and Niculescu-Mizil, 2006; Hinton, Vinyals and Dean, 2015). They also answer for
noisy copies of the texts, which have no labels (Tang et al., 2019).
"""

from __future__ import annotations

import dataclasses
import shutil
import threading
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from ..config.recipe import Recipe
from ..errors import LimelightError
from ..model.network import Network
from ..text.dataset import Dataset, Split
from ..text.noise import noisy_copies
from . import checkpoint
from . import run_folder as runfiles
from .distributed import Group
from .evaluate import batches, plan_for
from .setup import identity

Answers = dict[str, np.ndarray]  # (rows, classes): probabilities for the train split, and for dev to judge by


class Taught(NamedTuple):
    """What the network that is kept learns from."""

    dataset: Dataset  # its training rows, and their noisy copies behind them
    targets: np.ndarray | None  # (rows and copies, classes): a probability for each class; or labels only


class Lessons:
    """What the teachers are asked, and what they answer.

    With a folder, a teacher's answers are kept there as `answers-K.safetensors`, and its own folder
    `teacher-K` goes: a run that is interrupted goes on with the next teacher.
    """

    def __init__(self, dataset: Dataset, recipe: Recipe, folder: Path | None = None) -> None:
        self.dataset, self.recipe, self.folder = dataset, recipe, folder
        self.whole = _with_copies(dataset, recipe)
        self.rows = len(self.whole.splits["train"])
        self.identity: dict[str, Any] = identity(self.whole, recipe)
        self.done: set[int] = set()
        asked = ("train", "dev") if recipe.training.teachers else ()
        splits = {name: split for name, split in self.whole.splits.items() if name in asked}
        self.sums = {name: np.zeros((len(split), len(dataset.labels))) for name, split in splits.items()}

    @property
    def missing(self) -> list[int]:
        """The teachers that have not answered yet, from 1."""
        return [k for k in range(1, self.recipe.training.teachers + 1) if k not in self.done]

    def recipe_of(self, teacher: int) -> Recipe:
        """The same recipe with a seed of the teacher's own, learning from the texts themselves."""
        seed = zlib.crc32(f"{self.recipe.training.seed} teacher {teacher}".encode())
        return self.recipe.override(teachers=0, noisy_copies=0, seed=seed)

    def folder_of(self, teacher: int) -> Path | None:
        """Where a teacher has its checkpoints."""
        return runfiles.teacher(self.folder, teacher) if self.folder else None

    def answered(self, network: Network, processes: Group, stop: threading.Event) -> Answers:
        """The probabilities a teacher gives. Each process does its share of them, and leaves the others 0; so
        is the rest when it is to `stop`."""
        answers = {name: np.zeros(x.shape, dtype=np.float32) for name, x in self.sums.items()}
        for name, found in answers.items():
            split = self.whole.splits[name]
            mine = plan_for(network, split)[processes.rank :: processes.size]
            for rows, values in batches(network, split, mine):
                found[rows] = values.softmax(dim=1).cpu().numpy()
                if stop.is_set():
                    return answers
        return answers

    def add(self, teacher: int, answers: Answers) -> None:
        """Take a teacher's answers."""
        self.done.add(teacher)
        for name, found in answers.items():
            self.sums[name] += found

    def accuracy(self) -> float | None:
        """Of the teachers together, on the development split."""
        dev = self.whole.splits.get("dev")
        if dev is None or not self.done:
            return None
        return float((self.sums["dev"].argmax(axis=1) == np.asarray(dev.labels)).mean())

    def keep(self, teacher: int, answers: Answers) -> None:
        """If there is a folder, write a teacher's answers down, and let go of its checkpoints."""
        if self.folder:
            tensors = {name: torch.from_numpy(found) for name, found in answers.items()}
            checkpoint.write(self._path(teacher), tensors, {"identity": self.identity})
            self._clear(teacher)

    def resume(self, tidy: bool = True) -> list[str]:
        """Find the answers that an earlier run has kept; a line for each file that cannot be read.

        What is there of another run is an error. With `tidy`, what a kill left of a teacher is cleared away.
        """
        if self.folder is None:
            return []
        checkpoint.Checkpoints(self.folder, self.identity).check()
        problems = []
        for teacher in filter(lambda k: self._path(k).exists(), self.missing):
            path = self._path(teacher)
            try:
                tensors, about = checkpoint.read(path)
            except LimelightError as error:
                problems.append(f"{error}; teacher {teacher} learns again")
                continue
            checkpoint.check_identity(path, about.get("identity", {}), self.identity)
            self.add(teacher, {name: x.numpy() for name, x in tensors.items()})
            if tidy:
                self._clear(teacher)
        return problems

    def _path(self, teacher: int) -> Path:
        assert self.folder is not None
        return runfiles.answers(self.folder, teacher)

    def _clear(self, teacher: int) -> None:
        folder = self.folder_of(teacher)
        if folder:
            shutil.rmtree(folder, ignore_errors=True)

    def taught(self) -> Taught:
        """All rows and copies, and what the teachers make of their labels."""
        return Taught(self.whole, self._targets() if self.done else None)

    def _targets(self) -> np.ndarray:
        """For the rows, labels and mean answers by the recipe's share; for the copies, the answers alone."""
        share, labels = self.recipe.training.teacher_weight, np.asarray(self.dataset.splits["train"].labels)
        targets = (self.sums["train"] / len(self.done)).astype(np.float32)
        own = targets[: len(labels)]
        own *= share
        own[np.arange(len(labels)), labels] += 1 - share
        return np.asarray(targets)


def _with_copies(dataset: Dataset, recipe: Recipe) -> Dataset:
    """The data set with the noisy copies behind its training rows."""
    count, split = recipe.training.noisy_copies, dataset.splits["train"]
    if not count:
        return dataset
    parts, more = split.arrays(), noisy_copies(split, count, dataset.vectors, recipe.training.seed).arrays()
    whole = Split(**{name: np.concatenate([parts[name], more[name]]) for name in parts})
    return dataclasses.replace(dataset, splits={**dataset.splits, "train": whole})
