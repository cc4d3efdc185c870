"""What another busy process costs: training and reading, alone and beside one that never rests, by threads.

    python experiments/benchmarks/neighbour.py [--seconds 8] [--rounds 3]

Each figure is a process of its own: steps of `small` on made-up reviews of 130 words (as training.py), or sentences
read by the reader, for some seconds, after two to warm up. `spinning` lets the threads of PyTorch wait busily, as they
do by default; Limelight has them sleep. In turns; rows or sentences a second of the clock, the median of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

WARM_UP = 2.0  # seconds
WAYS = {
    "train, two threads": ("train", 2, "passive"),
    "train, one thread": ("train", 1, "passive"),
    "train, two threads, spinning": ("train", 2, "active"),
    "read, two threads": ("read", 2, "passive"),
    "read, one thread": ("read", 1, "passive"),
}


def training() -> Callable[[], int]:
    """A step, and how many rows it has."""
    import training as made
    from limelight.config.presets import preset
    from limelight.text.batches import training_plan
    from limelight.training.context import Processes
    from limelight.training.step import Stepper

    split, vocabulary, classes = made.made_up("yelp")
    recipe = preset("small")
    network = made.build(recipe, split, vocabulary, classes, "cpu")
    stepper = Stepper(network, made.objective(split, recipe), Processes())
    plan = iter(training_plan(stepper.lengths, recipe.training.batch_size, 0, 0) * 100)

    def step() -> int:
        rows = next(plan)
        stepper.step(rows, 0)
        return len(rows)

    return step


def reading(threads: int) -> Callable[[], int]:
    import limelight
    from limelight.bundled import sentences

    reader, texts = limelight.load("reader", threads=threads), list(sentences("train")[0][:256])

    def read() -> int:
        reader.encode(texts)
        return len(texts)

    return read


def measure(what: str, threads: int, seconds: float) -> float:
    work = training() if what == "train" else reading(threads)
    begun = time.perf_counter()
    while time.perf_counter() - begun < WARM_UP:
        work()
    done, begun = 0, time.perf_counter()
    while (passed := time.perf_counter() - begun) < seconds:
        done += work()
    return done / passed


@contextmanager
def neighbours(count: int) -> Iterator[None]:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in busy:
            each.kill()


def run(way: str, seconds: float) -> float:
    what, threads, waiting = WAYS[way]
    command = [sys.executable, __file__, "--way", what, "--threads", str(threads), "--seconds", str(seconds)]
    own = {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": waiting}
    done = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--way", choices=("train", "read"), help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.way:
        print(json.dumps(measure(args.way, args.threads, args.seconds)))
        return
    found: dict[tuple[str, int], list[float]] = {}
    for _ in range(args.rounds):
        for count in (0, 1):
            for way in WAYS:
                with neighbours(count):
                    found.setdefault((way, count), []).append(run(way, args.seconds))
    print("| | alone | beside a busy process |\n|---|---|---|")
    for way in WAYS:
        print(f"| {way} | {median(found[way, 0]):,.0f} | {median(found[way, 1]):,.0f} |")


if __name__ == "__main__":
    main()
