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

GONE = (OSError, ValueError, AttributeError)  # full or a broken pipe; closed; not there
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def on_terminal() -> bool:
    """Whether standard error is a terminal, which shows progress bars."""
    return sys.stderr.isatty()


@contextlib.contextmanager
def utf8_streams() -> Iterator[None]:
    """Print any text whatever the locale says, and progress wherever it can be shown."""
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # no file is to get the descriptor of a closed stream, into which libraries may print
    os.close(handle)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    with contextlib.ExitStack() as stack:
        messages, results = VisibleStream(sys.stderr, failing=False), VisibleStream(sys.stdout)
        stack.enter_context(contextlib.redirect_stderr(cast("TextIO", messages)))
        if results.isatty():  # files and pipes get the text as it is
            stack.enter_context(contextlib.redirect_stdout(cast("TextIO", results)))
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


class VisibleStream:
    """A stream that texts cannot control; `failing` False: one that may be closed, full or gone."""

    def __init__(self, stream: TextIO | None, failing: bool = True) -> None:
        self.unfiltered, self._ignored = stream, () if failing else GONE

    def write(self, text: str) -> int:
        with contextlib.suppress(*self._ignored):
            self.unfiltered.write(visible(text))  # type: ignore[union-attr]
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(*self._ignored):
            self.unfiltered.flush()  # type: ignore[union-attr]

    def isatty(self) -> bool:
        stream = self.unfiltered
        return stream is not None and not stream.closed and stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unfiltered, name)
