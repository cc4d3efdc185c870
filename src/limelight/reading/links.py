"""The pairs of words that bind two texts, or keep them apart, and where lines between them are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .pieces import Pieces

if TYPE_CHECKING:
    from .comparison import Comparison

_MAX_PAIRS_DRAWN = 9
_DRAWN_FROM = 0.15  # of the strongest pair: a fainter one is not drawn


@dataclass(frozen=True)
class Links:
    """The similarity of two texts and the pairs of words that stand out in it."""

    SCALE_NOTE: ClassVar = "1: the same meaning, 0: nothing in common"
    EFFECTS: ClassVar = "What binds the texts, and what keeps them apart"
    EFFECTS_NOTE: ClassVar = (
        "Without an orange word the texts would be less similar; without a blue one, more."
    )
    EFFECTS_PLAIN: ClassVar = "A word's number: how much less similar the texts would be without it."
    PAIRS: ClassVar = "Pairs of words that stand out"
    PAIRS_NOTE: ClassVar = (
        "A line joins two words: orange adds to the similarity, blue takes from it, thicker is more."
    )

    similarity: float
    matrix: np.ndarray  # (pieces of the first text, pieces of the second)

    @cached_property
    def pairs(self) -> list[tuple[int, int, float]]:
        """(piece, piece of the other text, contribution) of those that stand out, the largest first."""
        excess = _excess(self.matrix)
        both = np.minimum(np.abs(excess), np.abs(self.matrix))
        strength = np.where(excess * self.matrix > 0, both, 0)
        order = np.argsort(-strength, axis=None, kind="stable")[:_MAX_PAIRS_DRAWN]
        kept = order[strength.flat[order] > _DRAWN_FROM * strength.max(initial=0.0)]
        places = zip(*np.unravel_index(kept, self.matrix.shape), strict=True)
        found = [(int(s), int(t), float(self.matrix[s, t])) for s, t in places]
        return sorted(found, key=lambda pair: -pair[2])

    @property
    def top(self) -> float:
        """The contribution with the thickest line."""
        return max((abs(weight) for _, _, weight in self.pairs), default=0.0)

    @property
    def total(self) -> str:
        """What the pairs drawn add up to, and all pairs."""
        shown, others = sum(weight for _, _, weight in self.pairs), self.matrix.size - len(self.pairs)
        if not others:
            return f"Together {signed(self.similarity)}."
        these = "This pair adds" if len(self.pairs) == 1 else f"These {len(self.pairs)} pairs add"
        sums = f"{signed(shown)}, the other {others:,} to {signed(self.similarity - shown)}"
        return f"{these} up to {sums}: {signed(self.similarity)} in all."

    def columns(self) -> tuple[list[int], list[int]]:
        """The pieces of each text that a pair is drawn for, in reading order."""
        return sorted({s for s, _, _ in self.pairs}), sorted({t for _, t, _ in self.pairs})


def make_links(comparison: Comparison, texts: Sequence[Pieces]) -> Links:
    """The links of a comparison; words that are drawn as one piece count together.

    >>> from limelight.reading import ComparedText, Comparison
    >>> from limelight.reading.pieces import split_pieces
    >>> soup = ComparedText("Good soup", np.array([[0, 4], [5, 9]]), np.ones(2, bool), np.array([0.1, 0.3]))
    >>> comparison = Comparison(soup, soup, 1.0, np.array([[0.3, -0.1], [-0.1, 0.9]]))
    >>> make_links(comparison, [split_pieces(soup), split_pieces(soup)]).pairs
    [(1, 1, 0.9), (0, 0, 0.3), (0, 1, -0.1), (1, 0, -0.1)]
    """
    first, second = texts
    rows = first.weights(comparison.matrix)
    return Links(comparison.similarity, second.weights(rows.T).T)


def _excess(matrix: np.ndarray) -> np.ndarray:
    """How much more each pair contributes than its two words do in other pairs.

    A word that counts for much does so in all its pairs, with "the" and a full stop too.
    """
    if 1 in matrix.shape:
        return matrix
    by_word = np.median(matrix, axis=1, keepdims=True) + np.median(matrix, axis=0, keepdims=True)
    return np.asarray(matrix - by_word + np.median(matrix))


def word_name(text: Pieces, piece: int) -> str:
    """A word as a list of pairs shows it; a text without words is one empty piece."""
    return text.words[piece] or "(no words)"


def signed(number: float) -> str:
    """A number with its sign, as people write it.

    >>> signed(0.25), signed(-0.0514), signed(-1e-9)
    ('0.250', '−0.051', '0.000')
    """
    text = f"{abs(number):.3f}"
    return f"−{text}" if number < 0 and float(text) else text
