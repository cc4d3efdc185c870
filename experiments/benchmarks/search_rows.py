"""Is a text better kept as several vectors, rows of M merged to a few, than as one?

    python experiments/benchmarks/search_rows.py cranfield=DATA/cranfield cisi=DATA/cisi hotels=DATA/hotels

The tasks are those of search_quality.py. p_r is row r's part of the reader's vector, which is their sum. A text is
kept as m unit vectors; the score is the sum over the query's rows of the best of them: sum_r max_j p_r . v_j. All in
float32, nDCG at 10 over all queries.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from search_quality import TASKS, TOP, Task, halves

from limelight import load
from limelight.runtime.reader import Reader
from limelight.runtime.word_parts import unit

CHUNK = 256


def row_parts(reader: Reader, texts: list[str]) -> np.ndarray:
    """(texts, r, size): each row's part of the vector."""
    to_vector, found = reader._runner.vector_parts, []
    for at in range(0, len(texts), CHUNK):
        for rows in to_vector.reduce(np.asarray(reader.embed(texts[at : at + CHUNK]))):  # (r, rank)
            alone = np.eye(len(rows), dtype=np.float32)[:, :, None] * rows  # (r, r, rank): the others are 0
            found.append(to_vector.map_rows(alone))
    return np.stack(found)


def merge_alike(P: np.ndarray, m: int, steps: int = 8) -> np.ndarray:
    """(texts, m, size): the sums of the rows of each text that point the same way, by k-means."""
    found = np.empty((len(P), m, P.shape[2]), np.float32)
    for k, rows in enumerate(P):
        U = unit(rows)
        first = [int(np.linalg.norm(rows, axis=1).argmax())]
        while len(first) < m:  # the row that is least like those chosen
            first.append(int((U @ U[first].T).max(axis=1).argmin()))
        C = U[first]
        for _ in range(steps):
            group = (U @ C.T).argmax(axis=1)
            C = np.stack([unit(rows[group == j].sum(axis=0)) for j in range(m)])
        found[k] = C
    return found


def merge_groups(P: np.ndarray, m: int) -> np.ndarray:
    """(texts, m, size): the sums of rows r, r + m, r + 2m, ... of each text: groups that are the same everywhere."""
    return unit(np.stack([P[:, j::m].sum(axis=1) for j in range(m)], axis=1))


def late(Q: np.ndarray, V: np.ndarray) -> np.ndarray:
    """(queries, texts): the sum over the query's rows of the best of the text's vectors."""
    flat = V.reshape(-1, V.shape[2]).T
    return np.stack([(q @ flat).reshape(len(q), *V.shape[:2]).max(axis=2).sum(axis=0) for q in Q])


def measure(name: str, task: Task, reader: Reader) -> None:
    P, Q = row_parts(reader, task.texts), row_parts(reader, task.queries)
    scores = {"one vector": unit(Q.sum(axis=1)) @ unit(P.sum(axis=1)).T}
    for m in (2, 4):
        scores[f"{m} vectors, rows that are alike"] = late(Q, merge_alike(P, m))
        scores[f"{m} vectors, fixed groups of rows"] = late(Q, merge_groups(P, m))
        scores[f"{m} vectors, alike, and the cosine"] = unit(Q.sum(axis=1)) @ unit(P.sum(axis=1)).T + late(
            Q / np.linalg.norm(Q.sum(axis=1), axis=1)[:, None, None], merge_alike(P, m)
        )
    scores["all 24 rows"] = late(Q, unit(P))
    for what, each in scores.items():
        found = np.argsort(-each, axis=1, kind="stable")[:, :TOP].tolist()
        print(f"{name}: {what} {{:.3f}} {{:.3f}}".format(*halves(name, task, found)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tasks", nargs="+", metavar="NAME=FOLDER")
    reader = load("reader", precision="int8")
    for name, folder in (each.split("=", 1) for each in parser.parse_args().tasks):
        measure(name, TASKS[name](Path(folder)), reader)


if __name__ == "__main__":
    main()
