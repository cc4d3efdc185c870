"""The order of requests that wait, and those whose clients have gone."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import Mock

import pytest

import limelight
import trained
from limelight.serve import create_app
from limelight.serve.api.batching import SHORT_WORDS, Batcher, FairQueue, Job, cut_pieces, estimate_words
from limelight.serve.http.metrics import Metrics

LONG = [("w " * 5 * SHORT_WORDS,)]
SHORT = [("w",)]


def job(words: int, compute: object = None) -> Job:
    return Job(compute, [], words, None)


def order(queue: FairQueue) -> list[list[Job]]:
    return list(iter(queue.take, []))


def test_a_short_one_passes_long_ones_that_wait():
    queue, long, short = FairQueue(0), [job(16_000) for _ in range(4)], job(10)
    for each in (*long, short):
        queue.put(each)
    assert order(queue) == [[short], *([each] for each in long)]


def test_a_long_one_lets_at_most_its_own_words_pass():
    queue, long, passed = FairQueue(0), job(100), 0
    queue.put(long)
    while True:
        queue.put(job(30))
        (taken,) = queue.take()
        if taken is long:
            break
        passed += taken.words
    assert passed == 90


def test_a_batch_is_of_one_kind_and_not_too_large():
    queue, one, other = FairQueue(100), object(), object()
    jobs = [job(40, one), job(41, other), job(42, one), job(43, one), job(44, other)]
    for each in jobs:
        queue.put(each)
    assert order(queue) == [[jobs[0], jobs[2]], [jobs[1], jobs[4]], [jobs[3]]]


def test_what_is_dropped_is_not_taken():
    queue, jobs = FairQueue(0), [job(1), job(1), job(1)]
    for each in jobs:
        queue.put(each)
    assert [queue.drop(jobs[1]), queue.drop(jobs[1]), len(queue)] == [True, False, 2]
    assert order(queue) == [[jobs[0]], [jobs[2]]]


@contextmanager
def held(batcher: Batcher, items: list) -> Iterator[asyncio.Task]:
    """A request that is being computed until the block ends."""
    release = threading.Event()

    def wait(model, items):
        release.wait(60)
        return items

    task = asyncio.get_running_loop().create_task(batcher.run(wait, items))
    try:
        yield task
    finally:
        release.set()


def test_a_short_request_is_answered_while_a_long_one_is_computed():
    async def main():
        batcher = Batcher(None, Metrics())
        with held(batcher, LONG) as long:
            await asyncio.sleep(0)
            found = await batcher.run(lambda model, items: items, SHORT)
            assert not long.done()
        await long
        return found

    assert asyncio.run(main()) == SHORT


def test_what_fails_once_does_not_stop_the_queue(monkeypatch):
    """A thread that cannot be started, and a panic of a library in Rust, which is not an Exception."""

    class PanicError(BaseException):
        pass

    def panics(model, items):
        raise PanicError("boom")

    async def main():
        batcher = Batcher(None, Metrics())
        with monkeypatch.context() as patch:
            patch.setattr(batcher._short._thread, "submit", Mock(side_effect=RuntimeError("no thread")))
            with pytest.raises(RuntimeError, match="no thread"):
                await batcher.run(lambda model, items: items, SHORT)
        with pytest.raises(RuntimeError, match="boom"):
            await batcher.run(panics, SHORT)
        return await batcher.run(lambda model, items: items, SHORT)

    assert asyncio.run(main()) == SHORT


def test_nothing_is_computed_for_those_who_left():
    computed = []

    async def main():
        metrics = Metrics()
        batcher = Batcher(None, metrics)
        with held(batcher, SHORT) as first:
            await asyncio.sleep(0)
            tasks = [asyncio.create_task(batcher.run(compute, [(str(k),)])) for k in range(5)]
            await asyncio.sleep(0)
            for task in tasks[:4]:
                task.cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await asyncio.gather(first, tasks[4])
        return metrics

    def compute(model, items):
        computed.extend(items)
        return items

    assert 'limelight_waiting_requests{model="model"} 0' in asyncio.run(main()).text()
    assert computed == [("4",)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return limelight.Model.load(trained.save(tmp_path_factory.mktemp("model") / "stars"))


class Client:
    """Sends a request for a prediction straight to an application; leaves at once, or never."""

    scope = {  # noqa: RUF012
        "type": "http", "method": "POST", "path": "/predict", "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
    }  # fmt: skip

    def __init__(self, leaves: bool) -> None:
        self.messages = [{"type": "http.disconnect"}] if leaves else []
        self.messages.append({"type": "http.request", "body": b'{"inputs": "w1"}'})
        self.got: list[dict] = []

    async def receive(self) -> dict:
        while not self.messages:
            await asyncio.sleep(0)
        return self.messages.pop()

    async def send(self, message: dict) -> None:
        self.got.append(message)


def test_a_client_that_leaves_is_taken_from_the_queue(model):
    async def main() -> str:
        app, client = create_app({"stars": model}), Client(leaves=True)
        with held(app.state.models.find(None)[1], SHORT) as first:
            await asyncio.sleep(0)
            await app(dict(client.scope), client.receive, client.send)
            text = app.state.metrics.text()
        await first
        assert client.got == []
        return text

    text = asyncio.run(main())
    assert 'limelight_waiting_requests{model="stars"} 0' in text
    assert 'limelight_requests_total{route="/predict",status="499"} 1' in text


def test_a_request_that_waits_when_the_server_stops_is_told_so(model):
    async def main() -> list[dict]:
        app, client = create_app({"stars": model}), Client(leaves=False)
        with held(app.state.models.find(None)[1], SHORT) as first:
            task = asyncio.create_task(app(dict(client.scope), client.receive, client.send))
            while 'waiting_requests{model="stars"} 1' not in app.state.metrics.text():
                await asyncio.sleep(0)
            task.cancel()
            await task
        await first
        return client.got

    start, body = asyncio.run(main())
    assert (start["status"], json.loads(body["body"])["code"]) == (503, "stopping")


def test_items_are_cut_into_pieces_by_number_and_by_words():
    assert [len(piece) for piece in cut_pieces([("soup",)] * 600)] == [256, 256, 88]
    assert [len(piece) for piece in cut_pieces([("x" * 5 * 2**13,)] * 3)] == [2, 1]
    assert (estimate_words([("The soup is cold.",)]), estimate_words([("汤很冷",)])) == (3, 3)
