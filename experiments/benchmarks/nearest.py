"""Ways to the nearest of many vectors, on one core: recall at 10 beside milliseconds, megabytes and time to build.

    pip install faiss-cpu usearch hnswlib
    python experiments/benchmarks/nearest.py vectors.npy --queries 500 --out nearest.jsonl

`vectors.npy` holds unit vectors, (n, size) in float32; the last `--queries` of them are the queries. Times are of the
processor, with one thread each, and what a way finds is scored again by the vectors in 8 bits, as `limelight search`
does; recall is measured against the exact ten. Ways whose library is not there are left out.

    python experiments/benchmarks/nearest.py vectors.npy --grow 2192247 --only limelight --out nearest.jsonl

makes as many vectors of fewer: each again and again, with noise that leaves a cosine of 0.9 to it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from limelight.search.nearest import ApproximateSearch, ExactSearch, score_places
from limelight.search.shards import Shard, quantise

K, ROWS, NOISE = 10, 2**16, 0.484
Search = Callable[[np.ndarray, int], np.ndarray]  # a query and how many -> candidates
Built = tuple[dict[str, tuple[Search, int]], float]  # by setting, with how many candidates; and megabytes


def grow(V: np.ndarray, count: int) -> np.ndarray:
    """As many unit vectors; after the first n, noisy copies."""
    rng, found = np.random.default_rng(0), np.empty((count, V.shape[1]), np.float32)
    found[: len(V)] = V[:count]
    for at in range(len(V), count, ROWS):
        part = V[np.arange(at, min(at + ROWS, count)) % len(V)]
        part += rng.standard_normal(part.shape, np.float32) * np.float32(NOISE / V.shape[1] ** 0.5)
        found[at : at + ROWS] = part / np.linalg.norm(part, axis=1, keepdims=True)
    return found


def in_bytes(V: np.ndarray) -> list[Shard]:
    nothing = np.zeros(0, np.uint8), np.zeros(0, np.int64)
    return [Shard(*quantise(V[at : at + ROWS]), *nothing) for at in range(0, len(V), ROWS)]


def ivf(V: np.ndarray) -> Built:
    n, d = V.shape
    import faiss

    faiss.omp_set_num_threads(1)
    clusters = 2 ** round(np.log2(4 * np.sqrt(n)))
    index = faiss.index_factory(d, f"IVF{clusters},SQ8", faiss.METRIC_INNER_PRODUCT)
    index.train(V[:: max(1, n // (40 * clusters))])
    index.add(V)

    def search(probes: int) -> Search:
        def find(q: np.ndarray, k: int) -> np.ndarray:
            index.nprobe = probes
            return index.search(q[None], k)[1][0]

        return find

    return {f"{p} of {clusters} lists": (search(p), 40) for p in (16, 32, 64, 128)}, n * (d + 8) / 1e6


def binary(V: np.ndarray) -> Built:
    n, d = V.shape
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexBinaryFlat(d)
    index.add(np.packbits(V > 0, axis=1))

    def find(q: np.ndarray, k: int) -> np.ndarray:
        return index.search(np.packbits(q > 0)[None], k)[1][0]

    return {f"{k} scored again": (find, k) for k in (40, 100, 200, 400, 1000)}, n * d / 8 / 1e6


def hnsw_faiss(V: np.ndarray) -> Built:
    n, d = V.shape
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexHNSWSQ(d, faiss.ScalarQuantizer.QT_8bit, 16, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = 80
    index.train(V[:20000])
    index.add(V)

    def search(effort: int) -> Search:
        def find(q: np.ndarray, k: int) -> np.ndarray:
            index.hnsw.efSearch = effort
            return index.search(q[None], k)[1][0]

        return find

    return {f"effort {e}": (search(e), 40) for e in (48, 96, 192)}, n * (d + 16 * 2 * 4) / 1e6


def hnsw(V: np.ndarray) -> Built:
    n, d = V.shape
    import hnswlib

    index = hnswlib.Index("ip", d)
    index.init_index(n, M=16, ef_construction=100)
    index.set_num_threads(1)
    index.add_items(V)

    def search(effort: int) -> Search:
        def find(q: np.ndarray, k: int) -> np.ndarray:
            index.set_ef(effort)
            return index.knn_query(q, k)[0][0].astype(np.int64)

        return find

    return {f"effort {e}": (search(e), 40) for e in (48, 96, 192)}, n * (4 * d + 16 * 2 * 4) / 1e6


def usearch(V: np.ndarray) -> Built:
    n, d = V.shape
    from usearch.index import Index

    index = Index(ndim=d, metric="ip", dtype="i8", connectivity=16, expansion_add=100)
    index.add(np.arange(n), V, threads=1)

    def search(effort: int) -> Search:
        def find(q: np.ndarray, k: int) -> np.ndarray:
            index.expansion_search = effort
            return index.search(q, k, threads=1).keys.astype(np.int64)

        return find

    return {f"effort {e}": (search(e), 40) for e in (48, 96, 192)}, index.memory_usage / 1e6


def signs(V: np.ndarray) -> Built:
    n, d = V.shape
    index = ApproximateSearch(in_bytes(V), 1)
    pool = ThreadPoolExecutor(1)

    def find(q: np.ndarray, k: int) -> np.ndarray:
        return index._candidates(pool, q, k, None, None)

    return {f"{k} scored again": (find, k) for k in (100, 200, 400, 1000, 2000)}, n * d / 8 / 1e6


def exact(V: np.ndarray) -> Built:
    shards, search = in_bytes(V), ExactSearch(1)
    return {"": (lambda q, k: search.search(shards, q[None], k)[1][0], K)}, V.size / 1e6


WAYS: dict[str, Callable[[np.ndarray], Built]] = {
    "limelight, exact": exact,
    "limelight, one bit a number, all of them": signs,
    "faiss, inverted lists of bytes": ivf,
    "faiss, one bit a number, all of them": binary,
    "faiss, graph of bytes": hnsw_faiss,
    "usearch, graph of bytes": usearch,
    "hnswlib, graph of floats": hnsw,
}


def measure(args: argparse.Namespace) -> None:
    V = np.load(args.vectors)
    V, Q = V[: -args.queries][: args.texts], V[-args.queries :]
    V = V if args.grow is None else grow(V, args.grow)
    shards = in_bytes(V)
    truth = ExactSearch(1).search(shards, Q, K)[1]
    for name, build in WAYS.items():
        if args.only and args.only not in name:
            continue
        began = time.process_time()
        try:
            searches, megabytes = build(V)
        except ImportError as error:
            print(f"{name}: left out, {error}")
            continue
        built = time.process_time() - began
        for setting, (find, count) in searches.items():
            took, right = [], 0
            for q, true in zip(Q, truth, strict=True):
                began = time.process_time()
                places = np.sort(find(q, count))
                best = places[np.argsort(-score_places(shards, q, places))[:K]]
                took.append(time.process_time() - began)
                right += len(np.intersect1d(best, true))
            found = {
                "way": name, "setting": setting, "vectors": len(V), "recall": right / (K * len(Q)),
                "ms": 1000 * statistics.median(took), "build_s": built, "mb": megabytes,
            }  # fmt: skip
            print(
                f"{name}, {setting}: {found['recall']:.1%}, {found['ms']:.2f} ms, {built:.2f} s, {megabytes:.0f} MB",
                flush=True,
            )
            with args.out.open("a") as file:
                file.write(json.dumps(found) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vectors", type=Path)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--texts", type=int, help="of the vectors, the first")
    parser.add_argument("--grow", type=int, help="vectors made of them")
    parser.add_argument("--only", help="part of a way's name")
    parser.add_argument("--out", type=Path, required=True)
    measure(parser.parse_args())


if __name__ == "__main__":
    main()
