"""A reader, bundled or pretrained: a sentence encoder that needs no labels and no PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Unpack, overload

import numpy as np

from ..config.recipe import ModelRecipe, Recipe
from ..errors import LimelightError, bad_value, wrong_model
from ..network.modules import Modules
from ..network.parts import check_weights, shapes
from ..reading.reading import Reading
from ..text.tokenizer import SPECIAL
from .batches import check_texts
from .config_file import open_saved
from .devices import DeviceOptions
from .folder import BUNDLED, Parts, folder_of, is_reader, open_folder, without_special
from .model import Model
from .old_reader import recipe_of, tokenizer_of
from .sentence_encoder import SentenceEncoder


class Reader(SentenceEncoder):
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
        recipe = (
            recipe_of({name: array.shape for name, array in weights.items()})
            if model is None
            else (replace(Recipe(), model=model))
        )
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
    """Open the very model with this checksum, if it is still at its place.

    >>> load_exactly("reader", "3f2a")
    Traceback (most recent call last):
    limelight.errors.LimelightError: reader has changed: its checksum is another; give the original model
    """
    try:
        return _start(open_folder(model, sha256), **options)
    except LimelightError as error:
        if error.code != "checksum-other":
            raise
        fault = f"{model} has changed: its checksum is another; give the original model"
        raise LimelightError(fault, code="model-differs") from None


def model_sha256(model: str | Path) -> str:
    """What tells models apart: the SHA-256 of config.json, which has the checksums of the other files.

    >>> len(model_sha256("reader"))
    64
    """
    with open_saved(folder_of(model)) as saved:
        return saved.sha256
