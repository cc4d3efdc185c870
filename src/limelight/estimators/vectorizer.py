"""`TextVectorizer`: a reader's vectors as a step of a scikit-learn pipeline."""

from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ..runtime.reader import Reader
from ..text.coerce import as_texts


class TextVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Texts to vectors of length 1, (texts, 384). There is nothing to fit: the reader has been trained.

    `model` is a reader's folder, or "reader", the bundled one. A pipeline that is pickled or cloned keeps
    the name of the folder; `save` and `load` need no pickle.

    >>> TextVectorizer(truncate_dim=2).fit_transform(["Cold soup.", "A late train."]).shape
    (2, 2)
    """

    def __init__(
        self, model: str | Path = "reader", *, precision: str = "float32", truncate_dim: int | None = None
    ) -> None:
        self.model, self.precision, self.truncate_dim = model, precision, truncate_dim

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Open the reader."""
        self.reader_ = Reader.load(self.model, precision=self.precision)
        size = self.reader_.get_sentence_embedding_dimension()
        self._n_features_out = min(size, self.truncate_dim or size)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """(texts, 384), of a list, an array or a column of texts."""
        if not hasattr(self, "reader_"):
            self.fit()
        vectors: np.ndarray = self.reader_.encode(as_texts(X), truncate_dim=self.truncate_dim)
        return vectors

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the reader's folder."""
        self.fit().reader_.save(path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path, **options: Any) -> Self:
        """A vectorizer with the reader of a folder."""
        return cls(str(path), **options).fit()

    def __getstate__(self) -> dict[str, Any]:
        """The settings alone: the reader is opened again where it is used."""
        return {name: value for name, value in super().__getstate__().items() if name != "reader_"}

    def __sklearn_is_fitted__(self) -> bool:
        """Always: transform opens the reader by itself."""
        return True

    def __sklearn_tags__(self) -> Any:
        """It takes texts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags
