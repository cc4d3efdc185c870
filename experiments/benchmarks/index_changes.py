"""What changes cost in an index that is there, beside building it anew: seconds of processor time, ratios.

    python experiments/benchmarks/index_changes.py --texts 100000

Texts are made of random words of the reader's vocabulary, the frequent ones more often. Searches are exact.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from limelight import Index, load

QUERIES = 20


def seconds(work: Callable[[], Any]) -> tuple[Any, float]:
    """What the work gives, and its processor time, which other work hardly moves."""
    start = time.process_time()
    found = work()
    return found, time.process_time() - start


def make_rows(count: int, seed: int) -> list[dict[str, Any]]:
    rng, words = np.random.default_rng(seed), load("reader").tokenizer.vocabulary[2:20_000]
    places = (len(words) ** rng.random((count, 12))).astype(int) - 1
    return [{"id": k, "text": " ".join(words[each] for each in row)} for k, row in enumerate(places.tolist())]


def measure(texts: int, changed: int, model: str) -> dict[str, float]:
    rows, others = make_rows(texts, 0), make_rows(changed, 1)
    folder, queries = tempfile.mkdtemp() + "/index", [row["text"] for row in rows[:QUERIES]]
    index, build = seconds(lambda: Index.create(folder, rows, model=model, key="id"))
    new = [{"id": texts + row["id"], "text": row["text"]} for row in others]

    def search() -> float:
        return seconds(lambda: [index.search(each, words=False) for each in queries])[1] / QUERIES

    index.search(queries[0])
    found = {"build": build, "search": search()}
    found["add"] = seconds(lambda: index.add(new))[1]
    found["update"] = seconds(lambda: index.update(others))[1]
    found["delete"] = seconds(lambda: index.delete(range(texts, texts + changed)))[1]
    index.delete(range(0, texts, 5))
    index.search(queries[1])
    found["search, a fifth deleted"] = search()
    found["compact"] = seconds(index.compact)[1]
    index.search(queries[1])
    found["search, compacted"] = search()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--changed", type=int, default=100)
    parser.add_argument("--model", default="reader")
    args = parser.parse_args()
    found = measure(args.texts, args.changed, args.model)
    ratios = {
        f"build / {name}": round(found["build"] / found[name], 1)
        for name in ("add", "update", "delete", "compact")
    }
    print(json.dumps({name: round(each, 4) for name, each in found.items()} | ratios, indent=1))


if __name__ == "__main__":
    main()
