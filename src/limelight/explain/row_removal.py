"""What each row of M contributes: predictions with the row removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..reading.reading import AnyReading
from ..runtime.model import Model
from ..text.labels import Label, LabelColumn


@dataclass(frozen=True)
class RowEffect:
    """The effect of removing a row of M: of replacing its values by their means over the texts."""

    row: int  # counted from 0
    changed: float  # share of the predictions that change
    drop: float  # mean drop of the predicted class's probability
    accuracy_drop: float | None  # None without labels


def remove_rows(
    model: Model, readings: Sequence[AnyReading], labels: Sequence[Label] | None = None
) -> tuple[RowEffect, ...]:
    """Measure the effect of each row of M by replacing its values by their means over the texts.

    The mean removes what the row says about this text and stays within what the classifier is used to;
    it never saw zeros. In a pair the row is removed from both texts.
    """
    sides = zip(*(each.sides for each in readings), strict=True)
    M = [np.stack([reading.embedding for reading in side]) for side in sides]
    before = np.stack([each.probabilities for each in readings])
    return tuple(_remove_row(model, M, before, labels, row) for row in range(M[0].shape[1]))


def _remove_row(
    model: Model, M: list[np.ndarray], before: np.ndarray, labels: Sequence[Label] | None, row: int
) -> RowEffect:
    without = [m.copy() for m in M]
    for m in without:
        m[:, row] = m[:, row].mean(axis=0)
    after = model.classify(*without)
    predicted, texts = before.argmax(axis=1), np.arange(len(before))
    drop = float((before[texts, predicted] - after[texts, predicted]).mean())
    changed = float((after.argmax(axis=1) != predicted).mean())
    return RowEffect(row, changed, drop, _accuracy_drop(model, predicted, after.argmax(axis=1), labels))


def _accuracy_drop(
    model: Model, before: np.ndarray, after: np.ndarray, labels: Sequence[Label] | None
) -> float | None:
    if labels is None:
        return None
    truth = LabelColumn(labels).index(model.labels, "the data")
    return float((before == truth).mean() - (after == truth).mean())
