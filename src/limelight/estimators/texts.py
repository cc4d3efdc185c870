"""Estimators of single texts, and of pairs of texts."""

from typing import Any, Self, cast

import numpy as np
from sklearn.base import RegressorMixin

from ..errors import LimelightError
from ..reading.reading import PairReading, Reading
from ..text.coerce import as_pairs, as_texts, check_same_length
from ..text.encode import Texts
from .base import ClassifierTags, Estimator, Mixin, split_dev


class _Texts(Mixin):
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, dev: Any = None, reasons: Any = None,
        not_reasons: Any = None,
    ) -> Self:  # fmt: skip
        """Learn from texts and their labels: lists, numpy arrays, pandas or Arrow columns.

        `reasons` has for each text the words that are the reason for its label (phrases, or [start, end] of
        characters), or None; `not_reasons` words that must not be one. Both count as further texts.

        `dev` is a pair (texts, labels) for choosing the best epoch; without it, a stratified share of the
        rows (`holdout`) is held out. Ctrl-C keeps the best epoch so far.
        """
        part = None
        if dev is not None:
            texts, labels = split_dev(dev, 2, "(texts, labels)")
            part = Texts(as_texts(texts, "dev texts"), labels)
        return self._fit((as_texts(X), None), y, sample_weight, part, (reasons, not_reasons))

    def predict(self, X: Any) -> Any:
        """A number for each text."""
        return self._predict((as_texts(X), None))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy on texts and their labels, where each has several of all of them; of numbers R2."""
        return self._score((as_texts(X), None), y, sample_weight)

    def transform(self, X: Any) -> np.ndarray:
        """(texts, r * 2u): flat embeddings, as features for another model."""
        return self.embed(X, flat=True)

    def read_many(self, X: Any) -> list[Reading]:
        """A reading of each text."""
        return cast("list[Reading]", self._model.read_many(as_texts(X)))

    def read(self, text: str) -> Reading:
        """What the model reads in one text."""
        return cast("Reading", self._model.read(text))


class TextClassifier(_Texts, ClassifierTags, Estimator):
    """Classifies texts, and shows which words it read.

    `preset` names a recipe; any option of the recipe can be given besides: `rows=8`, `epochs=5`,
    `class_weight="balanced"` (or a dictionary of weights by label). `holdout` is the share of each class
    that is held out to choose the best epoch, unless `fit` gets `dev`: by default a tenth, but nothing of
    fewer than 1,000 rows when training starts from pretrained weights. `aspects` are what reviews praise and
    blame, a dictionary, a JSON file, a name such as "hotels", or how many to find: docs/aspects.md.

    After `fit`: `classes_`, `recipe_`, `history_` (a record per epoch) and `model_`, the same model that
    `limelight.load` opens from a saved folder.

    >>> texts = ["Good soup!", "Cold soup.", "What a good waiter!", "The waiter was cold."] * 10
    >>> clf = TextClassifier(preset="tiny", progress=False).fit(texts, ["+", "-", "+", "-"] * 10)
    >>> clf.predict(["A good, good waiter!", "Cold."]).tolist()
    ['+', '-']
    >>> clf.embed(["Good soup!"]).shape
    (1, 4, 64)
    >>> clf.read("Cold soup.").words
    ('Cold', 'soup', '.')
    """

    def predict(self, X: Any, *, abstain_below: float | None = None) -> Any:
        """The most likely label of each text; with `abstain_below`, None where its probability is lower.

        Where a text may have several labels: a 0/1 table if `fit` got one, otherwise tuples of labels.
        """
        return self._predict((as_texts(X), None), abstain_below)

    def predict_proba(self, X: Any) -> np.ndarray:
        """(texts, classes): probabilities in the order of `classes_`."""
        return self._model.predict_proba(as_texts(X))


class TextRegressor(_Texts, RegressorMixin, Estimator):
    """Predicts a number for texts, and shows which words raise or lower it.

    As `TextClassifier`, with numbers in place of labels.

    >>> texts = ["Good soup!", "Cold soup.", "What a good waiter!", "The waiter was cold."] * 10
    >>> model = TextRegressor(preset="tiny", epochs=20, progress=False).fit(texts, [4.5, 1.5, 5.0, 1.0] * 10)
    >>> good, cold = model.predict(["A good, good waiter!", "Cold."])
    >>> bool(good > cold)
    True
    """

    _predicts_numbers = True


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
        return self._model.predict_proba(*_columns(X, X2))


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
