r"""Write the texts, labels and splits that a reader is measured on in training; no test set is among them.

    python experiments/reader/texts.py CORPUS --stsb dev.parquet --banking77 train.parquet \
        --sst5 train.parquet dev.parquet --tweets pan15.parquet

Reads CORPUS/heldout.json; writes CORPUS/texts.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

SEEDS = 5


def read(path: Path, *columns: str) -> list[list[Any]]:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return [table[column].to_pylist() for column in columns]


class Texts:
    """All texts in one list; a span names a part of it."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.spans: dict[str, list[int]] = {}
        self.tasks: dict[str, dict[str, Any]] = {}

    def add(self, name: str, rows: list[str]) -> None:
        self.spans[name] = [len(self.texts), len(self.texts) + len(rows)]
        self.texts.extend(rows)

    def add_task(self, name: str, rows: list[str], labels: list[int], splits: list[list[list[int]]]) -> None:
        self.add(name, rows)
        self.tasks[name] = {"span": self.spans[name], "labels": labels, "splits": splits}


def add_banking(texts: Texts, path: Path, rng: np.random.Generator) -> None:
    """Five rows for each class to learn from; 3,000 other rows of the training set to judge by."""
    rows, named = read(path, "text", "label")
    names = sorted(set(named))
    labels = np.array([names.index(name) for name in named])
    judged = rng.permutation(len(labels))[:3000]
    others = np.setdiff1d(np.arange(len(labels)), judged)
    splits = []
    for seed in range(SEEDS):
        order = np.random.default_rng(seed).permutation(others)
        learned = np.concatenate([order[labels[order] == c][:5] for c in range(len(names))])
        splits.append([learned.tolist(), judged.tolist()])
    texts.add_task("banking5", rows, labels.tolist(), splits)


def add_few_rows(
    texts: Texts,
    name: str,
    rows: list[str],
    labels: list[Any],
    picks: list[list[int]],
    judged_rows: list[str],
    judged_labels: list[Any],
) -> None:
    """Only the rows that a pick needs, then all rows to judge by."""
    names = sorted(set(map(str, labels)))
    used = sorted(set().union(*picks))
    place = {row: i for i, row in enumerate(used)}
    judged = list(range(len(used), len(used) + len(judged_rows)))
    texts.add_task(
        name,
        [rows[i] for i in used] + judged_rows,
        [names.index(str(label)) for label in [labels[i] for i in used] + judged_labels],
        [[[place[i] for i in pick], judged] for pick in picks],
    )


def add_sst(texts: Texts, train: Path, dev: Path) -> None:
    """500 rows to learn from; the development set to judge by."""
    rows, labels = read(train, "text", "label")
    picks = [np.random.default_rng(seed).permutation(len(rows))[:500].tolist() for seed in range(SEEDS)]
    add_few_rows(texts, "sst500", rows, labels, picks, *read(dev, "text", "label"))


def add_tweets(texts: Texts, path: Path, rng: np.random.Generator) -> None:
    """Age groups: 500 tweets of half of the authors to learn from; 2,000 of the other half to judge by."""
    rows, groups, author = read(path, "text", "age_group", "author")
    authors = sorted(set(author))
    rng.shuffle(authors)
    half = set(authors[: len(authors) // 2])
    learned = [i for i in range(len(rows)) if author[i] in half]
    judged = rng.permutation([i for i in range(len(rows)) if author[i] not in half])[:2000].tolist()
    picks = [np.random.default_rng(seed).permutation(learned)[:500].tolist() for seed in range(SEEDS)]
    judged_rows = [rows[i] for i in judged]
    add_few_rows(texts, "tweets500", rows, groups, picks, judged_rows, [groups[i] for i in judged])


def named(given: str) -> list[str]:
    return given.split("=", 1)


def add_pairs(texts: Texts, name: str, path: str) -> list[float]:
    """Pairs of texts; their scores."""
    first, second, scores = read(Path(path), "first", "second", "score")
    texts.add(f"{name}-first", first)
    texts.add(f"{name}-second", second)
    return list(map(float, scores))


def add_search(texts: Texts, name: str, folder: Path) -> list[list[int]]:
    """Queries and documents; which documents each query wants."""
    ids, titles, abstracts = read(folder / "corpus.parquet", "doc_id", "title", "abstract")
    claims, cited = read(folder / "train.parquet", "claim", "cited_docs")
    places = {number: k for k, number in enumerate(ids)}
    joined = [" ".join([title, *parts]) for title, parts in zip(titles, abstracts, strict=True)]
    texts.add(f"{name}-texts", joined)
    texts.add(f"{name}-queries", claims)
    return [[places[number] for number in some] for some in cited]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("corpus", type=Path, help="folder that corpus.py wrote")
    parser.add_argument("--stsb", type=Path, required=True, help="development set: first, second, score")
    parser.add_argument("--banking77", type=Path, required=True, help="training set: text, label")
    parser.add_argument(
        "--sst5", type=Path, nargs=2, required=True, help="training, development set: text, label"
    )
    parser.add_argument("--tweets", type=Path, required=True, help="PAN 2015: text, age_group, author")
    parser.add_argument("--pairs", type=named, nargs="*", default=[], help="NAME=TABLE: first, second, score")
    parser.add_argument("--searches", type=named, nargs="*", default=[], help="NAME=FOLDER, as SciFact's")
    arguments = parser.parse_args()
    texts = Texts()
    first, second, scores = read(arguments.stsb, "first", "second", "score")
    texts.add("first", first)
    texts.add("second", second)
    for kind, rows in json.loads((arguments.corpus / "heldout.json").read_text()).items():
        texts.add("held-" + kind, rows)
    rng = np.random.default_rng(0)
    add_banking(texts, arguments.banking77, rng)
    add_sst(texts, *arguments.sst5)
    add_tweets(texts, arguments.tweets, rng)
    pairs = {name: add_pairs(texts, name, path) for name, path in arguments.pairs}
    searches = {name: add_search(texts, name, Path(folder)) for name, folder in arguments.searches}
    content = {
        "pairs": pairs,
        "searches": searches,
        "texts": [" ".join(text.split()) or "." for text in texts.texts],
        "spans": texts.spans,
        "scores": list(map(float, scores)),
        "tasks": texts.tasks,
    }
    (arguments.corpus / "texts.json").write_text(json.dumps(content))


if __name__ == "__main__":
    main()
