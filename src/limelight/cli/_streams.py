"""Standard output and standard error, in any locale, even closed or full."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

from ..errors import LimelightError

GONE = (OSError, ValueError)  # full or a broken pipe; closed


@contextlib.contextmanager
def any_text() -> Iterator[None]:
    """Print any text whatever the locale says, and progress wherever it can be shown."""
    _reserve_descriptors()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    with contextlib.redirect_stderr(cast("TextIO", ForgivingStream(sys.stderr))):
        yield


@contextlib.contextmanager
def require_output(args: argparse.Namespace) -> Iterator[None]:
    """With standard output closed, a command needs another place for its result."""
    if sys.stdout is not None:
        yield
        return
    elsewhere = ("out", "resume", "at_least")  # a file, a folder, the exit code
    if all(getattr(args, name, None) is None for name in elsewhere):
        raise LimelightError("standard output is closed; redirect it to a file: > FILE")
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


class ForgivingStream:
    """A stream for messages that may be closed, full or gone: writing to it never fails."""

    def __init__(self, stream: TextIO | None) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write what can be written."""
        if self.stream is not None:
            with contextlib.suppress(*GONE):
                self.stream.write(text)
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
