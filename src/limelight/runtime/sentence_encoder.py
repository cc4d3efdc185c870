"""One vector per text, by the names that users of sentence-transformers know, and without PyTorch."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from numbers import Integral
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self, Unpack

import numpy as np

from ..errors import LimelightError, bad_value, check_at_least, check_choice, needs_torch
from .batches import Sentences, check_texts, collect, count_texts
from .devices import DeviceOptions
from .embedder import Embedder
from .folder import Parts

PRECISIONS = "float32", "binary", "ubinary"
# Options of sentence-transformers that change no answer: a reader has one set of weights and its own threads.
IGNORED = {"task", "pool", "chunk_size"}


class _KnownToTopicLibraries(type):
    """A class whose name, asked for by BERTopic or KeyBERT, is an error that says what they take.

    They go by the name alone, and would silently take a model of their own.
    """

    def __repr__(cls) -> str:
        refuse_bare(("bertopic", "keybert"), "topics.backend")
        return super().__repr__()


def refuse_bare(libraries: tuple[str, ...], adapter: str) -> None:
    """Raise where the caller's caller is one of these libraries, naming what it takes."""
    asked_by = sys._getframe(2).f_globals.get("__name__", "").partition(".")[0]
    if asked_by in libraries:
        fault = f"{asked_by} takes no bare reader; give it limelight.integrations.{adapter}(reader)"
        raise LimelightError(fault, code="needs-adapter")


class SentenceEncoder(Embedder, metaclass=_KnownToTopicLibraries):
    """An embedder that also gives each text one vector, to compare by its cosine."""

    def __init__(self, parts: Parts, **options: Unpack[DeviceOptions]) -> None:
        super().__init__(parts, **options)
        self.prompts = {"query": "", "document": ""}

    @property
    def device(self) -> str:
        """Where it runs, "cpu" or "cuda"."""
        return self._runner.device

    @property
    def max_seq_length(self) -> None:
        """None: texts are not cut."""

    @property
    def similarity_fn_name(self) -> str:
        """What `similarity` computes."""
        return "cosine"

    def get_sentence_embedding_dimension(self) -> int:
        """The size of a vector."""
        return self.recipe.model.vector_size

    get_embedding_dimension = get_sentence_embedding_dimension  # its name in sentence-transformers 6

    def encode(
        self,
        sentences: str | Iterable[str] | None = None,
        batch_size: int | None = None,
        show_progress_bar: bool | None = False,
        *,
        prompt_name: str | None = None,
        prompt: str | None = None,
        output_value: str | None = "sentence_embedding",
        precision: str | None = "float32",
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: Any = None,
        normalize_embeddings: bool = True,
        truncate_dim: int | None = None,
        texts: str | Iterable[str] | None = None,
        inputs: str | Iterable[str] | None = None,
        **others: Any,
    ) -> Any:
        """One vector per text, (texts, 384), of length 1; a single text gives (384,).

        A batch has 1,024 words (131,072 on a GPU), and at most `batch_size` texts if that is given. With
        `convert_to_tensor` a PyTorch tensor; without `convert_to_numpy` a list of tensors. `truncate_dim`
        keeps the first dimensions, and `precision` "binary" or "ubinary" a bit of each, eight to a byte.
        `texts` and `inputs` are other names for `sentences`.
        """
        given: Any = _given_once(sentences, texts, inputs)
        precision = precision or "float32"  # as sentence-transformers' evaluators say it
        self._check_options(output_value, precision, device, truncate_dim, others)
        as_tensor = convert_to_tensor or not convert_to_numpy
        if as_tensor:
            _import_torch()  # fail before the work
        column = self._with_prompt([given] if isinstance(given, str) else given, prompt_name, prompt)
        parts = self.encode_stream(
            column, batch_size, bool(show_progress_bar), normalize_embeddings=normalize_embeddings
        )
        vectors = collect(parts, count_texts(column), (self.get_sentence_embedding_dimension(),))
        vectors = _shorten(vectors, truncate_dim, normalize_embeddings, precision)
        found = _to_tensor(vectors, self.device) if as_tensor else vectors
        if isinstance(given, str):
            return found[0]
        return found if convert_to_tensor or convert_to_numpy else list(found)

    def encode_query(self, sentences: str | Iterable[str] | None = None, *args: Any, **options: Any) -> Any:
        """`encode` with the prompt "query", unless another is given."""
        return self._encode_as(("query",), sentences, *args, **options)

    def encode_document(
        self, sentences: str | Iterable[str] | None = None, *args: Any, **options: Any
    ) -> Any:
        """`encode` with the prompt "document", "passage" or "corpus", unless another is given."""
        return self._encode_as(("document", "passage", "corpus"), sentences, *args, **options)

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

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """The cosine of each vector with the one at the same place, (n,); a tensor if tensors are given."""
        first, second = _unit_rows(embeddings1), _unit_rows(embeddings2)
        if first.shape != second.shape:
            raise bad_value(f"vectors of shape {first.shape} and {second.shape} do not make pairs")
        return _like((first * second).sum(axis=1), embeddings1, embeddings2)

    def tokenize(self, texts: Iterable[str]) -> dict[str, np.ndarray]:
        """Word ids `input_ids` (texts, n), padded, and `attention_mask`, 0 at the padding."""
        sentences = Sentences.encode(self.tokenizer, list(check_texts(texts)), 0)
        feed = sentences.feed(np.arange(len(sentences.lengths)))
        mask = np.arange(feed["ids"].shape[1]) < feed["lengths"][:, None]
        return {"input_ids": feed["ids"].astype(np.int64), "attention_mask": mask.astype(np.int64)}

    def to(self, device: Any = None) -> Self:
        """The same, if it runs on this device; another is chosen when a reader is loaded."""
        if device is not None and str(device) not in (self.device, f"{self.device}:0"):
            fault = f"device is {str(device)!r}, but the reader runs on {self.device!r}"
            raise bad_value(f"{fault}: choose when you load it, limelight.load(..., device=...)")
        return self

    def eval(self) -> Self:
        """The same: a reader does not learn; limelight.sentence_transformers.Reader does."""
        return self

    def save_pretrained(self, path: str | Path) -> None:
        """`save`, in place of what is there."""
        self.save(path, overwrite=True)

    @property
    def model_card_data(self) -> Any:
        """Where evaluators write their results, which a reader's card does not have."""
        return SimpleNamespace(set_evaluation_metrics=lambda *args, **options: None)

    def start_multi_process_pool(self, target_devices: Any = None) -> dict[str, Any]:
        """Nothing to start: a reader has its own threads."""
        return {}

    def encode_multi_process(self, sentences: Iterable[str], pool: Any = None, **options: Any) -> Any:
        """`encode`."""
        return self.encode(sentences, **options)

    @staticmethod
    def stop_multi_process_pool(pool: Any) -> None:
        """Nothing to stop."""

    @property
    def mteb_model_meta(self) -> Any:
        """Nothing; asked for by mteb, an error that says what it takes."""
        refuse_bare(("mteb",), "mteb.Encoder")
        raise AttributeError("mteb_model_meta")

    def _encode_as(self, names: tuple[str, ...], sentences: Any, *args: Any, **options: Any) -> Any:
        if options.get("prompt_name") is None:
            options["prompt_name"] = next((name for name in names if name in self.prompts), None)
        return self.encode(sentences, *args, **options)

    def _with_prompt(self, texts: Any, name: str | None, prompt: str | None) -> Any:
        """The texts, each after the prompt; one that is given comes before one that is named."""
        if prompt is None and name is not None:
            check_choice("prompt_name", name, tuple(self.prompts))
            prompt = self.prompts[name]
        if not isinstance(prompt, str | None):
            raise bad_value(f"prompt is {prompt!r}; it must be a string")
        return [prompt + text for text in check_texts(texts)] if prompt else texts

    def _check_options(
        self, output_value: Any, precision: Any, device: Any, truncate_dim: Any, others: dict[str, Any]
    ) -> None:
        """Refuse what would not do what it says."""
        if output_value != "sentence_embedding":
            fault = f"output_value is {output_value!r}; a reader gives 'sentence_embedding'"
            raise bad_value(f"{fault}; each word's share in it: word_parts(texts)")
        if precision in ("int8", "uint8"):
            fault = f"precision is {precision!r}, whose values depend on the other texts of a call"
            raise bad_value(f"{fault}; use one of: {', '.join(PRECISIONS)}")
        check_choice("precision", precision, PRECISIONS)
        _check_count("truncate_dim", truncate_dim)
        self.to(device)
        for name in others.keys() - IGNORED:
            raise LimelightError(f"encode has no option {name!r}", code="option-unknown")


def _given_once(sentences: Any, texts: Any, inputs: Any) -> Any:
    """The texts, by whichever name."""
    found = [each for each in (sentences, texts, inputs) if each is not None]
    if len(found) > 1:
        raise LimelightError("sentences, texts and inputs are the same: give one", code="option-twice")
    return found[0] if found else None


def _check_count(name: str, value: Any) -> None:
    if value is not None and (not isinstance(value, Integral) or isinstance(value, bool)):
        raise bad_value(f"{name} is {value!r}; it must be a whole number")
    check_at_least(name, value, 1)


def _shorten(vectors: np.ndarray, size: int | None, unit_length: bool, precision: str) -> np.ndarray:
    """The first `size` dimensions, of length 1 again if they are to be, in the precision."""
    if size is not None:
        vectors = _unit_rows(vectors[:, :size]) if unit_length else vectors[:, :size]
    return vectors if precision == "float32" else _to_bits(vectors, signed=precision == "binary")


def _to_bits(vectors: np.ndarray, signed: bool) -> np.ndarray:
    """A bit for each dimension, set where it is positive, eight to a byte.

    >>> v = np.array([[1.0, -1, 1, 1, -1, -1, -1, 2]])
    >>> _to_bits(v, signed=False).tolist(), _to_bits(v, signed=True).tolist()
    ([[177]], [[49]])
    """
    packed = np.packbits(vectors > 0, axis=1)
    return (packed.astype(np.int16) - 128).astype(np.int8) if signed else packed


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
