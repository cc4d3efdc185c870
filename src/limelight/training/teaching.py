"""Noisy copies of the texts, and teachers, whose answers the network that is kept learns beside the labels.

Several networks together are better than one, and one can learn most of what they know from the probabilities
they give (Bucila, Caruana and Niculescu-Mizil, 2006; Hinton, Vinyals and Dean, 2015). They also answer for
noisy copies of the texts, which have no labels (Tang et al., 2019).
"""

from __future__ import annotations

import dataclasses
import shutil
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from ..errors import LimelightError
from ..model.network import Network
from ..recipe import Recipe
from ..text.encoded import Dataset, Split
from ..text.noise import copies
from . import checkpoint
from .evaluate import logits
from .start import identity


class Taught(NamedTuple):
    """What the one that is kept learns from."""

    dataset: Dataset  # its training rows, and their noisy copies behind them
    targets: np.ndarray | None  # (rows and copies, classes): a probability for each class; or labels only


class Lessons:
    """The noisy copies and the teachers' answers.

    With a folder, what a teacher has answered is kept there as `answers-K.safetensors`, and its own folder
    `teacher-K` goes: a run that is interrupted goes on with the next teacher.
    """

    def __init__(self, dataset: Dataset, recipe: Recipe, folder: Path | None = None) -> None:
        self.dataset, self.recipe, self.folder = dataset, recipe, folder
        self.split = dataset.splits["train"]
        count, seed = recipe.training.noisy_copies, recipe.training.seed
        self.copies = copies(self.split, count, dataset.vectors, seed) if count else None
        self.rows = len(self.split) * (1 + count)
        self.answers: dict[int, np.ndarray] = {}

    @property
    def missing(self) -> list[int]:
        """The teachers that have not answered yet, from 1."""
        return [k for k in range(1, self.recipe.training.teachers + 1) if k not in self.answers]

    def recipe_of(self, teacher: int) -> Recipe:
        """The same recipe with a seed of the teacher's own, learning from the texts themselves."""
        seed = zlib.crc32(f"{self.recipe.training.seed} teacher {teacher}".encode())
        return self.recipe.override(teachers=0, noisy_copies=0, seed=seed)

    def folder_of(self, teacher: int) -> Path | None:
        """Where a teacher has its checkpoints."""
        return self.folder / f"teacher-{teacher}" if self.folder else None

    def answered(self, network: Network) -> np.ndarray:
        """(rows and copies, classes): the probabilities that a teacher gives."""
        splits = [split for split in (self.split, self.copies) if split is not None]
        values = torch.from_numpy(np.concatenate([logits(network, split) for split in splits]))
        return np.asarray(values.softmax(dim=1).numpy())

    def add(self, teacher: int, answers: np.ndarray, write: bool = True) -> None:
        """Take a teacher's answers; if there is a folder, write them down, and let go of its checkpoints."""
        self.answers[teacher] = answers
        folder = self.folder_of(teacher)
        if folder and write:
            tensors = {"answers": torch.from_numpy(answers)}
            checkpoint.write(self._path(teacher), tensors, {"identity": self._identity()})
            shutil.rmtree(folder, ignore_errors=True)

    def resume(self) -> list[str]:
        """Find the answers that an earlier run has kept; a line for each file that cannot be read."""
        problems = []
        for teacher in self.missing if self.folder else []:
            path = self._path(teacher)
            if path.exists():
                try:
                    tensors, about = checkpoint.read(path)
                except LimelightError as error:
                    problems.append(f"{error}; teacher {teacher} learns again")
                    continue
                checkpoint.check_identity(path, about.get("identity", {}), self._identity())
                self.answers[teacher] = np.asarray(tensors["answers"].numpy())
        return problems

    def _identity(self) -> dict[str, Any]:
        return identity(self.dataset, self.recipe)

    def _path(self, teacher: int) -> Path:
        assert self.folder is not None
        return self.folder / f"answers-{teacher}.safetensors"

    def taught(self) -> Taught:
        """All rows and copies, and what the teachers make of their labels."""
        whole = self.split if self.copies is None else _joined(self.split, self.copies)
        dataset = dataclasses.replace(self.dataset, splits={**self.dataset.splits, "train": whole})
        return Taught(dataset, self._targets() if self.answers else None)

    def _targets(self) -> np.ndarray:
        """For the rows, labels and mean answers by the recipe's share; for the copies, the answers alone."""
        share = self.recipe.training.teaching
        targets = np.mean([self.answers[k] for k in sorted(self.answers)], axis=0)
        own = targets[: len(self.split)]
        own *= share
        own[np.arange(len(own)), np.asarray(self.split.labels)] += 1 - share
        return np.asarray(targets)


def _joined(first: Split, second: Split) -> Split:
    """The rows of both."""
    parts, others = first.arrays(), second.arrays()
    return Split(**{name: np.concatenate([parts[name], others[name]]) for name in parts})
