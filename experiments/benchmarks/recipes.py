"""Train the best recipes, variants with one ingredient changed, and baselines tuned with the same effort.

    python experiments/benchmarks/recipes.py encoded/snli --out recipes.jsonl --seeds 0 1 2 --workers 6
    python experiments/benchmarks/recipes.py encoded/snli --out recipes.jsonl --only best max-600 --seeds 0 1 2 --test
    python experiments/benchmarks/recipes.py --out recipes.jsonl --table

All choices are made on the development set. With --test, the test accuracy is recorded too, but only --table
shows it: name the recipes you chose with --only. Runs already in --out are not repeated. Seconds are for a
run alone on its machine only with --workers 1.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import multiprocessing
import os
import queue
import signal
import statistics
import threading
import time
from pathlib import Path
from typing import Any

from limelight.config.presets import preset
from limelight.config.recipe import Recipe
from limelight.text.dataset import Dataset

MAX = {"pooling": "max", "head": "full", "head_hidden": 512, "mix_units": 0}
CNN = {"encoder": "cnn", "pooling": "max", "head": "full", "head_hidden": 512, "mix_units": 0}
COMMON: dict[str, dict[str, Any]] = {
    "best": {},
    "no-penalty": {"penalty": 0.0},
    "paper-penalty": {"penalty": 0.03, "penalty_scale": "paper"},
    "no-average": {"ema_decay": 0.0},
    "no-decay": {"optimizer": "adam", "weight_decay": 0.0},
    "no-projection": {"projection": 0},
    "tuned-words": {"projection": 0, "fine_tune_words": True},
    "no-max-row": {"max_row": False},
    "full-head": {"head": "full", "head_hidden": 1024, "mix_units": 0},
    "mixed-units": {"mix_units": 256},
    "rows-1": {"rows": 1},
    "rows-4": {"rows": 4},
    "rows-30": {"rows": 30},
    "max-300": {**MAX, "layers": 1},
    "max-600": {**MAX, "layers": 1, "hidden": 600},
    "cnn-300": {**CNN, "hidden": 300},
    "max-600-tuned": {**MAX, "layers": 1, "hidden": 600, "projection": 0, "fine_tune_words": True},
    "cnn-300-tuned": {**CNN, "hidden": 300, "projection": 0, "fine_tune_words": True},
    "max-600-plain": {
        **MAX,
        "layers": 1,
        "hidden": 600,
        "projection": 0,
        "optimizer": "adam",
        "weight_decay": 0.0,
    },
}
SINGLE = {**COMMON, "stacked": {"layers": 2}, "rows-16": {"rows": 16}, "max-2x300": {**MAX, "layers": 2}}
PAIR = {  # with teachers: experiments/best_pair
    **COMMON,
    "one-layer": {"layers": 1},
    "three-layers": {"layers": 3},
    "mixed-units": {"mix_units": 512},
    "rows-8": {"rows": 8},
    "gated": {"pair": "gated"},
    "max-3x300": {**MAX, "layers": 3},
    "max-3x300-wide": {**MAX, "layers": 3, "head_hidden": 1024},
    "max-2x600": {**MAX, "layers": 2, "hidden": 600},
    "max-2x600-wide": {**MAX, "layers": 2, "hidden": 600, "head_hidden": 1024},
}


class LateError(Exception):
    """The time limit is reached."""


def recipes(pair: bool) -> dict[str, Recipe]:
    """Every recipe by name."""
    base = preset("best-pair" if pair else "best-single")
    return {name: base.override(**changes) for name, changes in (PAIR if pair else SINGLE).items()}


def train(
    dataset: Dataset, recipe: Recipe, options: argparse.Namespace, until: float, keep: Path | None
) -> dict[str, Any]:
    """Train one recipe: accuracies, time to each epoch, size."""
    from limelight.network.parts import parameters_by_part
    from limelight.training import Callback, fit
    from limelight.training.evaluate import evaluate

    started, marks = time.monotonic(), []

    class Marks(Callback):
        def on_epoch_end(self, run: Any, record: dict[str, Any]) -> None:
            marks.append(round(time.monotonic() - started, 1))

    if time.time() >= until:
        raise LateError
    late = threading.Timer(until - time.time(), os.kill, (os.getpid(), signal.SIGINT))  # as Ctrl-C would
    late.daemon = True
    late.start()
    try:
        fitted = fit(dataset, recipe, device=options.device, show=options.show, callbacks=[Marks()])
    finally:
        late.cancel()
    if fitted.interrupted:
        raise LateError if time.time() >= until else SystemExit("interrupted")
    parts = parameters_by_part({k: tuple(w.shape) for k, w in fitted.network.named_parameters()})
    found = {
        "dev": fitted.state.best_accuracy,
        "history": [record["dev_accuracy"] for record in fitted.history],
        "marks": marks,
        "seconds": round(time.monotonic() - started, 1),
        "weights": sum(parts.values()) - parts["words"],
        "recipe": recipe.to_dict(),
    }
    if options.test:
        found["test"] = evaluate(fitted.network, dataset.splits["test"]).score
    if keep:
        keep_weights(fitted.network, keep)
    return found


def keep_weights(network: Any, path: Path) -> None:
    """Save all weights except the word vectors, which the data set has if they are frozen."""
    from safetensors.torch import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    weights = {name: x for name, x in network.state_dict().items() if not name.startswith("words.")}
    save_file({name: x.cpu().contiguous() for name, x in weights.items()}, path)


def work(jobs: Any, options: argparse.Namespace, until: float) -> None:
    """Run jobs until none are left or the time is up."""
    dataset: dict[str, Dataset] = {}
    while True:
        try:
            folder, name, seed, changes = jobs.get(timeout=1)
        except queue.Empty:
            return
        if folder not in dataset:
            dataset[folder] = Dataset.open(folder)
        recipe = recipes(dataset[folder].pair)[name].override(seed=seed, **changes)
        try:
            called = "-".join([Path(folder).name, name, *(f"{k}={v}" for k, v in changes.items()), str(seed)])
            keep = Path(options.keep, f"{called}.safetensors") if options.keep else None
            found = train(dataset[folder], recipe, options, until, keep)
        except LateError:
            print(f"no time for {name}, seed {seed}", flush=True)
            continue
        line = {"data": Path(folder).name, "name": name, "seed": seed, "changes": changes, **found}
        with open(options.out, "a") as file:
            file.write(json.dumps(line) + "\n")
        print(
            f"{line['data']} {name}, seed {seed}: dev {line['dev']:.2%}, {line['seconds']:.0f} s", flush=True
        )


def read(out: str) -> list[dict[str, Any]]:
    """The results recorded so far."""
    path = Path(out)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def key(line: dict[str, Any]) -> tuple[str, str, int, str]:
    """What identifies a run."""
    return line["data"], line["name"], line["seed"], json.dumps(line["changes"])


def table(lines: list[dict[str, Any]]) -> str:
    """A Markdown table: mean and spread of each recipe on each data set; weights without the word vectors."""
    lines = list({key(x): x for x in sorted(lines, key=lambda x: "test" in x)}.values())
    rows = ["| data | recipe | seeds | dev % | test % | weights | seconds |", "|---|---|---|---|---|---|---|"]
    keys = dict.fromkeys((x["data"], x["name"], json.dumps(x["changes"])) for x in lines)
    for data, name, changes in keys:
        same = [x for x in lines if (x["data"], x["name"], json.dumps(x["changes"])) == (data, name, changes)]
        tested = [x["test"] for x in same if "test" in x]
        extra = "" if changes == "{}" else f" {changes}"
        seconds = statistics.mean(x["seconds"] for x in same)
        rows.append(
            f"| {data} | {name}{extra} | {len(same)} | {spread([x['dev'] for x in same])} | {spread(tested)} "
            f"| {same[0]['weights'] / 1e6:.1f} M | {seconds:.0f} |"
        )
    return "\n".join(rows)


def spread(values: list[float]) -> str:
    """Mean and standard deviation in per cent."""
    if not values:
        return ""
    mean = f"{100 * statistics.mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ± {100 * statistics.stdev(values):.2f}"


def option(given: str) -> tuple[str, Any]:
    """Parse KEY=VALUE; the value is JSON if it parses, else text."""
    key, _, value = given.partition("=")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def main() -> None:
    """Run the recipes asked for that have no result yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="*", metavar="DIR", help="folders written by 'limelight encode'")
    parser.add_argument("--out", required=True, metavar="FILE", help="results file, one JSON object per line")
    parser.add_argument("--only", nargs="+", default=["*"], metavar="NAME", help="recipes or patterns")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument(
        "--set", action="append", default=[], type=option, metavar="KEY=VALUE", dest="changes"
    )
    parser.add_argument("--test", action="store_true", help="also test; only --table shows it")
    parser.add_argument("--keep", metavar="DIR", help="save the weights here, without the word vectors")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--workers", type=int, default=1, help="number of parallel runs")
    parser.add_argument("--seconds", type=float, default=1e9, help="time limit; finished runs are kept")
    parser.add_argument("--show", action="store_true", help="show every epoch")
    parser.add_argument("--table", action="store_true", help="run nothing, print the table of results")
    options = parser.parse_args()
    if options.table:
        print(table([x for x in read(options.out) if wanted(x["name"], options)]))
    else:
        run(options)


def wanted(name: str, options: argparse.Namespace) -> bool:
    """Whether --only matches the name."""
    return any(fnmatch.fnmatch(name, each) for each in options.only)


def run(options: argparse.Namespace) -> None:
    """Distribute the runs to the workers."""
    context = multiprocessing.get_context("spawn")
    jobs, changes = context.Queue(), dict(options.changes)
    there = {key(x) for x in read(options.out) if "test" in x or not options.test}
    for seed in options.seeds:
        for folder in options.folders:
            for name in recipes(Dataset.open(folder).pair):
                mine = (Path(folder).name, name, seed, json.dumps(changes))
                if mine not in there and wanted(name, options):
                    jobs.put((folder, name, seed, changes))
    until = time.time() + options.seconds
    if options.workers == 1:
        work(jobs, options, until)
        return
    workers = [context.Process(target=work, args=(jobs, options, until)) for _ in range(options.workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        raise SystemExit("a worker failed; see its output")


if __name__ == "__main__":
    main()
