"""Accuracy by text length: from the shortest quarter of the test set to the longest."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from ..model.network import Network
from ..text.batches import row_lengths
from ..text.dataset import Split
from ..training.evaluate import logits

PARTS = 4


def by_length(network: Network, split: Split) -> list[dict[str, Any]]:
    """Range of words and accuracy of each quarter of the rows, the shortest first."""
    right = logits(network, split).argmax(axis=1) == np.asarray(split.labels)
    return quarters(row_lengths(split), right)


def quarters(lengths: np.ndarray, right: np.ndarray) -> list[dict[str, Any]]:
    """The same from lengths and correctness.

    >>> quarters(np.array([1, 9, 2, 3]), np.array([True, False, True, True]))[-1]
    {'words': [9, 9], 'rows': 1, 'accuracy': 0.0}
    """
    parts = np.array_split(np.argsort(lengths, kind="stable"), PARTS)
    return [
        {
            "words": [int(lengths[rows].min()), int(lengths[rows].max())],
            "rows": len(rows),
            "accuracy": float(right[rows].mean()),
        }
        for rows in parts
        if len(rows)
    ]


def merge(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join quarters with the same range of words.

    >>> merge([{"words": [9, 9], "rows": 5, "accuracy": 0.5}, {"words": [9, 9], "rows": 15, "accuracy": 0.7}])
    [{'words': [9, 9], 'rows': 20, 'accuracy': 0.65}]
    """
    merged = []
    for words, group in groupby(parts, lambda part: part["words"]):
        same = list(group)
        rows = sum(part["rows"] for part in same)
        right = sum(part["rows"] * part["accuracy"] for part in same)
        merged.append({"words": words, "rows": rows, "accuracy": right / rows})
    return merged
