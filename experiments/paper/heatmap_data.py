"""Which test sentences the heat maps show, and the attention on them; drawing needs other packages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from limelight.network.torch.network import Network
from limelight.reading.reading import Reading
from limelight.text.batches import gather
from limelight.text.dataset import Dataset, Split
from limelight.text.tokenizer import UNKNOWN
from limelight.training.evaluate import logits

SUREST = 5  # texts of the first and of the last class
COMPARED = 3  # texts, the same for every model of a data set
SHORTEST, LONGEST = 8, 100  # words: enough to show something, few enough to see at a glance

# Written for these figures: they may be published where the texts of a data set may not.
OWN = {
    "yelp": (
        "We had to wait an hour for a table, and the waiter was rude, but the pasta was the best I have ever "
        "had. I will come back for the food alone.",
        "Terrible place. The soup was cold, the floor was dirty, and nobody apologized when they charged us "
        "twice. Do not waste your money here.",
        "It is fine for a quick lunch. Nothing special, decent prices, friendly staff.",
    ),
    "age": (
        "So I have this huge math test tomorrow and my mom will not let me go to the mall with my friends. "
        "School is so boring lol.",
        "The kids are finally asleep. My husband and I spent the weekend painting the kitchen, and on Monday "
        "it is back to the office and the quarterly report.",
    ),
}


def collect_readings(network: Network, dataset: Dataset, task: str) -> dict[str, Any]:
    """Readings as plain JSON: the most confident texts of both end classes, random texts, and ours."""
    split = dataset.splits["test"]
    rows = candidates(split)
    values = torch.softmax(torch.from_numpy(logits(network, split)).double(), dim=1).numpy()
    ends = {str(dataset.labels[k]): surest(values, split, rows, k) for k in (0, len(dataset.labels) - 1)}
    compared = np.sort(np.random.default_rng(0).permutation(rows)[:COMPARED])
    return {
        "compared": [_read_row(network, dataset, row) for row in compared],
        "surest": {
            label: [_read_row(network, dataset, row) for row in found] for label, found in ends.items()
        },
        "own": [_read(network, dataset, dataset.tokenizer.encode([text])[0]) for text in OWN.get(task, ())],
    }


def candidates(split: Split) -> np.ndarray:
    """Short rows without unknown words; if there are none, short rows, and else all.

    >>> split = Split(ids=np.array([2, 1, *[5] * 8, *[5] * 8, 1]), lengths=np.array([2, 8, 9]))
    >>> candidates(split).tolist()
    [1]
    """
    short = (split.lengths >= SHORTEST) & (split.lengths <= LONGEST)
    known = np.logical_and.reduceat(np.asarray(split.ids) != UNKNOWN, split.starts)
    for wanted in (short & known, short):
        if wanted.any():
            return np.flatnonzero(wanted)
    return np.arange(len(split))


def surest(probabilities: np.ndarray, split: Split, rows: np.ndarray, label: int) -> np.ndarray:
    """Those of `rows` correctly predicted as the class, the most confident first."""
    right = (np.asarray(split.labels)[rows] == label) & (probabilities[rows].argmax(axis=1) == label)
    found = rows[right]
    return np.asarray(found[np.argsort(-probabilities[found, label], kind="stable")][:SUREST])


def _read_row(network: Network, dataset: Dataset, row: int) -> dict[str, Any]:
    split = dataset.splits["test"]
    label = dataset.labels[int(np.asarray(split.labels)[row])]
    return {"row": int(row), "label": label, **_read(network, dataset, gather(split, np.array([row])).ids[0])}


@torch.no_grad()
def _read(network: Network, dataset: Dataset, ids: np.ndarray) -> dict[str, Any]:
    device = next(network.parameters()).device
    given = torch.from_numpy(ids[None].astype(np.int64)).to(device)
    output = network(given, torch.tensor([len(ids)], device=device))
    return {
        "labels": list(dataset.labels),
        "words": [dataset.tokenizer.vocabulary[k] for k in ids],
        "known": (ids != UNKNOWN).tolist(),
        "probabilities": torch.softmax(output.logits[0].double(), dim=0).tolist(),
        "attention": [[round(a, 5) for a in each] for each in output.A[0].tolist()],  # (r, n)
    }


def to_reading(found: dict[str, Any]) -> Reading:
    """A reading from `collect_readings` as a Reading to draw; it has no M.

    >>> reading = to_reading({"words": ["Good", "soup"], "known": [True, True], "labels": [1, 5],
    ...     "probabilities": [0.1, 0.9], "attention": [[0.8, 0.2]]})
    >>> reading.text, reading.words, reading.label
    ('Good soup', ('Good', 'soup'), 5)
    """
    text, offsets = _join(found["words"])
    A = np.array(found["attention"], dtype=float)
    return Reading(
        text=text, offsets=offsets, known=np.array(found["known"], dtype=bool), attention=A,
        embedding=np.zeros((len(A), 1)), labels=tuple(found["labels"]),
        probabilities=np.array(found["probabilities"], dtype=float),
    )  # fmt: skip


def _join(words: Sequence[str]) -> tuple[str, np.ndarray]:
    """The words joined by spaces, as an encoded data set has no other text; and their offsets."""
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    return " ".join(words), np.stack([ends - [len(word) for word in words], ends], axis=1)
