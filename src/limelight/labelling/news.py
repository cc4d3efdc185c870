"""What is new in a batch of texts, beside those that were there before: words, groups, single texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .groups import distinguishing_words, find_centres, group_count
from .left_out import BLOCK

MAX_GROUPS, EXAMPLES, MAX_STRANGE = 8, 3, 10
MIN_GROWTH = 1.5  # times its share, from which a group is news
MIN_GROUP = 3  # texts of a group


class NewGroup(NamedTuple):
    """Texts that are alike, and of which there are more than before."""

    name: str
    before: float  # its share of the texts
    now: float
    rows: list[int]  # of the new texts, those nearest to its centre first


class News(NamedTuple):
    """What is new; rows are those of the new texts."""

    words: tuple[str, ...]  # far more frequent now
    gone: tuple[str, ...]  # far more frequent before
    groups: list[NewGroup]  # those that grew most first
    strange: list[tuple[int, float]]  # the texts least like any from before, and their nearest cosine


def find_news(seen: Sequence[str], X_seen: np.ndarray, texts: Sequence[str], X: np.ndarray) -> News:
    """Compare new texts with those seen before, by their words and their unit vectors (n, size)."""
    both, own = [*seen, *texts], np.repeat([0, 1], [len(seen), len(texts)])
    gone, words = distinguishing_words(both, own, 2)
    nearest = np.concatenate(
        [(X[k : k + BLOCK] @ X_seen.T).max(axis=1) for k in range(0, len(X), BLOCK)] or [np.zeros(0)]
    )
    strange = [(int(k), float(nearest[k])) for k in np.argsort(nearest, kind="stable")[:MAX_STRANGE]]
    return News(words, gone, _groups(both, own, np.concatenate([X_seen, X])), strange)


def _groups(texts: Sequence[str], own: np.ndarray, X: np.ndarray) -> list[NewGroup]:
    centres = find_centres(X, group_count(len(X))).astype(np.float32)
    likeness = X @ centres.T
    group = likeness.argmax(axis=1)
    names = distinguishing_words(texts, group, len(centres))
    sizes = np.maximum(np.bincount(own, minlength=2), 1)
    found = []
    for k in range(len(centres)):
        inside = np.flatnonzero(group == k)
        before, now = (own[inside] == 0).sum() / sizes[0], (own[inside] == 1).sum() / sizes[1]
        new = inside[own[inside] == 1]
        rows = new[np.argsort(-likeness[new, k], kind="stable")] - sizes[0]
        if len(rows) >= MIN_GROUP and now > MIN_GROWTH * before:
            found.append(NewGroup(", ".join(names[k]), float(before), float(now), rows.tolist()))
    return sorted(found, key=lambda each: (each.before - each.now, each.name))[:MAX_GROUPS]
