"""How far the pictures of two training seeds agree, where they differ, and what brings them together.

    OMP_NUM_THREADS=1 python experiments/benchmarks/two_seeds.py DATA/hotels/train-0.parquet DATA/hotels/dev.parquet \
        --rows 10000 --preset fast --options epochs=2 learning_rate=1e-3 --seeds 4 --out two-seeds.jsonl

The same rows for each seed, of which a tenth chooses the epoch; the second table judges. One line of JSON for each
way below: over pairs of seeds and `--texts` texts, the mean correlation of the ranks of the words' shares in the
probability of the true class (as in faithful.py), the plain correlation, the common part of the strongest tenth,
and how many words have the other sign; then accuracy, log loss and calibration error.

    as the steps end   each seed's network, without the last fit
    another's head     one seed's states with its own head and with that of another
    another's states   one seed's head on its own states and on those of another
    K networks         one network whose weights are the mean of K seeds
    refitted N         logistic regression on what the last layer reads; C is N, of which training takes 0.06 a class
    K heads, N         the mean of K of these, each on rows drawn with replacement
    signs, N           do resampled heads tell which words' signs two other seeds disagree on?
"""  # fmt: skip

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import torch

from limelight.config.presets import AUTO, Size, choose, preset
from limelight.network.parts import rows_of
from limelight.runtime.confidence import fit_temperature
from limelight.runtime.decided import word_weights
from limelight.runtime.start import start_of
from limelight.text.dataset import Dataset, Split
from limelight.text.encode import encode_tables
from limelight.text.metrics import spearman
from limelight.text.questions import Probability, softmax
from limelight.training import fit
from limelight.training.callbacks import Callback
from limelight.training.evaluate import read_batches, reading_plan
from limelight.training.label_objective import LabelObjective
from limelight.training.starting_network import BATCH_WORDS, fit_linear

HELD_OUT = 0.1
Shares = list[np.ndarray]  # (n,) for each text


@dataclass
class Head:
    """M to logits."""

    W: np.ndarray  # (classes, f)
    b: np.ndarray  # (classes,)


@dataclass
class Trained:
    """One network: its weights, and what it makes of the texts."""

    weights: dict[str, torch.Tensor]
    factors: np.ndarray  # (v, f): M to the reader's vector, as it was fine-tuned
    head: Head
    texts: list[tuple[np.ndarray, np.ndarray]] = field(
        default_factory=list
    )  # A (r, n), H (n, 2u) of pictures
    M: dict[str, np.ndarray] = field(default_factory=dict)  # (rows, f) of each split


class Factors(Callback):
    """The best head in its factors, which the fitted network has no more."""

    def on_train_end(self, run: Any) -> None:
        best = run.best if run.best is not None else run.network.state_dict()
        shared, rows, scale = (best[f"head.{x}"].double().numpy() for x in ("W_shared", "W_rows", "scale"))
        by_row = scale * rows.reshape(len(rows), -1, len(shared))  # (v, r, k)
        self.found = np.einsum("vrk,kf->vrf", by_row, shared).reshape(len(rows), -1)


class Bench:
    """The data, and networks trained on it."""

    def __init__(self, args: argparse.Namespace, folder: Path) -> None:
        table = pandas.read_parquet(args.train)
        table = table.sample(min(args.rows, len(table)), random_state=args.draw)
        table.to_parquet(folder / "train.parquet")
        self.recipe, self.start = start_of(self._recipe(args, table))
        encode_tables(
            folder / "data", folder / "train.parquet", test=args.judge, text=args.text, label=args.label,
            recipe=self.recipe.text, holdout=HELD_OUT, start=self.start, progress=False,
        )  # fmt: skip
        self.dataset = Dataset.open(folder / "data")
        judge = self.dataset.splits["test"]
        self.chosen = np.random.default_rng(0).permutation(len(judge))[: args.texts]
        self.truth = np.asarray(judge.labels)[self.chosen]

    @staticmethod
    def _recipe(args: argparse.Namespace, table: pandas.DataFrame) -> Any:
        given = {name: float(x) if "e" in x or "." in x else int(x) for name, x in args.options}
        recipe = preset(args.preset).override(**given)
        if args.preset != AUTO:
            return recipe
        words = table[args.text].str.count(r"\w+|[^\w\s]").sum()
        trained = 1 - HELD_OUT
        return choose(
            Size(int(trained * len(table)), int(trained * words), table[args.label].nunique())
        ).apply(recipe, list(given))

    def labels(self, split: str) -> np.ndarray:
        return np.asarray(self.dataset.splits[split].labels).astype(np.int64)

    # ------------------------------------------------------------ networks

    def train(self, seed: int) -> Trained:
        """The network of a seed, as the steps have left it."""
        factors, recipe = Factors(), self.recipe.override(seed=seed)
        fitted = fit(self.dataset, recipe, start=self.start, show=False, callbacks=[factors])
        self.network = fitted.network.eval()
        weights = {name: w.clone() for name, w in self.network.state_dict().items()}
        del weights["words.weight"]  # the same for all
        return self.read(weights, factors.found)

    def mean(self, some: Sequence[Trained]) -> Trained:
        """One network whose weights are the mean of theirs."""
        names = some[0].weights
        weights = {name: torch.stack([each.weights[name] for each in some]).mean(dim=0) for name in names}
        return self.read(weights, some[0].factors)

    @torch.no_grad()
    def read(self, weights: dict[str, torch.Tensor], factors: np.ndarray) -> Trained:
        self.network.load_state_dict(weights, strict=False)
        found = Trained(weights, factors, Head(*(weights[f"head.{x}_o"].double().numpy() for x in "Wb")))
        judge = self.dataset.splits["test"]
        found.texts = [self._states(judge, int(k)) for k in self.chosen]
        for name, split in self.dataset.splits.items():
            found.M[name] = np.zeros((len(split), found.head.W.shape[1]), np.float32)
            plan = reading_plan(split, np.arange(len(split)), BATCH_WORDS)
            for rows, read in read_batches(self.network, split, plan):
                found.M[name][rows] = read.M.flatten(1).numpy()
        return found

    def _states(self, split: Split, row: int) -> tuple[np.ndarray, np.ndarray]:
        """A (r, n) and H (n, 2u) of one text."""
        ids = torch.from_numpy(np.asarray(split.row(row)[0]).astype(np.int64))[None]
        n = torch.tensor([ids.shape[1]])
        H = self.network.states(ids, n)
        _, A = self.network.pool(H, n)
        return A[0].numpy(), H[0].numpy()

    # ------------------------------------------------------------ pictures and answers

    def shares(self, trained: Trained, head: Head | None = None) -> Shares:
        """Of each text, the words' shares in the probability of its true class."""
        head, maxima, found = head or trained.head, rows_of(self.recipe.model).maxima, []
        for (A, H), k in zip(trained.texts, self.truth, strict=True):
            direction = Probability(int(k)).direction(head.b, head.b + head.W @ (A @ H).ravel())
            found.append(word_weights(A, H, (direction @ head.W).reshape(len(A), -1), maxima))
        return found

    def quality(self, trained: Trained, head: Head) -> dict[str, float]:
        """On the rows that judge, with the temperature of the held-out ones."""
        Z = {name: trained.M[name] @ head.W.T + head.b for name in ("dev", "test")}
        truth = self.labels("test")
        P = softmax(Z["test"] / fit_temperature(Z["dev"], self.labels("dev")))
        right, sure = P.argmax(axis=1) == truth, P.max(axis=1)
        bins = np.minimum((sure * 10).astype(int), 9)
        gaps = [abs((right[bins == k] - sure[bins == k]).sum()) for k in range(10)]
        loss = -np.log(P[np.arange(len(P)), truth]).mean()
        return {"accuracy": 100 * right.mean(), "log loss": loss, "ece": sum(gaps) / len(P)}

    def refit(self, trained: Trained, strength: float, draws: Iterable[int | None] = (None,)) -> list[Head]:
        """Heads fitted to all training rows (None), or to as many drawn with replacement."""
        V = trained.M["train"] @ trained.factors.T
        scale, y, found = np.linalg.norm(V, axis=1).mean(), torch.from_numpy(self.labels("train")), []
        for seed in draws:
            counts = np.ones(len(V))
            if seed is not None:
                drawn = np.random.default_rng(seed).integers(0, len(V), len(V))
                counts = np.bincount(drawn, minlength=len(V)).astype(float)
            rows, w, classes = torch.from_numpy(V / scale), torch.from_numpy(counts), len(trained.head.b)
            W, b = fit_linear(rows, y, w, classes, strength)
            found.append(Head(W.numpy() @ trained.factors / scale, b.numpy()))
        return found


def mean_head(heads: Sequence[Head]) -> Head:
    return Head(np.mean([each.W for each in heads], axis=0), np.mean([each.b for each in heads], axis=0))


# ---------------------------------------------------------------- measures


def agreement(pairs: Iterable[tuple[Shares, Shares]]) -> dict[str, float]:
    both = [(a, b) for one, other in pairs for a, b in zip(one, other, strict=True) if len(a) > 1]
    return {
        "ranks": float(np.mean([spearman(a, b) for a, b in both])),
        "plain": float(np.mean([np.corrcoef(a, b)[0, 1] for a, b in both])),
        "strongest tenth": float(np.mean([_common(a, b) for a, b in both])),
        "other sign": float(np.mean(np.concatenate([a * b < 0 for a, b in both]))),
    }


def _common(a: np.ndarray, b: np.ndarray) -> float:
    n = max(1, round(len(a) / 10))
    one, other = (set(np.argsort(-np.abs(x))[:n]) for x in (a, b))
    return len(one & other) / n


def below(score: np.ndarray, event: np.ndarray) -> float:
    """How often a word of the event has the lower score than one without: the area under the curve."""
    rank = np.argsort(np.argsort(-score, kind="stable"), kind="stable") + 1.0
    n = int(event.sum())
    return float((rank[event].sum() - n * (n + 1) / 2) / (n * (len(event) - n)))


def signs(bench: Bench, seeds: Sequence[Trained], strength: float) -> Iterator[dict[str, Any]]:
    """The first seed says which words are uncertain, two others where they disagree."""
    own = [np.concatenate(bench.shares(each)) for each in seeds]
    size = np.concatenate([np.abs(x) / np.abs(x).max() for x in bench.shares(seeds[0])])
    drawn = [
        np.concatenate(bench.shares(seeds[0], head)) for head in bench.refit(seeds[0], strength, range(10))
    ]
    sure = np.abs(np.mean(drawn, axis=0)) / np.std(drawn, axis=0)
    large, unsure = size > 0.2, sure < 1
    for a, b in combinations(own[1:], 2):
        other = a * b < 0
        yield {
            "other sign": float(other.mean()),
            "area, by size": below(size, other),
            "area, by heads": below(sure, other),
            "large words, of them unsure": [int(large.sum()), int((large & unsure).sum())],
            "other sign, unsure": float(other[large & unsure].mean()),
            "other sign, not": float(other[large & ~unsure].mean()),
        }


# ---------------------------------------------------------------- ways


def ways(
    bench: Bench, seeds: list[Trained], strengths: Sequence[float]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each way's name, agreement and quality."""
    own = [bench.shares(each) for each in seeds]
    yield "as the steps end", compare(bench, seeds, [each.head for each in seeds])
    pairs = list(permutations(range(len(seeds)), 2))
    yield "another's head", agreement((own[i], bench.shares(seeds[i], seeds[j].head)) for i, j in pairs)
    yield "another's states", agreement((own[i], bench.shares(seeds[j], seeds[i].head)) for i, j in pairs)
    for size in (2, 3):
        if len(seeds) >= 2 * size:
            means = [bench.mean(seeds[k : k + size]) for k in range(0, len(seeds) - size + 1, size)]
            yield f"{size} networks", compare(bench, means, [each.head for each in means])
    for strength in strengths:
        heads = [bench.refit(each, strength)[0] for each in seeds]
        yield f"refitted {strength:g}", compare(bench, seeds, heads)
        drawn = [bench.refit(each, strength, range(100 * k, 100 * k + 10)) for k, each in enumerate(seeds)]
        for size in (1, 3, 5, 10):
            some = [mean_head(each[:size]) for each in drawn]
            yield f"{size} heads, {strength:g}", compare(bench, seeds, some)
        for found in signs(bench, seeds, strength):
            yield f"signs, {strength:g}", found


def compare(bench: Bench, networks: Sequence[Trained], heads: Sequence[Head]) -> dict[str, float]:
    both = list(zip(networks, heads, strict=True))
    quality = [bench.quality(*each) for each in both]
    means = {name: float(np.mean([each[name] for each in quality])) for name in quality[0]}
    return agreement(combinations([bench.shares(*each) for each in both], 2)) | means


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train")
    parser.add_argument("judge")
    parser.add_argument("--text", default="text")
    parser.add_argument("--label", default="stars")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--draw", type=int, default=0, help="seed of the rows")
    parser.add_argument("--preset", default=AUTO)
    parser.add_argument("--options", nargs="*", default=[], type=lambda x: x.split("="), help="as epochs=2")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--texts", type=int, default=100)
    parser.add_argument("--strengths", type=float, nargs="*", default=[0.3])
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    LabelObjective.fit_end = lambda *_: None  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args, Path(folder))
        seeds = [bench.train(seed) for seed in range(args.seeds)]
        for way, found in ways(bench, seeds, args.strengths):
            line = {"data": args.train, "rows": args.rows, "preset": args.preset, "way": way, **found}
            print(json.dumps(line), flush=True)
            with args.out.open("a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
