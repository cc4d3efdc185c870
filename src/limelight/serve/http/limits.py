"""What a request may ask for, and the one error that says what was wrong with it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

PIECE_TEXTS, PIECE_WORDS = 256, 2**14  # of a request that are computed at once; a larger one takes turns
ANSWER_NUMBERS = 2**22  # of an answer: some 80 MB of JSON


@dataclass(frozen=True)
class Limits:
    """The most that one request may have, and how many requests and connections there may be.

    >>> Limits().words, Limits().text_words, Limits().for_large_answers.texts
    (1048576, 16384, 32)
    """

    body: int = 2**23  # bytes
    texts: int = 2**13  # in a request
    words: int = 2**20  # in a request, of all its texts
    waiting: int = 512  # requests for one model
    seconds: float = 30.0  # for a client to send its request
    connections: int = 1024  # of a worker

    @property
    def bodies(self) -> int:
        """Bytes of all requests that a worker has not yet answered."""
        return max(4 * self.body, 64 * min(self.body, 2**21))

    @property
    def text_words(self) -> int:
        """Of one text: it is computed in one piece, and the memory for that grows with its words."""
        return min(self.words, max(PIECE_WORDS, self.words // 64))

    @staticmethod
    def characters_of(words: int) -> int:
        """Of so many words: one may be long, but not all of them."""
        return max(4096, 32 * words)

    @property
    def for_large_answers(self) -> Limits:
        """An eighth of the texts and words of a piece, where an answer has many thousand numbers per text."""
        texts, words = min(self.texts, PIECE_TEXTS) // 8, min(self.words, PIECE_WORDS) // 8
        return replace(self, texts=max(1, texts), words=max(1, words))

    def for_answers_of(self, numbers: int) -> Limits:
        """As many texts as an answer has room for, with so many numbers for each."""
        return replace(self, texts=max(1, min(self.texts, ANSWER_NUMBERS // max(1, numbers))))


CODES = {
    400: "body-invalid", 401: "unauthorized", 403: "forbidden", 404: "not-found", 405: "method",
    408: "timeout", 409: "busy", 413: "too-large", 415: "content-type", 421: "host",
    422: "field-invalid", 424: "model", 429: "overloaded", 500: "internal", 503: "stopping",
}  # fmt: skip
KINDS = {401: "unauthorized", 424: "backend", 429: "overloaded", 500: "backend", 503: "overloaded"}


class RequestError(Exception):
    """A request that is answered with an error: a status, one sentence, a type as clients know it, a code."""

    def __init__(self, status: int, message: str, kind: str = "", code: str = "") -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.kind, self.code = kind or KINDS.get(status, "validation"), code or CODES.get(status, "refused")


def without_flags(message: str) -> str:
    """An error of the library as a client of HTTP can use it: it has fields, not the flags of a command."""
    return re.sub(r";[^;]* '?--[a-z][^;]*$", "", message)


def check_count(count: int, limits: Limits) -> None:
    if not count:
        raise RequestError(400, "there are no texts; give at least one", "empty")
    if count > limits.texts:
        raise RequestError(413, f"the request has {count:,} texts; at most {limits.texts:,} are allowed")
