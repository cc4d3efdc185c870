"""How far the pictures of `small` can be trusted: three seeds on encoded data sets, on a GPU if there is one.

    limelight encode train.parquet --dev dev.parquet --test test.parquet --out sst5
    python experiments/benchmarks/faithful.py sst5 --texts 300 --out faithful.jsonl
    python experiments/benchmarks/faithful.py hotels --rows 10000 --texts 100 --aspect-penalty 0.03 --out faithful.jsonl

One line of JSON for each seed and split: accuracy, the mean overlap of two rows, comprehensiveness of what
decided, leave one out, attention and random weights, the first beside the second for each predicted class, and
the median share of words to remove until the answer changes; for a folder named hotels, also how well rows keep to
aspects. At the end, the rank correlation of
two seeds' pictures, drawn for the true class.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch

from limelight.config.presets import preset
from limelight.runtime.decided import most_weighted
from limelight.runtime.start import load_start
from limelight.text.dataset import Dataset, Split
from limelight.text.metrics import spearman
from limelight.text.questions import Probability, softmax
from limelight.training import fit
from limelight.training.evaluate import evaluate, logits, plan_batches
from limelight.training.explanation_facts import _decided, _join, _keep, _read, _sample
from limelight.training.run import Fitted

AT_ONCE = 40_000  # variants of texts
ASPECTS = {  # some words of each, for hotel reviews
    "rooms": "room rooms bed beds bathroom shower suite pillows mattress",
    "staff": "staff reception receptionist concierge manager service desk helpful friendly",
    "food": "breakfast food restaurant dinner coffee buffet bar meal",
    "price": "price prices cheap expensive value rate money cost",
    "location": "location located walk walking distance station metro downtown",
}
Pictures = dict[str, list[np.ndarray]]


def train(dataset: Dataset, seed: int, options: dict[str, Any]) -> Fitted:
    start = load_start("reader")
    dataset = replace(dataset, vectors=start.vectors(dataset.tokenizer.vocabulary).matrix)
    recipe = start.fit_recipe(preset("small").override(seed=seed, **options))
    return fit(dataset, recipe, start=start, show=False)


def first_rows(split: Split, count: int) -> Split:
    """The first texts or pairs of a split."""
    sides: list[Any] = []
    for ids, lengths in ((split.ids, split.lengths), (split.ids2, split.lengths2)):
        some = None if lengths is None else lengths[:count]
        sides.append((None if ids is None or some is None else ids[: int(some.sum())], some))
    assert split.labels is not None
    return Split(*sides[0], split.labels[:count], None, *sides[1])


class Measure:
    """The pictures of one network on some texts, and what they are worth."""

    def __init__(self, fitted: Fitted, split: Split, texts: int) -> None:
        self.network, self.recipe = fitted.network.eval(), fitted.recipe.model
        self.weights = {name: w.float().cpu().numpy() for name, w in self.network.state_dict().items()}
        sample = _sample(split, texts, 10**9)
        order = np.concatenate(plan_batches(self.network, sample))
        chosen = np.random.default_rng(0).permutation(len(split))[:texts][order]
        self.truth = np.asarray(split.labels)[chosen]
        self.read = list(_read(self.network, sample))
        self.predicted = [int(scores.argmax()) for _, scores in self.read]
        self.before = [
            p[k]
            for (_, s), k in zip(self.read, self.predicted, strict=True)
            for p in [softmax(s.astype(float))]
        ]
        rng = np.random.default_rng(0)
        self.pictures: Pictures = {
            "what decided": self.decided(self.predicted),
            "attention": [np.concatenate([each.A.sum(axis=0) for each in sides]) for sides, _ in self.read],
            "random": [rng.random(sum(len(each.ids) for each in sides)) for sides, _ in self.read],
        }
        everything = [~np.eye(len(each), dtype=bool) for each in self.pictures["random"]]
        self.pictures["leave one out"] = self.drops(everything)

    def decided(self, classes: Any) -> list[np.ndarray]:
        """(n + m,) for each text: how much of the probability of its class rests on each word."""
        return [
            _decided(self.network, sides, scores, Probability(k), self.weights)
            for (sides, scores), k in zip(self.read, classes, strict=True)
        ]

    def probabilities(self, masks: list[np.ndarray]) -> list[np.ndarray]:
        """(variants, classes) for each text, from (variants, n + m) of words to keep."""
        ids = [[each.ids for each in sides] for sides, _ in self.read]
        variants = [_keep(text, row) for text, mask in zip(ids, masks, strict=True) for row in mask]
        parts = [variants[k : k + AT_ONCE] for k in range(0, len(variants), AT_ONCE)]
        P = softmax(np.concatenate([logits(self.network, _join(part)) for part in parts]))
        return np.split(P, np.cumsum([len(mask) for mask in masks])[:-1])

    def drops(self, masks: list[np.ndarray]) -> list[np.ndarray]:
        """(variants,) for each text: how far the predicted class's probability drops."""
        found = zip(self.probabilities(masks), self.before, self.predicted, strict=True)
        return [before - P[:, k] for P, before, k in found]

    def comprehensiveness(self, name: str) -> float:
        return float(np.mean(self._by_text(name)))

    def _by_text(self, name: str) -> list[float]:
        drops = self.drops([~most_weighted(each) for each in self.pictures[name]])
        return [float(each.mean()) for each in drops]

    def by_class(self, at_least: int = 10) -> dict[int, float]:
        """What decided beside leave one out, for each predicted class with enough texts."""
        found, judge = (np.array(self._by_text(name)) for name in ("what decided", "leave one out"))
        predicted = np.array(self.predicted)
        classes, counts = np.unique(predicted, return_counts=True)
        return {
            int(k): float(found[predicted == k].mean() / judge[predicted == k].mean())
            for k in classes[counts >= at_least]
        }

    def until_it_flips(self, name: str) -> float:
        """The median share of words, those with the most weight first, to remove until the answer changes."""
        ranks = [np.argsort(np.argsort(-each, kind="stable")) for each in self.pictures[name]]
        masks = [rank >= np.arange(1, len(rank) + 1)[:, None] for rank in ranks]
        changed = [
            P.argmax(axis=1) != k for P, k in zip(self.probabilities(masks), self.predicted, strict=True)
        ]
        return float(np.median([(c.argmax() + 1) / len(c) if c.any() else 1.0 for c in changed]))

    def overlap(self) -> float:
        """The mean of A A^T off its diagonal."""
        products = [each.A @ each.A.T for sides, _ in self.read for each in sides]
        r = len(products[0])
        return float(np.mean([(G.sum() - np.trace(G)) / (r * (r - 1)) for G in products]))

    def to_dict(self) -> dict[str, Any]:
        return {
            "overlap": self.overlap(),
            "by class": self.by_class(),
            "comprehensiveness": {name: self.comprehensiveness(name) for name in self.pictures},
            "until it flips": {name: self.until_it_flips(name) for name in ("what decided", "leave one out")},
        }


def aspects(fitted: Fitted, split: Split, vocabulary: Sequence[str], texts: int = 500) -> dict[str, float]:
    """For each aspect the best row, none twice: its attention on the aspect's words beside chance, and the
    part of its attention on any aspect that belongs to this one, all weighted by how rare they are."""
    numbers = {word: k for k, word in enumerate(vocabulary)}
    ids = [[numbers[word] for word in words.split() if word in numbers] for words in ASPECTS.values()]
    mass, share = np.zeros(()), np.zeros(())  # (rows, aspects), (aspects,), summed over texts
    for sides, _ in _read(fitted.network.eval(), _sample(split, texts, 10**9)):
        hits = np.stack([np.isin(sides[0].ids, each) for each in ids])
        mass, share = mass + sides[0].A @ hits.T, share + hits.mean(axis=1)
    times_chance = mass / share
    own = times_chance / times_chance.sum(axis=1, keepdims=True)
    left, best = own.copy(), []
    for _ in ids:
        row, k = np.unravel_index(left.argmax(), left.shape)
        best.append((times_chance[row, k], own[row, k]))
        left[row], left[:, k] = -1, -1
    return dict(zip(("times chance", "own"), np.mean(best, axis=0).tolist(), strict=True))


def agreement(seeds: list[list[np.ndarray]]) -> float:
    """The mean rank correlation of two seeds' pictures of the same text."""
    pairs = [pair for first, second in combinations(seeds, 2) for pair in zip(first, second, strict=True)]
    return float(np.mean([spearman(a, b) for a, b in pairs if len(a) > 1]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder written by limelight encode")
    parser.add_argument("--rows", type=int, help="train on the first rows only")
    parser.add_argument("--texts", type=int, default=300, help="of each split, to measure on")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=5e-4)
    parser.add_argument("--aspect-penalty", type=float, default=0.0)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    dataset = Dataset.open(args.data)
    if args.rows:
        splits = {**dataset.splits, "train": first_rows(dataset.splits["train"], args.rows)}
        dataset = replace(dataset, splits=splits)
    options: dict[str, Any] = {
        name: getattr(args, name) for name in ("batch_size", "learning_rate", "aspect_penalty")
    }
    options["precision"] = "bf16" if torch.cuda.is_available() else "float32"
    pictures: dict[tuple[str, str], list[list[np.ndarray]]] = {}
    for seed in range(args.seeds):
        fitted = train(dataset, seed, options)
        for name in ("dev", "test"):
            found = Measure(fitted, dataset.splits[name], args.texts)
            accuracy = evaluate(fitted.network, dataset.splits[name]).score
            line = {"data": args.data.name, "seed": seed, "split": name, "accuracy": float(accuracy)}
            if args.data.name == "hotels":
                line |= aspects(fitted, dataset.splits[name], dataset.tokenizer.vocabulary)
            with args.out.open("a") as file:
                file.write(json.dumps(line | found.to_dict()) + "\n")
            pictures.setdefault((name, "what decided"), []).append(found.decided(found.truth))
            pictures.setdefault((name, "attention"), []).append(found.pictures["attention"])
    for (name, kind), each in pictures.items():
        print(f"{name}: two seeds' pictures of {kind} agree to {agreement(each):.3f}")


if __name__ == "__main__":
    main()
