"""What a request may ask for, and the one error that says what was wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Limits:
    """The most that one request may have, and how many requests and connections there may be.

    >>> Limits(texts=32).words
    16384
    """

    body: int = 2**21  # bytes
    texts: int = 256  # in a request
    words: int = 2**14  # in a request, of all its texts
    waiting: int = 512  # requests for one model
    seconds: float = 30.0  # for a client to send its request
    connections: int = 1024  # of a worker

    @property
    def bodies(self) -> int:
        """Bytes of all requests that a worker has not yet answered."""
        return 64 * self.body

    @property
    def characters(self) -> int:
        """Of all texts of a request: a word may be long, but not all of them."""
        return max(4096, 32 * self.words)

    @property
    def for_large_answers(self) -> Limits:
        """An eighth of the texts and words, where an answer has many thousand numbers per text."""
        return replace(self, texts=max(1, self.texts // 8), words=max(1, self.words // 8))


CODES = {
    400: "body-invalid", 401: "unauthorized", 404: "not-found", 405: "method", 408: "timeout",
    413: "too-large", 415: "content-type", 421: "host", 422: "field-invalid", 424: "model",
    429: "overloaded", 500: "internal", 503: "stopping",
}  # fmt: skip
KINDS = {401: "unauthorized", 424: "backend", 429: "overloaded", 500: "backend", 503: "overloaded"}


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


def check_count(count: int, limits: Limits) -> None:
    """Raise if a request has no texts, or too many."""
    if not count:
        raise RequestError(400, "there are no texts; give at least one", "empty")
    if count > limits.texts:
        raise RequestError(413, f"the request has {count:,} texts; at most {limits.texts:,} are allowed")
