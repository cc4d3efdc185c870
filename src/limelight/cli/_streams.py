"""Standard output and standard error, in any locale, even closed or full; no text controls a terminal."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

from ..errors import LimelightError

GONE = (OSError, ValueError)  # full or a broken pipe; closed
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@contextlib.contextmanager
def utf8_streams() -> Iterator[None]:
    """Print any text whatever the locale says, and progress wherever it can be shown."""
    _reserve_descriptors()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stderr(cast("TextIO", NeverFailingStream(sys.stderr))))
        if sys.stdout is not None and sys.stdout.isatty():  # files and pipes get the text as it is
            stack.enter_context(contextlib.redirect_stdout(cast("TextIO", TerminalStream(sys.stdout))))
        yield


def visible(text: str) -> str:
    """Replace what would control a terminal (escapes, carriage returns, bidi overrides) by stand-ins.

    A progress bar's own controls stay: a return at either end, or nothing but moves of the cursor.

    >>> visible("red: \\x1b[31m, \\u202eflipped"), visible("\\r 40%")
    ('red: ␛[31m, \ufffdflipped', '\\r 40%')
    """
    if not _UNSAFE.search(text) or re.fullmatch(r"(\x1b\[A|\n)+", text):
        return text
    from ..reading.pieces import FOR_TERMINALS, printable

    inner = text.removeprefix("\r").removesuffix("\r")
    before = "\r" * text.startswith("\r")
    after = text[len(before) + len(inner) :]
    return before + printable(inner).translate(FOR_TERMINALS) + after


def print_painted(text: str) -> None:
    """Print text that has our own colours in it, and from which all other controls are already gone."""
    print(text, file=getattr(sys.stdout, "unfiltered", sys.stdout))


@contextlib.contextmanager
def require_output(args: argparse.Namespace) -> Iterator[None]:
    """With standard output closed, a command needs another place for its result."""
    if sys.stdout is not None:
        yield
        return
    elsewhere = ("out", "resume", "at_least")  # a file, a folder, the exit code
    if all(getattr(args, name, None) is None for name in elsewhere):
        raise LimelightError("standard output is closed; redirect it to a file: > FILE", code="stream-closed")
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


def discard_unwritten() -> None:
    """Drop what standard error has not taken: at exit it would change the exit code."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except ValueError:  # closed, so empty
        return
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


class TerminalStream:
    """A terminal that texts cannot control."""

    def __init__(self, terminal: TextIO) -> None:
        self.unfiltered = terminal

    def write(self, text: str) -> int:
        """Write what is visible."""
        return self.unfiltered.write(visible(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unfiltered, name)


class NeverFailingStream:
    """A stream for visible messages that may be closed, full or gone: writing to it never fails."""

    def __init__(self, stream: TextIO | None) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write what can be written."""
        if self.stream is not None:
            with contextlib.suppress(*GONE):
                self.stream.write(visible(text))
        return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        if self.stream is not None:
            with contextlib.suppress(*GONE):
                self.stream.flush()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self.stream is not None and not self.stream.closed and self.stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _reserve_descriptors() -> None:
    """Keep files from getting the descriptor of a closed stream, into which libraries may print."""
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(handle)
