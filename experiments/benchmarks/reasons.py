"""What marked words are worth: accuracy and agreement with people, with marks and without, from few labels.

    python experiments/benchmarks/reasons.py movies DATA/rationales --rows 50 75 100 200 300 --out movies.jsonl
    python experiments/benchmarks/reasons.py pairs DATA/esnli --rows 50 75 100 150 200 --out pairs.jsonl

DATA has tables of texts with labels and the words that people marked (movie reviews with their evidence,
e-SNLI). Each number of rows is trained on with its marks and without, from the bundled reader, on the same
rows; the other rows are the test set. One line of JSON for each run; runs that are there are skipped.
Agreement is the average precision of a text's words by what decided, against those marked, of test texts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from sklearn.metrics import average_precision_score

import limelight

WORDS = 300  # of a review
Span = tuple[int, int]


def token_spans(text: str) -> list[Span]:
    """Where the tokens of text.split() are."""
    found, end = [], 0
    for token in text.split():
        start = text.index(token, end)
        end = start + len(token)
        found.append((start, end))
    return found


def movies(folder: Path) -> list[dict[str, Any]]:
    """The reviews, cut; `spans` are characters that people marked."""
    rows = [row for name in ("train", "val") for row in pq.read_table(folder / f"{name}.parquet").to_pylist()]
    found = []
    for row in rows:
        tokens = token_spans(row["text"])[:WORDS]
        marked = [
            (tokens[a][0], tokens[min(b, len(tokens)) - 1][1]) for a, b in row["evidence"] if a < len(tokens)
        ]
        text = row["text"][: tokens[-1][1]]
        found.append(
            {"texts": [text], "label": row["label"], "spans": [marked], "reasons": [list(s) for s in marked]}
        )
    return found


def pairs(folder: Path) -> list[dict[str, Any]]:
    """The pairs; a word is marked if two of three people marked it."""
    found = []
    for row in pq.read_table(folder / "dev.parquet").to_pylist():
        spans, words = [], []
        for side in ("premise", "hypothesis"):
            tokens = token_spans(row[side])
            votes = np.zeros(len(tokens))
            for person in row[f"{side}_highlights"]:
                votes[[k for k in person if k < len(tokens)]] += 1
            chosen = [tokens[k] for k in np.flatnonzero(votes >= 2)]
            spans.append(chosen)
            words += [row[side][a:b].strip(".,!?\"'") for a, b in chosen]
        found.append({"texts": [row["premise"], row["hypothesis"]], "label": row["label"], "spans": spans,
                      "reasons": [word for word in words if word]})  # fmt: skip
    return found


def agreement(reading: Any, spans: Sequence[Sequence[Span]]) -> float | None:
    """The average precision of the words by what decided against the marked ones; None without both kinds."""
    scores, truth = [], []
    for side, marked in zip(reading.sides, spans, strict=True):
        scores += side.decided.tolist()
        truth += [any(a < end and start < b for a, b in marked) for start, end in side.offsets.tolist()]
    return float(average_precision_score(truth, scores)) if 0 < sum(truth) < len(truth) else None


def run(rows: list[dict[str, Any]], size: int, seed: int, marked: bool, texts: int) -> dict[str, Any]:
    order = np.random.default_rng(seed).permutation(len(rows))
    train, test = (
        [rows[k] for k in order[:size]],
        [rows[k] for k in order[::-1][:400] if k not in set(order[:size])],
    )
    two = len(rows[0]["texts"]) == 2
    kind = limelight.PairClassifier if two else limelight.TextClassifier
    columns = [[row["texts"][k] for row in train] for k in range(1 + two)]
    model = kind(progress=False, random_state=seed).fit(
        *columns,
        [row["label"] for row in train],
        reasons=[row["reasons"] for row in train] if marked else None,
    )
    given = [[row["texts"][k] for row in test] for k in range(1 + two)]
    right = [a == row["label"] for a, row in zip(model.predict(*given), test, strict=True)]
    readings = model.model_.read_many(*(column[:texts] for column in given))
    agreed = [agreement(reading, row["spans"]) for reading, row in zip(readings, test, strict=False)]
    known = [each for each in agreed if each is not None]
    return {"rows": size, "seed": seed, "marked": marked, "test": len(test),
            "accuracy": float(np.mean(right)), "agreement": float(np.mean(known))}  # fmt: skip


def table(found: list[dict[str, Any]]) -> str:
    lines = ["| labels | accuracy | with marks | agreement | with marks |", "|---|---|---|---|---|"]
    for size in sorted({each["rows"] for each in found}):
        cells = []
        for name in ("accuracy", "agreement"):
            for marked in (False, True):
                values = [
                    100 * each[name] for each in found if (each["rows"], each["marked"]) == (size, marked)
                ]
                cells.append(
                    f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}"
                    if len(values) > 1
                    else f"{values}"
                )
        lines.append(f"| {size} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", choices=("movies", "pairs"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[50, 75, 200, 300])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--texts", type=int, default=100, help="test texts to measure agreement on")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    rows = {"movies": movies, "pairs": pairs}[args.data](args.folder)
    found = [json.loads(line) for line in args.out.read_text().splitlines()] if args.out.exists() else []
    done = {(each["rows"], each["seed"], each["marked"]) for each in found}
    for seed in args.seeds:
        for size in args.rows:
            for marked in (False, True):
                if (size, seed, marked) not in done:
                    found.append(run(rows, size, seed, marked, args.texts))
                    print(found[-1], flush=True)
                    with args.out.open("a") as file:
                        file.write(json.dumps(found[-1]) + "\n")
    print(table(found))


if __name__ == "__main__":
    main()
