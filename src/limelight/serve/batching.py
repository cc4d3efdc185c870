"""Requests that wait for the same model, joined into batches.

Nothing waits on purpose: a request is computed at once if the model is idle; those that arrive meanwhile are
computed together when it is done. The same text has the same answer in any batch.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .computing import Item, estimate_words
from .limits import RequestError
from .metrics import Metrics

Compute = Callable[[Any, list[Item]], Any]  # (model, items) -> a sequence with a result for each
BATCH_WORDS = 4096  # four batches of the runner: with fewer, some of its threads have nothing to do


@dataclass(frozen=True, eq=False)
class Job:
    """The items of one request, and where its results go."""

    compute: Compute
    items: list[Item]
    words: int  # about
    future: asyncio.Future[Sequence[Any]]


class Batcher:
    """A model, the requests that wait for it, and a thread that computes them. It belongs to an event loop.

    >>> batcher = Batcher("!", Metrics())
    >>> shout = lambda model, items: [text.upper() + model for (text,) in items]
    >>> asyncio.run(batcher.run(shout, [("hello",), ("there",)]))
    ['HELLO!', 'THERE!']
    """

    def __init__(
        self, model: Any, metrics: Metrics, batch_words: int = BATCH_WORDS, most: int = 512, sha256: str = ""
    ) -> None:
        self.model, self.sha256 = model, sha256
        self._metrics, self._batch_words, self._most = metrics, batch_words, most
        self._waiting: list[Job] = []
        self._lock, self._busy = threading.Lock(), False
        self._thread = ThreadPoolExecutor(1)

    async def run(self, compute: Compute, items: list[Item]) -> Sequence[Any]:
        """The results of the items, computed together with those of other requests."""
        future = asyncio.get_running_loop().create_future()
        job = Job(compute, items, estimate_words(items) + len(items), future)
        with self._lock:
            if len(self._waiting) >= self._most:
                raise RequestError(429, "too many requests are waiting; try again later")
            self._waiting.append(job)
            idle, self._busy = not self._busy, True
        self._metrics.add("waiting_requests", 1)
        if idle:
            self._thread.submit(self._work)
        return await job.future

    def _work(self) -> None:
        """Compute batches until no request waits."""
        while jobs := self._next():
            results = self._compute(jobs)
            with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits for the answer
                jobs[0].future.get_loop().call_soon_threadsafe(_deliver, jobs, results)

    def _next(self) -> list[Job]:
        """Take the request that waits longest, and others that ask for the same, as many as a batch holds."""
        with self._lock:
            chosen, left = self._waiting[:1], list[Job]()
            words = sum(job.words for job in chosen)
            for job in self._waiting[1:]:
                fits = job.compute is chosen[0].compute and words + job.words <= self._batch_words
                words += job.words if fits else 0
                (chosen if fits else left).append(job)
            self._waiting, self._busy = left, bool(chosen)
        self._metrics.add("waiting_requests", -len(chosen))
        return chosen

    def _compute(self, jobs: list[Job]) -> list[Any]:
        """The results of each job, or its exception; a job that fails does not fail the others."""
        items = [item for job in jobs for item in job.items]
        try:
            results = jobs[0].compute(self.model, items)
        except Exception as error:
            return [error] if len(jobs) == 1 else [self._compute([job])[0] for job in jobs]
        self._metrics.add("batches_total", 1)
        self._metrics.add("texts_total", len(items))
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
