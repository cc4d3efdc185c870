"""Bodies that arrive: one limit for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from limelight.serve.http.limits import Limits, RequestError
from limelight.serve.http.posts import HeldBodies

LIMITS = Limits(body=100)  # 6,400 bytes for all


class FakeRequest:
    """A request whose body comes when it is let."""

    headers = {"content-type": "application/json"}  # noqa: RUF012

    def __init__(self, content: bytes, is_whole: bool) -> None:
        self.content, self.rest = content, asyncio.Event()
        if is_whole:
            self.rest.set()

    async def stream(self) -> AsyncIterator[bytes]:
        yield self.content
        await self.rest.wait()


async def hold(bodies: HeldBodies, request: FakeRequest, release: asyncio.Event) -> bytes | int:
    """The body, or the status of the error."""
    try:
        async with bodies.read(request) as content:
            await release.wait()
            return content
    except RequestError as error:
        return error.status


def run(*requests: tuple[int, bool]) -> tuple[list, list[int]]:
    """The results of requests of so many bytes, whole or stalled, and the bytes held before and after."""

    async def main():
        bodies, release = HeldBodies(LIMITS), asyncio.Event()
        made = [FakeRequest(b"x" * size, whole) for size, whole in requests]
        tasks = [asyncio.create_task(hold(bodies, each, release)) for each in made]
        for _ in range(20):
            await asyncio.sleep(0)
        before = bodies.bytes
        release.set()
        for each in made:
            each.rest.set()
        return await asyncio.gather(*tasks), [before, bodies.bytes]

    return asyncio.run(main())


def test_requests_in_progress_are_never_dropped():
    found, held = run(*[(100, True)] * 64, (1, True))
    assert [found[-1], found.count(429)] == [429, 1]
    assert held == [6400, 0]


@pytest.mark.parametrize(("size", "status"), [(100, b"x" * 100), (101, 413)])
def test_one_body_has_a_limit_of_its_own(size, status):
    assert run((size, True)) == ([status], [size if size == 100 else 0, 0])
