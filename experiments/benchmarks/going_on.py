"""What going on with a model costs and gains: banking77 with some of its classes, then with the others.

python experiments/benchmarks/going_on.py DATA/banking77
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet

import limelight

OLD = 60  # classes that the first model has; the other 17 are new
REPLAYED = (5, 20, 1)  # rows of each old class among the new rows


def write(path: Path, table: pyarrow.Table, rows: np.ndarray) -> Path:
    pyarrow.parquet.write_table(table.take(pyarrow.array(rows)), path)
    return path


def accuracy(model: limelight.Model, table: pyarrow.Table, rows: np.ndarray) -> float:
    texts, labels = (table.column(name).take(pyarrow.array(rows)).to_pylist() for name in ("text", "label"))
    return float(np.mean([a == b for a, b in zip(model.predict(texts), labels, strict=True)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with train.parquet and test.parquet")
    parser.add_argument("--preset", default="small")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--out",
        type=Path,
        help="folder for the models, if they are to be kept; those there are not trained again",
    )
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    train, test = (pyarrow.parquet.read_table(args.data / f"{name}.parquet") for name in ("train", "test"))
    labels = {name: np.array(t.column("label").to_pylist()) for name, t in (("train", train), ("test", test))}
    old_classes = rng.permutation(np.unique(labels["train"]))[:OLD]
    old = {name: np.flatnonzero(np.isin(each, old_classes)) for name, each in labels.items()}
    new = {name: np.flatnonzero(~np.isin(each, old_classes)) for name, each in labels.items()}
    options = {"preset": args.preset, "seed": args.seed, "label": "label", "progress": False}
    print("| model | old classes | new classes |\n|---|---|---|")

    def row(name: str, folder: Path, rows: np.ndarray, **more: object) -> Path:
        table = write(folder.with_suffix(".parquet"), train, rows)
        if not folder.exists():
            limelight.fit(table, out=folder, **options, **more)  # type: ignore[arg-type]
        model = limelight.Model.load(folder)
        both = [f"{100 * accuracy(model, test, part['test']):.1f}" for part in (old, new)]
        print(f"| {name} | {both[0]} | {both[1]} |", flush=True)
        return folder

    with tempfile.TemporaryDirectory() as folder:
        where = args.out or Path(folder)
        where.mkdir(exist_ok=True)
        first = row(f"{OLD} classes", Path(where, "first"), old["train"])
        for count in REPLAYED:
            kept = [rng.permutation(np.flatnonzero(labels["train"] == c))[:count] for c in old_classes]
            rows = np.concatenate([new["train"], *kept])
            name = f"goes on with {len(new['train']):,} rows of the others, and {count} of each old class"
            row(name, Path(where, f"more-{count}"), rows, start=str(first))
        row("all classes at once", Path(where, "all"), np.arange(len(train)))


if __name__ == "__main__":
    main()
