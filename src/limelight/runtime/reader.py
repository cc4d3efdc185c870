"""A reader, bundled or pretrained: a sentence encoder that needs no labels and no PyTorch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from ..config.recipe import Recipe
from ..errors import LimelightError
from ..network.parts import check_weights, shapes
from ..reading.reading import Reading
from ..reading.row_names import row_names
from ..text.tokenizer import SPECIAL, Tokenizer
from .batches import check_texts, collect, count_texts
from .config_file import open_saved
from .devices import choose_device, runner_on
from .embedder import Embedder
from .folder import BUNDLED, is_reader, is_reader_folder, open_folder, save_folder, without_special
from .model import Model
from .old_reader import recipe_of, tokenizer_of


class Reader(Embedder):
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

    pair = False

    def __init__(
        self,
        weights: Mapping[str, np.ndarray],
        recipe: Recipe,
        tokenizer: Tokenizer,
        facts: Mapping[str, Any],
        precision: str | None = None,
        threads: int | None = None,
        device: str = "cpu",
    ) -> None:
        self.weights, self.recipe, self.tokenizer = without_special(weights), recipe, tokenizer
        self.sha256 = ""  # of the config.json it was loaded from
        self.facts = dict(facts)  # teacher, texts, figures, the words that each row reads
        device, precision = choose_device(device, precision)
        self._runner = runner_on(device)(self.weights, recipe, tokenizer, 0, False, precision, threads)

    def __repr__(self) -> str:
        rows, size = self.embedding_shape
        return f"Reader({len(self.tokenizer):,} words, M {rows} x {size})"

    @classmethod
    def from_parts(
        cls,
        *,
        words: Sequence[str],
        weights: Mapping[str, np.ndarray],
        facts: Mapping[str, Any] | None = None,
        precision: str | None = None,
        threads: int | None = None,
        device: str = "cpu",
    ) -> Reader:
        """Make a reader that was never saved; the sizes of its network are those of its weights."""
        recipe = recipe_of({name: array.shape for name, array in weights.items()})
        check_weights(weights, shapes(recipe.model, len(words) + len(SPECIAL), 0, False))
        return cls(weights, recipe, tokenizer_of(tuple(words)), facts or {}, precision, threads, device)

    @classmethod
    def load(
        cls,
        folder: str | Path | None = None,
        *,
        precision: str | None = None,
        threads: int | None = None,
        sha256: str | None = None,
        device: str = "cpu",
    ) -> Reader:
        """Open a reader's folder, checking everything in it first; without one, the bundled reader."""
        found = open_folder(BUNDLED if folder is None else folder, sha256)
        if not found.is_reader:
            raise LimelightError(
                f"{folder} is a trained model: open it with limelight.load", code="model-kind"
            )
        parts = found.weights, found.recipe, found.tokenizer, found.facts
        reader = cls(*parts, precision, threads, device)
        reader.sha256 = found.sha256
        return reader

    def save(self, path: str | Path, *, card: str | None = None, overwrite: bool = False) -> None:
        """Write a folder for `load` to read, its weights in a few bits; `card` replaces its README.md."""
        save_folder(
            path, weights=self.weights, recipe=self.recipe, tokenizer=self.tokenizer, labels=(), pair=False,
            facts=self.facts, card=card, overwrite=overwrite,
        )  # fmt: skip

    def encode(
        self,
        texts: str | Iterable[str],
        batch_size: int | None = None,
        show_progress_bar: bool = False,
        *,
        normalize_embeddings: bool = True,
    ) -> np.ndarray:
        """One vector per text, (texts, 384), of length 1; a single text gives (384,).

        A batch has 1,024 words (131,072 on a GPU), and at most `batch_size` texts if that is given.
        """
        if isinstance(texts, str):
            return np.asarray(self.encode([texts], normalize_embeddings=normalize_embeddings)[0])
        parts = self.encode_stream(
            texts, batch_size, show_progress_bar, normalize_embeddings=normalize_embeddings
        )
        return collect(parts, count_texts(texts), (self.recipe.model.vector_size,))

    def encode_stream(
        self,
        texts: Iterable[str],
        batch_size: int | None = None,
        show_progress_bar: bool = False,
        *,
        normalize_embeddings: bool = True,
    ) -> Iterator[np.ndarray]:
        """The vectors of any number of texts: one array (some texts, 384) per chunk of texts."""
        if batch_size is not None and batch_size < 1:
            raise LimelightError(f"batch_size is {batch_size}; it must be at least 1", code="option-value")
        run, total = self._runner, count_texts(texts)
        compute: Any = partial(run.vectors, max_sentences=batch_size, unit_length=normalize_embeddings)
        return run.stream(check_texts(texts), run.sentences, compute, None, show_progress_bar, total)

    def read(self, text: str) -> Reading:
        """The text with its words, A and M, to draw or to look at; it has no labels.

        >>> reading = Reader.load().read("The soup was cold.")
        >>> reading.words, reading.attention.shape
        (('The', 'soup', 'was', 'cold', '.'), (24, 5))
        """
        (encoded,) = self._runner.encode_texts(list(check_texts([text])))
        names, none = row_names(self.facts.get("rows"), self.embedding_shape[0]), np.empty(0, np.float32)
        place = encoded.offsets, encoded.known, encoded.A, encoded.M
        return Reading(text, *place, (), none, row_names=names)


@overload
def load(  # type: ignore[overload-overlap]
    folder: Literal["reader"],
    *,
    precision: str | None = None,
    threads: int | None = None,
    device: str = "cpu",
) -> Reader: ...
@overload
def load(
    folder: str | Path,
    *,
    precision: str | None = None,
    threads: int | None = None,
    sha256: str | None = None,
    device: str = "cpu",
) -> Any: ...  # a Model, or a Reader from its own folder
def load(
    folder: str | Path,
    *,
    precision: str | None = None,
    threads: int | None = None,
    sha256: str | None = None,
    device: str = "cpu",
) -> Model | Reader:
    """Open a saved folder, checking everything in it first: a `Model`, or a `Reader` that was pretrained.

    The name "reader" opens the bundled reader; a saved folder of that name comes first. With `sha256`, the
    folder's config.json must have that SHA-256, and so all of it: it holds the checksums of the other files.

    The device is "cpu", "cuda" (a GPU, by PyTorch) or "auto": a GPU if PyTorch is installed and sees one. The
    precision is "float32" or "int8" on the CPU, "bf16" or "float32" on a GPU; by default the first.

    >>> load("reader").encode("The soup was cold.").shape
    (384,)
    """
    if is_reader(folder):
        if sha256 is not None:
            raise LimelightError(
                "sha256 is only for a saved folder; the reader comes with Limelight", code="option-value"
            )
        return Reader.load(precision=precision, threads=threads, device=device)
    kind = Reader if is_reader_folder(folder) else Model
    return kind.load(folder, precision=precision, threads=threads, sha256=sha256, device=device)


def model_sha256(model: str | Path) -> str:
    """What tells models apart: the SHA-256 of config.json, which has the checksums of the other files.

    >>> len(model_sha256("reader"))
    64
    """
    with open_saved(BUNDLED if is_reader(model) else Path(model)) as saved:
        return saved.sha256


def load_exactly(model: str | Path, sha256: str, **loading: Any) -> Model | Reader:
    """Open the very model with this checksum, if it is still at its place; `loading` is as for `load`.

    >>> load_exactly("reader", "3f2a")
    Traceback (most recent call last):
    limelight.errors.LimelightError: reader is not the model it was, but another one; give that one
    """
    folder = BUNDLED if is_reader(model) else model
    kind = Reader if is_reader_folder(folder) else Model
    try:
        return kind.load(folder, sha256=sha256, **loading)
    except LimelightError as error:
        if error.code != "checksum-other":
            raise
        fault = f"{model} is not the model it was, but another one; give that one"
        raise LimelightError(fault, code="model-differs") from None
