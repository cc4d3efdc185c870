"""Noisy copies of the texts, and predictions of teacher networks to learn beside the labels.

Several networks together are better than one, and one can learn most of what they know from their predicted
probabilities (Bucila, Caruana and Niculescu-Mizil, 2006; Hinton, Vinyals and Dean, 2015). They also predict
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
from ..network.torch.network import Network
from ..text.dataset import Dataset, Split
from ..text.noise import noisy_copies
from . import checkpoint, run_folder
from .distributed import Processes
from .evaluate import plan_batches, predict_batches
from .setup import run_identity

Predictions = dict[str, np.ndarray]  # (rows, classes): probabilities for train, and for dev to measure them


class TrainingData(NamedTuple):
    """What the final network learns from."""

    dataset: Dataset  # its training rows, followed by their noisy copies
    targets: np.ndarray | None  # (rows and copies, classes): a probability for each class; None: labels only


class Distillation:
    """What the teachers predict.

    With a folder, a teacher's predictions are stored there as `answers-K.safetensors`, and its own folder
    `teacher-K` is removed: an interrupted run resumes with the next teacher.
    """

    def __init__(self, dataset: Dataset, recipe: Recipe, folder: Path | None = None) -> None:
        self.dataset, self.recipe, self.folder = dataset, recipe, folder
        self.whole = _with_copies(dataset, recipe)
        self.rows = len(self.whole.splits["train"])
        self.identity: dict[str, Any] = run_identity(self.whole, recipe)
        self.done: set[int] = set()
        predicted = ("train", "dev") if recipe.training.teachers else ()
        splits = {name: split for name, split in self.whole.splits.items() if name in predicted}
        self.sums = {name: np.zeros((len(split), len(dataset.labels))) for name, split in splits.items()}

    @property
    def remaining(self) -> list[int]:
        """The teachers without predictions, counted from 1."""
        return [k for k in range(1, self.recipe.training.teachers + 1) if k not in self.done]

    def teacher_recipe(self, teacher: int) -> Recipe:
        """The same recipe with the teacher's own seed, without noisy copies."""
        seed = zlib.crc32(f"{self.recipe.training.seed} teacher {teacher}".encode())
        return self.recipe.override(teachers=0, noisy_copies=0, seed=seed)

    def teacher_folder(self, teacher: int) -> Path | None:
        """Where a teacher has its checkpoints."""
        return run_folder.teacher_folder(self.folder, teacher) if self.folder else None

    def predict(self, network: Network, processes: Processes, stop: threading.Event) -> Predictions:
        """A teacher's predictions: this process's share, zeros elsewhere. It returns early on `stop`."""
        predictions = {name: np.zeros(x.shape, dtype=np.float32) for name, x in self.sums.items()}
        for name, found in predictions.items():
            split = self.whole.splits[name]
            mine = plan_batches(network, split)[processes.rank :: processes.size]
            for rows, values in predict_batches(network, split, mine):
                found[rows] = values.softmax(dim=1).cpu().numpy()
                if stop.is_set():
                    return predictions
        return predictions

    def add(self, teacher: int, predictions: Predictions) -> None:
        """Count a teacher's predictions in."""
        self.done.add(teacher)
        for name, found in predictions.items():
            self.sums[name] += found

    def accuracy(self) -> float | None:
        """Accuracy of all teachers together on the development split."""
        dev = self.whole.splits.get("dev")
        if dev is None or not self.done:
            return None
        return float((self.sums["dev"].argmax(axis=1) == np.asarray(dev.labels)).mean())

    def save(self, teacher: int, predictions: Predictions) -> None:
        """With a folder, write a teacher's predictions and remove its checkpoints."""
        if self.folder:
            tensors = {name: torch.from_numpy(found) for name, found in predictions.items()}
            path = run_folder.answers_path(self.folder, teacher)
            checkpoint.write(path, tensors, {"identity": self.identity})
            self._remove_folder(teacher)

    def load(self, tidy: bool = True) -> list[str]:
        """Load the predictions an earlier run has saved; return a line for each file that cannot be read.

        Files of another run are an error. With `tidy`, checkpoints of the teachers loaded are removed.
        """
        if self.folder is None:
            return []
        checkpoint.Checkpoints(self.folder, self.identity).check()
        problems = []
        expected = {name: torch.empty(x.shape, device="meta") for name, x in self.sums.items()}
        for teacher in self.remaining:
            path = run_folder.answers_path(self.folder, teacher)
            if not path.exists():
                continue
            try:
                tensors, about = checkpoint.read(path)
                checkpoint.check_tensors(path, tensors, expected)
            except LimelightError as error:
                problems.append(f"{error}; training teacher {teacher} again")
                continue
            checkpoint.check_identity(path, about.get("identity", {}), self.identity)
            self.add(teacher, {name: tensors[name].numpy() for name in expected})
            if tidy:
                self._remove_folder(teacher)
        return problems

    def _remove_folder(self, teacher: int) -> None:
        if folder := self.teacher_folder(teacher):
            shutil.rmtree(folder, ignore_errors=True)

    def training_data(self) -> TrainingData:
        """All rows and copies, with targets if there are teachers."""
        return TrainingData(self.whole, self._targets() if self.done else None)

    def _targets(self) -> np.ndarray:
        """Rows: labels and mean predictions, by the recipe's share; copies: predictions only."""
        share, labels = self.recipe.training.teacher_weight, np.asarray(self.dataset.splits["train"].labels)
        targets = (self.sums["train"] / len(self.done)).astype(np.float32)
        labelled = targets[: len(labels)]
        labelled *= share
        labelled[np.arange(len(labels)), labels] += 1 - share
        return np.asarray(targets)


def _with_copies(dataset: Dataset, recipe: Recipe) -> Dataset:
    """The data set with the noisy copies after its training rows."""
    count, split = recipe.training.noisy_copies, dataset.splits["train"]
    if not count:
        return dataset
    parts, more = split.arrays(), noisy_copies(split, count, dataset.vectors, recipe.training.seed).arrays()
    whole = Split(**{name: np.concatenate([parts[name], more[name]]) for name in parts})
    return dataclasses.replace(dataset, splits={**dataset.splits, "train": whole})
