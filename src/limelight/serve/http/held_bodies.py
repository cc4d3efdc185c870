"""The bodies of requests as they arrive, and how many bytes of them there may be at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request

from .limits import Limits, RequestError


class HeldBodies:
    """All bodies of a worker."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.bytes = limits, 0

    @asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[bytes]:
        """The body of a request, which counts until the block ends."""
        _check_headers(request, self.limits)
        body = bytearray()
        try:
            await self._receive(request, body)
            yield bytes(body)
        finally:
            self.bytes -= len(body)

    async def _receive(self, request: Request, body: bytearray) -> None:
        try:
            async with asyncio.timeout(self.limits.seconds):
                async for chunk in request.stream():
                    body += chunk
                    self.bytes += len(chunk)
                    if len(body) > self.limits.body:
                        raise _too_large(self.limits)
                    if self.bytes > self.limits.bodies:
                        raise RequestError(429, "too many large requests are in progress; try again later")
        except TimeoutError:
            fault = f"the request was not complete after {self.limits.seconds:g} seconds"
            raise RequestError(408, fault) from None


def _check_headers(request: Request, limits: Limits) -> None:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestError(415, "the body must be JSON: send the header Content-Type: application/json")
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > limits.body:
        raise _too_large(limits)


def _too_large(limits: Limits) -> RequestError:
    return RequestError(413, f"the body is too large; at most {limits.body:,} bytes are allowed")
