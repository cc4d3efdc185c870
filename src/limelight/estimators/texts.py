"""Estimators of single texts."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np
from sklearn.base import RegressorMixin

from ..reading.reading import Reading
from ..text.coerce import as_texts
from ..text.encode import Texts
from .fitting import ClassifierTags, Estimator, Mixin, split_dev


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
        self._fit((as_texts(X), None), y, sample_weight, part, (reasons, not_reasons))
        return self

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
        return self._predict_proba((as_texts(X), None))


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
