"""Estimators of pairs of texts."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np
from sklearn.base import RegressorMixin

from ..errors import LimelightError
from ..reading.reading import PairReading
from ..text.coerce import as_pairs, as_texts, check_same_length
from ..text.encode import Texts
from .fitting import ClassifierTags, Estimator, Mixin, split_dev


class _Pairs(Mixin):
    _reads_pairs = True

    def fit(
        self, X: Any, X2: Any = None, y: Any = None, sample_weight: Any = None, *, dev: Any = None,
        reasons: Any = None, not_reasons: Any = None,
    ) -> Self:  # fmt: skip
        """Learn from first texts, second texts and labels; or from pairs and labels.

        `dev` is (first texts, second texts, labels) or (pairs, labels); see `TextClassifier.fit`. Phrases in
        `reasons` may be of either text.
        """
        columns, labels = _columns_and_labels(X, X2, y)
        part = None
        if dev is not None:
            of_three = isinstance(dev, (tuple, list)) and len(dev) == 3
            *texts, dev_labels = split_dev(dev, 3 if of_three else 2, "(texts, second texts, labels)")
            first, second = _columns(*texts)
            part = Texts(first, dev_labels, second)
        return self._fit(columns, labels, sample_weight, part, (reasons, not_reasons))

    def predict(self, X: Any, X2: Any = None) -> Any:
        """A number for each pair."""
        return self._predict(_columns(X, X2))

    def score(self, X: Any, X2: Any = None, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy on pairs and their labels; of numbers R2."""
        columns, labels = _columns_and_labels(X, X2, y)
        return self._score(columns, labels, sample_weight)

    def transform(self, X: Any, X2: Any = None) -> np.ndarray:
        """(pairs, 2 * r * 2u): the flat embeddings of both texts."""
        first, second = _columns(X, X2)
        return np.concatenate([self.embed(first, flat=True), self.embed(second, flat=True)], axis=1)

    def fit_transform(
        self, X: Any, X2: Any = None, y: Any = None, sample_weight: Any = None, **how: Any
    ) -> np.ndarray:
        """`fit`, then `transform` the same pairs."""
        self.fit(X, X2, y, sample_weight, **how)
        return self.transform(X, None if y is None else X2)

    def read_many(self, X: Any, X2: Any = None) -> list[PairReading]:
        """A reading of each pair."""
        return cast("list[PairReading]", self._model.read_many(*_columns(X, X2)))

    def read(self, text: str, text2: str) -> PairReading:
        """What the model reads in one pair."""
        return cast("PairReading", self._model.read(text, text2))


class PairClassifier(_Pairs, ClassifierTags, Estimator):
    """Classifies pairs of texts: does the second follow from the first, do both ask the same?

    As `TextClassifier`, with two texts in place of one. For scikit-learn's tools, pairs may also be one
    argument: a list of pairs, or an array or data frame of two columns.

    >>> first, second = ["It rains.", "It rains."] * 10, ["It is wet.", "It is dry."] * 10
    >>> clf = PairClassifier(preset="tiny", progress=False).fit(first, second, [True, False] * 10)
    >>> clf.predict(["It rains."], ["It is dry."]).tolist()
    [False]
    >>> clf.predict([("It rains.", "It is wet.")]).tolist()
    [True]
    """

    def predict(self, X: Any, X2: Any = None, *, abstain_below: float | None = None) -> Any:
        """The most likely label of each pair; with `abstain_below`, None where its probability is lower."""
        return self._predict(_columns(X, X2), abstain_below)

    def predict_proba(self, X: Any, X2: Any = None) -> np.ndarray:
        """(pairs, classes): probabilities in the order of `classes_`."""
        return self._predict_proba(_columns(X, X2))


class PairRegressor(_Pairs, RegressorMixin, Estimator):
    """Predicts a number for pairs of texts, such as how similar they are.

    As `PairClassifier`, with numbers in place of labels.
    """

    _predicts_numbers = True


def _columns(X: Any, X2: Any = None) -> tuple[list[str], list[str]]:
    if X2 is None:
        return as_pairs(X)
    first, second = as_texts(X, "first texts"), as_texts(X2, "second texts")
    check_same_length(first, second, "second texts")
    return first, second


def _columns_and_labels(X: Any, X2: Any, y: Any) -> tuple[tuple[list[str], list[str]], Any]:
    """(first, second, labels), (pairs, labels) or (pairs, y=labels)."""
    if X2 is None and y is None:
        wrong = "there are no labels; give first texts, second texts and labels, or pairs and labels"
        raise LimelightError(wrong, code="argument-missing")
    return (_columns(X), X2) if y is None else (_columns(X, X2), y)
