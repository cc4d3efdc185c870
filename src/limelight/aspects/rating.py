"""What ratings of an aspect have taught: a number for it, as a sum over the words of a text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import LimelightError

MAX_SIZE = 2**16  # numbers of a state
DIGITS = 6  # that are kept of a weight
_KEYS = {"texts", "low", "high", "bias", "text", "own"}


@dataclass(frozen=True, eq=False)
class Rating:
    """The rating of an aspect from states h_t that are read by a_t on average over the rows of A:

        bias + sum_t a_t <text, h_t> + sum_t g_t a_t <own, h_t>

    where g_t is the part of word t that belongs to the aspect. Fitted by `fit_ratings.py`.
    """

    texts: int  # that it was learnt from
    low: float  # the least and the largest rating among them
    high: float
    bias: float
    text: np.ndarray  # (2u,): of the whole text
    own: np.ndarray  # (2u,): of the aspect's own clauses

    @classmethod
    def parse(cls, name: str, given: Any) -> Rating:
        """From the plain values of `to_json`, checked."""
        wrong = LimelightError(f"the rating of aspect {name!r} is not as Limelight writes it", code="aspects")
        if not isinstance(given, Mapping) or given.keys() != _KEYS:
            raise wrong
        numbers, weights = [given[key] for key in ("low", "high", "bias")], [given["text"], given["own"]]
        if type(given["texts"]) is not int or not all(_is_number(x) for x in numbers):
            raise wrong
        if any(not isinstance(w, list) or not 0 < len(w) <= MAX_SIZE for w in weights):
            raise wrong
        if len(weights[0]) != len(weights[1]) or not all(_is_number(x) for w in weights for x in w):
            raise wrong
        low, high, bias = map(float, numbers)
        text, own = (np.array(w, np.float32) for w in weights)
        return cls(given["texts"], low, high, bias, text, own)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        about = {"texts": self.texts, "low": self.low, "high": self.high, "bias": self.bias}
        return {**about, "text": _rounded(self.text), "own": _rounded(self.own)}

    def stars(self, words: float, effect: float | None) -> float:
        """The rating that the words give, moved by the effect in stars, which all ratings together taught.

        >>> rating = Rating(9, 1.0, 5.0, 3.0, np.ones(1), np.ones(1))
        >>> rating.stars(0.5, None), round(rating.stars(0.5, -0.5), 2), rating.stars(9, 0)
        (3.5, 3.04, 5.0)
        """
        half = (self.high - self.low) / 2 or 1.0
        moved = 0.0 if effect is None else 0.3 * half * math.tanh(4 * effect / half)
        return min(max(self.bias + words + moved, self.low), self.high)


class RatedWords(NamedTuple):
    """The two sums of a rating for one text."""

    rating: Rating
    text: float
    own: np.ndarray  # (n,): of each word, if it belongs to the aspect


def _is_number(x: Any) -> bool:
    return type(x) in (int, float) and math.isfinite(x) and abs(x) < 1e9


def _rounded(weights: np.ndarray) -> list[float]:
    return [float(f"{x:.{DIGITS}g}") for x in weights.tolist()]
