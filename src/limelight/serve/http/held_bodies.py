"""The bodies of requests as they arrive, and how many bytes of them there may be at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from starlette.requests import Request

from .limits import Limits, RequestError


@dataclass(eq=False)
class _Body:
    content: bytearray = field(default_factory=bytearray)
    size: int = 0  # bytes that count, until the request is answered
    clock: asyncio.Timeout = field(default_factory=lambda: asyncio.timeout(None))
    is_dropped: bool = False


class HeldBodies:
    """All bodies of a worker. If they are too many bytes, those that began to arrive first are dropped.

    Clients that send a body and never its end so take the place of each other, not of anyone else.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits, self.bytes = limits, 0
        self._arriving: dict[_Body, None] = {}  # those that began first come first

    @asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[bytes]:
        """The body of a request, which counts until the block ends."""
        _check_headers(request, self.limits)
        body = _Body()
        try:
            yield await self._receive(request, body)
        finally:
            self.bytes -= body.size

    async def _receive(self, request: Request, body: _Body) -> bytes:
        self._arriving[body] = None
        try:
            async with body.clock:
                body.clock.reschedule(asyncio.get_running_loop().time() + self.limits.seconds)
                async for chunk in request.stream():
                    self._add(body, chunk)
        except TimeoutError:
            if not body.is_dropped:
                fault = f"the request was not complete after {self.limits.seconds:g} seconds"
                raise RequestError(408, fault) from None
        finally:
            self._arriving.pop(body, None)
        if body.is_dropped:  # perhaps when all of it had just come
            raise _crowded()
        content, body.content = body.content, bytearray()
        return bytes(content)

    def _add(self, body: _Body, chunk: bytes) -> None:
        if body.is_dropped:
            raise _crowded()
        body.content += chunk
        body.size += len(chunk)
        self.bytes += len(chunk)
        if body.size > self.limits.body:
            raise _too_large(self.limits)
        while self.bytes > self.limits.bodies:
            oldest = next(iter(self._arriving))
            self._drop(oldest)
            if oldest is body:
                raise _crowded()

    def _drop(self, body: _Body) -> None:
        del self._arriving[body]
        self.bytes -= body.size
        body.size, body.is_dropped = 0, True
        body.content.clear()
        if not body.clock.expired():
            body.clock.reschedule(asyncio.get_running_loop().time())


def _check_headers(request: Request, limits: Limits) -> None:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestError(415, "the body must be JSON: send the header Content-Type: application/json")
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > limits.body:
        raise _too_large(limits)


def _too_large(limits: Limits) -> RequestError:
    return RequestError(413, f"the body is too large; at most {limits.body:,} bytes are allowed")


def _crowded() -> RequestError:
    return RequestError(429, "too many large requests are in progress; try again later")
