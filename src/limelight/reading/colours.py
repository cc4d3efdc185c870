"""Heat maps, and their colours, in light and dark: even steps of lightness, safe for colour-blind readers."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

LEVELS = 9  # steps of colour above plain paper; more are indistinguishable in running text


@dataclass(frozen=True)
class Theme:
    """The colours of one mode. Level 0 of both scales is the paper itself."""

    paper: str
    ink: str
    muted: str  # captions and numbers
    line: str  # rules and the empty part of bars
    warm: tuple[str, ...]  # attention, and evidence for the class
    cold: tuple[str, ...]  # evidence against it


def levels(weights: np.ndarray, top: float) -> np.ndarray:
    """The colour level, -9 to 9, of every weight; `top` is the weight with the strongest colour."""
    if top <= 0:
        return np.zeros(weights.shape, dtype=int)
    return np.asarray(np.clip(np.rint(weights * (LEVELS / top)), -LEVELS, LEVELS).astype(int))


def colour_class(level: int) -> str:
    """The CSS class of a colour level: h for support and attention, c for what speaks against."""
    return f"{'h' if level > 0 else 'c'}{abs(level)}" if level else ""


def _steps(colours: str) -> tuple[str, ...]:
    return tuple(f"#{each}" for each in colours.split())


# From the paper to an end in even steps of OKLab, which are even to the eye.
LIGHT = Theme(
    "#ffffff", "#1f1b16", "#6b655c", "#e6e1d9",
    _steps("ffffff fff2e9 ffe4d3 ffd7bd ffcaa7 febc91 fcae7a faa062 f89146 f58220"),
    _steps("ffffff edf4fe dbe9fd c8dffc b6d4fb a4c9f9 92bef7 80b3f5 6ea7f3 5b9cf0"),
)  # fmt: skip
DARK = Theme(
    "#17181b", "#ece9e4", "#a39d94", "#33343a",
    _steps("17181b 241e1c 32241d 40291e 4e2f1d 5d341c 6c3a1a 7b3f16 8a4510 9a4a05"),
    _steps("17181b 192029 1c2738 1d2f48 1f3758 203f68 204779 204f8a 20579c 1f5fae"),
)  # fmt: skip


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
