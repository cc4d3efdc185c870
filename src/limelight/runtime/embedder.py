"""Texts to embeddings: what a classifier and the reader have in common."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import numpy as np

from ..network.parts import matrix_shape
from ..network.weights import PickledSmall
from ..reading.comparison import ComparedText, Comparison
from ..reading.rows import saved_names
from .batches import check_pairs, check_texts, collect, count_texts
from .devices import DeviceOptions, start_runner
from .folder import Parts, save_folder
from .word_parts import TextParts


class Embedder:
    """The parts of a model, and what runs them."""

    def __init__(self, parts: Parts, **options: Unpack[DeviceOptions]) -> None:
        parts = replace(parts, weights=PickledSmall(parts.weights))
        self.weights, self.recipe, self.tokenizer = parts.weights, parts.recipe, parts.tokenizer
        self.labels, self.pair, self.facts = tuple(parts.labels), parts.pair, dict(parts.facts)
        self.thresholds, self.version, self.sha256 = parts.thresholds, parts.version, parts.sha256
        self.modules = parts.modules  # the user's own
        self.module = self.modules.encoder
        self.row_names = saved_names(self.facts, self.embedding_shape[0])
        self._runner = start_runner(parts, **options)

    @property
    def parts(self) -> Parts:
        """What a folder of it holds."""
        own = self.recipe, self.tokenizer, self.weights, self.labels, self.pair
        return Parts(*own, self.facts, self.thresholds, modules=self.modules)

    def save(self, path: str | Path, *, card: str | None = None, overwrite: bool = False) -> None:
        """Write a folder for `load` to read, a reader's weights in few bits; `card` is its README.md."""
        save_folder(path, self.parts, card=card, overwrite=overwrite)

    @property
    def embedding_shape(self) -> tuple[int, int]:
        """The shape of M: (r, 2u)."""
        return matrix_shape(self.recipe.model)

    def embed(
        self,
        texts: Iterable[str],
        *,
        flat: bool = False,
        batch_words: int | None = None,
        progress: bool = False,
    ) -> np.ndarray:
        """M of each text, (texts, r, 2u); with `flat`, one long vector each, (texts, r * 2u).

        A batch has at most `batch_words` words with padding, by default as many as suit the device; with
        `progress`, a bar shows how far it is.
        """
        parts = self.embed_stream(texts, batch_words=batch_words, progress=progress)
        M = collect(parts, count_texts(texts), self.embedding_shape)
        return M.reshape(len(M), M.shape[1] * M.shape[2]) if flat else M

    def embed_stream(
        self, texts: Iterable[str], *, batch_words: int | None = None, progress: bool = False
    ) -> Iterator[np.ndarray]:
        """M of any number of texts: one array (some texts, r, 2u) per chunk of texts."""
        return self._runner.stream(
            self._runner.sentences, self._runner.embed_sentences, texts,
            batch_words=batch_words, progress=progress,
        )  # fmt: skip

    def word_parts(self, texts: Iterable[str]) -> list[TextParts]:
        """For each text its vector, of length 1, and the share of each word in it: `.parts` (n, size).

        The reader's vector is that of `encode`; a classifier's is M, flat.

        >>> from limelight.runtime.reader import Reader
        >>> (soup,) = Reader.load().word_parts(["The soup was cold."])
        >>> soup.parts.shape, bool(np.allclose(soup.parts.sum(axis=0), soup.vector, atol=1e-5))
        ((5, 384), True)
        """
        given = list(check_texts(texts))
        return self._runner.parts(given) if given else []

    def compare(self, text: str, text2: str) -> Comparison:
        """How similar two texts are, the cosine of their vectors, and which words make them so.

        >>> from limelight.runtime.reader import Reader
        >>> comparison = Reader.load().compare("A puppy plays.", "The dog is playing.")
        >>> comparison.matrix.shape, bool(abs(comparison.matrix.sum() - comparison.similarity) < 1e-5)
        ((4, 5), True)
        >>> comparison.top_pairs(1)[0][:2]
        ('puppy', 'dog')
        """
        return self.compare_many([text], [text2])[0]

    def compare_many(self, texts: Iterable[str], texts2: Iterable[str]) -> list[Comparison]:
        """A Comparison of each pair; a text in several pairs is read once."""
        pairs = list(check_pairs(check_texts(texts), check_texts(texts2)))
        distinct = list(dict.fromkeys(text for pair in pairs for text in pair))
        found = dict(zip(distinct, self.word_parts(distinct), strict=True))
        return [_compare(found[a], found[b]) for a, b in pairs]


def _compare(a: TextParts, b: TextParts) -> Comparison:
    first = ComparedText(a.text, a.offsets, a.known, a.effects @ b.vector)
    second = ComparedText(b.text, b.offsets, b.known, b.effects @ a.vector)
    pairs = {"matrix": a.parts @ b.parts.T, "together": a.states @ b.states.T}
    return Comparison(first, second, similarity=float(a.vector @ b.vector), **pairs)
