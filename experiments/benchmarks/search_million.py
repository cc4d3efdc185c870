"""A search of a million texts: milliseconds by words, meaning and both, beside bm25s, faiss and usearch.

    limelight index million.parquet --text text --model reader-fast --out million.index
    pip install bm25s==0.3.16 PyStemmer==3.1.0 faiss-cpu==1.15.1 usearch==2.26.6
    python experiments/benchmarks/search_million.py million.index thousand.parquet --where "stars>=4"

thousand.parquet has as many texts that are not in the index: a hundred are the queries, and all are added. The index itself
is left as it is: 1,000 texts are added to and deleted from a copy. Processor time of all threads, which other work hardly
moves, and the clock; medians of the queries, which are warm: each was asked before in the same process, unless the line says
"first". The other libraries get the same texts and vectors.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet

from limelight import Index
from limelight.search.build import encode

QUERIES, TOP = 100, 10


def show(way: str, work: Callable[[Any], Any], items: Sequence[Any]) -> None:
    clock, processor = [], []
    for item in items:
        start, used = time.perf_counter(), time.process_time()
        work(item)
        clock.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    middle = [1000 * float(np.median(each)) for each in (processor, clock)]
    print(f"{way:44} {middle[0]:9.2f} ms of processor {middle[1]:9.2f} by the clock", flush=True)


def timed(way: str, work: Callable[[], Any]) -> Any:
    start, used = time.perf_counter(), time.process_time()
    found = work()
    print(
        f"{way:44} {time.process_time() - used:9.1f} s of processor {time.perf_counter() - start:9.1f}",
        flush=True,
    )
    return found


def show_index(index: Index, queries: Sequence[str], where: list[str]) -> None:
    ways: dict[str, dict[str, Any]] = {
        "words": {"by": "words"},
        "meaning": {"by": "meaning"},
        "meaning, approximate": {"by": "meaning", "approximate": True},
        "both": {"by": "both"},
        "both, approximate": {"by": "both", "approximate": True},
        "words, filtered": {"by": "words", "where": where},
        "both, approximate, filtered": {"by": "both", "approximate": True, "where": where},
    }
    for name, how in ways.items():

        def search(query: str, how: dict[str, Any] = how) -> None:
            index.search(query, TOP, words=False, **how)

        show(f"{name}, first", search, queries[:1])
        show(f"{name}, new queries", search, queries[1:])
        show(name, search, queries[1:])


def show_changes(index: Index, texts: list[str], queries: Sequence[str], where: list[str]) -> None:
    with tempfile.TemporaryDirectory(dir=index.folder.parent) as place:
        copy = Path(
            shutil.copytree(index.folder, Path(place, "index"), copy_function=os.link)
        )  # files never change
        changed = Index.open(copy)
        timed("adding 1,000 texts", lambda: changed.add(texts))
        keys = [int(key) for key in np.linspace(1, len(index), 1000)]
        timed("deleting 1,000 texts", lambda: changed.delete(keys))
        show_index(changed, queries, where)


def show_bm25s(texts: list[str], queries: Sequence[str]) -> None:
    import bm25s
    import Stemmer

    how: dict[str, Any] = {"stopwords": "en", "stemmer": Stemmer.Stemmer("english"), "show_progress": False}
    found = bm25s.BM25()
    timed("bm25s, building", lambda: found.index(bm25s.tokenize(texts, **how), show_progress=False))

    def search(query: str) -> None:
        words = bm25s.tokenize([query], return_ids=False, **how)
        found.retrieve(words, k=TOP, show_progress=False)

    show("bm25s, Snowball stems", search, queries)


def show_vectors(V: np.ndarray, Q: np.ndarray, exact: np.ndarray) -> None:
    """Exact and by graphs of equal settings; the share of the ten nearest that a graph finds."""
    import faiss
    from usearch.index import Index as Graph

    flat = faiss.IndexFlatIP(V.shape[1])
    timed("faiss, flat, building", lambda: flat.add(V))
    show("faiss, flat, float32", lambda q: flat.search(q[None], TOP), Q)
    graph = Graph(
        ndim=V.shape[1], metric="ip", dtype="i8", connectivity=16, expansion_add=128, expansion_search=64
    )
    timed("usearch, graph in 8 bits, building", lambda: graph.add(np.arange(len(V)), V))
    show("usearch, graph in 8 bits", lambda q: graph.search(q, TOP), Q)
    same = [
        len({*graph.search(q, TOP).keys.tolist()} & {*places})
        for q, places in zip(Q, exact.tolist(), strict=True)
    ]
    print(
        f"usearch finds {np.mean(same) / TOP:.3f} of the ten nearest; {graph.memory_usage:,} bytes",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("more", type=Path, help="table of texts that are not in the index")
    parser.add_argument("--where", action="append", default=[])
    parser.add_argument("--only", choices=["index", "changes", "bm25s", "vectors"], nargs="+")
    args = parser.parse_args()
    index = Index.open(args.index)
    more = pyarrow.parquet.read_table(args.more)["text"].to_pylist()
    queries, parts = more[:QUERIES], args.only or ["index", "changes", "bm25s", "vectors"]
    print(f"{len(index):,} texts, {sum(each.bytes for each in index.config.shards):,} bytes", flush=True)
    if "index" in parts:
        show_index(index, queries, args.where)
    if "changes" in parts:
        show_changes(index, more, queries, args.where)
    if "bm25s" in parts:
        show_bm25s([shard.entry(at)["text"] for shard in index._shards for at in range(len(shard))], queries)
    if "vectors" in parts:
        Q = np.concatenate([*encode(index.model, queries)])
        exact = index.search_vectors(Q, TOP)[1]
        show_vectors(np.concatenate([shard.floats(slice(None)) for shard in index._shards]), Q, exact)


if __name__ == "__main__":
    main()
