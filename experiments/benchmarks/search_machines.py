"""What a search of a hundred million texts would take on several machines: a simulation from one index's measured times.

    python experiments/benchmarks/search_machines.py million.index thousand.parquet

million.index is a part (see search_million.py). The times of a hundred searches of it, each the processor time of one
thread, are measured by meaning (approximate), by words and by both. Every machine holds as many parts as it must; each of its cores searches
its parts one after another, and the answer is there when the slowest core has finished, plus what a network and its
delays take (--network: the median of a log-normal distribution, its 99% point five times that). The times of a part are
drawn from the measured ones with seed 0. What the simulation leaves out: queries that wait for each other (a core has
one at a time, and the utilisation column says how many a second it could do), machines that fail, and that the
weights of words by BM25 are those of a part, not of all texts.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet

from limelight import Index

QUERIES, TOP, DRAWS = 100, 10, 20_000
WAYS = {
    "words": {"by": "words"},
    "meaning": {"by": "meaning", "approximate": True},
    "both": {"by": "both", "approximate": True},
}


def measure(index: Index, queries: list[str], how: dict[str, object]) -> np.ndarray:
    """Seconds of processor time of each query, (queries,), after a first round that warms the index."""
    for query in queries:
        index.search(query, TOP, words=False, **how)
    times = []
    for query in queries:
        used = time.process_time()
        index.search(query, TOP, words=False, **how)
        times.append(time.process_time() - used)
    return np.array(times)


def simulate(times: np.ndarray, parts: int, cores: int, network: float, seed: int = 0) -> np.ndarray:
    """Seconds until the answer of each of DRAWS queries, (DRAWS,), with the parts spread over the cores.

    >>> float(simulate(np.array([0.5]), parts=4, cores=2, network=0.0).max())
    1.0
    """
    rng, slowest = np.random.default_rng(seed), np.zeros(DRAWS)
    for core in range(min(cores, parts)):
        own = len(range(core, parts, cores))
        slowest = np.maximum(slowest, rng.choice(times, (DRAWS, own)).sum(axis=1))
    return slowest + network * rng.lognormal(0, np.log(5) / 2.326, DRAWS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("index", type=Path, help="a part of what is to be searched")
    parser.add_argument("queries", type=Path, help="table of texts that are not in the index")
    parser.add_argument("--texts", type=int, default=100_000_000)
    parser.add_argument("--cores", type=int, nargs="+", default=[2, 16, 64, 128])
    parser.add_argument("--network", type=float, default=0.002, help="seconds there and back, the median")
    args = parser.parse_args()
    index = Index.open(args.index)
    queries = pyarrow.parquet.read_table(args.queries)["text"].to_pylist()[:QUERIES]
    parts, size = -(-args.texts // len(index)), sum(each.bytes for each in index.config.shards)
    print(f"{args.texts:,} texts are {parts} parts of {len(index):,}, {parts * size / 1e9:.0f} GB")
    for way, how in WAYS.items():
        times = measure(index, queries, how)
        middle, high = 1000 * np.percentile(times, [50, 99])
        print(f"{way}: a part takes {middle:.1f} ms of processor time, 99% {high:.1f}")
        for cores in args.cores:
            found = 1000 * simulate(times, parts, cores, args.network)
            middle, high = np.percentile(found, [50, 99])
            rate = cores / (parts * times.mean())
            print(
                f"  {cores:4} cores: {middle:7.0f} ms, 99% {high:7.0f}; at most {rate:.1f} queries a second"
            )


if __name__ == "__main__":
    main()
