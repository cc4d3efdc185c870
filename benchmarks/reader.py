"""The bundled reader on pairs rated for similarity: rank correlation with the ratings, and speed.

    python benchmarks/reader.py DATA/stsb/dev.parquet --first first --second second --score score

Spearman's correlation is that of the dot products with the ratings. Speed is sentences per second, the best
round, and per second of processor time, which a busy machine affects least.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import limelight
from limelight.text.formats import read_values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("table")
    for column in ("first", "second", "score"):
        parser.add_argument(f"--{column}", default=column, metavar="COL")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    rows = read_values(Path(args.table), [args.first, args.second, args.score])
    first, second, ratings = map(list, zip(*rows, strict=True))
    scores = np.array(ratings, float)
    print("| | Spearman x 100 | sentences per second | per second of processor time |\n|---|---|---|---|")
    for precision in ("float32", "int8"):
        reader = limelight.load("reader", precision=precision)
        vectors, wall, processor = measure(reader, first + second, args.rounds)
        a, b = np.split(vectors, 2)
        found = 100 * spearman((a * b).sum(axis=1), scores)
        print(f"| {precision} | {found:.2f} | {wall:,.0f} | {processor:,.0f} |")


def measure(reader: limelight.Reader, texts: list[str], rounds: int) -> tuple[np.ndarray, float, float]:
    """The vectors, and texts per second of both clocks in the best rounds."""
    reader.encode(texts[:100])
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter(), time.process_time()
        vectors = reader.encode(texts)
        seconds.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    wall, processor = len(texts) / np.min(seconds, axis=0)
    return vectors, wall, processor


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """The correlation of ranks; equal values share their mean rank."""
    return float(np.corrcoef(ranks(x), ranks(y))[0, 1])


def ranks(x: np.ndarray) -> np.ndarray:
    _, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


if __name__ == "__main__":
    main()
