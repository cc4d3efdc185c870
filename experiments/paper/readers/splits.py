"""Random splits, the same on every machine: by row, or by group (no author in two splits)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from limelight.errors import LimelightError

SPLITS = ("train", "dev", "test")
TRAIN, DEV, TEST = 1, 2, 3  # 0: in no split
Sizes = Sequence[int | None]  # train, dev, test; one may be None: the rest


def by_row(usable: np.ndarray, sizes: Sizes, seed: int) -> np.ndarray:
    """The split of every row, drawn without replacement from the usable rows.

    Development and test rows are drawn first: they stay the same whatever the size of the training set.

    >>> usable = np.array([True, True, False, True, True])
    >>> by_row(usable, (None, 1, 1), seed=1).tolist()
    [1, 1, 0, 3, 2]
    """
    order = np.flatnonzero(usable)
    train, dev, test = resolve(sizes, len(order))
    _random(seed).shuffle(order)
    splits = np.zeros(len(usable), dtype=np.uint8)
    splits[order[:dev]] = DEV
    splits[order[dev : dev + test]] = TEST
    splits[order[dev + test : dev + test + train]] = TRAIN
    return splits


def by_group(usable: np.ndarray, groups: np.ndarray, sizes: Sizes, seed: int) -> np.ndarray:
    """The split of every row, with all rows of a group (numbered from 0) in the same one.

    Whole groups go, in random order, to the development set until it has the size asked for or just more,
    then to the test set, then to the training set.

    >>> usable, groups = np.ones(6, dtype=bool), np.array([0, 0, 1, 1, 2, 2])
    >>> by_group(usable, groups, (None, 1, 1), seed=1).tolist()
    [1, 1, 2, 2, 3, 3]
    """
    counts = np.bincount(groups[usable])
    train, dev, test = resolve(sizes, int(counts.sum()))
    waiting = _random(seed).permutation(len(counts)).tolist()
    split_of = np.zeros(int(groups.max()) + 1, dtype=np.uint8)
    for split, size in ((DEV, dev), (TEST, test), (TRAIN, train)):
        if size and not waiting:
            raise LimelightError(
                f"{len(counts)} groups are too few for three splits of sizes {tuple(sizes)}", code="no-rows"
            )
        filled = 0
        while filled < size and waiting:
            group = waiting.pop()
            split_of[group] = split
            filled += int(counts[group])
    return np.where(usable, split_of[groups], 0).astype(np.uint8)


def resolve(sizes: Sizes, available: int) -> tuple[int, int, int]:
    """The three sizes as numbers; None (at most one) takes what the others leave.

    >>> resolve((None, 2, 2), available=10)
    (6, 2, 2)
    """
    given = [size for size in sizes if size is not None]
    if len(sizes) != 3 or len(given) < 2 or min(given) < 0:
        raise LimelightError(
            f"sizes are {tuple(sizes)}; give train, dev and test, one may be 'rest' (in Python: None)",
            code="option-value",
        )
    rest = available - sum(given)
    if rest < 0 or (rest == 0 and len(given) == 2):
        raise LimelightError(
            f"{available:,} usable rows are too few for the sizes {tuple(sizes)}; give smaller ones "
            "with --sizes, where 'rest' is all that the others leave (in Python: sizes=, None)",
            code="no-rows",
        )
    train, dev, test = (rest if size is None else size for size in sizes)
    return train, dev, test


def _random(seed: int) -> np.random.RandomState:
    """NumPy's legacy generator: its numbers never change between versions, unlike the newer one's."""
    if not 0 <= seed < 2**32:
        raise LimelightError(f"the seed is {seed}; it must be between 0 and {2**32 - 1}", code="option-value")
    return np.random.RandomState(seed)
