"""Comprehensiveness and sufficiency: does an answer really rest on the words that an attribution names?

As ERASER defines them (DeYoung et al. 2020). For the k words with the most weight, and p the probability of
the answer to the whole text:

    comprehensiveness   p(text) - p(text without them)      high: the answer needs them
    sufficiency         p(text) - p(only them)              low: they are enough for the answer

each for k = 1, 5, 10, 20 and 50 % of the words, rounded up, and averaged over these five.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..reading.reading import AnyReading
from ..runtime.model import Model
from .variants import Words, answers

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True, eq=False)
class Faithfulness:
    """How faithful an attribution is, on a number of texts.

    >>> found = Faithfulness("attention", np.full((2, 5), 0.3), np.full((2, 5), 0.1))
    >>> round(found.comprehensiveness, 3), round(found.sufficiency, 3)
    (0.3, 0.1)
    """

    name: str
    needed: np.ndarray  # (texts, shares): comprehensiveness
    enough: np.ndarray  # (texts, shares): sufficiency

    @property
    def comprehensiveness(self) -> float:
        """Averaged over shares and texts: high is good."""
        return float(self.needed.mean())

    @property
    def sufficiency(self) -> float:
        """Averaged over shares and texts: low is good."""
        return float(self.enough.mean())

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, ready for `json.dumps`; errors are standard errors over the texts."""
        return {
            "name": self.name,
            "comprehensiveness": self.comprehensiveness,
            "comprehensiveness_error": standard_error(self.needed),
            "comprehensiveness_by_share": self.needed.mean(axis=0).tolist(),
            "sufficiency": self.sufficiency,
            "sufficiency_error": standard_error(self.enough),
            "sufficiency_by_share": self.enough.mean(axis=0).tolist(),
        }


def standard_error(scores: np.ndarray) -> float:
    """Of the mean over texts, from (texts, shares).

    >>> round(standard_error(np.array([[0.1], [0.3]])), 3)
    0.1
    """
    means = scores.mean(axis=1)
    return float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else 0.0


def most_weighted(weights: np.ndarray) -> np.ndarray:
    """(shares, n): True for the words with the most weight, as many as each share says; at least one.

    Among equal weights the earlier word comes first.

    >>> most_weighted(np.array([0.1, 0.6, 0.3]))[[0, -1]].tolist()
    [[False, True, False], [False, True, True]]
    """
    rank = np.empty(len(weights), int)
    rank[np.argsort(-weights, kind="stable")] = np.arange(len(weights))
    counts = np.ceil(np.array(SHARES) * len(weights) - 1e-9)  # 0.05 of 20 is 1, not a little more
    return np.asarray(rank < counts[:, None])


def faithfulness(
    model: Model,
    readings: Sequence[AnyReading],
    words: Sequence[Words],
    weights: dict[str, list[np.ndarray]],
    progress: bool = False,
) -> list[Faithfulness]:
    """Measure several attributions, each with (n + m,) for each text, in one go: equal variants run once."""
    chosen = {name: [most_weighted(each) for each in of_texts] for name, of_texts in weights.items()}
    kept = [
        np.concatenate([side for of_texts in chosen.values() for side in (~of_texts[k], of_texts[k])])
        for k in range(len(words))
    ]
    found = answers(model, words, kept, bar="Faithfulness" if progress else "")
    drops = np.array(
        [
            each.confidence - P[:, int(np.argmax(each.probabilities))].astype(float)
            for each, P in zip(readings, found, strict=True)
        ]
    )  # (texts, attributions * 2 * shares)
    parts = drops.reshape(len(words), len(weights), 2, len(SHARES))
    return [Faithfulness(name, parts[:, k, 0], parts[:, k, 1]) for k, name in enumerate(weights)]
