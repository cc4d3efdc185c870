"""The rows on a whole data set: their words, which repeat each other, what each contributes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..reading.reading import AnyReading, Reading
from ..reading.row_names import row_words
from ..text.labels import Label
from ..text.tasks import find_task

if TYPE_CHECKING:
    from ..runtime.model import Model  # a machine that only trains need not have ONNX Runtime


class RowOverview(NamedTuple):
    """One row on a data set."""

    row: int  # counted from 0
    words: tuple[tuple[str, float], ...]  # what it reads, each with its attention above an even share
    name: str  # of what it reads; "" if that is nothing in particular


@dataclass(frozen=True, eq=False)
class Overview:
    """All rows on a data set."""

    rows: tuple[RowOverview, ...]
    overlap: np.ndarray  # (r, r): the mean of A A^T

    @property
    def redundancy(self) -> float:
        """The mean of A A^T off its diagonal: 0 when no two rows read the same words."""
        return redundancy(self.overlap)


def redundancy(overlap: np.ndarray) -> float:
    """The mean of A A^T (r, r) off its diagonal.

    >>> redundancy(np.array([[1.0, 0.5], [0.5, 0.5]]))
    0.5
    """
    r = len(overlap)
    return float((overlap.sum() - np.trace(overlap)) / max(r * (r - 1), 1))


def overview(readings: Sequence[AnyReading]) -> Overview:
    """Summarise what every row reads in all texts.

    >>> from limelight.reading.reading import GOOD_SOUP
    >>> overview([GOOD_SOUP] * 5).overlap.round(2).tolist()
    [[0.82, 0.5], [0.5, 0.5]]
    """
    sides = [side for each in readings for side in each.sides]
    overlap = np.mean([side.attention.astype(float) @ side.attention.T for side in sides], axis=0)
    return Overview(describe_rows(readings), overlap)


def describe_rows(readings: Sequence[AnyReading]) -> tuple[RowOverview, ...]:
    """What every row reads in all texts.

    >>> from limelight.reading.reading import GOOD_SOUP
    >>> [row.row for row in describe_rows([GOOD_SOUP] * 5)]
    [0, 1]
    """
    found = _row_words([side for each in readings for side in each.sides])
    return tuple(RowOverview(row, words, name) for row, (words, name) in enumerate(found))


def _row_words(sides: Sequence[Reading]) -> list[tuple[tuple[tuple[str, float], ...], str]]:
    """For each row, the words it reads with their shares, and its name; case is ignored.

    A row is called what its model calls it, whatever it reads here; only without names are they found here.
    """
    numbers: dict[str, int] = defaultdict(lambda: len(numbers))
    ids = [numbers[word.lower()] for side in sides for word in side.words]
    A = np.concatenate([side.attention for side in sides], axis=1)  # (r, words of all texts)
    words, lengths = list(numbers), np.array([len(side.words) for side in sides])
    found = row_words(words, np.array(ids, dtype=int), A, lengths)
    listed = [tuple((words[k], share) for k, share in row.words) for row in found]
    return list(zip(listed, sides[0].row_names or [row.name for row in found], strict=True))


# ---------------------------------------------------------------- with a row of M removed


class RowEffect(NamedTuple):
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
    answers, texts = model.decide(before), np.arange(len(before))
    targets = np.array([each.target for each in readings])
    truth = None if labels is None else find_task(model.task).column(labels).index(model.labels, "the data")

    def remove(row: int) -> RowEffect:
        after = model.classify(*(_with_mean_row(m, row) for m in M))
        without_it = model.decide(after)
        drop = float((before[texts, targets] - after[texts, targets]).mean())
        changed = 1 - float(same_answers(answers, without_it).mean())
        scores = [same_answers(each, truth).mean() for each in (answers, without_it) if truth is not None]
        return RowEffect(row, changed, drop, float(scores[0] - scores[1]) if scores else None)

    return tuple(map(remove, range(M[0].shape[1])))


def _with_mean_row(M: np.ndarray, row: int) -> np.ndarray:
    M = M.copy()
    M[:, row] = M[:, row].mean(axis=0)
    return M


def same_answers(answers: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(texts,): whether two answers, (texts,) or (texts, labels), are the same.

    >>> same_answers(np.array([[True, False], [True, True]]), np.array([[1, 0], [0, 1]])).tolist()
    [True, False]
    """
    same = answers == others
    return np.asarray(same if same.ndim == 1 else same.all(axis=1))
