"""Readings made by hand: no model is needed to draw one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from limelight.reading.comparison import ComparedText, Comparison
from limelight.reading.reading import Reading
from limelight.text.labels import Label

SOUP = "The soup was cold, the waiter rude\nand the bill a joke. We left hungry and will not come back."


def make_reading(
    text: str,
    rows: Sequence[Sequence[float]] | None = None,
    *,
    r: int = 4,
    labels: tuple[Label, ...] = ("bad", "good"),
    probabilities: Sequence[float] = (0.8, 0.2),
    pattern: str = r"\w+|[^\w\s]",
    unknown: Sequence[str] = (),
    seed: int = 0,
    **more: Any,
) -> Reading:
    """A Reading of `text`: words by `pattern`, rows as given or drawn with a seed; `more` are its fields."""
    offsets = np.array([match.span() for match in re.finditer(pattern, text)], dtype=int).reshape(-1, 2)
    n = len(offsets)
    if rows is None:
        rows = np.random.default_rng(seed).dirichlet(np.full(n, 0.15), size=r) if n else np.zeros((r, 0))
    attention = np.array(rows, dtype=np.float32).reshape(len(rows), n)
    known = np.array([text[start:end] not in unknown for start, end in offsets], dtype=bool)
    M, P = np.zeros((len(attention), 4)), np.array(probabilities)
    return Reading(text, offsets, known, attention, M, labels, P, **more)


def focused(text: str, *words: str, on: float = 0.9) -> list[list[float]]:
    """One row per word of `words`: `on` of its attention there, the rest spread evenly."""
    all_words = re.findall(r"\w+|[^\w\s]", text)
    rest = (1 - on) / (len(all_words) - 1)
    return [[on if k == all_words.index(word) else rest for k in range(len(all_words))] for word in words]


def make_comparison(
    text: str,
    text2: str,
    matrix: Sequence[Sequence[float]] | np.ndarray | None = None,
    effects: tuple[Sequence[float], Sequence[float]] | None = None,
    *,
    together: Sequence[Sequence[float]] | None = None,
    seed: int = 0,
) -> Comparison:
    """A Comparison; its matrix may be drawn with a seed, effects may be the sums of rows and columns.

    Words that contribute belong together, unless `together` says otherwise.
    """
    offsets = [
        np.array([m.span() for m in re.finditer(r"\w+|[^\w\s]", t)] or [(0, 0)]) for t in (text, text2)
    ]
    if matrix is None:
        matrix = np.random.default_rng(seed).normal(size=[len(each) for each in offsets])
    matrix = np.array(matrix, float)
    given = effects or (matrix.sum(axis=1), matrix.sum(axis=0))
    first, second = (
        ComparedText(t, places, np.ones(len(places), bool), np.array(values))
        for t, places, values in zip((text, text2), offsets, given, strict=True)
    )
    together_or_matrix = matrix if together is None else np.array(together)
    return Comparison(first, second, float(matrix.sum()), matrix, together_or_matrix)
