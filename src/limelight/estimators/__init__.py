"""Estimators with scikit-learn's interface: fit, predict, embed, read, save. Prediction needs no PyTorch.

`base.py` has what they share, `texts.py` the estimators; `vectorizer.py` is a reader as a step of a pipeline.
"""

from ..errors import needs_extra

try:
    from .base import NotFittedError
    from .texts import PairClassifier, PairRegressor, TextClassifier, TextRegressor
    from .vectorizer import TextVectorizer
except ModuleNotFoundError as error:
    if not str(error.name).startswith("sklearn"):
        raise
    raise needs_extra("the estimators need scikit-learn: pip install '.[train]'") from None

__all__ = [
    "NotFittedError", "PairClassifier", "PairRegressor", "TextClassifier", "TextRegressor", "TextVectorizer",
]  # fmt: skip
