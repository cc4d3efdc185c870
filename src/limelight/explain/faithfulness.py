"""Comprehensiveness and sufficiency: does a prediction really rest on the words an attribution ranks first?

As ERASER defines them (DeYoung et al. 2020). For the k words with the most weight, and p the probability of
the class predicted for the whole text:

    comprehensiveness   p(text) - p(text without them)      high: the prediction needs them
    sufficiency         p(text) - p(only them)              low: they are enough for the prediction

each for k = 1, 5, 10, 20 and 50 % of the words, rounded up, and averaged over these five.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..runtime.decided import SHARES, most_weighted
from .variants import ReadTexts


@dataclass(frozen=True, eq=False)
class Faithfulness:
    """How faithful an attribution is on some texts.

    >>> attention = Faithfulness("attention", np.full((2, 5), 0.3), np.full((2, 5), 0.1))
    >>> round(attention.comprehensiveness, 3), round(attention.sufficiency, 3)
    (0.3, 0.1)
    """

    name: str
    drop_without: np.ndarray  # (texts, shares): comprehensiveness
    drop_with_only: np.ndarray  # (texts, shares): sufficiency

    @property
    def comprehensiveness(self) -> float:
        """The mean over shares and texts: high is good."""
        return float(self.drop_without.mean())

    @property
    def sufficiency(self) -> float:
        """The mean over shares and texts: low is good."""
        return float(self.drop_with_only.mean())

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, ready for `json.dumps`; the errors are standard errors over the texts."""
        found: dict[str, Any] = {"name": self.name}
        for name, drop in (("comprehensiveness", self.drop_without), ("sufficiency", self.drop_with_only)):
            found |= {
                name: float(drop.mean()),
                f"{name}_error": _standard_error(drop),
                f"{name}_by_share": drop.mean(axis=0).tolist(),
            }
        return found


def _standard_error(scores: np.ndarray) -> float:
    """Of the mean over texts, from scores (texts, shares)."""
    means = scores.mean(axis=1)
    return float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else 0.0


def measure_faithfulness(read: ReadTexts, weights: dict[str, list[np.ndarray]]) -> list[Faithfulness]:
    """Measure several attributions at once, each with weights (n + m,) per text: equal variants run once."""
    texts = len(read.readings)
    top = {name: [most_weighted(each) for each in per_text] for name, per_text in weights.items()}
    masks = [
        np.concatenate([mask for per_text in top.values() for mask in (~per_text[k], per_text[k])])
        for k in range(texts)
    ]
    drops = np.array(read.drops(masks, "Faithfulness"))
    parts = drops.reshape(texts, len(weights), 2, len(SHARES))  # 2: without the words, with only them
    return [Faithfulness(name, parts[:, k, 0], parts[:, k, 1]) for k, name in enumerate(weights)]
