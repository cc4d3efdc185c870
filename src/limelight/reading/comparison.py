"""A Comparison: how similar a model finds two texts, and which words make them so. Needs no model."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .reading import AnyReading, Shown, shorten_text


@dataclass(frozen=True, eq=False)
class ComparedText:
    """One of the two texts, with the effect of each word on the similarity."""

    text: str
    offsets: np.ndarray  # (n, 2): where each word starts and ends in `text`
    known: np.ndarray  # (n,): False where the word is outside the vocabulary
    effects: np.ndarray  # (n,): how much less similar the texts are without the word; negative: more

    @property
    def words(self) -> tuple[str, ...]:
        """The words exactly as written in the text."""
        return tuple(self.text[start:end] for start, end in self.offsets)


@dataclass(frozen=True, eq=False)
class Comparison(Shown):
    """Two texts, their similarity, and what every pair of words contributes to it.

    The entries of `matrix` add up to `similarity`: nothing is left over. A negative entry speaks against the
    similarity. A word's contribution, a row or a column of `matrix`, is its effect plus an even share of what
    no single word explains.

    `together` says which words belong together, whether or not they count for much: pictures join words that
    are each other's nearest by it. It agrees far better with people than `matrix`, and adds up to nothing.

    >>> soup = ComparedText("Good soup", np.array([[0, 4], [5, 9]]), np.ones(2, bool), np.array([-0.1, 0.3]))
    >>> broth = ComparedText("Broth", np.array([[0, 5]]), np.ones(1, bool), np.array([0.6]))
    >>> comparison = Comparison(soup, broth, 0.6, np.array([[0.1], [0.5]]), np.array([[0.2], [0.7]]))
    >>> comparison
    Comparison('Good soup', 'Broth', similarity=0.600, matrix=(2, 1))
    >>> comparison.top_pairs(1)
    [('soup', 'Broth', 0.5)]
    >>> [values.round(3).tolist() for values in comparison.contributions]
    [[0.1, 0.5], [0.6]]
    """

    first: ComparedText
    second: ComparedText
    similarity: float  # the cosine: 1 for the same direction, 0 for nothing in common
    matrix: np.ndarray  # (n, m): the contribution of each word of the first with each word of the second
    together: np.ndarray  # (n, m): the cosine of the states of both words, each with a bit of its neighbours'

    def __repr__(self) -> str:
        texts = ", ".join(shorten_text(side.text) for side in self.sides)
        return f"Comparison({texts}, similarity={self.similarity:.3f}, matrix={self.matrix.shape})"

    @property
    def sides(self) -> tuple[ComparedText, ...]:
        """Both texts."""
        return self.first, self.second

    @property
    def contributions(self) -> tuple[np.ndarray, np.ndarray]:
        """(n,) and (m,): what each word of each text contributes; each adds up to the similarity."""
        return self.matrix.sum(axis=1), self.matrix.sum(axis=0)

    @property
    def nearest(self) -> np.ndarray:
        """(n, m): True for words that are each other's nearest by `together`."""
        of_second, of_first = (self.together >= self.together.max(axis=k, keepdims=True) for k in (0, 1))
        return np.asarray(of_second & of_first)

    def top_pairs(self, count: int = 5) -> list[tuple[str, str, float]]:
        """The pairs of words that contribute most: (word, word, contribution), the largest first."""
        words, words2 = self.first.words, self.second.words
        places = largest_places(self.matrix, count)
        return [(words[s], words2[t], float(self.matrix[s, t])) for s, t in places]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, ready for `json.dumps`."""
        found: dict[str, Any] = {"similarity": self.similarity}
        for name, side, own in zip(("first", "second"), self.sides, self.contributions, strict=True):
            numbers = {field: getattr(side, field).tolist() for field in ("offsets", "known", "effects")}
            found[name] = {"text": side.text, "words": list(side.words), **numbers}
            found[name]["contributions"] = own.tolist()
        return {**found, "matrix": self.matrix.tolist(), "together": self.together.tolist()}


def largest_places(matrix: np.ndarray, count: int) -> list[tuple[int, int]]:
    """Where the largest values of a matrix are, the largest first; of equal ones, the first comes first."""
    flat, count = matrix.ravel(), max(0, min(count, matrix.size))
    least = np.partition(flat, -count)[-count] if count else np.inf  # sorting all of them takes far longer
    places = np.flatnonzero(flat >= least)
    order = places[np.argsort(-flat[places], kind="stable")[:count]]
    return [divmod(place, matrix.shape[1]) for place in order.tolist()]


Drawable = AnyReading | Comparison
