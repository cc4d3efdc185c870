"""Measure a packed reader: STS-B, few-label probes on its frozen vectors, unknown words, typing errors.

    python scripts/reader/evaluate.py READER CORPUS [--teacher FOLDER]

READER is what pack.py wrote, CORPUS/texts.json what texts.py wrote. With --teacher, all-MiniLM-L6-v2 is
measured too (slow without a GPU).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

Meta = dict[str, Any]  # the content of texts.json
TASKS = ("banking5", "sst500", "tweets500")


def ranks(values: np.ndarray | list[float]) -> np.ndarray:
    _, inverse, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return ((ends - counts + ends + 1) / 2)[inverse]


def spearman(a: np.ndarray | list[float], b: np.ndarray | list[float]) -> float:
    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def sts(vectors: Tensor, meta: Meta) -> float:
    """Spearman's correlation x 100 of cosines and scores; vectors of the first texts of texts.json."""
    first, second = (vectors[slice(*meta["spans"][name])] for name in ("first", "second"))
    return round(100 * spearman((first * second).sum(1).cpu().numpy(), meta["scores"]), 2)


def logistic(
    x: Tensor, y: Tensor, judged_x: Tensor, judged_y: Tensor, classes: int, C: float = 10.0
) -> float:
    """Accuracy of a logistic regression, regularised as scikit-learn's."""
    w = torch.zeros(classes, x.shape[1] + 1, device=x.device, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [w], lr=1, max_iter=60, line_search_fn="strong_wolfe", tolerance_change=1e-7
    )

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = C * F.cross_entropy(x @ w[:, :-1].T + w[:, -1], y, reduction="sum")
        loss = loss + 0.5 * w[:, :-1].square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    with torch.no_grad():
        return float(((judged_x @ w[:, :-1].T + w[:, -1]).argmax(1) == judged_y).float().mean())


def probe(vectors: Tensor, meta: Meta, C: float = 10.0) -> dict[str, float]:
    """Accuracy in per cent on frozen vectors of all texts, the mean over the splits of each task."""
    result = {}
    for name in TASKS:
        task = meta["tasks"][name]
        x = vectors[slice(*task["span"])]
        y = torch.tensor(task["labels"], device=x.device)
        classes = max(task["labels"]) + 1
        scores = [
            logistic(x[learned], y[learned], x[judged], y[judged], classes, C)
            for learned, judged in task["splits"]
        ]
        result[name] = round(100 * float(np.mean(scores)), 2)
    return result


def swap_letters(text: str, rng: np.random.Generator) -> str:
    """Swap two neighbouring letters inside one word of five letters or more."""
    words = text.split()
    long = [i for i, word in enumerate(words) if len(word) > 4 and word.isalpha()]
    if long:
        i = rng.choice(long)
        word = words[i]
        k = rng.integers(1, len(word) - 2)
        words[i] = word[:k] + word[k + 1] + word[k] + word[k + 2 :]
    return " ".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("reader", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--teacher", type=Path, help="folder: model.safetensors, tokenizer.json")
    arguments = parser.parse_args()
    meta = json.loads((arguments.corpus / "texts.json").read_text())
    pairs = meta["texts"][: meta["spans"]["second"][1]]
    if arguments.teacher:
        from teach import Teacher

        teacher = Teacher(arguments.teacher, "cuda" if torch.cuda.is_available() else "cpu")
        vectors = torch.from_numpy(teacher.encode_texts(meta["texts"], 16384)).float()
        print(
            "teacher: STS-B", sts(vectors, meta), *(f"C={C} {probe(vectors, meta, C)}" for C in (1, 10, 100))
        )

    from pack import Reader

    reader = Reader.load(arguments.reader)
    print("STS-B", sts(reader.encode(pairs), meta), "overlap of rows", round(reader.overlap, 4), flush=True)
    for rank in (20000, 10000, 5000):
        spelt = sts(reader.encode(pairs, known=rank), meta)
        blank = sts(reader.encode(pairs, known=rank, blank=True), meta)
        print(
            f"words past {rank} unknown: {spelt} spelt from n-grams, {blank} with a zero vector", flush=True
        )
    rng = np.random.default_rng(0)
    half = meta["spans"]["first"][1]
    wrong = [swap_letters(text, rng) for text in pairs[:half]] + pairs[half:]
    spelt, blank = sts(reader.encode(wrong), meta), sts(reader.encode(wrong, blank=True), meta)
    print(
        f"two letters swapped in each first sentence: {spelt} spelt, {blank} with a zero vector", flush=True
    )
    vectors = reader.encode(meta["texts"])
    for C in (1, 10, 100):
        print(f"C={C}", probe(vectors, meta, C), flush=True)


if __name__ == "__main__":
    main()
