"""Runs a trained network over texts: batched by length, on several cores, a bounded number at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from ..config.recipe import Recipe
from ..errors import LimelightError
from ..text.tokenizer import Tokenizer
from .batches import Sentences, chunks
from .directions import Directions
from .export import encoder_graph, head_graph, rows_and_size
from .session import Session

BATCH_WORDS = 1024  # with padding: fewer read the weights too often, more fall out of the processor's cache
BLOCK = 256  # sentences or pairs classified at once: a large head's weights are read less often
CHUNK_BYTES = 2**26  # embeddings held at once while streaming
CHUNK_TEXTS = 64, 4096  # at least, at most
TWO_THREADS = 2**24  # multiplications: less work than this is done before a second thread wakes up
PRECISIONS = ("float32", "int8")

Job = Callable[[list[Any], int], np.ndarray]


class Look(NamedTuple):
    """One text as the encoder saw it."""

    text: str
    ids: np.ndarray  # (n,)
    offsets: np.ndarray  # (n, 2)
    M: np.ndarray  # (r, 2u)
    A: np.ndarray  # (r, n)


class Runner:
    """Two running graphs, the encoder and on top of it the classifier; each starts when first needed.

    The encoder runs one batch per thread, because the steps of an LSTM wait for each other; a single large
    batch runs one direction per thread. The classifier runs one block after the other, because every thread
    helps with a large product.
    """

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
        if precision not in PRECISIONS:
            raise LimelightError(f"precision is {precision!r}; it must be one of: {', '.join(PRECISIONS)}")
        if threads is not None and (not isinstance(threads, Integral) or threads < 1):
            raise LimelightError(f"threads is {threads}; it must be at least 1, or None for all cores")
        self.weights, self.recipe, self.tokenizer = weights, recipe, tokenizer
        self.classes, self.pair = classes, pair
        self.int8, self.threads = precision == "int8", int(threads or _cores())
        self._pool: tuple[int, ThreadPoolExecutor] | None = None

    @cached_property
    def encoder(self) -> Session:
        """ids, lengths -> M, A."""
        return Session(encoder_graph(self.weights, self.recipe.model, self.int8))

    @cached_property
    def directions(self) -> Directions:
        """The same on two threads."""
        return Directions(self.weights, self.recipe.model, self.int8)

    @cached_property
    def classifier(self) -> Session:
        """M (and M2) -> probabilities."""
        graph = head_graph(self.weights, self.recipe.model, self.classes, self.pair, self.int8)
        return Session(graph, self.threads)

    def __getstate__(self) -> dict[str, Any]:
        """A copy in another process starts its own sessions and threads."""
        running = Session, Directions
        still = {name: value for name, value in vars(self).items() if not isinstance(value, running)}
        return {**still, "_pool": None}

    def pool(self) -> ThreadPoolExecutor:
        """The threads, which stay: to start one takes as long as a short text. A fork starts its own."""
        if self._pool is None or self._pool[0] != os.getpid():
            self._pool = os.getpid(), ThreadPoolExecutor(self.threads)
        return self._pool[1]

    def classify(self, *M: np.ndarray) -> np.ndarray:
        """Probabilities (n, classes) from M (n, r, 2u), or from two M of pairs."""
        if len(M[0]) <= BLOCK:
            return self._block(*M)
        starts = range(0, len(M[0]), BLOCK)
        return np.concatenate([self._block(*(side[k : k + BLOCK] for side in M)) for k in starts])

    def _block(self, M: np.ndarray, M2: np.ndarray | None = None) -> np.ndarray:
        feed = {"M": M} if M2 is None else {"M": M, "M2": M2}
        return self.classifier.run(feed, "probabilities")[0]

    # ------------------------------------------------------------ some texts at a time

    def stream(
        self, texts: Iterable[Any], job: Job, budget: int, progress: bool, total: int | None
    ) -> Iterator[np.ndarray]:
        """What `job` makes of the texts, for as many of them at a time as memory should hold."""
        if budget < 1:
            raise LimelightError(f"batch_words is {budget}; it must be at least 1")
        rows, size = rows_and_size(self.recipe.model)
        least, most = CHUNK_TEXTS
        with _bar(total) if progress else nullcontext() as bar:
            for chunk in chunks(texts, max(least, min(most, CHUNK_BYTES // (4 * rows * size)))):
                yield job(chunk, budget)
                if bar is not None:
                    bar.update(len(chunk))

    def probabilities(self, texts: list[str], budget: int) -> np.ndarray:
        """(texts, classes)."""
        return self.classify(self.embeddings(texts, budget))

    def pair_probabilities(self, pairs: list[tuple[str, str]], budget: int) -> np.ndarray:
        """(pairs, classes); a sentence is encoded once, in however many pairs it stands."""
        numbers: dict[str, int] = {}
        places = np.array([[numbers.setdefault(text, len(numbers)) for text in pair] for pair in pairs])
        M = self.embeddings(list(numbers), budget)
        blocks = [places[k : k + BLOCK].T for k in range(0, len(places), BLOCK)]
        return np.concatenate([self._block(M[first], M[second]) for first, second in blocks])

    def embeddings(self, texts: list[str], budget: int) -> np.ndarray:
        """(texts, r, 2u): encoded with texts of like length, returned in the given order."""
        sentences = Sentences.encode(self.tokenizer, texts, self.recipe.text.max_length)
        batches = sentences.batches(budget)
        if len(batches) == 1:
            return self._alone(sentences.feed(np.arange(len(texts))), "M")[0]
        encoder = self.encoder
        ordered = np.empty((len(texts), *rows_and_size(self.recipe.model)), np.float32)

        def run(batch: np.ndarray) -> None:
            ordered[batch] = encoder.run(sentences.feed(batch), "M")[0]

        list(map(run, batches) if self.threads == 1 or _late() else self.pool().map(run, batches))
        return ordered

    def _alone(self, feed: dict[str, np.ndarray], *outputs: str) -> list[np.ndarray]:
        """One batch, with no other to keep the threads busy."""
        if self.threads == 1 or self._products * feed["ids"].size <= TWO_THREADS or _late():
            return self.encoder.run(feed, *outputs)
        return self.directions.run(self.pool(), feed, *outputs)

    @cached_property
    def _products(self) -> int:
        """Multiplications that the LSTM takes for a word; 0 if there is none."""
        names = [name for name in self.weights if name.startswith(("encoder.W_ih", "encoder.W_hh"))]
        return sum(self.weights[name].size for name in names)

    def look(self, texts: Sequence[str]) -> list[Look]:
        """Everything the encoder saw in each text."""
        most = self.recipe.text.max_length or None
        located = [self.tokenizer.locate(text) for text in texts]
        ids, offsets = ([pair[side][:most] for pair in located] for side in (0, 1))
        lengths = np.array([len(x) for x in ids], np.int32)
        sentences = Sentences(np.concatenate([np.empty(0, np.int32), *ids]), lengths)
        looks = {}
        for batch in sentences.batches(BATCH_WORDS):
            M, A = self._alone(sentences.feed(batch), "M", "A")
            for k, m, a in zip(batch.tolist(), M, A, strict=True):
                looks[k] = Look(texts[k], ids[k], offsets[k], m, a[:, : lengths[k]])
        return [looks[k] for k in range(len(texts))]


def _bar(total: int | None) -> Any:
    from tqdm.auto import tqdm

    return tqdm(total=total, unit=" texts")


def _late() -> bool:
    """Whether the interpreter is ending: a thread that still runs goes on, but a pool takes no more work."""
    return not threading.main_thread().is_alive()


def _cores() -> int:
    """The cores this process may use; a container often gives fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
