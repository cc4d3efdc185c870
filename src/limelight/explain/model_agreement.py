"""How alike two models read the same texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..errors import LimelightError
from ..reading.reading import AnyReading
from ..text.metrics import spearman


class Agreement(NamedTuple):
    """How alike two models read, averaged over texts."""

    spearman: float  # of the words' ranks: 1 the same order, 0 unrelated
    divergence: float  # Jensen-Shannon, in bits: 0 the same attention, 1 nothing in common
    decided: float | None = None  # Spearman of what decided, over the texts they answer alike; None: no such


def agreement(first: Sequence[AnyReading], second: Sequence[AnyReading]) -> Agreement:
    """Compare the overall attention of two models on the same texts, and what decided, word by word.

    >>> from limelight.reading.reading import GOOD_SOUP
    >>> agreement([GOOD_SOUP], [GOOD_SOUP])
    Agreement(spearman=1.0, divergence=0.0, decided=1.0)
    """
    if len(first) != len(second):
        message = f"got {len(first)} and {len(second)} readings; both must be of the same texts"
        raise LimelightError(message, code="length-mismatch")
    pairs = [
        (a, b)
        for one, other in zip(first, second, strict=True)
        for a, b in zip(one.sides, other.sides, strict=True)
    ]
    if any(a.text != b.text or a.offsets.shape != b.offsets.shape for a, b in pairs):
        message = "the two models split a text differently; compare models of one recipe"
        raise LimelightError(message, code="models-differ")
    divergence = float(np.mean([jensen_shannon(a.overall, b.overall) for a, b in pairs]))
    pairs = [(a, b) for a, b in pairs if len(a.offsets) > 1]
    attention = [spearman(a.overall, b.overall) for a, b in pairs]
    decided = [
        spearman(a.decided, b.decided)
        for a, b in pairs
        if a.decided is not None and b.decided is not None and a.label == b.label
    ]
    return Agreement(
        float(np.mean(attention or [1.0])), divergence, float(np.mean(decided)) if decided else None
    )


def jensen_shannon(p: np.ndarray, q: np.ndarray) -> float:
    """The divergence of two distributions in bits: 0 if they are the same, 1 if they share nothing.

    >>> jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    1.0
    """
    middle = (p + q) / 2

    def bits(x: np.ndarray) -> float:
        return float((x[x > 0] * np.log2(x[x > 0] / middle[x > 0])).sum())

    return (bits(p) + bits(q)) / 2
