"""Compare a saved model with PyTorch in float32, and int8 with float32, on real texts.

    python experiments/benchmarks/agreement.py path/to/model reviews.parquet --text text --label stars
    python experiments/benchmarks/agreement.py path/to/pair-model snli.parquet --text premise --text2 hypothesis

Expected: probabilities, M and A within 1e-5 of PyTorch; int8 loses at most 0.3 points of accuracy and
changes A by less than 0.01 on average.
"""

from __future__ import annotations

import argparse
from itertools import islice

import numpy as np
import torch

from limelight.network.torch.network import Network
from limelight.runtime.model import Model
from limelight.tables.columns import choose_columns
from limelight.tables.rows import TableRows


def torch_outputs(model: Model, columns: list[list[str]]) -> list[list[np.ndarray]]:
    """Run every row through PyTorch on its own: probabilities, M, A (and for pairs M2, A2)."""
    network = Network(model.recipe.model, len(model.tokenizer), len(model.labels), model.pair).eval()
    network.load_state_dict({name: torch.tensor(array) for name, array in model.weights.items()})
    most = model.recipe.text.max_length or None
    results = []
    for row in zip(*columns, strict=True):
        ids = [torch.from_numpy(model.tokenizer.locate(text)[0][:most]).long()[None] for text in row]
        with torch.inference_mode():
            out = network(*(x for i in ids for x in (i, torch.tensor([i.shape[1]]))))
        found = (out.logits.softmax(1), out.M, out.A, out.M2, out.A2)
        results.append([x[0].numpy() for x in found if x is not None])
    return results


def our_outputs(model: Model, columns: list[list[str]]) -> list[list[np.ndarray]]:
    """The same, from Readings."""
    results = []
    for reading in model.read_many(*columns):
        sides = [reading.first, reading.second] if model.pair else [reading]  # type: ignore[union-attr]
        parts = [x for side in sides for x in (side.embedding, side.attention)]  # type: ignore[union-attr]
        results.append([reading.probabilities, *parts])
    return results


def differences(one: list[list[np.ndarray]], other: list[list[np.ndarray]], fold: str) -> list[float]:
    """Largest (or mean) absolute difference of probabilities, M and A."""
    measure = {"max": np.max, "mean": np.mean}[fold]
    both = zip(one, other, strict=True)
    each = np.array([[measure(np.abs(a - b)) for a, b in zip(x, y, strict=True)] for x, y in both])
    return [float(measure(each[:, group])) for group in (slice(0, 1), slice(1, None, 2), slice(2, None, 2))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("table")
    parser.add_argument("--text")
    parser.add_argument("--text2")
    parser.add_argument("--label")
    parser.add_argument("--count", type=int, default=1000, help="rows to compare with PyTorch")
    options = parser.parse_args()
    exact, near = (Model.load(options.model, precision=p) for p in ("float32", "int8"))
    names = choose_columns(options.table, options.text, options.label, options.text2, pair=exact.pair)
    table = list(TableRows(options.table, names))
    columns = [[row.text for row in table]] + ([[row.text2 or "" for row in table]] if exact.pair else [])
    few = [list(islice(column, options.count)) for column in columns]
    ours, small = our_outputs(exact, few), our_outputs(near, few)
    print(f"{len(few[0])} rows of {len(table)}             probabilities          M          A")
    for title, other, fold in (
        ("float32 and PyTorch, largest", torch_outputs(exact, few), "max"),
        ("int8 and float32, mean", small, "mean"),
    ):
        print(f"{title:30}" + "".join(f"{x:12.1e}" for x in differences(ours, other, fold)))
    truth = np.array([str(row.label) for row in table])
    answers = [np.array([str(x) for x in model.predict(*columns)]) for model in (exact, near)]
    whole, less = (100 * float((found == truth).mean()) for found in answers)
    same = 100 * float((answers[0] == answers[1]).mean())
    print(f"accuracy: float32 {whole:.2f}, int8 {less:.2f} ({less - whole:+.2f}); same answer: {same:.2f}%")


if __name__ == "__main__":
    main()
