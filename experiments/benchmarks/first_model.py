"""From a table to a saved model: processor time and accuracy, beside TF-IDF and logistic regression in the same run.

    python experiments/benchmarks/first_model.py DATA --out first-model.jsonl
    python experiments/benchmarks/first_model.py DATA --out first-model.jsonl --tasks hotels --sizes 100 1000 --who auto
    python experiments/benchmarks/first_model.py DATA --out first-model.jsonl --table

Each contestant is a process of its own, from its start to its end: reading the table, training, calibrating,
explaining and saving; its processor time (user and system) is what counts, so that other work on the machine
changes little. `auto` names no preset. Accuracy is that of rows which nothing was chosen by: development sets,
or with --split test the test sets. Runs that are in --out already are not repeated.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
from spread import spread

from limelight.bundled import sentences

SIZES = {  # rows; of tickets, rows of each class, of 10 and of 77 classes
    "hotels": (100, 300, 1000, 3000, 20_000), "yelp": (100, 300, 1000, 3000), "sst5": (100, 300, 1000, 3000),
    "bundled": (100, 300, 1000, 3000, 18_732), "tickets-10": (10,), "tickets-77": (5, 20),
}  # fmt: skip
MAX_JUDGED = 5000
TF_IDF = """
import csv, sys
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
csv.field_size_limit(2**30)
(x, y), (u, v) = (zip(*((r["text"], r["label"]) for r in csv.DictReader(open(p, newline="")))) for p in sys.argv[1:])
words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
model = LogisticRegression(C=10, max_iter=1000).fit(words.fit_transform(x), y)
print(model.score(words.transform(u), v))
"""
WHO = ("tf-idf", "auto", "fast", "small")


class Rows(NamedTuple):
    """Texts and their labels."""

    texts: np.ndarray
    labels: np.ndarray

    def pick(self, rows: np.ndarray) -> Rows:
        """Some of them."""
        return Rows(self.texts[rows], self.labels[rows])


def load(data: Path, task: str, split: str) -> tuple[Rows, Rows]:
    """The rows to draw from, and those to judge by."""
    if task == "bundled":
        return tuple(Rows(*(np.array(x, dtype=object) for x in sentences(part))) for part in ("train", split))  # type: ignore[return-value]
    if task.startswith("tickets"):
        rows = _read(data / "banking77", "train", "label")
        order = np.random.default_rng(0).permutation(len(rows.labels))
        train, judged = rows.pick(order[:7500]), rows.pick(order[7500:])
        judged = judged if split == "dev" else _read(data / "banking77", "test", "label")
        names = sorted(set(rows.labels))[: int(task.rpartition("-")[2])]
        return tuple(each.pick(np.isin(each.labels, names)) for each in (train, judged))  # type: ignore[return-value]
    label = "label" if task == "sst5" else "stars"
    return _read(data / task, "train-0" if task == "hotels" else "train", label), _read(
        data / task, split, label
    )


def _read(folder: Path, split: str, label: str) -> Rows:
    table = pq.read_table(folder / f"{split}.parquet", columns=["text", label])
    return Rows(*(np.array(table[name].to_pylist(), dtype=object) for name in ("text", label)))


def draw(rows: Rows, task: str, size: int, seed: int) -> Rows:
    """So many rows, or of tickets so many of each class."""
    order = np.random.default_rng(seed).permutation(len(rows.labels))
    if not task.startswith("tickets"):
        return rows.pick(order[:size])
    own = [order[rows.labels[order] == name][:size] for name in sorted(set(rows.labels))]
    return rows.pick(np.random.default_rng(seed).permutation(np.concatenate(own)))


def write(path: Path, rows: Rows) -> str:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows(zip(*rows, strict=True))
    return str(path)


def run(who: str, train: str, judged: str, out: Path) -> tuple[float, float]:
    """Accuracy, and seconds of processor time."""
    command = [sys.executable, "-c", TF_IDF, train, judged]
    if who != "tf-idf":
        named = [] if who == "auto" else ["--preset", who]
        command = [sys.executable, "-m", "limelight", "train", train, "--text", "text", "--label", "label"]
        command += ["--test", judged, "--out", str(out), "--overwrite", "--quiet", "--json", *named]
    before = os.times()
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    after = os.times()
    seconds = sum(after[2:4]) - sum(before[2:4])
    if who == "tf-idf":
        return float(found), seconds
    return json.loads(found)["results"]["test"]["accuracy"], seconds


def read(out: Path) -> list[dict]:
    return [json.loads(line) for line in out.read_text().splitlines()] if out.is_file() else []


def table(found: list[dict]) -> str:
    lines = [f"| | {' | '.join(f'{who} | s' for who in WHO)} |", "|---" * (1 + 2 * len(WHO)) + "|"]
    for task, size in dict.fromkeys((each["task"], each["size"]) for each in found):
        cells = []
        for who in WHO:
            runs = [x for x in found if (x["task"], x["size"], x["who"]) == (task, size, who)]
            cells += [spread([each["accuracy"] for each in runs])]
            cells += [f"{statistics.mean(each['seconds'] for each in runs):.0f}" if runs else ""]
        lines.append(f"| {task}, {size:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="JSON lines, one a run")
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--tasks", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--sizes", nargs="+", type=int, help="some of them")
    parser.add_argument("--who", nargs="+", choices=WHO, default=list(WHO))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--table", action="store_true", help="nothing but the table")
    args = parser.parse_args()
    runs = [
        (task, size, seed) for task in args.tasks for size in args.sizes or SIZES[task] for seed in args.seeds
    ]
    done = {(x["task"], x["size"], x["seed"], x["who"]) for x in read(args.out)}
    for task, size, seed in [] if args.table else runs:
        missing = [who for who in args.who if (task, size, seed, who) not in done]
        with tempfile.TemporaryDirectory() as folder:
            rows, judged = load(args.data, task, args.split) if missing else (None, None)
            if rows is not None and judged is not None:
                train = write(Path(folder, "train.csv"), draw(rows, task, size, seed))
                test = write(
                    Path(folder, "test.csv"), judged.pick(np.arange(min(len(judged.labels), MAX_JUDGED)))
                )
            for who in missing:
                accuracy, seconds = run(who, train, test, Path(folder, "model"))
                record = {"task": task, "size": size, "seed": seed, "who": who, "accuracy": accuracy}
                with args.out.open("a") as file:
                    file.write(json.dumps({**record, "seconds": round(seconds, 1)}) + "\n")
                print(f"{task} {size:,} {who} {seed}: {accuracy:.1%} in {seconds:.1f} s", flush=True)
    print(table(read(args.out)))


if __name__ == "__main__":
    main()
