"""The rows on a whole data set: their words and names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..reading.reading import AnyReading
from ..reading.row_names import row_words


class RowOverview(NamedTuple):
    row: int  # counted from 0
    words: tuple[tuple[str, float], ...]  # what it reads, each with its attention above an even share
    name: str  # of what it reads; "" if that is nothing in particular


def describe_rows(readings: Sequence[AnyReading]) -> tuple[RowOverview, ...]:
    """What every row reads in all texts, whose case is ignored.

    A row is called what its model calls it, whatever it reads here; only without names are they found here.

    >>> from limelight.reading.reading import GOOD_SOUP
    >>> [row.row for row in describe_rows([GOOD_SOUP] * 5)]
    [0, 1]
    """
    sides = [side for each in readings for side in each.sides]
    numbers: dict[str, int] = defaultdict(lambda: len(numbers))
    ids = [numbers[word.lower()] for side in sides for word in side.words]
    A = np.concatenate([side.attention for side in sides], axis=1)  # (r, words of all texts)
    words, lengths = list(numbers), np.array([len(side.words) for side in sides])
    found = row_words(words, np.array(ids, dtype=int), A, lengths)
    names = sides[0].row_names or [row.name for row in found]
    listed = [tuple((words[k], share) for k, share in row.words) for row in found]
    return tuple(RowOverview(k, *each) for k, each in enumerate(zip(listed, names, strict=True)))


def same_answers(answers: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(texts,): whether two answers, (texts,) or (texts, labels), are the same.

    >>> same_answers(np.array([[True, False], [True, True]]), np.array([[1, 0], [0, 1]])).tolist()
    [True, False]
    """
    same = answers == others
    return np.asarray(same if same.ndim == 1 else same.all(axis=1))
