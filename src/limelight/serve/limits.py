"""What a request may ask for, and the one error that says what was wrong with it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from starlette.requests import Request


@dataclass(frozen=True)
class Limits:
    """The most that one request may have, and how many requests may wait.

    >>> Limits(texts=32).words
    16384
    """

    body: int = 2**21  # bytes
    texts: int = 256  # in a request
    words: int = 2**14  # in a request, of all its texts
    waiting: int = 512  # requests for one model
    seconds: float = 30.0  # for a client to send its request

    @property
    def for_large_answers(self) -> Limits:
        """An eighth of the texts and words, where an answer has many thousand numbers per text."""
        return replace(self, texts=max(1, self.texts // 8), words=max(1, self.words // 8))


CODES = {
    400: "body-invalid", 401: "unauthorized", 404: "not-found", 405: "method", 408: "timeout",
    413: "too-large", 415: "content-type", 422: "field-invalid", 424: "model", 429: "overloaded",
    500: "internal",
}  # fmt: skip
KINDS = {401: "unauthorized", 424: "backend", 429: "overloaded", 500: "backend"}


class RequestError(Exception):
    """A request that gets an error as its answer: a status, one sentence, a type as clients know it, a code.

    >>> error = RequestError(413, "too many texts")
    >>> error.kind, error.code
    ('validation', 'too-large')
    """

    def __init__(self, status: int, message: str, kind: str = "", code: str = "") -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.kind, self.code = kind or KINDS.get(status, "validation"), code or CODES.get(status, "refused")


async def read_body(request: Request, limits: Limits) -> bytes:
    """The body of a request; one that is too large is refused before all of it is read."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestError(415, "the body must be JSON: send the header Content-Type: application/json")
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > limits.body:
        raise _too_large(limits)
    body = bytearray()
    try:
        async with asyncio.timeout(limits.seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limits.body:
                    raise _too_large(limits)
    except TimeoutError:
        raise RequestError(408, f"the request was not complete after {limits.seconds:g} seconds") from None
    return bytes(body)


def check_count(count: int, limits: Limits) -> None:
    """Raise if a request has no texts, or too many."""
    if not count:
        raise RequestError(400, "there are no texts; give at least one", "empty")
    if count > limits.texts:
        raise RequestError(413, f"the request has {count:,} texts; at most {limits.texts:,} are allowed")


def _too_large(limits: Limits) -> RequestError:
    return RequestError(413, f"the body is too large; at most {limits.body:,} bytes are allowed")
