"""One vector per text, by the names that users of sentence-transformers know, and without PyTorch."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from ..errors import LimelightError, bad_value, check_at_least, needs_torch
from .batches import collect, count_texts
from .embedder import Embedder


class _KnownToTopicLibraries(type):
    """A class whose name, asked for by BERTopic or KeyBERT, is an error that says what they take.

    They go by the name alone, and would silently take a model of their own.
    """

    def __repr__(cls) -> str:
        asked_by = sys._getframe(1).f_globals.get("__name__", "").partition(".")[0]
        if asked_by in ("bertopic", "keybert"):
            fault = f"{asked_by} takes no bare reader: docs/integrations.md has the lines for it"
            raise LimelightError(fault, code="needs-adapter")
        return super().__repr__()


class SentenceEncoder(Embedder, metaclass=_KnownToTopicLibraries):
    """An embedder that also gives each text one vector, to compare by its cosine."""

    @property
    def device(self) -> str:
        """Where it runs, "cpu" or "cuda"."""
        return self._runner.device

    def get_sentence_embedding_dimension(self) -> int:
        """The size of a vector."""
        return self.recipe.model.vector_size

    get_embedding_dimension = get_sentence_embedding_dimension  # its name in sentence-transformers 6

    def encode(
        self,
        sentences: str | Iterable[str],
        batch_size: int | None = None,
        show_progress_bar: bool | None = False,
        *,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        normalize_embeddings: bool = True,
        truncate_dim: int | None = None,
    ) -> Any:
        """One vector per text, (texts, 384), of length 1; a single text gives (384,).

        A batch has 1,024 words (131,072 on a GPU), and at most `batch_size` texts if that is given. With
        `convert_to_tensor` a PyTorch tensor; without `convert_to_numpy` a list of tensors. `truncate_dim`
        keeps the first dimensions.
        """
        _check_count("truncate_dim", truncate_dim)
        as_tensor = convert_to_tensor or not convert_to_numpy
        if as_tensor:
            _import_torch()  # fail before the work
        column = [sentences] if isinstance(sentences, str) else sentences
        parts = self.encode_stream(
            column, batch_size, bool(show_progress_bar), normalize_embeddings=normalize_embeddings
        )
        vectors = collect(parts, count_texts(column), (self.get_sentence_embedding_dimension(),))
        if truncate_dim is not None:
            vectors = vectors[:, :truncate_dim]
            vectors = _unit_rows(vectors) if normalize_embeddings else vectors
        found = _to_tensor(vectors, self.device) if as_tensor else vectors
        if isinstance(sentences, str):
            return found[0]
        return found if convert_to_tensor or convert_to_numpy else list(found)

    encode_query = encode_document = encode  # names of sentence-transformers: both are read alike

    def encode_stream(
        self,
        texts: Iterable[str],
        batch_size: int | None = None,
        show_progress_bar: bool = False,
        *,
        normalize_embeddings: bool = True,
    ) -> Iterator[np.ndarray]:
        """The vectors of any number of texts: one array (some texts, 384) per chunk of texts."""
        _check_count("batch_size", batch_size)
        run = self._runner
        compute: Any = partial(run.vectors, max_sentences=batch_size, unit_length=normalize_embeddings)
        return run.stream(run.sentences, compute, None, show_progress_bar, texts)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """The cosines of all pairs, (n, m); a tensor if tensors are given."""
        first, second = _unit_rows(embeddings1), _unit_rows(embeddings2)
        if first.shape[1] != second.shape[1]:
            raise bad_value(f"vectors of size {first.shape[1]} and {second.shape[1]} cannot be compared")
        return _like(first @ second.T, embeddings1, embeddings2)


def _check_count(name: str, value: Any) -> None:
    if value is not None and (not isinstance(value, Integral) or isinstance(value, bool)):
        raise bad_value(f"{name} is {value!r}; it must be a whole number")
    check_at_least(name, value, 1)


def _import_torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise needs_torch("a tensor") from None


def _to_tensor(array: np.ndarray, device: str) -> Any:
    return _import_torch().from_numpy(array).to(device)


def _unit_rows(vectors: Any) -> np.ndarray:
    """(n, size), of length 1, from one vector or several: arrays, tensors, lists of either.

    >>> _unit_rows([[0.0, 4.0], [2.0, 0.0]]).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if isinstance(vectors, list | tuple):
        vectors = [_to_array(each) for each in vectors]
    rows = np.atleast_2d(np.asarray(_to_array(vectors), np.float32))
    if rows.ndim != 2:
        raise bad_value(f"expected vectors, (n, size), not an array of shape {rows.shape}")
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-12))


def _to_array(value: Any) -> Any:
    return value.detach().cpu().float().numpy() if hasattr(value, "detach") else value


def _like(found: np.ndarray, *given: Any) -> Any:
    """A tensor where tensors were given, on the device of the first."""
    firsts = (each[0] if isinstance(each, list | tuple) and len(each) else each for each in given)
    devices = [str(each.device) for each in firsts if hasattr(each, "detach")]
    return _to_tensor(found, devices[0]) if devices else found
