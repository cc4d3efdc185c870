"""A trained network on the CPU, by ONNX Runtime."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from ..config.recipe import ModelRecipe
from ..network.onnx.layers import direction_graph, encoder_graph, head_graph, pooling_graph
from ..network.quantise import SCALE, Weights, quantise, values
from ..network.weights import pack_words
from .batches import Sentences
from .runner import Runner, check_finite
from .session import Session, locked_cached_property, start_lock
from .word_parts import VectorParts

BATCH_WORDS = 1024  # with padding: fewer read the weights too often, more fall out of the processor's cache
BATCHES_AT_ONCE = 16  # for each thread
TWO_THREADS = 2**24  # multiplications: less work than this is done before a second thread wakes up
WORDS = ("words.weight", "words.weight" + SCALE)


class _Pool(NamedTuple):
    process: int  # that it belongs to
    threads: ThreadPoolExecutor
    lock: threading.Lock  # held by the call that uses them


class OnnxRunner(Runner):
    """Two sessions, the encoder and on top of it the head; each starts when first needed.

    The encoder runs one batch per thread, because the steps of an LSTM wait for each other; a single large
    batch runs one direction per thread. The head runs one block after the other, because every thread
    helps with a large product.
    """

    batch_words = BATCH_WORDS

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.int8 = self.precision == "int8"
        lstm = [name for name in self.weights if name.startswith(("encoder.W_ih", "encoder.W_hh"))]
        self._multiplications_per_word = sum(self.weights[name].size for name in lstm)  # 0 without an LSTM
        self._pool: _Pool | None = None
        self._packed: Weights | None = None

    def _stored(self) -> Weights:
        """The weights as graphs hold them: in int8, words that 4 bits hold exactly are not rounded again."""
        if not self.int8 or self.recipe.model.spells_words:  # whose words are outside the graph
            return self.weights
        if self._packed is None:  # both who ask hold the lock of what starts
            self._packed = pack_words(self.weights)
        return self._packed

    @locked_cached_property
    def encoder(self) -> Session:
        """ids, lengths -> M, A, H."""
        return Session(encoder_graph(self._stored(), self.recipe.model, self.int8))

    @locked_cached_property
    def directions(self) -> Directions:
        """The same on two threads."""
        return Directions(self._stored(), self.recipe.model, self.int8)

    @locked_cached_property
    def head(self) -> Session:
        """M (and M2) -> logits and probabilities, or a vector."""
        recipe = self.recipe.model
        graph = head_graph(self.weights, recipe, self.classes, self.pair, self.int8, self.task)
        return Session(graph, self.threads)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what runs: a copy in another process starts its own sessions and threads."""
        running = Session, Directions, VectorParts
        state = {name: value for name, value in vars(self).items() if not isinstance(value, running)}
        return {**state, "_pool": None, "_packed": None}

    @contextmanager
    def pool(self) -> Iterator[ThreadPoolExecutor | None]:
        """The threads, kept because starting one takes as long as a short text. A fork starts its own.

        None if there is but one, or while another call has them: a short text does not wait for a long one.
        """
        is_ending = not threading.main_thread().is_alive()  # the interpreter: a pool takes no new work then
        if self.threads == 1 or is_ending:
            yield None
            return
        if self._pool is None or self._pool.process != os.getpid():
            with start_lock:
                if self._pool is None or self._pool.process != os.getpid():
                    self._pool = _Pool(os.getpid(), ThreadPoolExecutor(self.threads), threading.Lock())
        lock = self._pool.lock
        is_free = lock.acquire(blocking=False)
        try:
            yield self._pool.threads if is_free else None
        finally:
            if is_free:
                lock.release()

    def run_head(self, *M: np.ndarray, output: str) -> np.ndarray:
        return check_finite(self.head.run(dict(zip(("M", "M2"), M, strict=False)), output))[0]

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

        some = BATCHES_AT_ONCE * self.threads
        for start in range(0, len(batches), some):  # who comes second gets the threads before this one ends
            with self.pool() as pool:
                yield from (map if pool is None else pool.map)(run, batches[start : start + some])

    def _run_single_batch(self, feed: dict[str, np.ndarray], *outputs: str) -> list[np.ndarray]:
        """Run one batch with no other to keep the threads busy: a large one takes two of them."""
        work = self._multiplications_per_word * feed["ids"].size
        with self.pool() if work > TWO_THREADS else nullcontext() as pool:
            if pool is None:
                return self.encoder.run(feed, *outputs)
            return self.directions.run(pool, feed, *outputs)


class Directions:
    """Computes what the encoder's session does, for one batch, with each direction in its own thread.

    They never wait for each other, but ONNX Runtime's operator for both directions runs one after the other,
    however many threads it has.
    """

    def __init__(self, weights: Weights, recipe: ModelRecipe, int8: bool) -> None:
        self.words = {name: weights[name] for name in WORDS if name in weights}
        self.rounded = int8 and len(self.words) == 1
        self.projection = weights.get("projection.W"), weights.get("projection.b")
        self.layers = [
            [Session(direction_graph(weights, k, way, int8)) for way in ("forward", "reverse")]
            for k in range(recipe.layers)
        ]
        self.pooling = Session(pooling_graph(weights, recipe, int8))

    def run(self, pool: Executor, feed: dict[str, np.ndarray], *outputs: str) -> list[np.ndarray]:
        """ids, lengths -> M, A and H, as named. One direction runs in this thread, the other in the pool.

        Word vectors X in `feed` take the place of the table's.
        """
        below = [feed["X"] if "X" in feed else self._words(feed["ids"].T)]  # (n, batch, d)
        for forward, reverse in self.layers:
            given = {"X": np.concatenate(below, axis=2), "lengths": feed["lengths"]}
            backward = pool.submit(reverse.run, given, "Y")
            ahead = forward.run(given, "Y")
            Y = np.concatenate([*ahead, *backward.result()], axis=1)  # (n, 2, batch, u)
            below.append(Y.transpose(0, 2, 1, 3).reshape(*Y.shape[::2], -1))
        return self.pooling.run({"Y": Y, "ids": feed["ids"], "lengths": feed["lengths"]}, *outputs)

    def _words(self, ids: np.ndarray) -> np.ndarray:
        """The word vectors; in int8, unless in 4 bits, rounded as in the int8 table, each with a scale."""
        found = {name: table[ids.ravel()] for name, table in self.words.items()}
        rows = values(found, "words.weight").reshape(*ids.shape, -1)
        if self.rounded:
            integers, scale = quantise(rows)
            rows = np.asarray(integers * scale)
        W, b = self.projection
        return rows if W is None else np.maximum(rows @ W.T + b, 0)
