"""Answers as JSON, large ones little by little, and the threads that write them."""

from __future__ import annotations

import asyncio
import json
import threading

import httpx2
import numpy as np
import pytest
from starlette.applications import Starlette

from limelight.serve.http.guard import refuse
from limelight.serve.http.limits import Limits, RequestError
from limelight.serve.http.posts import LARGE_REQUESTS, PIECE, SENT_BYTES, Posts, Workers, _pieces, to_json
from refusing import refuses

LARGE = {
    "texts": ["soup" * k for k in range(200)],
    "matrix": np.arange(30_000, dtype=np.float32).reshape(3, 100, 100),
    "numbers": list(range(20_000)),
    "pairs": [[k, k + 1] for k in range(5000)],
    "mixed": [("soup", 0.5, None), {"é\ud800": [True, {}]}, [], "x" * 10_000] * 3,
    "empty": {},
}


@pytest.mark.parametrize("answer", [LARGE, [LARGE] * 2, lambda: LARGE, [], {}, "x", None, [np.zeros((0, 3))]])
def test_json_is_the_same_in_pieces(answer):
    value = answer() if callable(answer) else answer
    found = asyncio.run(to_json(answer, Workers(1, 1)))
    assert found.decode() == json.dumps(value, separators=(",", ":"), default=np.ndarray.tolist)


@pytest.mark.parametrize("answer", [float("nan"), [np.array([0.5, np.inf])], np.full(10_000, np.nan)])
def test_what_no_browser_could_read_is_refused(answer):
    with refuses("not-finite"):
        asyncio.run(to_json(answer, Workers(1, 1)))


def test_pieces_are_small():
    sizes = [len(piece) for piece in _pieces(LARGE)]
    assert max(sizes) <= 20 * PIECE  # a number has so many digits at most
    assert len(sizes) > 20


def test_large_answers_are_written_in_a_thread_and_small_ones_at_once():
    async def main():
        used = []

        def make():
            used.append(threading.current_thread() is threading.main_thread())
            return "soup"

        class NoThreads(Workers):
            async def run(self, *args):
                raise AssertionError

        await to_json(make, Workers(1, 1))
        await to_json([{"score": 0.5, "label": "good"}] * 5, NoThreads(1, 1))
        with pytest.raises(AssertionError):
            await to_json(np.zeros(10_000), NoThreads(1, 1))
        return used

    assert asyncio.run(main()) == [False]


def test_only_so_many_calls_wait_and_those_nobody_waits_for_are_not_made():
    called = []

    async def main():
        workers, release = Workers(threads=1, most=3), threading.Event()
        first = asyncio.create_task(workers.run(release.wait, 60))
        second, third = (asyncio.create_task(workers.run(called.append, k)) for k in range(2))
        await asyncio.sleep(0)
        with pytest.raises(RequestError) as refused:
            await workers.run(called.append, 2)
        second.cancel()
        await asyncio.sleep(0)
        release.set()
        await asyncio.gather(first, third)
        return refused.value.status

    assert asyncio.run(main()) == 429
    assert called == [1]


def test_few_large_requests_are_in_memory_at_once_and_all_are_answered():
    posts, begun = Posts(Limits()), []

    async def main():
        gate = asyncio.Event()

        async def answer(request, body):
            await posts.wait_as_large(request)
            begun.append(body["number"])
            await gate.wait()
            if body["number"] == 0:
                raise RequestError(422, "wrong")  # it must not keep its place
            return "x" * (SENT_BYTES + 1)

        app = Starlette(routes=[posts.route("/", answer)], exception_handlers={RequestError: refuse})
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://x") as client:
            asked = [asyncio.create_task(client.post("/", json={"number": k})) for k in range(9)]
            while len(begun) < LARGE_REQUESTS:
                await asyncio.sleep(0)
            for _ in range(50):
                await asyncio.sleep(0)
            before = len(begun)
            gate.set()
            return before, await asyncio.gather(*asked)

    before, answers = asyncio.run(main())
    assert (before, sorted(begun)) == (LARGE_REQUESTS, list(range(9)))
    assert [each.status_code for each in answers] == [422, *[200] * 8]
    assert all(len(each.json()) == SENT_BYTES + 1 for each in answers[1:])
