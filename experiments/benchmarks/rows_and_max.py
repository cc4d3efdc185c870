"""Rows against max pooling once more: readers pretrained alike, fine-tuned on encoded data sets.

    python experiments/benchmarks/rows_and_max.py yelp --readers rows-0 rows-1 rows-2 max-0 max-1 max-2 --out tuned.jsonl

Each reader is fine-tuned with the seed of its place in its kind; a line of JSON for each, with the accuracy
on the development and on the test set. --head pruned gives rows hidden units of their own, and max pooling a
hidden layer.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from limelight.config.presets import preset
from limelight.runtime.start import load_start
from limelight.text.dataset import Dataset
from limelight.training import fit
from limelight.training.evaluate import evaluate

HIDDEN = 300  # units of the layer above max pooling


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder written by limelight encode")
    parser.add_argument("--readers", nargs="+", type=Path, required=True)
    parser.add_argument("--head", choices=("linear", "pruned"), default="linear")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    dataset, seeds = Dataset.open(args.data), dict.fromkeys(("self-attention", "max"), 0)
    for reader in args.readers:
        start = load_start(str(reader))
        kind = start.recipe.model.pooling
        options: dict[str, Any] = {"head": args.head}
        if args.head == "pruned" and kind == "max":
            options = {"head": "full", "head_hidden": HIDDEN}
        options |= {name: getattr(args, name) for name in ("learning_rate", "batch_size", "epochs")}
        options["precision"] = "bf16" if torch.cuda.is_available() else "float32"
        recipe = start.fit_recipe(preset("small").override(start=str(reader), seed=seeds[kind], **options))
        vectors = start.vectors(dataset.tokenizer.vocabulary).matrix
        network = fit(replace(dataset, vectors=vectors), recipe, start=start, show=False).network
        scores = {split: float(evaluate(network, dataset.splits[split]).score) for split in ("dev", "test")}
        line = {"data": args.data.name, "reader": reader.name, "head": args.head, "seed": seeds[kind]}
        with args.out.open("a") as file:
            file.write(json.dumps(line | scores) + "\n")
        print(line | {"dev": scores["dev"]}, flush=True)
        seeds[kind] += 1


if __name__ == "__main__":
    main()
