"""A heat map: one colouring of the words of a picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .colours import levels


@dataclass(frozen=True)
class HeatMap:
    """One colouring of the text, or of both texts of a pair."""

    name: str
    weights: tuple[np.ndarray, ...]  # (pieces,) for every text
    top: float  # the weight with the strongest colour
    rows: tuple[int, ...] = ()  # of A, counted from 0; empty for other maps
    note: str = ""  # which rows these are, where the name does not say it
    signed: bool = False
    bias: float | None = None  # what belongs to no word; with all words' weights it is the score
    sum_line: str = ""  # the same in a sentence
    clauses: tuple[tuple[int, int], ...] | None = None  # the pieces to show, from first to end; None: all

    @cached_property
    def levels(self) -> tuple[np.ndarray, ...]:
        """(pieces,) for every text: the colour levels."""
        return tuple(levels(weights, self.top) for weights in self.weights)
