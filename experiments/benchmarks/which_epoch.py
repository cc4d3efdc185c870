"""Which epoch to keep: development and test figures after every epoch, and what each rule would choose.

    python experiments/benchmarks/which_epoch.py DATA --out epochs.jsonl --preset fast --tasks hotels yelp --options epochs=2 learning_rate=1e-3
    python experiments/benchmarks/which_epoch.py DATA --out epochs.jsonl --preset fast --tasks sst5 bundled --options epochs=4
    python experiments/benchmarks/which_epoch.py DATA --out epochs.jsonl --table

A tenth of the rows is held out, as `limelight train` does it; what is called the test is the development set of
the data (first_model.py), which nothing is chosen by. Runs that are in --out already are not repeated.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from first_model import SIZES, draw, load, read, write

import limelight
from limelight.training import Callback
from limelight.training.evaluate import logits

MAX_JUDGED = 2000


class Seen(NamedTuple):
    """A network before the first epoch, or after one."""

    dev: float  # accuracy
    error: float  # its standard error
    dev_loss: float
    test: float
    test_loss: float


Seens = list[Seen]


def newest_within(errors: float) -> Callable[[Seens], Seen]:
    """The newest whose accuracy is within so many standard errors of the best before it."""

    def choose(seen: Seens) -> Seen:
        kept = best = seen[0]
        for each in seen[1:]:
            kept = each if each.dev + errors * each.error >= best.dev else kept
            best = max(best, each, key=lambda x: x.dev)
        return kept

    return choose


RULES: dict[str, Callable[[Seens], Seen]] = {
    "the first classifier": lambda seen: seen[0],
    "best accuracy, then loss": lambda seen: max(seen, key=lambda each: (each.dev, -each.dev_loss)),
    "least loss": lambda seen: min(seen, key=lambda each: each.dev_loss),
    "newest within 0.5 errors": newest_within(0.5),
    "newest within 1 error": newest_within(1),
    "newest within 2 errors": newest_within(2),
    "the last epoch": lambda seen: seen[-1],
}


class Watch(Callback):
    """Judges the network on both sets before the first epoch and after each."""

    def __init__(self) -> None:
        self.seen: Seens = []

    def look(self, run: Any) -> None:
        figures: list[float] = []
        for name in ("dev", "test"):
            split = run.objective.dataset.splits[name]
            Z, y = logits(run.network, split).astype(float), np.asarray(split.labels)
            log_p = Z - np.logaddexp.reduce(Z, axis=1, keepdims=True)
            p = float((Z.argmax(axis=1) == y).mean())
            error = [(p * (1 - p) / len(y)) ** 0.5] if name == "dev" else []
            figures += [p, *error, float(-log_p[np.arange(len(y)), y].mean())]
        self.seen.append(Seen(*figures))

    def on_train_begin(self, run: Any) -> None:
        self.look(run)

    def on_epoch_end(self, run: Any, record: dict[str, Any]) -> None:
        self.look(run)


def train(data: Path, task: str, size: int, seed: int, preset: str, options: dict[str, Any]) -> Seens:
    rows, judged = load(data, task, "dev")
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder:
        table = write(Path(folder, "train.csv"), draw(rows, task, size, seed))
        test = write(Path(folder, "test.csv"), judged.pick(np.arange(min(len(judged.labels), MAX_JUDGED))))
        limelight.fit(
            table, text="text", label="label", test=test, out=Path(folder, "model"), preset=preset, seed=seed,
            holdout=0.1, callbacks=[watch], progress=False, **options,
        )  # fmt: skip
    return watch.seen


def table(found: list[dict[str, Any]]) -> str:
    """Mean accuracy and loss of what each rule keeps."""
    lines = [f"| {len(found)} runs | accuracy | log loss |", "|---|---|---|"]
    for name, rule in RULES.items():
        kept = [rule([Seen(*each) for each in run["seen"]]) for run in found]
        accuracy, loss = (
            statistics.mean(values) for values in zip(*(each[3:] for each in kept), strict=True)
        )
        lines.append(f"| {name} | {100 * accuracy:.2f} | {loss:.4f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="JSON lines, one a run")
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--options", nargs="*", default=[], help="NAME=VALUE ...")
    parser.add_argument("--tasks", nargs="+", choices=SIZES, default=[])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 3000])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--table", action="store_true", help="nothing but the table")
    args = parser.parse_args()
    options = {name: json.loads(value) for name, _, value in (each.partition("=") for each in args.options)}
    done = [{k: v for k, v in each.items() if k != "seen"} for each in read(args.out)]
    for task in [] if args.table else args.tasks:
        for size in args.sizes:
            for seed in args.seeds:
                run = {"preset": args.preset, "options": options, "task": task, "size": size, "seed": seed}
                if run in done:
                    continue
                run["seen"] = train(args.data, task, size, seed, args.preset, options)
                with args.out.open("a") as file:
                    file.write(json.dumps(run) + "\n")
                print(
                    f"{task}, {size:,}, seed {seed}: {[f'{each[3]:.1%}' for each in run['seen']]}", flush=True
                )
    print(table(read(args.out)))


if __name__ == "__main__":
    main()
