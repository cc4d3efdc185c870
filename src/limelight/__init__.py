"""Limelight: sentence embeddings that show what they read.

Everything below is imported when it is first used, so that `import limelight` costs next to nothing, and
PyTorch is needed for training alone.

>>> import limelight
>>> limelight.Recipe().model.rows
30
"""

from __future__ import annotations

from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from .errors import LimelightError

if TYPE_CHECKING:
    from .estimators import PairClassifier, TextClassifier
    from .job import fit
    from .presets import preset
    from .reading import PairReading, Reading
    from .recipe import Recipe
    from .runtime.hub import from_pretrained, push_to_hub
    from .runtime.model import Model

    load = Model.load

__version__ = "0.1.0"
__all__ = [
    "LimelightError",
    "Model",
    "PairClassifier",
    "PairReading",
    "Reading",
    "Recipe",
    "TextClassifier",
    "fit",
    "from_pretrained",
    "load",
    "preset",
    "push_to_hub",
]

_HOMES = {
    "Model": "runtime.model:Model",
    "PairClassifier": "estimators:PairClassifier",
    "PairReading": "reading:PairReading",
    "Reading": "reading:Reading",
    "Recipe": "recipe:Recipe",
    "TextClassifier": "estimators:TextClassifier",
    "fit": "job:fit",
    "from_pretrained": "runtime.hub:from_pretrained",
    "load": "runtime.model:Model.load",
    "preset": "presets:preset",
    "push_to_hub": "runtime.hub:push_to_hub",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'limelight' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    value = attrgetter(attribute)(import_module(f".{module}", __name__))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
