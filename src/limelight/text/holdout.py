"""Holding out training rows as the development set, where none was given."""

from collections.abc import Iterable, Iterator
from numbers import Real

import numpy as np

from ..errors import bad_value

# A class too small for its share gives one row, unless the held-out rows would then be more than TOLERANCE
# times the share of all rows that was asked for, and more than MUCH of all rows.
TOLERANCE, MUCH = 1.5, 0.25

Chunk = dict[str, np.ndarray]  # some rows of a split, by the names of its arrays


def check_share(share: float) -> None:
    """Raise unless it can be a share of the rows to hold out."""
    if not isinstance(share, Real) or not 0 <= share < 1:
        raise bad_value(f"holdout is {share!r}; it must be a number of at least 0 and below 1")


def choose_held_out(labels: np.ndarray, share: float, seed: int) -> np.ndarray:
    """(rows,) bool: the rows to hold out, `share` of each class but never its last row.

    A class too small for its share gives one row. If there are so many small classes that far more than
    `share` of all rows would be held out, only enough of them, drawn at random, give one.

    >>> int(choose_held_out(np.array([0] * 20 + [1] * 10 + [2]), 0.1, seed=0).sum())
    3
    >>> int(choose_held_out(np.arange(3000) // 2, 0.1, seed=0).sum())
    300
    """
    check_share(share)
    if share == 0:
        return np.zeros(len(labels), dtype=bool)
    counts = np.bincount(labels)
    wanted = np.minimum(np.rint(counts * share).astype(np.int64), counts - 1)
    small = (wanted == 0) & (counts > 1)
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    grouped = shuffled[np.argsort(labels[shuffled], kind="stable")]
    rank = np.empty(len(labels), np.int64)  # within its class
    rank[grouped] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    held = np.asarray(rank < wanted[labels])
    ones = shuffled[(small[labels] & (rank == 0))[shuffled]]  # one row of each small class, in random order
    if held.sum() + len(ones) > max(TOLERANCE * share, MUCH) * len(labels):
        aim = max(round(share * len(labels)), 1)
        ones = ones[: max(aim - int(held.sum()), 0)]
    held[ones] = True
    return held


def split_held_out(chunks: Iterable[Chunk], held: np.ndarray) -> Iterator[tuple[str, Chunk]]:
    """Divide each chunk of the training rows into its "train" and its held-out "dev" rows."""
    done = 0
    for chunk in chunks:
        rows = len(chunk["lengths"])
        for split, keep in (("train", ~held[done : done + rows]), ("dev", held[done : done + rows])):
            words = {  # of those rows
                ids: np.repeat(keep, chunk[lengths])
                for ids, lengths in (("ids", "lengths"), ("ids2", "lengths2"))
                if ids in chunk
            }
            if keep.any():
                yield split, {array: values[words.get(array, keep)] for array, values in chunk.items()}
        done += rows


def describe_held_out(
    held: np.ndarray, labels: np.ndarray, share: float, where: str, group: str = "class"
) -> str | None:
    """How many rows were held out, and the share that really is; `group` is what `labels` number."""
    if not held.any():
        return None
    wanted, true = f"{100 * share:.3g}%", f"{100 * held.mean():.3g}%"
    classes, giving = len(np.unique(labels)), len(np.unique(labels[held]))
    if giving < classes:
        small = "classes" if group == "class" else "groups"
        how = f"{true}; none from small {small}: {classes - giving:,} of {classes:,}"
    elif true == wanted:
        how = f"{wanted} of each {group}"
    else:
        how = f"{true}: {wanted} of each {group}, rounded, and at least one row"
    return f"held out {held.sum():,} of the {len(held):,} rows of {where} as the development set ({how})"
