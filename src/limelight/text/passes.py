"""The three passes over the rows of a data set: its labels, its words, its arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real

import numpy as np
from tqdm import tqdm

from ..config.recipe import TextRecipe
from ..errors import LimelightError, warn
from .formats import listed
from .labels import Label, LabelColumn
from .sources import Part
from .tables import Row, chunks, usable
from .tokenizer import Tokenizer, cut

MISSING = {"nan", "NaN", "NAN", "None", "null", "NULL", "NA", "N/A", "<NA>"}  # as programs write no value
FAR_TOO_MANY = 1.5  # times the share that was to be held out,
MUCH = 0.25  # unless that is no more than this part of all rows: few rows, of which each class gives one


def read_labels(parts: Mapping[str, Part], progress: bool) -> tuple[tuple[Label, ...], dict[str, np.ndarray]]:
    """The classes, and the number of each row's class; checks every row of every part on the way."""
    columns = {}
    for name, part in parts.items():
        rows = tqdm(part.rows(), f"checking {name}", unit=" rows", disable=quiet(progress))
        columns[name] = LabelColumn(0 if row.label is None else row.label for row in rows)
    if not parts["train"].labelled:
        return (), {name: column.numbers for name, column in columns.items()}
    classes = columns["train"].classes()
    if len(classes) == 1:
        raise LimelightError(
            f"{parts['train'].where}: every row has the label {classes[0]!r}; it takes at least two classes"
        )
    where = {name: usable(part.where, part.skipped) for name, part in parts.items()}
    return classes, {name: column.index(classes, where[name]) for name, column in columns.items()}


def warn_of_labels(labels: np.ndarray, classes: Sequence[Label], names: Sequence[Label]) -> None:
    """Of classes that hardly can be learnt, by the names that the user knows them by."""
    if classes:
        _warn_of_single_rows(labels, names)
        _warn_of_missing(labels, classes)


def _warn_of_single_rows(labels: np.ndarray, names: Sequence[Label]) -> None:
    single = [str(names[i]) for i in np.flatnonzero(np.bincount(labels) == 1).tolist()]
    if single:
        what = "1 label occurs" if len(single) == 1 else f"{len(single)} labels occur"
        warn(f"{what} only once in the training data: {listed(single)}")


def _warn_of_missing(labels: np.ndarray, classes: Sequence[Label]) -> None:
    """A cell without a value that a program has written out cannot be told from a class of that name."""
    for number, label in enumerate(classes):
        if label in MISSING:
            what = f"the label {label!r} (rows: {np.count_nonzero(labels == number):,}) is learnt as a class"
            todo = "if it stands for no label, empty those cells and leave such rows out with --skip-bad"
            warn(f"{what}; {todo} (in Python: on_bad='skip')")


def hold_out(labels: np.ndarray, share: float, seed: int) -> np.ndarray:
    """(rows,) bool: the rows held out, `share` of each class and never its last.

    A class too small for its share gives one row, unless there are so many of these that far more than
    `share` of all rows would go: then only as many classes give one, drawn at random, as make up the share.

    >>> hold_out(np.array([0] * 20 + [1] * 10 + [2]), 0.1, seed=0).nonzero()[0].size
    3
    >>> hold_out(np.arange(3000) // 2, 0.1, seed=0).nonzero()[0].size
    300
    """
    if not isinstance(share, Real) or not 0 <= share < 1:
        raise LimelightError(f"holdout is {share!r}; it must be a number of at least 0 and below 1")
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
    if held.sum() + len(ones) > max(FAR_TOO_MANY * share, MUCH) * len(labels):
        aim = max(round(share * len(labels)), 1)
        ones = ones[: max(aim - int(held.sum()), 0)]
    held[ones] = True
    return held


def read_words(part: Part, held: np.ndarray, recipe: TextRecipe, progress: bool) -> Tokenizer:
    """The tokenizer of the training rows, those held out left aside."""
    rows = tqdm(part.rows(), "counting words", len(held), unit=" rows", disable=quiet(progress))
    texts = (
        text
        for row, out in zip(rows, held.tolist(), strict=True)
        if not out
        for text in (row.text, row.text2)
        if text is not None
    )
    return Tokenizer.train(
        texts, lowercase=recipe.lowercase, min_count=recipe.min_count, max_words=recipe.max_words
    )


def encoded_chunks(
    part: Part, labels: np.ndarray, tokenizer: Tokenizer, max_length: int, progress: bool
) -> Iterator[dict[str, np.ndarray]]:
    """The arrays of a split (ids, lengths, labels, ...), some thousand rows at a time."""
    done = 0
    with tqdm(total=len(labels), desc=f"encoding {part.where}", unit=" rows", disable=quiet(progress)) as bar:
        for rows in chunks(part.rows()):
            chunk = _encode(rows, tokenizer, max_length)
            if part.labelled:
                chunk["labels"] = labels[done : done + len(rows)]
            if part.weights is not None:
                chunk["weights"] = part.weights[done : done + len(rows)]
            yield chunk
            done += len(rows)
            bar.update(len(rows))


def shared_out(
    encoded: Iterable[dict[str, np.ndarray]], held: np.ndarray
) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """The same chunks, each as a training part and a development part: the rows that are held out."""
    done = 0
    for chunk in encoded:
        rows = len(chunk["lengths"])
        for split, keep in (("train", ~held[done : done + rows]), ("dev", held[done : done + rows])):
            if keep.any():
                yield split, _select(chunk, keep)
        done += rows


def _encode(rows: Sequence[Row], tokenizer: Tokenizer, max_length: int) -> dict[str, np.ndarray]:
    ids, lengths = cut(*tokenizer.encode([row.text for row in rows]), max_length)
    if rows[0].text2 is None:
        return {"ids": ids, "lengths": lengths}
    ids2, lengths2 = cut(*tokenizer.encode([row.text2 or "" for row in rows]), max_length)
    return {"ids": ids, "lengths": lengths, "ids2": ids2, "lengths2": lengths2}


def _select(chunk: Mapping[str, np.ndarray], keep: np.ndarray) -> dict[str, np.ndarray]:
    """The rows of a chunk where `keep` is true."""
    words = {
        ids: np.repeat(keep, chunk[lengths])
        for ids, lengths in (("ids", "lengths"), ("ids2", "lengths2"))
        if ids in chunk
    }
    return {array: values[words.get(array, keep)] for array, values in chunk.items()}


def quiet(progress: bool) -> bool | None:
    """What tqdm's `disable` must be."""
    return None if progress else True  # None: tqdm shows itself only on a terminal
