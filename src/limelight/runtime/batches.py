"""Texts to padded batches: like lengths together, and a budget of words rather than a number of texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from ..errors import LimelightError
from ..text.batches import truncate
from ..text.tokenizer import PAD, Tokenizer


@dataclass(frozen=True, eq=False)
class Sentences:
    """Word ids of many texts, back to back."""

    ids: np.ndarray  # (words,)
    lengths: np.ndarray  # (texts,): at least 1 each

    @classmethod
    def encode(cls, tokenizer: Tokenizer, texts: Sequence[str], max_length: int) -> Sentences:
        """Words of each text, cut after `max_length` of them unless that is 0."""
        return cls(*truncate(*tokenizer.encode(texts), max_length))

    def batches(self, budget: int) -> list[np.ndarray]:
        """Numbers of the texts, longest first, in batches of at most `budget` words with padding.

        >>> [b.tolist() for b in Sentences(np.zeros(9, int), np.array([2, 4, 1, 2])).batches(budget=4)]
        [[1], [0, 3], [2]]
        """
        order = np.argsort(-self.lengths, kind="stable")
        batches, start = [], 0
        while start < len(order):
            size = max(1, budget // int(self.lengths[order[start]]))
            batches.append(order[start : start + size])
            start += size
        return batches

    def feed(self, batch: np.ndarray) -> dict[str, np.ndarray]:
        """What the encoder's graph takes: ids (batch, n), padded, and lengths (batch,).

        >>> Sentences(np.array([5, 6, 7]), np.array([1, 2])).feed(np.array([1, 0]))["ids"].tolist()
        [[6, 7], [5, 0]]
        """
        if len(self.lengths) == 1:  # all that follows would cost a short text some of its time
            return {"ids": self.ids[None].astype(np.int32, copy=False), "lengths": self.lengths}
        lengths = self.lengths[batch]
        t = np.arange(lengths.max())
        places = self._starts[batch][:, None] + t  # (batch, n)
        ids = self.ids.take(places, mode="clip")
        ids[t >= lengths[:, None]] = PAD
        return {"ids": ids.astype(np.int32, copy=False), "lengths": lengths.astype(np.int32, copy=False)}

    @cached_property
    def _starts(self) -> np.ndarray:
        return np.asarray(np.cumsum(self.lengths) - self.lengths)


def chunks(texts: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Lists of up to `size`, read one list at a time.

    >>> list(chunks("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    rest = iter(texts)
    while chunk := list(islice(rest, size)):
        yield chunk


def checked(texts: Iterable[Any]) -> Iterator[str]:
    """The same texts, unless one is no text.

    >>> list(checked(["good", None]))
    Traceback (most recent call last):
    limelight.errors.LimelightError: text 1 is None, of type NoneType; every text must be a string
    """
    if isinstance(texts, str | bytes):
        raise LimelightError(
            f"expected a list of texts; got one text: put it in a list, [{str(texts)[:30]!r}]"
        )
    is_column = not isinstance(texts, Mapping | set | frozenset) and getattr(texts, "ndim", 1) == 1
    if not is_column or not hasattr(texts, "__iter__"):
        raise LimelightError(f"expected a list or a column of texts, not {type(texts).__name__}")
    for k, text in enumerate(texts.to_pylist() if hasattr(texts, "to_pylist") else texts):  # of Arrow
        if not isinstance(text, str):
            given = f"{str(text)[:40]}, of type {type(text).__name__}"
            raise LimelightError(f"text {k} is {given}; every text must be a string")
        yield text


def paired(texts: Iterable[str], texts2: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Two columns side by side, of one length.

    >>> list(paired(["a", "b"], ["c"]))
    Traceback (most recent call last):
    limelight.errors.LimelightError: there are more first texts than second ones; every pair needs both
    """
    rest, rest2 = iter(texts), iter(texts2)
    for text in rest:
        text2 = next(rest2, None)
        if text2 is None:
            raise LimelightError("there are more first texts than second ones; every pair needs both")
        yield text, text2
    if next(rest2, None) is not None:
        raise LimelightError("there are more second texts than first ones; every pair needs both")
