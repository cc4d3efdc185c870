"""A reader as the embedding model of BERTopic and of KeyBERT."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..errors import LimelightError
from .open_reader import AnyReader, open_reader

LIBRARIES = "bertopic", "keybert"


def backend(model: AnyReader = "reader") -> Any:
    """What `BERTopic(embedding_model=...)` and `KeyBERT(model=...)` take.

    Both know their own base class only, by the same methods; what this gives is an instance of both.

    >>> KeyBERT(model=backend(reader)).extract_keywords(texts)  # doctest: +SKIP
    """
    bases = [import_module(f"{name}.backend").BaseEmbedder for name in _libraries()]
    return type("LimelightBackend", (_Embed, *bases), {"__module__": __name__})(open_reader(model))


class _Embed:
    def __init__(self, reader: Any) -> None:
        self.embedding_model = reader
        self.word_embedding_model = None

    def __reduce__(self) -> tuple[Any, ...]:
        """What `BERTopic.save` pickles: the class is made anew."""
        return backend, (self.embedding_model,)

    def embed(self, documents: list[str], verbose: bool = False) -> np.ndarray:
        """(documents, 384)."""
        vectors: np.ndarray = self.embedding_model.encode(list(documents), show_progress_bar=verbose)
        return vectors


def _libraries() -> list[str]:
    """Those in use, or else those that are installed: BERTopic takes seconds to import."""
    found = [name for name in LIBRARIES if name in sys.modules]
    found = found or [name for name in LIBRARIES if find_spec(name)]
    if not found:
        raise LimelightError("backend needs bertopic or keybert: pip install bertopic", code="needs-extra")
    return found
