"""Sentences with a planted signal: which words decide the label, and where they stand, is known exactly.

Every sentence has one planted word for each of several independent aspects, in a random place among words
that mean nothing. Each planted word is good or bad, and there is one class for every combination, so that
the label cannot be told before all the planted words are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np

from limelight.errors import LimelightError
from limelight.reading import Reading

# aspect -> its good words, its bad words
ASPECTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "food": (("delicious", "tasty", "crisp", "juicy"), ("stale", "burnt", "greasy", "bland")),
    "service": (("friendly", "attentive", "polite", "prompt"), ("rude", "surly", "careless", "slow")),
    "price": (("cheap", "fair", "affordable", "modest"), ("overpriced", "steep", "costly", "exorbitant")),
    "room": (("cosy", "bright", "spacious", "spotless"), ("noisy", "cramped", "grimy", "draughty")),
}
FILLERS = (
    "the", "a", "we", "it", "was", "were", "and", "then", "there", "here", "at", "on", "in", "with", "our",
    "their", "table", "evening", "street", "corner", "friend", "month", "people", "window", "menu", "door",
    "plate", "glass", "garden", "city", "walk", "lamp", "chair", "coat", "paper", "bag", "train", "river",
    "wall", "stairs", "clock", "tuesday", "neighbour", "uncle", "cup", "spoon", "somebody", "again", "also",
    "later", "once", "where", "while", "two", "three",
)  # fmt: skip


class Planted(NamedTuple):
    """Sentences, their labels, and the places of the planted words in them."""

    texts: list[str]
    labels: list[str]  # one sign per aspect, such as "+-+"
    places: np.ndarray  # (n, aspects, 2): where each aspect's word starts and ends in the text


def sentences(n: int, aspects: int = 3, seed: int = 0, words: tuple[int, int] = (8, 16)) -> Planted:
    """Make `n` sentences; each has between `words[0]` and `words[1]` words, the planted ones among them.

    >>> texts, labels, places = sentences(1)
    >>> texts[0], labels[0]
    ('bag garden our table we was the burnt slow bag once glass coat two affordable', '--+')
    >>> [texts[0][start:end] for start, end in places[0]]
    ['burnt', 'slow', 'affordable']
    """
    least, most = words
    if not 1 <= aspects <= len(ASPECTS):
        raise LimelightError(f"aspects is {aspects}; it must be from 1 to {len(ASPECTS)}")
    if n < 1 or not aspects <= least <= most:
        raise LimelightError(
            f"cannot make {n} sentences of {least} to {most} words; make at least 1, with a word per aspect"
        )
    rng = np.random.default_rng(seed)
    made = [_sentence(rng, aspects, int(rng.integers(least, most + 1))) for _ in range(n)]
    texts, labels, places = zip(*made, strict=True)
    return Planted(list(texts), list(labels), np.array(places))


def _sentence(rng: np.random.Generator, aspects: int, length: int) -> tuple[str, str, list[tuple[int, int]]]:
    chosen = [FILLERS[k] for k in rng.integers(len(FILLERS), size=length)]
    at = rng.choice(length, size=aspects, replace=False)
    bad = rng.integers(2, size=aspects)
    for place, sides, side in zip(at, ASPECTS.values(), bad, strict=False):
        chosen[place] = sides[side][rng.integers(len(sides[side]))]
    starts = np.cumsum([0, *(len(word) + 1 for word in chosen)])
    places = [(int(starts[k]), int(starts[k]) + len(chosen[k])) for k in at]
    return " ".join(chosen), "".join("+-"[side] for side in bad), places


def redundancy(readings: Sequence[Reading]) -> float:
    """The mean of A A^T off its diagonal: 0 when no two rows read the same words."""
    overlap = np.mean([each.attention.astype(float) @ each.attention.T for each in readings], axis=0)
    return float(overlap[~np.eye(len(overlap), dtype=bool)].mean())


def mass(reading: Reading, places: np.ndarray) -> np.ndarray:
    """(r, aspects): how much of each row's attention lies on each aspect's planted word.

    >>> reading = Reading(
    ...     text="two tasty cups", offsets=np.array([[0, 3], [4, 9], [10, 14]]), known=np.ones(3, bool),
    ...     attention=np.array([[0.1, 0.8, 0.1]]), embedding=np.zeros((1, 4)),
    ...     labels=("+", "-"), probabilities=np.array([0.9, 0.1]))
    >>> mass(reading, np.array([[4, 9]])).tolist()
    [[0.8]]
    """
    planted = (reading.offsets[:, None] == places).all(axis=2)  # (n, aspects)
    return np.asarray(reading.attention @ planted)


def match_rows(mass: np.ndarray) -> tuple[int, ...]:
    """For each aspect the row that reads it, no row twice: of all ways to do so, the one with the most mass.

    `mass` (r, aspects) is of one sentence, or a mean over many.

    >>> match_rows(np.array([[0.1, 0.9], [0.6, 0.2], [0.3, 0.3]]))
    (1, 0)
    """
    r, aspects = mass.shape
    if r < aspects:
        raise LimelightError(f"{r} rows cannot be matched with {aspects} aspects; there must be as many")
    aspect = np.arange(aspects)
    return max(permutations(range(r), aspects), key=lambda rows: float(mass[list(rows), aspect].sum()))


def recovered(masses: Sequence[np.ndarray]) -> float:
    """The share of planted words on which a row of their own, matched in each sentence, has over half of it.

    >>> recovered([np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.5, 0.5], [0.5, 0.5]])])
    0.5
    """
    own = [mass[list(match_rows(mass)), np.arange(mass.shape[1])] for mass in masses]
    return float((np.array(own) > 0.5).mean())
