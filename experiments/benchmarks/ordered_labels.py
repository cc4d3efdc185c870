"""Which loss for ordered labels? Linear models of the frozen reader's vectors, on reviews with stars.

    python experiments/benchmarks/ordered_labels.py DATA --out ordered.json

DATA holds yelp/ and hotels/ with train and dev parquet tables (`text`, `stars`). 2,000 training rows drawn
with each of three seeds, 1,000 dev rows for the regularisation, 1,000 others to measure on; texts are cut to
64 words. Accuracy and mean absolute error, by the most probable class and by the median of the classes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet
import torch
from torch import Tensor
from torch.nn import functional as F

import limelight
from limelight.training.loss import cross_entropy
from limelight.training.starting_network import fit_linear

TRAIN, OTHER, WORDS = 2000, 1000, 64
STRENGTHS = (3.0, 10.0, 30.0)
SOFT = 1.0  # temperature of soft labels, in classes


def below(logits: Tensor) -> Tensor:
    """(rows, classes - 1): the probability of the first k + 1 classes."""
    return logits.softmax(1).cumsum(1)[:, :-1]


def is_below(labels: Tensor, classes: int) -> Tensor:
    return (labels[:, None] <= torch.arange(classes - 1)).double()


def ranked_score(logits: Tensor, labels: Tensor) -> Tensor:
    return (below(logits) - is_below(labels, logits.shape[1])).square().sum(1)


def cumulative(logits: Tensor, labels: Tensor) -> Tensor:
    p = below(logits).clamp(1e-7, 1 - 1e-7)
    return F.binary_cross_entropy(p, is_below(labels, logits.shape[1]), reduction="none").sum(1)


def both(logits: Tensor, labels: Tensor) -> Tensor:
    return cross_entropy(logits, labels) + cumulative(logits, labels)


def soft(logits: Tensor, labels: Tensor) -> Tensor:
    k = torch.arange(logits.shape[1])
    return cross_entropy(logits, (-(labels[:, None] - k).abs() / SOFT).double().softmax(1))


LOSSES = {
    "cross-entropy": cross_entropy, "ranked score": ranked_score, "cumulative": cumulative, "both": both,
    "soft labels": soft,
}  # fmt: skip


def decide(P: np.ndarray, how: str) -> np.ndarray:
    return P.argmax(axis=1) if how == "argmax" else (P.cumsum(axis=1) >= 0.5).argmax(axis=1)


def vectors(data: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The reader's vectors of the rows that any seed draws, and their classes."""
    reader = limelight.load("reader")
    tables = sorted((data / name).glob("train*.parquet"))[:1]
    table = pyarrow.parquet.read_table(tables[0], columns=["text", "stars"]).to_pydict()
    order = np.random.default_rng(0).permutation(len(table["text"]))[: 2 * TRAIN + 2 * OTHER]
    texts = [" ".join(table["text"][k].split()[:WORDS]) for k in order]
    _, labels = np.unique([table["stars"][k] for k in order], return_inverse=True)
    return reader.encode(texts).astype(np.float64), labels


def odds(v: np.ndarray, y: np.ndarray, strength: float) -> tuple[np.ndarray, np.ndarray]:
    """Proportional odds by gradient descent: w and the biases of the steps."""
    X, Y = torch.from_numpy(v), torch.from_numpy(y)
    w, b = torch.zeros(X.shape[1], dtype=X.dtype), torch.linspace(-1, 1, int(y.max()), dtype=X.dtype)
    w.requires_grad_(), b.requires_grad_()
    optimiser = torch.optim.LBFGS([w, b], max_iter=200, line_search_fn="strong_wolfe")
    target = is_below(Y, int(y.max()) + 1)

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss = F.binary_cross_entropy_with_logits(b - (X @ w)[:, None], target, reduction="none").sum()
        total = strength * loss + w.square().sum() / 2
        total.backward()
        return total

    optimiser.step(closure)
    return w.detach().numpy(), np.sort(b.detach().numpy())


def figures(P: np.ndarray, y: np.ndarray, how: str) -> tuple[float, float]:
    found = decide(P, how)
    return float((found == y).mean()), float(np.abs(found - y).mean())


def outputs(name: str, v: list[np.ndarray], y: np.ndarray, strength: float) -> list[np.ndarray]:
    """Probabilities of the other parts, from the first."""
    if name == "proportional odds":
        w, b = odds(v[0], y, strength)
        C = [1 / (1 + np.exp(-(b - (each @ w)[:, None]))) for each in v[1:]]
        return [np.diff(np.pad(c, ((0, 0), (1, 1)), constant_values=(0, 1)), axis=1) for c in C]
    weights = torch.ones(len(y), dtype=torch.float64)
    W, b = fit_linear(
        torch.from_numpy(v[0]), torch.from_numpy(y), weights, int(y.max()) + 1, strength, LOSSES[name]
    )
    return [(torch.from_numpy(each) @ W.T + b).softmax(1).numpy() for each in v[1:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    results: dict[str, dict[str, list]] = {}
    for name in ("yelp", "hotels"):
        v, y = vectors(args.data, name)
        dev, test = np.arange(OTHER), np.arange(OTHER, 2 * OTHER)
        for seed in range(3):
            rows = 2 * OTHER + np.random.default_rng(seed).permutation(len(y) - 2 * OTHER)[:TRAIN]
            parts = [v[rows], v[dev], v[test]]
            for loss in (*LOSSES, "proportional odds"):
                tried = [outputs(loss, parts, y[rows], strength) for strength in STRENGTHS]
                for how in ("argmax", "median"):
                    best = min(tried, key=lambda P: figures(P[0], y[dev], how)[1])
                    found = figures(best[1], y[test], how)
                    results.setdefault(name, {}).setdefault(f"{loss}, {how}", []).append(found)
        for way, each in results[name].items():
            accuracy, error = np.mean(each, axis=0)
            print(f"{name:8} {way:30} accuracy {100 * accuracy:.1f}  mean error {error:.3f}", flush=True)
    args.out.write_text(json.dumps(results))


if __name__ == "__main__":
    main()
