"""Estimators with scikit-learn's interface: fit, predict, embed, read, save. Prediction needs no PyTorch.

`fitted.py` has what is passed and what a trained estimator does, `fitting.py` how it is trained; `texts.py`
and `pairs.py` are the estimators themselves. `vectorizer.py` is a reader as a step of a pipeline.
"""

from ..errors import LimelightError

try:
    from .fitted import NotFittedError
    from .pairs import PairClassifier, PairRegressor
    from .texts import TextClassifier, TextRegressor
    from .vectorizer import TextVectorizer
except ModuleNotFoundError as error:
    if not str(error.name).startswith("sklearn"):
        raise
    wrong = "the estimators need scikit-learn: pip install '.[train]'"
    raise LimelightError(wrong, code="needs-extra") from None

__all__ = [
    "NotFittedError", "PairClassifier", "PairRegressor", "TextClassifier", "TextRegressor", "TextVectorizer",
]  # fmt: skip
