"""Train the plan of docs/results.md at half a million reviews: one result for each run and seed, resumable.

    python experiments/hotels/train_runs.py encoded --test test-10k.jsonl --out runs rows max --seeds 1 2 3

Each run is `limelight train` on the encoded reviews and `limelight evaluate` on the test table; a run whose
result is there is skipped, so that the same command goes on where it stopped. The table of means and standard
deviations over the seeds is printed at the end, from all results in the folder. `--at-once` runs share the
GPU; times are then longer than those of one alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BEST = "--preset best-single --epochs 6"
PAPER = "--preset yelp --precision bf16"
RUNS = {  # name -> the flags of `limelight train`
    "best": BEST,
    "rows": f"{BEST} --rows 30 --no-max-row",
    "max": f"{BEST} --pooling max",
    "max-600": f"{BEST} --pooling max --hidden 600",
    "rows-600": f"{BEST} --rows 30 --no-max-row --hidden 600",
    "small": "--preset small --batch-size 128 --learning-rate 1e-3 --precision bf16",
    "paper": PAPER,
    "paper-max": f"{PAPER} --pooling max",
    "paper-cnn": f"{PAPER} --encoder cnn --pooling max",
    "paper-no-penalty": f"{PAPER} --penalty 0",
    "paper-small-penalty": f"{PAPER} --penalty 0.01",
    "paper-no-clip": f"{PAPER} --clip-norm 0",
    "paper-no-dropout": f"{PAPER} --dropout 0",
    "paper-adagrad": f"{PAPER} --optimizer adagrad",
    "paper-max-adagrad": f"{PAPER} --pooling max --optimizer adagrad",
    "paper-cnn-adagrad": f"{PAPER} --encoder cnn --pooling max --optimizer adagrad",
    **{f"paper-{r}": f"{PAPER} --rows {r}" for r in (1, 5, 10, 20)},
    "paper-pruned": f"{PAPER} --head pruned",
}


def call(*argv: object) -> dict:
    """The JSON that a command of Limelight prints."""
    done = subprocess.run(
        [sys.executable, "-m", "limelight", *map(str, argv), "--json"], capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"limelight {' '.join(map(str, argv))}: {done.stderr[-500:]}")
    return json.loads(done.stdout)


def train(args: argparse.Namespace, name: str, seed: int) -> None:
    """One run, unless its result is there."""
    folder = args.out / f"{name}-{seed}"
    result = folder.with_suffix(".json")
    if result.exists():
        return
    begin = time.perf_counter()
    how = [folder, "--device", args.device, "--quiet", *RUNS[name].split(), *args.more.split()]
    trained = call("train", args.data, "--seed", seed, "--out", *how)
    trained_in = time.perf_counter() - begin
    test = call(
        "evaluate", folder, args.test, "--device", args.device, "--text", "text", "--label", args.label
    )
    found = {"name": name, "seed": seed, "seconds": round(trained_in, 1), "dev": trained["results"]["dev"]}
    found |= {
        "test": {key: test[key] for key in ("rows", "accuracy", "macro_f1")},
        "history": json.loads((folder / "config.json").read_text())["facts"]["training"]["history"],
    }
    part = result.with_suffix(".part")
    part.write_text(json.dumps(found))
    part.rename(result)
    print(f"{name} {seed}: {test['accuracy']:.2%} in {trained_in:.0f} s", flush=True)


def table(out: Path) -> str:
    """Mean and standard deviation of each run over its seeds."""
    found = defaultdict(list)
    for file in sorted(out.glob("*.json")):
        each = json.loads(file.read_text())
        found[each["name"]].append(each)
    lines = ["| run | seeds | test | dev | seconds |", "|---|---|---|---|---|"]
    for name, runs in found.items():
        test, dev = ([100 * run[split]["accuracy"] for run in runs] for split in ("test", "dev"))
        spread = f" ± {statistics.stdev(test):.2f}" if len(test) > 1 else ""
        seconds = statistics.mean(run["seconds"] for run in runs)
        lines.append(
            f"| {name} | {len(runs)} | {statistics.mean(test):.2f}{spread} | {statistics.mean(dev):.2f} | {seconds:.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="the encoded reviews")
    parser.add_argument("runs", nargs="+", choices=RUNS)
    parser.add_argument("--test", type=Path, required=True, help="test table: stars, text")
    parser.add_argument("--label", default="stars", help="label column of the test table [stars]")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--more", default="", help="more flags of `limelight train`, such as '--epochs 1'")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    plan = [(name, seed) for seed in args.seeds for name in args.runs]
    with ThreadPoolExecutor(args.at_once) as pool:
        for done in [pool.submit(train, args, *each) for each in plan]:
            done.result()
    print(table(args.out))


if __name__ == "__main__":
    main()
