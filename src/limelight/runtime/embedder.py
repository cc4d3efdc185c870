"""Texts to embeddings: what a classifier and the reader have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ..config.recipe import Recipe
from .batches import check_texts, collect, count_texts
from .export import rows_and_size
from .runner import BATCH_WORDS, Runner


class Embedder:
    """Anything with a recipe and a runner of its encoder."""

    recipe: Recipe
    _runner: Runner

    def embed(
        self,
        texts: Iterable[str],
        *,
        flat: bool = False,
        batch_words: int = BATCH_WORDS,
        progress: bool = False,
    ) -> np.ndarray:
        """M of each text, (texts, r, 2u); with `flat`, one long vector each, (texts, r * 2u)."""
        parts = self.embed_stream(texts, batch_words=batch_words, progress=progress)
        M = collect(parts, count_texts(texts), rows_and_size(self.recipe.model))
        return M.reshape(len(M), M.shape[1] * M.shape[2]) if flat else M

    def embed_stream(
        self, texts: Iterable[str], *, batch_words: int = BATCH_WORDS, progress: bool = False
    ) -> Iterator[np.ndarray]:
        """M of any number of texts: one array (some texts, r, 2u) per chunk of texts."""
        run = self._runner
        return run.stream(check_texts(texts), run.embeddings, batch_words, progress, count_texts(texts))
