"""Groups of rows of A that read the same words, because thirty separate rows are too many to look at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MIN_SHARED = 0.6  # two rows read the same words when they share at least this much attention


class RowGroup(NamedTuple):
    """Rows of A that read the same words."""

    rows: tuple[int, ...]  # counted from 0, ascending
    focus: float  # 0: spread evenly over the words; 1: all on a single word


def group_rows(attentions: tuple[np.ndarray, ...]) -> tuple[RowGroup, ...]:
    """Group the rows, the most informative group first. Any two rows of a group share at least `MIN_SHARED`.

    `attentions` holds A of one text, or of both texts of a pair, whose rows are then grouped together.
    A group is more informative the more rows it has and the fewer words they choose.

    >>> group_rows((np.array([[0.3, 0.3, 0.4], [0.9, 0.1, 0.0], [0.8, 0.1, 0.1]]),))
    (RowGroup(rows=(1, 2), focus=0.528...), RowGroup(rows=(0,), focus=0.008...))
    """
    attentions = tuple(A for A in attentions if A.shape[1])  # a text without words has no attention
    if not attentions:
        return ()
    # (r, r) for each text: the attention that two rows share, from 0 to 1
    shared = [np.stack([np.minimum(A, row).sum(axis=1) for row in A]) for A in attentions]
    found = [
        RowGroup(rows, float(np.mean([focus(mean_row(A, rows)) for A in attentions])))
        for rows in _complete_linkage(np.mean(shared, axis=0))
    ]
    return tuple(sorted(found, key=lambda group: (-len(group.rows) * group.focus, group.rows)))


def mean_row(A: np.ndarray, rows: tuple[int, ...]) -> np.ndarray:
    """(n,): the mean attention of a group of rows."""
    return np.asarray(A[rows[0]] if len(rows) == 1 else A[list(rows)].mean(axis=0))


def focus(weights: np.ndarray) -> float:
    """How concentrated the weights are: 0 when spread evenly, 1 when all on one word.

    >>> focus(np.array([0.5, 0.5])), focus(np.array([1.0, 0.0]))
    (0.0, 1.0)
    """
    if len(weights) < 2:
        return 0.0
    positive = weights[weights > 0]
    entropy = -float((positive * np.log(positive)).sum())
    return min(1.0, max(0.0, 1.0 - entropy / float(np.log(len(weights)))))


def _complete_linkage(shared: np.ndarray) -> list[tuple[int, ...]]:
    """Merge the two closest groups as long as every row of one is close to every row of the other."""
    shared = shared.copy()
    np.fill_diagonal(shared, -1.0)
    groups: list[tuple[int, ...]] = [(row,) for row in range(len(shared))]
    while len(groups) > 1:
        first, second = sorted(np.unravel_index(int(shared.argmax()), shared.shape))
        if shared[first, second] < MIN_SHARED:
            break
        groups[first] = tuple(sorted(groups[first] + groups.pop(second)))
        shared[first] = shared[:, first] = np.minimum(shared[first], shared[second])
        shared = np.delete(np.delete(shared, second, axis=0), second, axis=1)
        shared[first, first] = -1.0
    return groups
