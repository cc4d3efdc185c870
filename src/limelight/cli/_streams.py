"""Standard output and standard error as a command finds them: in any locale, and even if closed or full."""

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
def prepared() -> Iterator[None]:
    """What is printed may be any text, whatever the locale says; progress is shown if it can be."""
    _keep_numbers()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    with contextlib.redirect_stderr(cast("TextIO", Unhindered(sys.stderr))):
        yield


@contextlib.contextmanager
def output_of(args: argparse.Namespace) -> Iterator[None]:
    """Where standard output is closed, a command must have another way to give its result."""
    if sys.stdout is not None:
        yield
        return
    elsewhere = ("out", "resume", "at_least")  # a file, a folder, the exit code
    if all(getattr(args, name, None) is None for name in elsewhere):
        raise LimelightError("standard output is closed, so the answer has nowhere to go; open it: > FILE")
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


def forget_unshown() -> None:
    """What standard error still has not taken would change the exit code, at the very end."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except ValueError:  # closed: there is nothing in it
        return
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


class Unhindered:
    """A stream for people to look at, which takes everything: it may be closed, full or gone."""

    def __init__(self, stream: TextIO | None) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """As much of it as can be shown."""
        if self.stream is not None:
            with contextlib.suppress(*GONE):
                self.stream.write(text)
        return len(text)

    def flush(self) -> None:
        """The same."""
        if self.stream is not None:
            with contextlib.suppress(*GONE):
                self.stream.flush()

    def isatty(self) -> bool:
        """Whether somebody is looking."""
        return self.stream is not None and not self.stream.closed and self.stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _keep_numbers() -> None:
    """A file must not be opened under the number of a closed stream, for libraries to print into it."""
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(handle)
