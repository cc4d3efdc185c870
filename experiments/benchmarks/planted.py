"""How well attention finds a planted signal, with and without the penalty: the figures of docs/log/2026-11-18-trust-in-full.md.

python experiments/benchmarks/planted.py
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import torch

from limelight.config.recipe import Recipe
from limelight.runtime.model import Model
from limelight.text.encode import encode_texts
from limelight.training import fit

sys.path.append(str(Path(__file__).parents[2] / "tests"))
import planted_texts as planted

RECIPE = Recipe().override(
    word_size=16, hidden=4, attention_hidden=16, head="pruned", row_units=8, column_units=0,
    penalty_scale="author", optimizer="adam", learning_rate=1e-2, batch_size=32, epochs=8, clip_norm=1.0,
)  # fmt: skip


def train(penalty: float, seed: int, aspects: int, sentences: int) -> Model:
    texts, labels, _ = planted.sentences(sentences, aspects, seed=1)
    recipe = RECIPE.override(penalty=penalty, seed=seed, rows=aspects)
    dataset = encode_texts(texts, labels, recipe=recipe.text, holdout=0.1)
    fitted = fit(dataset, recipe, show=False, device="cpu")
    weights = {name: array.numpy() for name, array in fitted.network.state_dict().items()}
    return Model.from_parts(
        weights=weights, recipe=recipe, tokenizer=dataset.tokenizer, labels=dataset.labels
    )


def measure(model: Model, aspects: int) -> list[float]:
    """Accuracy, attention on planted words, words recovered, share on the row's own aspect, redundancy."""
    new = planted.sentences(500, aspects, seed=2)
    readings = model.read_many(new.texts)
    masses = [planted.mass(each, places) for each, places in zip(readings, new.places, strict=True)]
    mean = np.mean(masses, axis=0)
    rows = list(planted.match_rows(mean))
    own = mean[rows, np.arange(aspects)] / mean[rows].sum(axis=1)
    right = [each.label == label for each, label in zip(readings, new.labels, strict=True)]
    figures = (np.mean(right), mean.sum() / len(mean), planted.recovered(masses), own.mean())
    return [*map(float, figures), planted.redundancy(readings)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--aspects", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=3000)
    parser.add_argument("--penalties", type=float, nargs="+", default=[0.0, 1.0, 10.0])
    args = parser.parse_args()
    torch.set_num_threads(1)
    lengths = [len(text.split()) for text in planted.sentences(500, args.aspects, seed=2).texts]
    print(f"by chance, mass on planted words: {np.mean(args.aspects / np.array(lengths)):.3f}")
    print("penalty  accuracy  mass on planted  recovered  on own aspect  redundancy")
    for penalty in args.penalties:
        found = np.array(
            [
                measure(train(penalty, seed, args.aspects, args.sentences), args.aspects)
                for seed in range(args.seeds)
            ]
        )
        means, deviations = found.mean(axis=0), found.std(axis=0, ddof=1)
        cells = [f"{m:.3f} ± {s:.3f}" for m, s in zip(means, deviations, strict=True)]
        print(f"{penalty:7.1f}  " + "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
