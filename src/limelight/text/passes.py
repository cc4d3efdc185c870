"""The three passes over the rows of a data set: its labels, its words, its arrays."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from tqdm import tqdm

from ..errors import LimelightError
from ..reading import Label
from ..recipe import TextRecipe
from .arrays import ArraysInMemory, ArraysOnDisk
from .formats import listed
from .labels import LabelColumn
from .sources import Part
from .tables import Row, chunks
from .tokenizer import Tokenizer


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
    labels = {name: column.index(classes, parts[name].where) for name, column in columns.items()}
    _warn_of_single_rows(labels["train"], classes)
    return classes, labels


def _warn_of_single_rows(labels: np.ndarray, classes: Sequence[Label]) -> None:
    single = [str(classes[i]) for i in np.flatnonzero(np.bincount(labels) == 1).tolist()]
    if single:
        what = "1 label occurs" if len(single) == 1 else f"{len(single)} labels occur"
        warnings.warn(
            f"{what} only once in the training data: {listed(single[:5])}", UserWarning, stacklevel=2
        )


def hold_out(labels: np.ndarray, share: float, seed: int) -> np.ndarray:
    """(rows,) bool: the rows held out, `share` of each class, at least one of it and never its last.

    >>> hold_out(np.array([0] * 20 + [1] * 10 + [2]), 0.1, seed=0).nonzero()[0].size
    3
    """
    if not 0 <= share < 1:
        raise LimelightError(f"holdout is {share}; it must be at least 0 and below 1")
    if share == 0:
        return np.zeros(len(labels), dtype=bool)
    counts = np.bincount(labels)
    wanted = np.minimum(np.maximum(np.rint(counts * share).astype(np.int64), 1), counts - 1)
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    grouped = shuffled[np.argsort(labels[shuffled], kind="stable")]
    rank = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)  # within its class
    held = np.zeros(len(labels), dtype=bool)
    held[grouped] = rank < wanted[labels[grouped]]
    return held


def read_words(part: Part, held: np.ndarray, recipe: TextRecipe, progress: bool) -> Tokenizer:
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


def write_arrays(
    part: Part,
    name: str,
    held: np.ndarray,
    labels: np.ndarray,
    tokenizer: Tokenizer,
    max_length: int,
    arrays: ArraysOnDisk | ArraysInMemory,
    progress: bool,
) -> None:
    """The arrays of one part; the rows held out go to the development split."""
    done = 0
    with tqdm(total=len(held), desc=f"encoding {name}", unit=" rows", disable=quiet(progress)) as bar:
        for chunk in _encoded_chunks(part.rows(), tokenizer, max_length):
            rows = slice(done, done + len(chunk["lengths"]))
            if part.labelled:
                chunk["labels"] = labels[rows]
            if part.weights is not None:
                chunk["weights"] = part.weights[rows]
            for split, keep in ((name, ~held[rows]), ("dev", held[rows])):
                if keep.any():
                    for array, values in _select(chunk, keep).items():
                        arrays.append(split, array, values, len(tokenizer))
            bar.update(rows.stop - done)
            done = rows.stop


def _encoded_chunks(
    rows: Iterable[Row], tokenizer: Tokenizer, max_length: int
) -> Iterator[dict[str, np.ndarray]]:
    for chunk in chunks(rows):
        ids, lengths = cut(*tokenizer.encode([row.text for row in chunk]), max_length)
        encoded = {"ids": ids, "lengths": lengths}
        if chunk[0].text2 is not None:
            second = tokenizer.encode([row.text2 or "" for row in chunk])
            encoded["ids2"], encoded["lengths2"] = cut(*second, max_length)
        yield encoded


def cut(ids: np.ndarray, lengths: np.ndarray, max_length: int) -> tuple[np.ndarray, np.ndarray]:
    """The first `max_length` words of each sentence; 0 keeps them all.

    >>> ids, lengths = cut(np.array([5, 6, 7, 8]), np.array([3, 1]), max_length=2)
    >>> ids.tolist(), lengths.tolist()
    ([5, 6, 8], [2, 1])
    """
    if max_length == 0 or lengths.max() <= max_length:
        return ids, lengths
    starts = np.cumsum(lengths) - lengths
    position = np.arange(len(ids)) - np.repeat(starts, lengths)
    return ids[position < max_length], np.minimum(lengths, max_length)


def _select(chunk: Mapping[str, np.ndarray], keep: np.ndarray) -> dict[str, np.ndarray]:
    """The rows of a chunk where `keep` is true."""
    words = {
        ids: np.repeat(keep, chunk[lengths])
        for ids, lengths in (("ids", "lengths"), ("ids2", "lengths2"))
        if ids in chunk
    }
    return {array: values[words.get(array, keep)] for array, values in chunk.items()}


def quiet(progress: bool) -> bool | None:
    return None if progress else True  # None: tqdm shows itself only on a terminal
