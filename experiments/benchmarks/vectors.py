"""Reading word vectors against only reading the lines of the file: time and peak memory.

    python experiments/benchmarks/vectors.py                       # 100,000 words of 300 numbers, 1% and 20% wanted
    python experiments/benchmarks/vectors.py --words 2200000       # the size of GloVe 840B, in the temporary folder

The file is made up in GloVe's format: five decimals, one word with spaces in it. Times are the best of
several rounds, alternating; peak memory is that of a separate process, beyond what it had after its imports.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from encoding import peak_memory

from limelight.text.vectors import read_vectors


def generate(path: Path, words: int, size: int) -> None:
    """Write the file from a pool of 2,000 rows: quick to make, and as slow to read as any other."""
    random = np.random.default_rng(0)
    pool = [" ".join(f"{x:.5f}" for x in row) for row in random.normal(0, 0.4, (2000, size))]
    with open(path, "w") as file:
        for number in range(words):
            word = ". . ." if number == words // 2 else f"word{number}"
            file.write(f"{word} {pool[number % len(pool)]}\n")


def vocabulary(words: int, share: float) -> list[str]:
    return ["<pad>", "<unk>", *(f"word{i}" for i in range(0, words, round(1 / share)))]


def read_lines(path: str) -> None:
    with open(path, "rb") as file:
        for _ in file:
            pass


def alone(path: str, words: int, share: float) -> dict[str, float]:
    """Time both ways of reading, in this process."""
    wanted = vocabulary(words, share)
    begin = time.perf_counter(), time.process_time()
    read_lines(path)
    between, before = (time.perf_counter(), time.process_time()), peak_memory()
    vectors = read_vectors(path, wanted, seed=0)
    end = time.perf_counter(), time.process_time()
    assert vectors.found[2:].mean() > 0.99
    return {
        "lines": between[0] - begin[0], "vectors": end[0] - between[0],
        "lines_cpu": between[1] - begin[1], "vectors_cpu": end[1] - between[1],
        "matrix": vectors.matrix.nbytes / 2**20, "peak": peak_memory() - before,
    }  # fmt: skip


def compare(path: Path, words: int, share: float, rounds: int) -> None:
    command = [sys.executable, __file__, "--alone", str(path), "--words", str(words), "--wanted", str(share)]
    runs = [
        json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout) for _ in range(rounds)
    ]
    best = {name: min(run[name] for run in runs) for name in runs[0]}
    print(
        f"{share:6.0%} {best['lines']:9.3f} {best['vectors']:11.3f} {best['vectors'] / best['lines']:7.2f} "
        f"{best['vectors_cpu'] / best['lines_cpu']:11.2f} {best['matrix']:12.1f} {best['peak']:10.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--size", type=int, default=300)
    parser.add_argument("--wanted", type=float, nargs="+", default=[0.01, 0.2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(alone(options.alone, options.words, options.wanted[0])))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "glove.txt")
        generate(path, options.words, options.size)
        print(f"{options.words:,} x {options.size}, {path.stat().st_size / 2**20:,.0f} MiB on disk")
        print("wanted   lines s   vectors s   ratio   CPU ratio   matrix MiB   peak MiB")
        for share in options.wanted:
            compare(path, options.words, share, options.rounds)


if __name__ == "__main__":
    main()
