"""Runs a trained network over texts: batched by length, on several cores, a bounded number at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..config.recipe import Recipe
from ..errors import LimelightError
from ..network.onnx.export import encoder_graph, head_graph, rows_and_size
from ..text.tasks import find_task
from ..text.tokenizer import UNKNOWN, Tokenizer
from .batches import Sentences, chunks
from .directions import Directions
from .session import Session, start_lock
from .word_parts import TextParts, effects_of, matrix_without, unit

BATCH_WORDS = 1024  # with padding: fewer read the weights too often, more fall out of the processor's cache
BLOCK = 256  # sentences or pairs classified at once: a large head's weights are read less often
CHUNK_BYTES = 2**26  # embeddings held at once while streaming
CHUNK_TEXTS = 64, 4096  # at least, at most
TWO_THREADS = 2**24  # multiplications: less work than this is done before a second thread wakes up

T = TypeVar("T")
Prepare = Callable[[list[Any]], T]  # some texts or pairs -> their word ids
Compute = Callable[[T, int], np.ndarray]  # (word ids, words of a batch) -> their rows


class EncodedText(NamedTuple):
    """One text with everything the encoder computed for it."""

    text: str
    ids: np.ndarray  # (n,)
    offsets: np.ndarray  # (n, 2)
    M: np.ndarray  # (r, 2u)
    A: np.ndarray  # (r, n)
    H: np.ndarray  # (n, 2u)


class started_once(cached_property[T]):  # noqa: N801 - used as a decorator
    """A cached property for several threads: the first one computes it, the others wait for it."""

    def __get__(self, instance: object, owner: type[Any] | None = None) -> T:  # type: ignore[override]
        with start_lock:
            return super().__get__(instance, owner)


class Runner:
    """Two ONNX sessions, the encoder and on top of it the classifier; each starts when first needed.

    The encoder runs one batch per thread, because the steps of an LSTM wait for each other; a single large
    batch runs one direction per thread. The classifier runs one block after the other, because every thread
    helps with a large product.
    """

    batch_words = BATCH_WORDS

    @classmethod
    def on(cls, device: str) -> type[Runner]:
        """The class that runs on a device."""
        if device == "cpu":
            return cls
        from .gpu import TorchRunner

        return TorchRunner

    def __init__(
        self,
        weights: Mapping[str, np.ndarray],
        recipe: Recipe,
        tokenizer: Tokenizer,
        classes: int,
        pair: bool,
        precision: str,
        threads: int | None,
    ) -> None:
        if threads is not None and (not isinstance(threads, Integral) or threads < 1):
            raise LimelightError(f"threads is {threads}; it must be at least 1, or None for all cores")
        self.weights, self.recipe, self.tokenizer = weights, recipe, tokenizer
        self.classes, self.pair = classes, pair
        self.precision, self.int8 = precision, precision == "int8"
        self.threads = int(threads or count_cores())
        lstm = [name for name in weights if name.startswith(("encoder.W_ih", "encoder.W_hh"))]
        self._multiplications_per_word = sum(weights[name].size for name in lstm)  # 0 without an LSTM
        self._pool: tuple[int, ThreadPoolExecutor] | None = None  # with the process it belongs to

    @started_once
    def encoder(self) -> Session:
        """ids, lengths -> M, A, H."""
        return Session(encoder_graph(self.weights, self.recipe.model, self.int8))

    @started_once
    def directions(self) -> Directions:
        """The same on two threads."""
        return Directions(self.weights, self.recipe.model, self.int8)

    @started_once
    def classifier(self) -> Session:
        """M (and M2) -> logits, probabilities."""
        task = find_task(self.recipe.text.task).name
        graph = head_graph(self.weights, self.recipe.model, self.classes, self.pair, self.int8, task)
        return Session(graph, self.threads)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what runs: a copy in another process starts its own sessions and threads."""
        running = Session, Directions
        state = {name: value for name, value in vars(self).items() if not isinstance(value, running)}
        return {**state, "_pool": None}

    def pool(self) -> ThreadPoolExecutor:
        """The threads, kept because starting one takes as long as a short text. A fork starts its own."""
        if self._pool is None or self._pool[0] != os.getpid():
            with start_lock:
                if self._pool is None or self._pool[0] != os.getpid():
                    self._pool = os.getpid(), ThreadPoolExecutor(self.threads)
        return self._pool[1]

    # ------------------------------------------------------------ the classifier

    def classify(self, *M: np.ndarray) -> np.ndarray:
        """Probabilities (n, classes) from M (n, r, 2u), or for pairs from two of them."""
        if len(M[0]) <= BLOCK:
            return self._classify_block(*M)
        starts = range(0, len(M[0]), BLOCK)
        return np.concatenate([self._classify_block(*(side[k : k + BLOCK] for side in M)) for k in starts])

    def _classify_block(self, *M: np.ndarray, output: str = "probabilities") -> np.ndarray:
        feed = dict(zip(("M", "M2"), M, strict=False))
        return check_finite(self.classifier.run(feed, output))[0]

    def logits(self, *M: np.ndarray) -> np.ndarray:
        """The same before softmax, for a block of them."""
        return self._classify_block(*M, output="logits")

    # ------------------------------------------------------------ the encoder

    def encode(
        self, sentences: Sentences, budget: int, *outputs: str
    ) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
        """Run every batch on one of the threads; yield the indices of its sentences and the named outputs."""
        batches = sentences.batches(budget)
        if len(batches) == 1:
            batch = np.arange(len(sentences.lengths))
            yield batch, check_finite(self._run_single_batch(sentences.feed(batch), *outputs))
            return
        encoder = self.encoder

        def run(batch: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
            return batch, check_finite(encoder.run(sentences.feed(batch), *outputs))

        alone = self.threads == 1 or _is_shutting_down()
        yield from map(run, batches) if alone else self.pool().map(run, batches)

    def _run_single_batch(self, feed: dict[str, np.ndarray], *outputs: str) -> list[np.ndarray]:
        """Run one batch with no other to keep the threads busy: a large one takes two of them."""
        work = self._multiplications_per_word * feed["ids"].size
        if self.threads == 1 or work <= TWO_THREADS or _is_shutting_down():
            return self.encoder.run(feed, *outputs)
        return self.directions.run(self.pool(), feed, *outputs)

    def embed_sentences(
        self,
        sentences: Sentences,
        budget: int | None = None,
        on_batch: Callable[[int], object] = lambda size: None,
    ) -> np.ndarray:
        """(sentences, r, 2u): M of each, in their order; `on_batch` is called with the size of each batch."""
        M = np.empty((len(sentences.lengths), *rows_and_size(self.recipe.model)), np.float32)
        for batch, (M_batch,) in self.encode(sentences, budget or self.batch_words, "M"):
            M[batch] = M_batch
            on_batch(len(batch))
        return M

    def encode_texts(self, texts: Sequence[str]) -> list[EncodedText]:
        """Everything the encoder computes for each text."""
        max_length = self.recipe.text.max_length or None
        located = [self.tokenizer.locate(text) for text in texts]
        ids, offsets = ([pair[side][:max_length] for pair in located] for side in (0, 1))
        sentences = Sentences.join(ids)
        encoded = {}
        for batch, (M, A, H) in self.encode(sentences, self.batch_words, "M", "A", "H"):
            for k, m, a, h in zip(batch.tolist(), M, A, H, strict=True):
                n = len(ids[k])
                encoded[k] = EncodedText(texts[k], ids[k], offsets[k], m, a[:, :n], h[:n])
        return [encoded[k] for k in range(len(texts))]

    # ------------------------------------------------------------ the words' shares in a text's vector

    def parts(self, texts: list[str]) -> list[TextParts]:
        """The vector of each text and what each word does to it."""
        sentences, found = self.sentences(texts), {}
        for batch, (M, A, H) in self.encode(sentences, self.batch_words, "M", "A", "H"):
            lengths = sentences.lengths[batch].tolist()
            words = zip(self.states(H), A, lengths, strict=True)
            without = [self.without_words(h[:n], a[:, :n]) for h, a, n in words]
            vectors = self.map_rows(np.concatenate([self.reduce(M), *without]))
            v, *v_without = np.split(vectors, np.cumsum([len(M), *lengths[:-1]]))  # (batch, size), (n, size)
            for row, (k, n) in enumerate(zip(batch.tolist(), lengths, strict=True)):
                ids, offsets = self.tokenizer.locate(texts[k])
                known, effects = ids[:n] != UNKNOWN, effects_of(v[row], v_without[row])
                found[k] = TextParts(texts[k], offsets[:n], known, M[row], unit(v[row]), effects)
        return [found[k] for k in range(len(texts))]

    def states(self, H: np.ndarray) -> np.ndarray:
        """H (texts, n, 2u) as `without_words` takes it."""
        return H

    def without_words(self, states: np.ndarray, A: np.ndarray) -> np.ndarray:
        """(n, r, 2u): M without each word, from H (n, 2u) and A (r, n)."""
        return matrix_without(states, A, self.recipe.model.max_rows)

    def reduce(self, M: np.ndarray) -> np.ndarray:
        """M (texts, r, 2u) as `without_words` gives it."""
        return M

    def map_rows(self, M: np.ndarray) -> np.ndarray:
        """The vectors that texts are compared by, from what `without_words` gives: M itself, flat."""
        return M.reshape(len(M), -1)

    def row_products(self, M: np.ndarray, M2: np.ndarray) -> np.ndarray:
        """(r, r): the dot products of the rows' shares in two unit vectors; here a row meets only itself."""
        return np.diag((unit(M.ravel()) * unit(M2.ravel())).reshape(M.shape).sum(axis=1))

    # ------------------------------------------------------------ some texts at a time

    def stream(
        self,
        texts: Iterable[Any],
        prepare: Prepare[T],
        compute: Compute[T],
        budget: int | None,
        progress: bool,
        total: int | None,
    ) -> Iterator[np.ndarray]:
        """Prepare and compute the texts, as many at a time as memory should hold."""
        budget = self.batch_words if budget is None else budget
        if budget < 1:
            raise LimelightError(f"batch_words is {budget}; it must be at least 1")
        with progress_bar(total) if progress else nullcontext() as bar:
            for rows in self.map_chunks(texts, prepare, lambda prepared: compute(prepared, budget)):
                yield rows
                if bar is not None:
                    bar.update(len(rows))

    def map_chunks(
        self, texts: Iterable[Any], prepare: Prepare[T], compute: Callable[[T], np.ndarray]
    ) -> Iterator[np.ndarray]:
        """The rows of each chunk of texts, one chunk after the other."""
        for chunk in chunks(texts, self.chunk_size(CHUNK_BYTES, *CHUNK_TEXTS)):
            yield compute(prepare(chunk))

    def chunk_size(self, memory: int, fewest: int, most: int) -> int:
        """The number of texts whose M takes so many bytes, within limits."""
        rows, size = rows_and_size(self.recipe.model)
        return max(fewest, min(most, memory // (4 * rows * size)))

    def sentences(self, texts: list[str]) -> Sentences:
        """The word ids of the texts."""
        return Sentences.encode(self.tokenizer, texts, self.recipe.text.max_length)

    def pair_sentences(self, pairs: list[tuple[str, str]]) -> tuple[Sentences, np.ndarray]:
        """The word ids of the different texts, and which two make up each pair (pairs, 2)."""
        numbers: dict[str, int] = {}
        places = np.array([[numbers.setdefault(text, len(numbers)) for text in pair] for pair in pairs])
        return self.sentences(list(numbers)), places

    def probabilities(self, sentences: Sentences, budget: int) -> np.ndarray:
        """(texts, classes)."""
        return self.classify(self.embed_sentences(sentences, budget))

    def pair_probabilities(self, prepared: tuple[Sentences, np.ndarray], budget: int) -> np.ndarray:
        """(pairs, classes); a sentence is encoded once, however many pairs it is in."""
        sentences, places = prepared
        M = self.embed_sentences(sentences, budget)
        blocks = [places[k : k + BLOCK].T for k in range(0, len(places), BLOCK)]
        return np.concatenate([self._classify_block(M[first], M[second]) for first, second in blocks])


def check_finite(outputs: list[np.ndarray]) -> list[np.ndarray]:
    """Raise unless all numbers are finite: NaN would be taken for an answer.

    >>> check_finite([np.array([0.5, np.nan])])
    Traceback (most recent call last):
    limelight.errors.LimelightError: the model gives numbers that are not finite: its weights are too large
    """
    if not all(np.isfinite(values).all() for values in outputs):
        raise LimelightError("the model gives numbers that are not finite: its weights are too large")
    return outputs


def progress_bar(total: int | None, initial: int = 0, disable: bool = False) -> Any:
    """A bar of texts; without a total, a count."""
    from tqdm.auto import tqdm

    return tqdm(total=total, initial=initial, unit=" texts", disable=disable)


def _is_shutting_down() -> bool:
    """Whether the interpreter is ending: threads that still run may finish, but a pool takes no new work."""
    return not threading.main_thread().is_alive()


def count_cores() -> int:
    """The cores this process may use; a container often gives fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
