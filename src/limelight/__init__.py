"""Limelight: sentence embeddings that show what they read.

Everything below is imported when it is first used, so that `import limelight` costs next to nothing, and
PyTorch is needed for training alone.

>>> import limelight
>>> limelight.Recipe().model.rows
30
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._lazy import lazy

if TYPE_CHECKING:
    from .aspects.find import find_aspects
    from .config.presets import preset
    from .config.recipe import Recipe
    from .errors import LimelightError
    from .estimators import PairClassifier, PairRegressor, TextClassifier, TextRegressor, TextVectorizer
    from .labelling.health import check
    from .reading.comparison import Comparison
    from .reading.reading import PairReading, Reading
    from .runtime.model import Model
    from .runtime.reader import Reader, load
    from .search.hit_words import Hit, explain_hits
    from .search.index import Index
    from .serve.explorer.one_file import explore_page
    from .serve.labelling.texts import label
    from .training.pretrain_job import pretrain
    from .training.train_job import fit

__version__ = "0.3.0"
__all__ = [
    "Comparison", "Hit", "Index", "LimelightError", "Model", "PairClassifier", "PairReading",
    "PairRegressor", "Reader", "Reading", "Recipe", "TextClassifier", "TextRegressor", "TextVectorizer",
    "check", "explain_hits", "explore_page", "find_aspects", "fit", "label", "load", "preset", "pretrain",
]  # fmt: skip

__getattr__, __dir__ = lazy(
    __name__,
    {
        "config.presets": "preset",
        "config.recipe": "Recipe",
        "errors": "LimelightError",
        "estimators": "PairClassifier PairRegressor TextClassifier TextRegressor TextVectorizer",
        "labelling.health": "check",
        "training.pretrain_job": "pretrain",
        "reading.comparison": "Comparison",
        "reading.reading": "PairReading Reading",
        "aspects.find": "find_aspects",
        "runtime.model": "Model",
        "runtime.reader": "Reader load",
        "search.hit_words": "Hit explain_hits",
        "search.index": "Index",
        "serve.labelling.texts": "label",
        "serve.explorer.one_file": "explore_page",
        "training.train_job": "fit",
    },
    modules=("network", "sentence_transformers", "spacy"),
)
