"""A reader, bundled or pretrained: a sentence encoder that needs no labels and no PyTorch."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, Unpack, overload

import numpy as np

from ..config.recipe import ModelRecipe, Recipe
from ..errors import LimelightError, bad_value, check_at_least, needs_torch, wrong_model
from ..network.modules import Modules
from ..network.parts import check_weights, shapes
from ..reading.reading import Reading
from ..text.tokenizer import SPECIAL
from .batches import check_texts, collect, count_texts
from .config_file import open_saved
from .devices import DeviceOptions
from .embedder import Embedder
from .folder import BUNDLED, Parts, folder_of, is_reader, open_folder, without_special
from .model import Model
from .old_reader import recipe_of, tokenizer_of


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


class Reader(Embedder, metaclass=_KnownToTopicLibraries):
    """A structured sentence encoder, taught by another one; the bundled one reads English.

    Each text becomes a matrix M, as in any model here, and by a linear map of M one vector, whose dot product
    with another text's says how similar they are. Words it does not know are read by their spelling. A text
    has the same vector, up to rounding, in any batch and with any number of threads.

    >>> reader = Reader.load()
    >>> soup, broth, train = reader.encode(["The soup was cold.", "Chilly broth!", "The train is late."])
    >>> soup.shape, bool(soup @ broth > soup @ train)
    ((384,), True)
    >>> reader.embed(["The soup was cold."]).shape
    (1, 24, 600)

    `encode` and what follows it have the names that users of sentence-transformers know, without PyTorch.
    """

    def __init__(self, parts: Parts, **options: Unpack[DeviceOptions]) -> None:
        super().__init__(replace(parts, weights=without_special(parts.weights)), **options)

    def __repr__(self) -> str:
        rows, size = self.embedding_shape
        return f"Reader({len(self.tokenizer):,} words, M {rows} x {size})"

    @classmethod
    def from_parts(
        cls,
        *,
        words: Sequence[str],
        weights: Mapping[str, np.ndarray],
        model: ModelRecipe | None = None,
        facts: Mapping[str, Any] | None = None,
        **options: Unpack[DeviceOptions],
    ) -> Reader:
        """Make a reader that was never saved; without a recipe, an LSTM's with the sizes of its weights."""
        if model is None:
            recipe = recipe_of({name: array.shape for name, array in weights.items()})
        else:
            recipe = replace(Recipe(), model=model)
        check_weights(weights, shapes(recipe.model, len(words) + len(SPECIAL), 0, False))
        return cls(Parts(recipe, tokenizer_of(tuple(words)), weights, facts=facts or {}), **options)

    @classmethod
    def load(
        cls, folder: str | Path = BUNDLED, *, sha256: str | None = None, **options: Unpack[DeviceOptions]
    ) -> Reader:
        """Open a reader's folder, checking everything in it first; without one, the bundled reader."""
        parts = open_folder(folder, sha256)
        if not parts.is_reader:
            raise wrong_model(f"{folder} is a trained model: open it with limelight.load")
        return cls(parts, **options)

    def read(self, text: str) -> Reading:
        """The text with its words, A and M, to draw or to look at; it has no labels.

        >>> reading = Reader.load().read("The soup was cold.")
        >>> reading.words, reading.attention.shape
        (('The', 'soup', 'was', 'cold', '.'), (24, 5))
        """
        (encoded,) = self._runner.encode_texts(list(check_texts([text])))
        place = encoded.offsets, encoded.known, encoded.A, encoded.M
        return Reading(text, *place, (), np.empty(0, np.float32), row_names=self.row_names)

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
        return run.stream(run.sentences, compute, texts, progress=show_progress_bar)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """The cosines of all pairs, (n, m); a tensor if tensors are given."""
        first, second = _unit_rows(embeddings1), _unit_rows(embeddings2)
        if first.shape[1] != second.shape[1]:
            raise bad_value(f"vectors of size {first.shape[1]} and {second.shape[1]} cannot be compared")
        return _like(first @ second.T, embeddings1, embeddings2)


@overload
def load(  # type: ignore[overload-overlap]
    folder: Literal["reader"], **options: Unpack[DeviceOptions]
) -> Reader: ...
@overload
def load(
    folder: str | Path,
    *,
    sha256: str | None = None,
    encoder: Any = None,
    pooling: Any = None,
    **options: Unpack[DeviceOptions],
) -> Any: ...
def load(
    folder: str | Path,
    *,
    sha256: str | None = None,
    encoder: Any = None,
    pooling: Any = None,
    **options: Unpack[DeviceOptions],
) -> Model | Reader:
    """Open a saved folder, checking everything in it first: a `Model`, or a `Reader` that was pretrained.

    The names "reader" and "reader-fast" open the bundled readers, "reader-multilingual" that of the package
    limelight-multilingual; a saved folder of that name comes first.
    With `sha256`, the folder's config.json must have that SHA-256, and so all of it: it holds the checksums
    of the other files.

    The device is "cpu", "cuda" (a GPU, by PyTorch) or "auto": a GPU if PyTorch is installed and sees one. The
    precision is "float32" or "int8" on the CPU, "bf16" or "float32" on a GPU; by default the first.

    A model with an encoder or a pooling of your own needs a module of the same class as `encoder` or
    `pooling`; its weights come from the folder (docs/network.md).

    >>> load("reader").encode("The soup was cold.").shape
    (384,)
    """
    if sha256 is not None and is_reader(folder):
        raise bad_value("sha256 is only for a saved folder; the reader comes with Limelight")
    return _start(open_folder(folder, sha256, Modules(encoder, pooling)), **options)


def _start(parts: Parts, **options: Unpack[DeviceOptions]) -> Model | Reader:
    return Reader(parts, **options) if parts.is_reader else Model(parts, **options)


def load_exactly(model: str | Path, sha256: str, **options: Unpack[DeviceOptions]) -> Model | Reader:
    """Open the very model with this checksum, if it is still at its place."""
    try:
        return _start(open_folder(model, sha256), **options)
    except LimelightError as error:
        if error.code != "checksum-other":
            raise
        fault = f"{model} has changed: its checksum is another; give the original model"
        raise LimelightError(fault, code="model-differs") from None


def model_sha256(model: str | Path) -> str:
    """What tells models apart: the SHA-256 of config.json, which has the checksums of the other files."""
    with open_saved(folder_of(model)) as saved:
        return saved.sha256


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
    """(n, size), of length 1, from one vector or several: arrays, tensors, lists of either."""
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
