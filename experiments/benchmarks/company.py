"""Does a text get the same answer in any company?

    python experiments/benchmarks/company.py reader
    python experiments/benchmarks/company.py path/to/model --texts reviews.parquet --column text --batchings 10000

Draws random groups of texts, each with a random number of words to a batch and one in five with a text of 500
words, and compares M of every text with its M alone, in float32 and int8, with one and two threads. For a
classifier, labels are compared as well.
"""

from __future__ import annotations

import argparse
from itertools import islice

import numpy as np

import limelight
from limelight import bundled
from limelight.tables.columns import choose_columns
from limelight.tables.rows import TableRows

MOST, LONG = 8, 500  # texts in a group; words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", help="a saved folder, or: reader")
    parser.add_argument("--texts", help="table of texts (default: the bundled sentences)")
    parser.add_argument("--column", help="its text column")
    parser.add_argument("--count", type=int, default=300, help="different texts")
    parser.add_argument("--batchings", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    texts = read_texts(args.texts, args.column, args.count)
    texts.append(" ".join(" ".join(texts).split()[:LONG]))
    print(
        "| precision | threads | texts compared | not equal to the bit | largest change of M | other labels |"
    )
    print("|---|---|---|---|---|---|")
    for precision in ("float32", "int8"):
        alone = answers_alone(args.model, precision, texts)
        for threads in (1, 2):
            model = limelight.load(args.model, precision=precision, threads=threads)
            found = compare(model, texts, alone, args.batchings, args.seed)
            print(f"| {precision} | {threads} | " + " | ".join(found) + " |", flush=True)


def read_texts(table: str | None, column: str | None, count: int) -> list[str]:
    if table is None:
        return bundled.sentences("dev")[0][:count]
    columns = choose_columns(table, column, None, None, need_label=False)
    return [row.text for row in islice(TableRows(table, columns), count)]


def answers_alone(name: str, precision: str, texts: list[str]) -> tuple[np.ndarray, list[object]]:
    """M and the label of each text by itself; the reader has no labels."""
    model = limelight.load(name, precision=precision, threads=1)
    M = np.concatenate([model.embed([text]) for text in texts])
    return M, [labels(model, M[k : k + 1])[0] for k in range(len(texts))]


def labels(model: limelight.Model | limelight.Reader, M: np.ndarray) -> list[object]:
    if not isinstance(model, limelight.Model):
        return [None] * len(M)
    return [model.labels[k] for k in model.classify(M).argmax(axis=1)]


def compare(
    model: limelight.Model | limelight.Reader,
    texts: list[str],
    alone: tuple[np.ndarray, list[object]],
    batchings: int,
    seed: int,
) -> list[str]:
    """Texts compared, how many M differ at all, by how much at most, and how many labels."""
    rng, largest, unequal, other, count = np.random.default_rng(seed), 0.0, 0, 0, 0
    for _ in range(batchings):
        group = rng.integers(len(texts) - 1, size=rng.integers(1, MOST + 1))
        if rng.random() < 0.2:
            group[rng.integers(len(group))] = len(texts) - 1
        budget = int(rng.choice([1, 50, 1024, 10**5]))
        M = model.embed([texts[k] for k in group], batch_words=budget)
        change = np.abs(M - alone[0][group]).max(axis=(1, 2))
        largest = max(largest, float(change.max()))
        unequal += int((change > 0).sum())
        other += sum(a != alone[1][k] for a, k in zip(labels(model, M), group, strict=True))
        count += len(group)
    return [f"{count:,}", f"{unequal:,}", f"{largest:.1e}", str(other)]


if __name__ == "__main__":
    main()
