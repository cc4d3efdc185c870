"""TF-IDF and logistic regression, what many people would use instead: the yardstick of a comparison."""

from __future__ import annotations

import io
import time
from collections.abc import Hashable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ..config.recipe import Recipe
from ..text.dataset import Dataset, Split
from .compare import TF_IDF, Contestant

STRENGTHS = (1.0, 3.0, 10.0, 30.0)  # scikit-learn's C; the development set chooses
USUAL = 10.0


def compare_tf_idf(dataset: Dataset, recipe: Recipe) -> Contestant:
    """Fit it to the words and pairs of neighbours that the other models read; it has no random seed."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    started = time.monotonic()
    words = TfidfVectorizer(analyzer=_terms, sublinear_tf=True)
    X = {"train": words.fit_transform(_rows(dataset.splits["train"]))}
    X |= {name: words.transform(_rows(split)) for name, split in dataset.splits.items() if name != "train"}
    y = {name: np.asarray(split.labels) for name, split in dataset.splits.items()}
    weight = "balanced" if recipe.training.class_weight == "balanced" else None
    best: Any = None
    for C in STRENGTHS if "dev" in X else (USUAL,):
        found = LogisticRegression(C=C, max_iter=1000, class_weight=weight)
        found.fit(X["train"], y["train"], sample_weight=dataset.splits["train"].weights)
        if best is None or found.score(X["dev"], y["dev"]) > best.score(X["dev"], y["dev"]):
            best = found
    seconds = time.monotonic() - started
    accuracies = {name: [float(best.score(X[name], y[name]))] for name in ("dev", "test") if name in X}
    return Contestant(
        TF_IDF, best.coef_.size + best.intercept_.size, seeds=[recipe.training.seed], seconds=[seconds],
        bytes=_size(best, words, dataset), **accuracies,
    )  # fmt: skip


def _rows(split: Split) -> Iterator[list[np.ndarray]]:
    """The word ids of each row, for pairs of both texts."""
    return map(split.row, range(len(split)))


def _terms(row: list[np.ndarray]) -> list[Hashable]:
    """Words and pairs of neighbours; in the second text of a pair they are other terms."""
    found: list[Hashable] = []
    for side, ids in enumerate(row):
        words = ids.tolist()
        found += [(side, word) for word in words]
        found += [(side, *pair) for pair in pairwise(words)]
    return found


def _size(head: Any, words: Any, dataset: Dataset) -> int:
    """Bytes of what one would ship: its terms as text, and its weights in float32."""
    known = dataset.tokenizer.vocabulary
    terms = "\n".join(" ".join(known[k] for k in term[1:]) for term in words.vocabulary_)
    weights = io.BytesIO()
    parts = {"W": head.coef_, "b": head.intercept_, "idf": words.idf_}
    np.savez(weights, **{name: part.astype(np.float32) for name, part in parts.items()})  # type: ignore[arg-type]
    return len(terms.encode()) + len(weights.getvalue())
