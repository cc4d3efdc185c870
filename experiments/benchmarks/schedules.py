"""Shorter training of a start from the reader: what each way of saving costs in accuracy.

    limelight encode train.parquet --test other.parquet --preset small --out encoded
    python experiments/benchmarks/schedules.py encoded [encoded2 ...] --out schedules.jsonl --seeds 0 1 2
    python experiments/benchmarks/schedules.py --out schedules.jsonl --table

The cost is arithmetic, in passes forwards over the words of the training rows: a pass backwards counts two, and
states that are kept are computed once. Accuracy is that of the data set's test rows, which should be development
rows to choose by. Runs that are in --out already are not repeated.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from limelight.config.presets import preset
from limelight.network.outputs import activate
from limelight.network.torch.encoder import BiLSTM
from limelight.text.dataset import Dataset, Split
from limelight.training.callbacks import Callback
from limelight.training.run import fit
from limelight.training.train_job import recipe_for

# name -> epochs, of which the first leave the LSTM as it is, words kept of a text, other options
WAYS: dict[str, tuple[int, int, int, dict[str, Any]]] = {
    "as it is": (4, 0, 0, {}),
    "3 epochs": (3, 0, 0, {}),
    "2 epochs": (2, 0, 0, {}),
    "2 epochs, twice the rate": (2, 0, 0, {"learning_rate": 1e-3}),
    "1 epoch": (1, 0, 0, {}),
    "1 epoch, twice the rate": (1, 0, 0, {"learning_rate": 1e-3}),
    "LSTM frozen, 4 epochs": (4, 4, 0, {}),
    "LSTM frozen, 8 epochs": (8, 8, 0, {}),
    "frozen 3, then 1": (4, 3, 0, {}),
    "frozen 2, then 1": (3, 2, 0, {}),
    "frozen 2, then 2": (4, 2, 0, {}),
    "frozen 4, then 1, twice the rate": (5, 4, 0, {"learning_rate": 1e-3}),
    "128 words": (4, 0, 128, {}),
    "128 words, 2 epochs": (2, 0, 128, {}),
    "64 words": (4, 0, 64, {}),
    "batches of 64": (4, 0, 0, {"batch_size": 64}),
}


class Thaw(Callback):
    """Leaves the LSTM as it is until the epoch `after`: no gradient passes through it, and none is computed."""

    def __init__(self, after: int) -> None:
        self.after = after

    def on_train_begin(self, run: Any) -> None:
        self._set(run, self.after > 0)

    def on_epoch_end(self, run: Any, record: dict[str, Any]) -> None:
        if record["epoch"] == self.after:
            self._set(run, False)

    def _set(self, run: Any, frozen: bool) -> None:
        for network in (run.network, run.stepper.compute_copy):
            network.encoder.frozen = frozen
        run.stepper.graphs.clear()


plain = BiLSTM.forward


def forward(self: BiLSTM, S: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    if self.training and getattr(self, "frozen", False):
        with torch.no_grad():
            return plain(self, S, lengths)
    return plain(self, S, lengths)


def cut(split: Split, words: int) -> Split:
    """The first words of every text."""
    lengths = np.asarray(split.lengths)
    starts = np.cumsum(lengths) - lengths
    kept = np.minimum(lengths, words)
    places = np.concatenate([np.arange(s, s + n) for s, n in zip(starts, kept, strict=True)])
    return replace(split, ids=np.asarray(split.ids)[places], lengths=kept.astype(lengths.dtype))


def cost(way: str, split: Split) -> float:
    """Passes forwards over the words of the rows."""
    epochs, frozen, words, _ = WAYS[way]
    lengths = np.asarray(split.lengths, dtype=float)
    share = np.minimum(lengths, words).sum() / lengths.sum() if words else 1.0
    return share * (min(frozen, 1) + 3 * (epochs - frozen))


def run(folder: Path, way: str, seed: int, device: str) -> dict[str, Any]:
    dataset = Dataset.open(folder)
    train = dataset.splits["train"]
    epochs, frozen, words, options = WAYS[way]
    if words:
        dataset = replace(dataset, splits=dataset.splits | {"train": cut(train, words)})
    recipe = recipe_for(preset("small"), dataset).override(
        epochs=epochs, seed=seed, precision="bf16", **options
    )
    began = time.perf_counter()
    fitted = fit(dataset, recipe, device=device, show=False, callbacks=[Thaw(frozen)])
    P = activate(dataset.task, fitted.logits("test"))
    right = P.argmax(axis=1) == np.asarray(dataset.splits["test"].labels)
    return {
        "data": folder.name, "way": way, "seed": seed, "accuracy": float(right.mean()),
        "cost": cost(way, train), "seconds": time.perf_counter() - began,
    }  # fmt: skip


def table(out: Path) -> str:
    found: dict[str, dict[str, list[dict]]] = defaultdict(lambda: defaultdict(list))
    for line in out.read_text().splitlines():
        each = json.loads(line)
        found[each["way"]][each["data"]].append(each)
    names = sorted({name for ways in found.values() for name in ways})
    lines = [
        "| | " + " | ".join(f"{name} | cost" for name in names) + " |",
        "|---" * (1 + 2 * len(names)) + "|",
    ]
    for way, by_data in found.items():
        cells = []
        for name in names:
            runs = by_data[name]
            scores = [100 * each["accuracy"] for each in runs]
            spread = f" ± {statistics.stdev(scores):.1f}" if len(scores) > 1 else ""
            cells += [
                f"{statistics.mean(scores):.1f}{spread}" if runs else "",
                f"{runs[0]['cost']:.1f}" if runs else "",
            ]
        lines.append(f"| {way} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, nargs="*", help="encoded data sets")
    parser.add_argument("--out", type=Path, required=True, help="JSON lines, one a run")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    BiLSTM.forward = forward  # type: ignore[method-assign]
    done = set()
    if args.out.exists():
        done = {(x["data"], x["way"], x["seed"]) for x in map(json.loads, args.out.read_text().splitlines())}
    for seed in args.seeds:
        for folder in args.data:
            for way in args.ways:
                if (folder.name, way, seed) in done:
                    continue
                found = run(folder, way, seed, args.device)
                with args.out.open("a") as file:
                    file.write(json.dumps(found) + "\n")
                print(
                    f"{folder.name} {way} {seed}: {found['accuracy']:.2%} in {found['seconds']:.0f} s",
                    flush=True,
                )
    if args.table or args.data:
        print(table(args.out))


if __name__ == "__main__":
    main()
