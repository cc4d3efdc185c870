"""Does a run that is killed again and again end bit for bit like an uninterrupted one?

    OMP_NUM_THREADS=1 python experiments/benchmarks/kill.py --rounds 10

Each round trains with SGD, AdaGrad and Adam (dropout on, a checkpoint after every step) in child processes
that get SIGKILL at random moments, half of them while writing a file. Every remaining file (weights,
optimizer state, history) is compared with that of an uninterrupted run.
"""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[2] / "tests")

from training import killing  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    totals: collections.Counter[str] = collections.Counter()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(rounds):
            for name in killing.RECIPES:
                found = killing.compare(Path(folder), name, seed)
                totals.update(found["kills"])
                wrong += [f"{name}, round {seed}: {file}" for file in found["different"]]
    kills = totals["by the clock"] + totals["while writing"]
    print(
        f"{kills} kills in {rounds * len(killing.RECIPES)} runs: "
        + ", ".join(f"{v} {k}" for k, v in totals.items())
    )
    print(f"files that differ from an uninterrupted run: {', '.join(wrong) or 'none'}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
