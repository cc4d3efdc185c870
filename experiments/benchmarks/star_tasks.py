"""Stars as classes, as ordered classes and as numbers: networks fine-tuned with preset small.

    python experiments/benchmarks/star_tasks.py ENCODED --rows 50000 --out stars.jsonl

ENCODED is an encoded data set with the reader's vocabulary and dev and test rows, whose labels are numbers
such as 1 to 5; they are read again for each task. Training is as in the preset but for batches of 128 at
1e-3, 3 epochs and bf16 on a GPU. A JSON line for each task and seed: the epoch is chosen by the development
set, the figures are of the test set. Beside the answer of each task stand the most probable class, the median
class and, for numbers, the nearest class.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import numpy as np
import torch

from limelight.config.presets import preset
from limelight.network.outputs import activate
from limelight.runtime.start import load_start
from limelight.text.dataset import Dataset, Split
from limelight.text.tasks import ORDINAL, REGRESSION, find_task
from limelight.training import fit
from limelight.training.evaluate import logits

TASKS = ("classification", "ordinal", "regression")
OPTIONS = {"batch_size": 128, "learning_rate": 1e-3, "epochs": 3}


def draw(split: Split, rows: int) -> Split:
    """That many rows, drawn with seed 0."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(split))[:rows])
    ids = np.concatenate(
        [np.asarray(split.ids[split.starts[k] : split.starts[k] + split.lengths[k]]) for k in chosen]
    )
    return Split(ids, np.asarray(split.lengths)[chosen], np.asarray(split.labels)[chosen])


def of_task(dataset: Dataset, task: str) -> Dataset:
    """The same data, its labels as another task has them."""
    columns = {
        name: find_task(task).column([dataset.labels[k] for k in np.asarray(split.labels)])
        for name, split in dataset.splits.items()
    }
    classes = columns["train"].classes() if task == "regression" else dataset.labels
    splits = {
        name: dataclasses.replace(split, labels=columns[name].index(classes, name))
        for name, split in dataset.splits.items()
    }
    return dataclasses.replace(dataset, splits=splits, labels=classes, task=task)


def measure(task: str, Z: np.ndarray, truth: np.ndarray, classes: np.ndarray) -> dict[str, float]:
    """Accuracy, mean absolute error and rank correlation, by each way to an answer."""
    if task == "regression":
        found = REGRESSION.measure(Z, truth)
        nearest = classes[np.abs(Z - classes).argmin(axis=1)]
        return {
            "mae": found.mae, "spearman": found.spearman,
            "accuracy of the nearest": np.mean(nearest == truth),
            "mae of the nearest": np.abs(nearest - truth).mean(),
        }  # fmt: skip
    P = activate(task, Z)
    best, median = P.argmax(axis=1), ORDINAL.measure(P, truth)
    return {
        "accuracy of the most probable": np.mean(best == truth), "mae of it": np.abs(best - truth).mean(),
        "accuracy of the median": median.accuracy, "mae of the median": median.mae,
        "spearman of the mean": REGRESSION.measure((P @ classes)[:, None], truth.astype(float)).spearman,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("encoded", type=Path)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    start, plain = load_start("reader"), Dataset.open(args.encoded)
    vectors = start.vectors(plain.tokenizer.vocabulary).matrix
    plain = dataclasses.replace(
        plain, vectors=vectors, splits={**plain.splits, "train": draw(plain.splits["train"], args.rows)}
    )
    options = {**OPTIONS, "precision": "bf16" if torch.cuda.is_available() else "float32"}
    for seed in range(args.seeds):
        for task in TASKS:
            dataset = of_task(plain, task)
            recipe = start.fit_recipe(preset("small").override(**options, seed=seed))
            network = fit(dataset, recipe, start=start, show=False).network
            test = dataset.splits["test"]
            Z = logits(network, test).astype(np.float64)
            found = measure(task, Z, np.asarray(test.labels), np.array(plain.labels, dtype=float))
            record = {"task": task, "seed": seed, **{k: round(float(v), 5) for k, v in found.items()}}
            with args.out.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
