"""Train several networks, the teachers, and one that learns from their predictions and from noisy copies.

    limelight encode snli.jsonl --preset best-pair --out encoded/snli
    python -m experiments.best_pair.teachers encoded/snli --out model

Several networks together are better than one, and one can learn most of what they know from their predicted
probabilities (Bucila, Caruana and Niculescu-Mizil, 2006; Hinton, Vinyals and Dean, 2015). They also predict
noisy copies of the texts, which have no labels (Tang et al., 2019). The result is as small and fast as one
network alone; docs/recipes.md has figures. `OUT.teachers` keeps each teacher's predictions until the model is
saved: the same command goes on with the next teacher.
"""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from limelight.config.presets import preset
from limelight.config.recipe import Recipe
from limelight.errors import LimelightError
from limelight.network.outputs import activate
from limelight.storage.files import atomic_file
from limelight.text.dataset import Dataset, Split
from limelight.training import Fitted, fit

from .noise import noisy_copies

TEACHERS, COPIES, WEIGHT = 5, 2, 0.5  # networks, noisy copies of each text, weight of the predictions


def taught_recipe() -> Recipe:
    """The preset with what pays off with teachers only: a third layer, and a layer that mixes the units."""
    return preset("best-pair").override(layers=3, mix_units=512, epochs=8)


def train_taught(
    dataset: Dataset,
    recipe: Recipe,
    folder: Path,
    *,
    teachers: int = TEACHERS,
    copies: int = COPIES,
    weight: float = WEIGHT,
    **how: Any,
) -> Fitted:
    """Train the teachers, then the network that is kept; `how` goes to `limelight.training.fit`."""
    if dataset.task != "classification":
        raise LimelightError(f"teachers predict classes; the task is {dataset.task!r}", code="task-option")
    whole = with_copies(dataset, copies, recipe.training.seed)
    answers = [teach(dataset, whole, recipe, k, folder, **how) for k in range(1, teachers + 1)]
    targets = mix(answers, np.asarray(dataset.splits["train"].labels), weight) if answers else None
    return fit(whole, recipe, targets=targets, **how)


def teach(
    dataset: Dataset, whole: Dataset, recipe: Recipe, teacher: int, folder: Path, **how: Any
) -> np.ndarray:
    """(rows and copies, classes): a teacher's probabilities, from its file if it has been trained before."""
    path = folder / f"answers-{teacher}.npy"
    if path.is_file():
        return np.asarray(np.load(path))
    seed = zlib.crc32(f"{recipe.training.seed} teacher {teacher}".encode())
    fitted = fit(dataset, recipe.override(seed=seed), **how)
    if fitted.interrupted:
        raise KeyboardInterrupt
    fitted.splits["train"] = whole.splits["train"]
    found = activate(dataset.task, fitted.logits("train")).astype(np.float32)
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as file:
        np.save(file, found)
    return found


def with_copies(dataset: Dataset, count: int, seed: int) -> Dataset:
    """The data set with noisy copies of the training rows after them."""
    if not count:
        return dataset
    split = dataset.splits["train"]
    parts, more = split.arrays(), noisy_copies(split, count, dataset.vectors, seed).arrays()
    whole = Split(**{name: np.concatenate([parts[name], more[name]]) for name in parts})
    return dataclasses.replace(dataset, splits={**dataset.splits, "train": whole})


def mix(answers: list[np.ndarray], labels: np.ndarray, weight: float) -> np.ndarray:
    """What is learnt: for rows, labels and mean predictions by their weight; for copies, the predictions.

    >>> mix([np.array([[0.5, 0.5], [0.25, 0.75]])], np.array([1]), weight=0.5).tolist()
    [[0.25, 0.75], [0.25, 0.75]]
    """
    targets = np.mean(answers, axis=0, dtype=np.float64).astype(np.float32)
    targets[: len(labels)] *= weight
    targets[np.arange(len(labels)), labels] += 1 - weight
    return np.asarray(targets)


def main() -> None:
    """Train on an encoded data set and save the model."""
    from limelight.training.outcome import calibrate, facts_of, results_of, save
    from limelight.training.train_job import recipe_for

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", metavar="DIR", help="folder written by 'limelight encode'")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="model folder to write")
    parser.add_argument("--teachers", type=int, default=TEACHERS, metavar="N")
    parser.add_argument("--copies", type=int, default=COPIES, metavar="N", help="noisy copies of each text")
    parser.add_argument("--weight", type=float, default=WEIGHT, help="of the teachers' predictions")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    args = parser.parse_args()
    dataset = Dataset.open(args.data)
    recipe = recipe_for(taught_recipe().override(seed=args.seed), dataset)
    folder = args.out.with_name(f"{args.out.name}.teachers")
    fitted = train_taught(
        dataset, recipe, folder, teachers=args.teachers, copies=args.copies, weight=args.weight,
        device=args.device,
    )  # fmt: skip
    confidence = calibrate(fitted, dataset)
    results = results_of(fitted, dataset, ("dev", "test"))
    save(args.out, dataset, fitted, facts_of(dataset, fitted, results) | confidence, overwrite=False)
    shutil.rmtree(folder, ignore_errors=True)
    print({split: found.to_dict()["accuracy"] for split, found in results.items()})


if __name__ == "__main__":
    main()
