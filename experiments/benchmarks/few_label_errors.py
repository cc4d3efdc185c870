"""Of the labels that `limelight check` suspects, how many are wrong, where there are few of them?

    python experiments/benchmarks/few_label_errors.py DATA

So many labels drawn at random, of which 5% are changed to any other class: those suspected that were changed,
of all suspected, over the seeds. What is wrong in the data itself counts as right. DATA, --cache and the
tasks are those of labelling.py.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from label_errors import plant

from labelling import TASKS, KeptReader, load
from limelight.labelling.left_out import find_neighbours, judge

LABELS, NOISE = (100, 300, 1000), 0.05


def suspected(X: np.ndarray, labels: np.ndarray, count: int, seed: int) -> tuple[int, int]:
    """Suspected labels that were changed, and all that are suspected."""
    rows = np.random.default_rng(seed).permutation(len(X))[:count]
    y = np.unique(labels[rows], return_inverse=True)[1]
    z, changed = plant(y, seed, NOISE)
    found = judge(X[rows], z, int(y.max()) + 1, find_neighbours(X[rows])).suspected(z)
    return int((found & changed).sum()), int(found.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path("labelling-cache"))
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    reader = KeptReader(options.cache)
    for name in options.tasks:
        task = load(options.data, name, reader)
        X, labels = reader.encode(task.texts), np.array(task.labels)
        for count in (each for each in LABELS if each <= len(X)):
            wrong, all_ = np.sum([suspected(X, labels, count, s) for s in range(options.seeds)], axis=0)
            planted = round(NOISE * count) * options.seeds
            print(f"{name:12} {count:5,}  {wrong} of {all_}; planted {planted}", flush=True)


if __name__ == "__main__":
    main()
