"""Tune the last map of a reader, from the rows of M to its vector, on labels that people gave.

    python experiments/reader/tune.py READER --labels LABELS --texts CORPUS/*.txt.xz --out TUNED

LABELS is what labels.py wrote. Words, LSTM and attention stay as they are, so that a text's rows are computed
once, and training takes two minutes on two cores. The loss is the sum of
- classes: the softmax of a text's similarities to the other texts of the batch, those of the same class being
  right; emotions, and the intents of one task at a time;
- pairs: the same over what follows from a text and what contradicts it (SNLI), the first being right;
- KEEP times 1 - cosine to the vector before, for texts without labels.
Then the directions of the vectors are weighed: that of their mean more, and those in which they vary little a bit
more, with which likeness agrees better with people's. Without --labels that is all, as for the fast reader.
"""

from __future__ import annotations

import argparse
import lzma
from collections import defaultdict
from itertools import islice
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from limelight.runtime.reader import Reader
from limelight.tables.table import read_values
from limelight.text.tokenizer import SPECIAL

STEPS, RATE, WARM_UP = 300, 1e-3, 20
EMOTIONS, INTENTS, PAIRS, KEEP = 1.0, 0.5, 0.3, 12.0  # weights
CLASSES, CLASS_TEXTS, PAIR_TEXTS, KEPT_TEXTS = 48, 600, 400, 1024  # of a batch
CLASS_TEMPERATURE, PAIR_TEMPERATURE = 0.1, 0.05
MOST = {"emotions": 30_000, "home": 11_000, "sgd": 7_000, "snips": 2_500, "snli": 8_000}  # texts of a task
KEPT = 20_000  # texts without labels
EVEN, LEAST_SPREAD, MEAN = 0.1, 0.01, 0.3  # how directions are weighed in the end


def read_rows(path: Path) -> list[list[str]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def some(rows: list[list[str]], most: int | None, rng: np.random.Generator) -> list[list[str]]:
    return [rows[i] for i in rng.permutation(len(rows))[:most]]


def reduced_rows(reader: Reader, texts: list[str]) -> Tensor:
    """The rows of each text's M after the map that they share, (texts, r * rank)."""
    W, found = reader.weights["vector.W_shared"], []
    for M in reader.embed_stream(texts, progress=True):
        found.append(torch.from_numpy((M @ W.T).reshape(len(M), -1).astype(np.float16)))
    return torch.cat(found)


class Labels:
    """What the labelled texts have in place of words, and which texts are of one class."""

    def __init__(self, reader: Reader, folder: Path, rng: np.random.Generator) -> None:
        tasks = defaultdict(list)
        for row in read_rows(folder / "classes.tsv.xz"):
            tasks[row[0]].append(row)
        rows = [row for task, found in tasks.items() for row in some(found, MOST.get(task), rng)]
        self.texts = reduced_rows(reader, [text for _, _, text in rows])
        places: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for i, (task, label, _) in enumerate(rows):
            places[task][label].append(i)
        self.tasks = {task: [np.array(x) for x in found.values()] for task, found in places.items()}
        self.intents = [task for task in self.tasks if task != "emotions"]
        sizes = np.array([sum(map(len, self.tasks[task])) for task in self.intents]) ** 0.5
        self.shares = sizes / sizes.sum()
        pairs = [row[1:] for row in read_rows(folder / "pairs.tsv.xz") if row[0] == "snli" and row[3]]
        self.pairs = [
            reduced_rows(reader, list(side)) for side in zip(*some(pairs, MOST["snli"], rng), strict=True)
        ]

    def draw(self, task: str, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Texts of a task, as many of each class if there are, and their classes."""
        chosen = rng.permutation(len(self.tasks[task]))[:CLASSES]
        rows = [rng.permutation(self.tasks[task][c])[: CLASS_TEXTS // len(chosen)] for c in chosen]
        labels = np.repeat(np.arange(len(rows)), list(map(len, rows)))
        return self.texts[np.concatenate(rows)].float(), torch.from_numpy(labels)


def class_loss(v: Tensor, labels: Tensor) -> Tensor:
    own = torch.eye(len(v), dtype=torch.bool)
    similarities = (v @ v.T / CLASS_TEMPERATURE).masked_fill(own, -1e4)
    same = (labels[:, None] == labels) & ~own
    return -((F.log_softmax(similarities, 1) * same).sum(1) / same.sum(1).clamp(min=1)).mean()


def pair_loss(first: Tensor, follows: Tensor, contradicts: Tensor) -> Tensor:
    right = torch.arange(len(first))
    there = first @ torch.cat([follows, contradicts]).T / PAIR_TEMPERATURE
    back = follows @ first.T / PAIR_TEMPERATURE
    return (F.cross_entropy(there, right) + F.cross_entropy(back, right)) / 2


def tune(W: Tensor, labels: Labels, kept: Tensor, rng: np.random.Generator) -> Tensor:
    """The map (size, r * rank) tuned."""
    old = F.normalize(kept.float() @ W.T, dim=1)
    W = W.clone().requires_grad_()
    optimizer = torch.optim.Adam([W], lr=RATE)
    shape = lambda k: min((k + 1) / WARM_UP, (STEPS - k) / STEPS)  # noqa: E731
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, shape)
    vectors = lambda rows: F.normalize(rows.float() @ W.T, dim=1)  # noqa: E731
    for step in range(STEPS):
        loss = torch.zeros(())
        for weight, task in ((EMOTIONS, "emotions"), (INTENTS, rng.choice(labels.intents, p=labels.shares))):
            rows, same = labels.draw(task, rng)
            loss = loss + weight * class_loss(vectors(rows), same)
        drawn = rng.permutation(len(labels.pairs[0]))[:PAIR_TEXTS]
        loss = loss + PAIRS * pair_loss(*(vectors(side[drawn]) for side in labels.pairs))
        drawn = rng.permutation(len(kept))[:KEPT_TEXTS]
        cosine = (vectors(kept[drawn]) * old[drawn]).sum(1).mean()
        optimizer.zero_grad()
        (loss + KEEP * (1 - cosine)).backward()
        optimizer.step()
        schedule.step()
        if step % 50 == 49:
            print(f"step {step + 1}  loss {loss.item():.3f}  cosine {cosine.item():.4f}", flush=True)
    return W.detach()


def weigh_directions(W: Tensor, kept: Tensor) -> Tensor:
    """(I + MEAN u u') S^(-EVEN / 2) W: S is the covariance of the texts' vectors, u their mean's direction."""
    v = F.normalize(kept.float() @ W.T, dim=1)
    spread, directions = torch.linalg.eigh(torch.cov(v.T))
    weights = (spread / spread.mean()).clamp(min=LEAST_SPREAD) ** (-EVEN / 2)
    W = directions @ (weights[:, None] * (directions.T @ W))
    u = F.normalize(F.normalize(kept.float() @ W.T, dim=1).mean(0), dim=0)
    return W + MEAN * torch.outer(u, u @ W)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("reader", type=Path)
    parser.add_argument("--labels", type=Path, help="folder that labels.py wrote")
    parser.add_argument("--texts", type=Path, nargs="+", required=True, help="texts whose vectors shall stay")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    reader, rng = Reader.load(arguments.reader), np.random.default_rng(0)
    each = -(-KEPT // len(arguments.texts))
    texts = [text for path in arguments.texts for (text,) in islice(read_values(path, ("text",)), each)]
    W, kept = torch.from_numpy(reader.weights["vector.W_rows"].copy()), reduced_rows(reader, texts)  # type: ignore[arg-type]
    facts = {k: x for k, x in reader.facts.items() if k not in ("cosine", "held_out")}  # they hold no longer
    if arguments.labels:
        labels = Labels(reader, arguments.labels, rng)
        W = tune(W, labels, kept, rng)
        facts |= {"tuned": {"labels": [*sorted(labels.tasks), "snli"], "steps": STEPS}}
    weights = {**reader.weights, "vector.W_rows": weigh_directions(W, kept).numpy()}
    words, model = reader.tokenizer.vocabulary[len(SPECIAL) :], reader.recipe.model
    tuned = Reader.from_parts(words=words, weights=weights, model=model, facts=facts)
    tuned.save(arguments.out, overwrite=True)


if __name__ == "__main__":
    main()
