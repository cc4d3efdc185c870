"""A reader, bundled or pretrained: a sentence encoder that needs no labels and no PyTorch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from ..errors import LimelightError, tidy_os_errors
from ..network.onnx.export import linear_graph, rows_and_size, vector_encoder_graph, vector_graph
from ..reading.reading import Reading
from ..reading.row_names import row_names
from ..text.tokenizer import UNKNOWN, Tokenizer, has_joined_characters
from .batches import check_texts, collect, count_texts
from .devices import choose_device
from .embedder import Embedder
from .folder import is_reader
from .model import Model
from .reader_file import reader_recipe
from .reader_folder import BUNDLED, is_reader_folder, open_reader
from .runner import BLOCK, Runner, check_finite, started_once
from .session import Session
from .spelling import SpelledSentences, encode_spelled
from .word_parts import max_without, rows_without


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
    _runner: ReaderRunner

    def __init__(
        self,
        words: Sequence[str],
        weights: Mapping[str, np.ndarray],
        precision: str | None = None,
        threads: int | None = None,
        facts: Mapping[str, Any] | None = None,
        device: str = "cpu",
    ) -> None:
        self.facts = dict(facts or {})  # teacher, texts, figures, the words that each row reads
        self.tokenizer = Tokenizer.from_words(words, split_characters=not has_joined_characters(words))
        self.recipe = reader_recipe(weights)
        self.weights = {**weights, "words.weight": _without_special(weights["words.weight"])}
        device, precision = choose_device(device, precision)
        runner = ReaderRunner.on(device)
        self._runner = runner(self.weights, self.recipe, self.tokenizer, 0, False, precision, threads)

    def __repr__(self) -> str:
        rows, size = rows_and_size(self.recipe.model)
        return f"Reader({len(self.tokenizer):,} words, M {rows} x {size})"

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
        found = open_reader(BUNDLED if folder is None else folder, sha256)
        return cls(found.words, found.weights, precision, threads, found.facts, device)

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
        return collect(parts, count_texts(texts), self.weights["vector.W_rows"].shape[:1])

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
            raise LimelightError(f"batch_size is {batch_size}; it must be at least 1")
        run, total = self._runner, count_texts(texts)
        compute = partial(run.vectors, most=batch_size, unit_length=normalize_embeddings)
        return run.stream(check_texts(texts), run.sentences, compute, None, show_progress_bar, total)

    def read(self, text: str) -> Reading:
        """The text with its words, A and M, to draw or to look at; it has no labels.

        >>> reading = Reader.load().read("The soup was cold.")
        >>> reading.words, reading.attention.shape
        (('The', 'soup', 'was', 'cold', '.'), (24, 5))
        """
        (text,) = check_texts([text])
        ids, offsets = self.tokenizer.locate(text)
        run = self._runner
        ((_, (M, A)),) = run.encode(run.sentences([text]), run.batch_words, "M", "A")
        names = row_names(self.facts.get("rows"), len(A[0]))
        known, none = ids != UNKNOWN, np.empty(0, np.float32)
        return Reading(text, offsets, known, A[0], M[0], (), none, row_names=names)


class ReaderRunner(Runner):
    """Feeds word vectors to the encoder, because a spelled word is in no table; maps M to one vector."""

    @classmethod
    def on(cls, device: str) -> type[ReaderRunner]:
        """The class that runs on a device."""
        if device == "cpu":
            return cls
        from .gpu import TorchReaderRunner

        return TorchReaderRunner

    @started_once
    def encoder(self) -> Session:
        """X, ids, lengths -> M, A, H."""
        return Session(vector_encoder_graph(self.weights, self.recipe.model, self.int8))

    @started_once
    def mapping(self) -> Session:
        """M -> v."""
        return Session(vector_graph(self.weights, self.recipe.model, self.int8), self.threads)

    def sentences(self, texts: list[str]) -> SpelledSentences:
        table, grams = self.weights["words.weight"], self.weights["grams.weight"]
        return encode_spelled(self.tokenizer, texts, table, grams)

    def vectors(
        self, sentences: SpelledSentences, budget: int, most: int | None, unit_length: bool
    ) -> np.ndarray:
        """(texts, 384), of at most so many texts in a batch."""
        M = self.embed_sentences(replace(sentences, most=most), budget)
        blocks = [M[k : k + BLOCK] for k in range(0, len(M), BLOCK)]
        v = np.concatenate([check_finite(self.mapping.run({"M": block}, "v"))[0] for block in blocks])
        return v / np.linalg.norm(v, axis=1, keepdims=True) if unit_length else v

    # ------------------------------------------------------------ the words' shares in a text's vector

    @started_once
    def shared_map(self) -> Session:
        """Times W_shared."""
        return Session(linear_graph(self.weights, "vector.W_shared"), self.threads)

    @started_once
    def row_maps(self) -> Session:
        """Times W_rows."""
        return Session(linear_graph(self.weights, "vector.W_rows"), self.threads)

    def reduce(self, M: np.ndarray) -> np.ndarray:
        """(..., 2u) -> (..., rank)."""
        (reduced,) = self.shared_map.run({"X": M.reshape(-1, M.shape[-1])}, "Y")
        return np.asarray(reduced.reshape(*M.shape[:-1], -1))

    def states(self, H: np.ndarray) -> np.ndarray:
        """Where M = A H, H is reduced before A weights it: it is smaller than M without each word."""
        return self.reduce(H) if self.recipe.model.attention_rows else H

    def without_words(self, states: np.ndarray, A: np.ndarray) -> np.ndarray:
        """(n, r, rank): the rows of M without each word, reduced."""
        if self.recipe.model.attention_rows:
            return rows_without(states, A)
        return self.reduce(max_without(states))

    def map_rows(self, M: np.ndarray) -> np.ndarray:
        """(texts, 384) from the reduced rows."""
        return self.row_maps.run({"X": M.reshape(len(M), -1)}, "Y")[0]

    def row_products(self, M: np.ndarray, M2: np.ndarray) -> np.ndarray:
        """(r, r): each row's share in one unit vector times each row's share in the other."""
        rows, rows2 = (self.map_rows(_one_by_one(self.reduce(each))) for each in (M, M2))  # (r, 384)
        length, length2 = (np.linalg.norm(each.sum(axis=0)) for each in (rows, rows2))
        return np.asarray(rows @ rows2.T / max(length * length2, np.finfo(np.float32).tiny))


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
            raise LimelightError("sha256 is only for a saved folder; the reader comes with Limelight")
        return Reader.load(precision=precision, threads=threads, device=device)
    kind = Reader if is_reader_folder(folder) else Model
    return kind.load(folder, precision=precision, threads=threads, sha256=sha256, device=device)


def model_sha256(model: str | Path) -> str:
    """What tells models apart: the SHA-256 of config.json, which has the checksums of the other files.

    >>> len(model_sha256("reader"))
    64
    """
    folder = BUNDLED if is_reader(model) else Path(model)
    with tidy_os_errors(f"cannot read {folder}"):
        if not (folder / "config.json").is_file():
            raise LimelightError(f'{model} is not a model; give a folder saved by Limelight, or "reader"')
        return hashlib.sha256((folder / "config.json").read_bytes()).hexdigest()


def _without_special(table: np.ndarray) -> np.ndarray:
    """Zeros for padding and for the one word of a text without words, as in training."""
    table = table.copy()
    table[: UNKNOWN + 1] = 0
    return table


def _one_by_one(M: np.ndarray) -> np.ndarray:
    """(r, r, k): each row of M (r, k) alone, with zeros in place of the others."""
    rows = np.zeros((len(M), *M.shape), M.dtype)
    rows[np.arange(len(M)), np.arange(len(M))] = M
    return rows
