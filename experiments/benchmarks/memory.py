"""Memory used when training on a data set on disk: 500,000 made-up reviews of 150 words.

    python experiments/benchmarks/memory.py                    # 300 steps of a small network
    python experiments/benchmarks/memory.py --rows 2000000 --steps 100

Prints the peak memory of the process, how much was used before the data was opened (Python and PyTorch), and
the size of the network and optimizer. The rest is the cost of the data, including the pages of the memory map
that were read.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from limelight.config.recipe import Recipe
from limelight.text.arrays import ArraysOnDisk
from limelight.text.batches import training_plan
from limelight.text.dataset import Dataset, write_description
from limelight.text.tokenizer import Tokenizer
from limelight.training.context import Processes
from limelight.training.label_objective import LabelObjective, run_identity
from limelight.training.starting_network import build_network
from limelight.training.step import Stepper

WORDS = 30_000


def peak() -> float:
    """Peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def make(folder: Path, rows: int, length: int) -> None:
    """Write the data set in pieces, which takes little memory."""
    rng = np.random.default_rng(0)
    tokenizer = Tokenizer.from_words([f"w{k}" for k in range(WORDS)])
    arrays = ArraysOnDisk(folder)
    for start in range(0, rows, 10_000):
        lengths = rng.integers(length // 2, length + length // 2 + 1, min(10_000, rows - start))
        ids = rng.integers(2, WORDS + 2, lengths.sum())
        labels = rng.integers(0, 5, len(lengths))
        arrays.append("train", {"ids": ids, "lengths": lengths, "labels": labels}, len(tokenizer))
    from limelight.text.dataset import Split

    splits = {name: Split(**found) for name, found in arrays.finish().items()}
    write_description(Dataset(tokenizer, (1, 2, 3, 4, 5), splits, None, {}), folder)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the memory of training from the memory map.")
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--length", type=int, default=150)
    parser.add_argument("--steps", type=int, default=300)
    given = parser.parse_args()
    recipe = Recipe().override(
        word_size=50,
        hidden=32,
        attention_hidden=32,
        rows=4,
        head_hidden=32,
        optimizer="adagrad",
        learning_rate=0.01,
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make(folder, given.rows, given.length)
        before = peak()
        dataset = Dataset.open(folder)
        opened = peak()
        network = build_network(dataset, recipe)
        stepper = Stepper(network, LabelObjective(dataset, recipe), Processes())
        run_identity(dataset, recipe)
        plan = training_plan(stepper.lengths, recipe.training.batch_size, seed=0, epoch=0)
        start = time.perf_counter()
        for number, rows in enumerate(plan[: given.steps]):
            stepper.step(rows, number)
        seconds = time.perf_counter() - start
        size = sum(w.numel() * w.itemsize for w in network.parameters())
        size += sum(x.numel() * x.itemsize for x in stepper.optimiser.tensors().values())
        words = dataset.splits["train"].words
    print(f"{given.rows:,} reviews, {words:,} words; {given.steps} steps in {seconds:.0f} s")
    print(f"peak {peak():,.0f} MB; before opening {before:,.0f} MB, after opening {opened:,.0f} MB")
    print(f"network and optimiser {size / 2**20:,.0f} MB; beyond them and Python: "
          f"{peak() - before - size / 2**20:,.0f} MB")  # fmt: skip


if __name__ == "__main__":
    main()
