"""Routes that take JSON and answer with JSON: what they share, and what becomes of a client that leaves."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import numpy as np
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ...errors import LimelightError
from .bodies import Body, parse_body
from .fields import Fields
from .limits import Limits, RequestError, without_flags

# Numbers, words or characters written at once: a thread lets others run only between two pieces.
PIECE = 2**12
LARGE_REQUESTS = 4  # of more than a piece, which a worker has in memory at once, until their answers are read
SENT_BYTES = 2**22  # at once, of the answer to a large request
NO_FAULTS: Mapping[str, int] = {}
ADVICE = {"row-unusable": "; correct this row or leave it out", "key-exists": "; /update replaces such rows"}
Answer = Callable[[Request, Body], Awaitable[Any]]


class Workers:
    """Threads for what would hold up the event loop, and how many calls may wait for them."""

    def __init__(self, threads: int, most: int) -> None:
        self._pool, self._most, self._calls = ThreadPoolExecutor(threads), most, 0

    async def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call it in a thread; if nobody waits for it any more before it begins, not at all."""
        if self._calls >= self._most:
            raise RequestError(429, "too many requests are waiting; try again later")
        self._calls += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, function, *args)
        finally:
            self._calls -= 1


class HeldBodies:
    """The bodies of requests as they arrive, and how many bytes of them a worker may have at once."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.bytes = limits, 0

    @asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[bytes]:
        """The body of a request, which counts until the block ends."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RequestError(415, "the body must be JSON: send the header Content-Type: application/json")
        announced, body = request.headers.get("content-length", ""), bytearray()
        if announced.isdecimal() and int(announced[:20]) > self.limits.body:
            raise _too_large(self.limits)
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


def _too_large(limits: Limits) -> RequestError:
    return RequestError(413, f"the body is too large; at most {limits.body:,} bytes are allowed")


class Posts:
    """What all such routes of an application share."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.workers = limits, Workers(2, limits.waiting)
        self._large = asyncio.Semaphore(LARGE_REQUESTS)
        self._bodies = HeldBodies(limits)

    def route(
        self, path: str, answer: Answer, fields: Fields | None = None, faults: Mapping[str, int] = NO_FAULTS
    ) -> Route:
        """A route whose answer is what the function gives, as JSON.

        Without `fields`, it checks the body itself. `faults` has the status of errors that are the request's,
        by their code.
        """

        async def endpoint(request: Request) -> Response:
            async with AsyncExitStack() as request.state.held, self._bodies.read(request) as content:
                body = parse_body(content)
                del content
                body = fields.check(body, path) if fields else body
                try:
                    return await _while_connected(request, self._answer(answer, request, body))
                except LimelightError as error:
                    message = without_flags(str(error)) + ADVICE.get(error.code, "")
                    raise RequestError(faults.get(error.code, 424), message, code=error.code) from None

        endpoint.__doc__ = answer.__doc__
        return Route(path, endpoint, methods=["POST"])

    async def wait_as_large(self, request: Request) -> None:
        """Wait until few enough other large requests are in memory; it counts until its answer is read."""
        await request.state.held.enter_async_context(self._large)
        request.state.is_large = True

    async def _answer(self, answer: Answer, request: Request, body: Body) -> Response:
        content = await to_json(await answer(request, body), self.workers)
        if getattr(request.state, "is_large", False):
            return HeldResponse(content, request.state.held.pop_all())
        return Response(content, media_type="application/json")


class HeldResponse(Response):
    """An answer that holds something until the client has read it."""

    media_type = "application/json"

    def __init__(self, content: bytes, held: AsyncExitStack) -> None:
        super().__init__(content)
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it in parts: a part is taken once the client has read the one before."""
        async with self._held:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            for start in range(0, len(self.body), SENT_BYTES):
                part = self.body[start : start + SENT_BYTES]
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _while_connected(request: Request, work: Coroutine[Any, Any, Response]) -> Response:
    """The result of the work, which is cancelled when the client leaves."""
    working, leaving = asyncio.create_task(work), asyncio.create_task(_leave(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _leave(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def to_json(answer: Any, workers: Workers) -> bytes:
    """JSON in ASCII, which holds any text, even one that is not Unicode.

    A large answer is written in a thread; one that takes long to make may be a function that makes it.
    """
    if not callable(answer) and is_small(answer):
        return _dump(answer).encode()
    written: bytes = await workers.run(
        lambda: "".join(_pieces(answer() if callable(answer) else answer)).encode()
    )
    return written


def is_small(value: Any) -> bool:
    """Whether a value has so few numbers, texts and characters that its JSON takes no time to speak of."""
    left, found = PIECE, [value]
    while found and left > 0:
        each = found.pop()
        left -= 1
        if isinstance(each, dict):
            found += each.values()
        elif isinstance(each, list | tuple):
            left -= len(each)
            found += () if each and isinstance(each[0], int | float) else each[:PIECE]  # numbers, all of them
        elif isinstance(each, str | np.ndarray):
            left -= len(each) if isinstance(each, str) else each.size
    return left > 0


def _pieces(value: Any) -> Iterator[str]:
    """The JSON of a value, little by little."""
    if is_small(value) or not isinstance(value, dict | list | tuple | np.ndarray):
        yield _dump(value)
    elif isinstance(value, dict):
        for k, (name, each) in enumerate(value.items()):
            yield f"{',' if k else '{'}{json.dumps(name)}:"
            yield from _pieces(each)
        yield "}"
    else:
        yield "["
        yield from _elements(value)
        yield "]"


def _elements(values: Any) -> Iterator[str]:
    if is_small(values):
        yield _dump(values)[1:-1]
    elif len(values) == 1:
        yield from _pieces(values[0])
    else:
        half = len(values) // 2
        yield from _elements(values[:half])
        yield ","
        yield from _elements(values[half:])


def _dump(value: Any) -> str:
    """JSON as everybody reads it, which has no NaN."""
    try:
        return json.dumps(value, separators=(",", ":"), default=np.ndarray.tolist, allow_nan=False)
    except ValueError:
        fault = "the answer has numbers that are not finite"
        raise LimelightError(fault, code="not-finite") from None
