"""A process that splits texts into words: what it reads and writes, and its loop.

Each message is one or several blocks of bytes, each after its size. A question is one block, the texts; an
answer is three, as in `NumberedWords`. NUL characters, which no text of a table has, stand between texts and
between words. The process ends when its input does.
"""

from __future__ import annotations

import json
import signal
import sys
from contextlib import suppress
from typing import IO

from .numbering import NumberedWords, number_words


def main() -> None:
    """Answer the questions on standard input, after a message with the options of `number_words`."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # nobody is left to answer: end without a word
    options = json.loads(receive(sys.stdin.buffer))
    with suppress(EOFError):
        while True:
            texts = receive(sys.stdin.buffer).decode("utf-8", "surrogatepass").split("\0")
            found = number_words(texts, **options)
            send(sys.stdout.buffer, "\0".join(found.words).encode(), found.numbers, found.lengths)


def ask(question: IO[bytes], answer: IO[bytes], texts: list[str]) -> NumberedWords:
    """Let the process behind two pipes number the words of some texts."""
    send(question, "\0".join(texts).encode("utf-8", "surrogatepass"))
    words, numbers, lengths = receive(answer), receive(answer), receive(answer)
    return NumberedWords(words.decode().split("\0"), numbers, lengths)


def send(pipe: IO[bytes], *blocks: bytes) -> None:
    for block in blocks:
        pipe.write(len(block).to_bytes(8, "little"))
        pipe.write(block)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes:
    """Read a block; EOFError if the other side has ended."""
    return _read(pipe, int.from_bytes(_read(pipe, 8), "little"))


def _read(pipe: IO[bytes], size: int) -> bytes:
    found = pipe.read(size)
    if len(found) < size:
        raise EOFError
    return found
