"""Batches of sentences of similar length: which rows form one, and their ids as one padded array."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .dataset import Split

POOL = 100  # batches sorted by length together: enough for little padding, few enough to stay random


class Batch(NamedTuple):
    ids: np.ndarray  # (batch, n) int64
    lengths: np.ndarray  # (batch,) int64
    labels: np.ndarray | None  # (batch,) int64, or float32 as `as_targets` gives them
    ids2: np.ndarray | None = None
    lengths2: np.ndarray | None = None


def row_lengths(split: Split) -> np.ndarray:
    """(rows,): the length that a row is sorted by; for a pair, of its longer sentence."""
    return np.asarray(split.lengths if split.lengths2 is None else np.maximum(split.lengths, split.lengths2))


def training_plan(lengths: np.ndarray, batch: int, seed: int, epoch: int) -> list[np.ndarray]:
    """The rows of each batch of an epoch: every row exactly once, the last batch possibly smaller.

    The order depends on (seed, epoch) alone: a run can resume at any step of any epoch.

    >>> [rows.tolist() for rows in training_plan(np.array([9, 1, 8, 2, 7]), batch=2, seed=0, epoch=0)]
    [[0], [1, 3], [4, 2]]
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(lengths))
    batches: list[np.ndarray] = []
    for start in range(0, len(order), batch * POOL):
        pool = order[start : start + batch * POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += np.split(pool, range(batch, len(pool), batch))
    return [batches[i] for i in random.permutation(len(batches))]


def gather(split: Split, rows: np.ndarray, width: int | None = None) -> Batch:
    """The rows' ids, padded with 0 to the longest (or to `width`), with lengths and labels."""
    sides = []
    for ids, starts, lengths in split.sides:
        wanted = lengths[rows].astype(np.int64)
        places = np.arange(width or max(1, wanted.max(initial=1)))
        words = places < wanted[:, None]  # (batch, n)
        padded = np.zeros(words.shape, dtype=np.int64)
        padded[words] = ids[(starts[rows][:, None] + places)[words]]
        sides.append((padded, wanted))
    labels = None if split.labels is None else as_targets(split.labels[rows])
    return Batch(*sides[0], labels, *(sides[1] if len(sides) > 1 else ()))


def as_targets(labels: np.ndarray) -> np.ndarray:
    """Labels as a loss takes them: classes as int64; numbers, and zeros and ones, as float32."""
    return labels.astype(np.int64 if labels.dtype.kind == "i" else np.float32)


def draw(split: Split, rows: int, words: int) -> np.ndarray:
    """The numbers of some rows, at random: at most so many, with at most so many words in all, but one."""
    order = np.random.default_rng(0).permutation(len(split))[:rows]
    lengths = sum(np.asarray(n)[order].astype(np.int64) for _, _, n in split.sides)
    return np.asarray(order[: max(1, int((np.cumsum(lengths) <= words).sum()))])


def truncate(ids: np.ndarray, lengths: np.ndarray, max_length: int) -> tuple[np.ndarray, np.ndarray]:
    """Keep the first `max_length` words of each sentence; 0 keeps all."""
    if max_length == 0 or lengths.max(initial=0) <= max_length:
        return ids, lengths
    starts = np.cumsum(lengths) - lengths
    position = np.arange(len(ids)) - np.repeat(starts, lengths)
    return ids[position < max_length], np.minimum(lengths, max_length)
