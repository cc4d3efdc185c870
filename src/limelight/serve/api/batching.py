"""What requests ask a model for; those that wait for the same model are joined, the short ones first.

Nothing waits on purpose: a request is computed at once if the model is idle; those that arrive meanwhile are
computed together when it is done. The same text has the same answer in any batch.
"""

import asyncio
import threading
from bisect import insort
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from ...errors import conflict
from ...explain import joint_words
from ...reading.comparison import Comparison
from ...reading.reading import AnyReading
from ...runtime.model import Model
from ...runtime.onnx_runner import BATCH_WORDS as RUNNER_WORDS
from ...runtime.reader import Reader
from ..http.bodies import Item
from ..http.limits import PIECE_TEXTS, PIECE_WORDS, RequestError
from ..http.metrics import WAITING, Metrics, labelled

Compute = Callable[[Any, list[Item]], Any]  # (model, items) -> a sequence with a result for each
SHORT_WORDS = 1024  # of a request: it does not wait for longer ones
BATCH_WORDS = 4096  # four batches of the runner: with fewer, some of its threads have nothing to do
AnyModel = Model | Reader
CHARACTERS = 5  # of a word: to count words exactly would cost more than it gains
BATCH_PARTS = 4  # of a joined batch, by length: little is padding, and every thread has some


def predictions(model: Model, items: list[Item]) -> np.ndarray:
    """(items, classes)."""
    return model.predict_proba(*columns(items), batch_words=_batch_words(items))


def vectors(model: AnyModel, items: list[Item]) -> np.ndarray:
    """(items, size): a reader's vector, before it is scaled to length 1, or a classifier's M, flat."""
    (texts,) = columns(items)
    if isinstance(model, Reader):
        batch_size = max(4, len(texts) // BATCH_PARTS)
        return np.asarray(model.encode(texts, batch_size, normalize_embeddings=False))
    return model.embed(texts, flat=True, batch_words=_batch_words(items))


def matrices(model: AnyModel, items: list[Item]) -> np.ndarray:
    """(items, r, 2u): M."""
    return model.embed(*columns(items), batch_words=_batch_words(items))


def readings(model: AnyModel, items: list[Item], joint: bool = False, **how: Any) -> Sequence[AnyReading]:
    """A Reading of each text, or a PairReading; with `joint`, with the words that are read together."""
    if isinstance(model, Reader):
        if joint or how:
            fault = "without_rows, against, label and joint are for classifiers; this model is a reader"
            raise conflict(fault)
        return [model.read(text) for (text,) in items]
    found = model.read_many(*columns(items), **how)
    return [joint_words(model, each) for each in found] if joint else found


def comparisons(model: AnyModel, items: list[Item]) -> list[Comparison]:
    return model.compare_many(*columns(items))


def _batch_words(items: list[Item]) -> int:
    return min(RUNNER_WORDS, max(64, estimate_words(items) // BATCH_PARTS))


def columns(items: Sequence[Item]) -> list[list[str]]:
    """The texts of all items, and of pairs their second texts."""
    return [list(column) for column in zip(*items, strict=True)]


def cut_pieces(items: list[Item]) -> list[list[Item]]:
    """The items in pieces, computed one after another, so that others have their turn between them."""
    pieces, words = [list[Item]()], 0
    for item in items:
        more = estimate_words([item])
        if pieces[-1] and (len(pieces[-1]) == PIECE_TEXTS or words + more > PIECE_WORDS):
            pieces.append([])
            words = 0
        pieces[-1].append(item)
        words += more
    return pieces


def estimate_words(items: Sequence[Item]) -> int:
    """About how many words the items have; of text that is not ASCII, at most: each character may be one."""
    texts = [text for item in items for text in item]
    return sum(len(text) // (CHARACTERS if text.isascii() else 1) for text in texts)


@dataclass(frozen=True, eq=False)
class Job:
    """The items of one request, and where its results go."""

    compute: Compute
    items: list[Item]
    words: int  # about
    future: asyncio.Future[Sequence[Any]]


class FairQueue:
    """Jobs that wait. Of the words that come after it, a job lets pass at most as many as its own.

    So a short one passes long ones, and a long one does not wait for ever.
    """

    def __init__(self, batch_words: int) -> None:
        self._batch_words = batch_words
        self._waiting: list[tuple[int, Job]] = []  # in their order
        self._taken = 0  # words so far

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, job: Job) -> None:
        insort(self._waiting, (self._taken + job.words, job), key=itemgetter(0))

    def drop(self, job: Job) -> bool:
        """Remove a job; whether it still waited."""
        before = len(self._waiting)
        self._waiting = [each for each in self._waiting if each[1] is not job]
        return len(self._waiting) < before

    def take(self) -> list[Job]:
        """The next job, and others that ask for the same, as many as a batch holds; none if none waits."""
        chosen, left, words = list[Job](), list[tuple[int, Job]](), 0
        for turn, job in self._waiting:
            same = not chosen or job.compute is chosen[0].compute
            if same and (not chosen or words + job.words <= self._batch_words):
                chosen.append(job)
                words += job.words
            else:
                left.append((turn, job))
        self._waiting, self._taken = left, self._taken + words
        return chosen


class Lane(FairQueue):
    """A queue, and a thread that computes what waits in it."""

    def __init__(self, batch_words: int) -> None:
        super().__init__(batch_words)
        self._lock, self._busy = threading.Lock(), False
        self._thread = ThreadPoolExecutor(1)

    def submit(self, job: Job, compute: Callable[[list[Job]], None]) -> None:
        with self._lock:
            self.put(job)
            idle, self._busy = not self._busy, True
        if not idle:
            return
        try:
            self._thread.submit(self._work, compute)
        except BaseException:  # no thread could be started: the next request tries again
            with self._lock:
                super().drop(job)
                self._busy = False
            raise

    def drop(self, job: Job) -> bool:
        with self._lock:
            return super().drop(job)

    def _work(self, compute: Callable[[list[Job]], None]) -> None:
        while True:
            with self._lock:
                jobs = self.take()
                self._busy = bool(jobs)
            if not jobs:
                return
            compute(jobs)


class Batcher:
    """A model, the requests that wait for it, and threads that compute them. It belongs to an event loop.

    Short requests have a thread of their own: even a single text can be so long that it takes seconds.
    """

    def __init__(
        self, model: Any, metrics: Metrics, batch_words: int = BATCH_WORDS, most: int = 512, sha256: str = "",
        name: str = "model",
    ) -> None:  # fmt: skip
        self.model, self.sha256, self.name = model, sha256, name
        self._metrics, self._most = metrics, most
        for each in (WAITING, "batches_total", "texts_total"):
            self._count(each, 0)
        self._short, self._long = Lane(batch_words), Lane(batch_words)

    @property
    def is_full(self) -> bool:
        """Whether so many requests wait that another one would be refused."""
        return len(self._short) + len(self._long) >= self._most

    def _count(self, name: str, amount: int) -> None:
        self._metrics.add(labelled(name, model=self.name), amount)

    async def run(self, compute: Compute, items: list[Item]) -> Sequence[Any]:
        """The results of the items, computed together with others; not if it is cancelled before."""
        if self.is_full:
            raise RequestError(429, "too many requests are waiting; try again later")
        future = asyncio.get_running_loop().create_future()
        job = Job(compute, items, estimate_words(items) + len(items), future)
        lane = self._short if job.words <= SHORT_WORDS else self._long
        lane.submit(job, self._work)
        self._count(WAITING, 1)
        try:
            return await job.future
        finally:
            if job.future.cancelled() and lane.drop(job):
                self._count(WAITING, -1)

    def _work(self, jobs: list[Job]) -> None:
        self._count(WAITING, -len(jobs))
        results = self._compute(jobs)
        with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits for the answer
            jobs[0].future.get_loop().call_soon_threadsafe(_deliver, jobs, results)

    def _compute(self, jobs: list[Job]) -> list[Any]:
        """The results of each job, or its exception; a job that fails does not fail the others."""
        items = [item for job in jobs for item in job.items]
        try:
            results = jobs[0].compute(self.model, items)
        except BaseException as raised:  # also a panic of a library in Rust: the thread must live on
            error = raised if isinstance(raised, Exception) else RuntimeError(repr(raised))
            return [error] if len(jobs) == 1 else [self._compute([job])[0] for job in jobs]
        self._count("batches_total", 1)
        self._count("texts_total", len(items))
        found, start = [], 0
        for job in jobs:
            found.append(results[start : start + len(job.items)])
            start += len(job.items)
        return found


def _deliver(jobs: list[Job], results: list[Any]) -> None:
    for job, result in zip(jobs, results, strict=True):
        if job.future.done():  # cancelled: the server stops, or the client has gone
            continue
        if isinstance(result, Exception):
            job.future.set_exception(result)
        else:
            job.future.set_result(result)
