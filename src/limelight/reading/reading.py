"""A Reading: what the model gives for a text. Everything that draws, explains or serves takes one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..text.labels import Label


@dataclass(frozen=True, eq=False)
class Reading:
    """One text as the model read it.

    >>> reading = Reading(
    ...     text="Good soup", offsets=np.array([[0, 4], [5, 9]]), known=np.array([True, True]),
    ...     attention=np.array([[0.9, 0.1], [0.5, 0.5]]), embedding=np.zeros((2, 4)),
    ...     labels=("bad", "good"), probabilities=np.array([0.2, 0.8]))
    >>> reading.words, reading.label, reading.confidence
    (('Good', 'soup'), 'good', 0.8)
    >>> reading.overall.round(3).tolist()
    [0.7, 0.3]
    """

    text: str
    offsets: np.ndarray  # (n, 2): where each word starts and ends in `text`
    known: np.ndarray  # (n,): False where the word is outside the vocabulary
    attention: np.ndarray  # (r, n): A; every row sums to 1
    embedding: np.ndarray  # (r, 2u): M
    labels: tuple[Label, ...]  # the classes, in the order of `probabilities`
    probabilities: np.ndarray  # (classes,)
    max_row: bool = False  # whether the last row of A and M is the max-pooled one

    @property
    def sides(self) -> tuple[Reading, ...]:
        """The texts that were read: this one; of a pair, both."""
        return (self,)

    @property
    def words(self) -> tuple[str, ...]:
        """The words as they stand in the text, case and spelling kept."""
        return tuple(self.text[start:end] for start, end in self.offsets)

    @property
    def overall(self) -> np.ndarray:
        """(n,): the rows summed, normalised to 1: the paper's second way of looking."""
        return np.asarray(self.attention.sum(axis=0) / self.attention.sum())

    @property
    def label(self) -> Label:
        """The likeliest class."""
        return self.labels[int(np.argmax(self.probabilities))]

    @property
    def confidence(self) -> float:
        """The probability of the likeliest class."""
        return float(np.max(self.probabilities))

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, ready for `json.dumps`."""
        return {
            "text": self.text,
            "label": self.label,
            "probabilities": dict(zip(map(str, self.labels), map(float, self.probabilities), strict=True)),
            "words": list(self.words),
            "offsets": self.offsets.tolist(),
            "known": self.known.tolist(),
            "overall": self.overall.tolist(),
            "attention": self.attention.tolist(),
        }

    def _repr_html_(self) -> str:
        from .html import to_html

        return to_html(self)


@dataclass(frozen=True, eq=False)
class PairReading:
    """A pair of sentences as the model read them: two Readings that share one answer."""

    first: Reading
    second: Reading

    @property
    def sides(self) -> tuple[Reading, ...]:
        """Both texts."""
        return self.first, self.second

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes, in the order of `probabilities`."""
        return self.first.labels

    @property
    def probabilities(self) -> np.ndarray:
        """(classes,): of the pair."""
        return self.first.probabilities

    @property
    def label(self) -> Label:
        """The likeliest class of the pair."""
        return self.first.label

    @property
    def confidence(self) -> float:
        """The probability of the likeliest class."""
        return self.first.confidence

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, ready for `json.dumps`."""
        return {"first": self.first.to_dict(), "second": self.second.to_dict()}

    def _repr_html_(self) -> str:
        from .html import to_html

        return to_html(self)


AnyReading = Reading | PairReading
