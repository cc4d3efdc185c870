"""Splitting many texts into words: in this process at first, and in several others if there are more.

Each of those is a Python of its own (`split_worker.py`), started by nothing but its path to the packages: a
fork would copy locks that other threads hold, and `multiprocessing` would run the user's script again.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from queue import SimpleQueue
from typing import Any

from ..errors import LimelightError, tidy_os_errors
from .numbering import NumberedWords, compiled, number_words
from .parallel import count_cores, in_order
from .split_worker import ask, send

# Characters, the work of a second: what starting the processes takes is less than that.
ALONE = 16_000_000 if compiled else 4_000_000
MAX_PROCESSES = 16  # beyond, reading the rows takes longer than splitting them
# With -P: a json.py in the working folder is not imported. What this process can import, the other can too.
START = (
    "import sys, json; sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from limelight.text.split_worker import main; main()"
)


class SplitPool:
    """Numbers the words of chunks of texts, in order, a few chunks ahead of the caller.

    >>> with SplitPool(lowercase=True, split_characters=True) as pool:
    ...     [found.words for found in pool.map([["Good soup"], ["Bad soup"]])]
    [['good', 'soup'], ['bad', 'soup']]
    """

    def __init__(self, lowercase: bool, split_characters: bool, forbidden: Iterable[str] = ()) -> None:
        self._options: dict[str, Any] = {
            "lowercase": lowercase, "split_characters": split_characters, "forbidden": sorted(forbidden),
        }  # fmt: skip
        self._processes: _Processes | None = None
        self._count = min(count_cores(), MAX_PROCESSES)
        can_start = self._count > 1 and sys.executable and not getattr(sys, "frozen", False)
        self._left: float = ALONE if can_start else math.inf  # characters to split in this process

    def map(self, chunks: Iterable[list[str]]) -> Iterator[NumberedWords]:
        """The words of each chunk of texts, none of which has a NUL character."""
        chunks = iter(chunks)
        while self._left > 0 and (texts := next(chunks, None)) is not None:
            self._left -= sum(map(len, texts))
            yield number_words(texts, *self._options.values())
        if (texts := next(chunks, None)) is None:
            return
        chunks = chain([texts], chunks)
        if self._processes or self._can_start():
            yield from in_order(self._submit, chunks, 2 * self._count)
        else:
            self._left = math.inf
            yield from self.map(chunks)

    def _submit(self, texts: list[str]) -> Future[NumberedWords]:
        assert self._processes
        return self._processes.submit(texts)

    def _can_start(self) -> bool:
        """Whether a process answers: an embedded Python, or a system at its limits, may not start one."""
        try:
            self._processes = _Processes(self._count, self._options)
            self._processes.submit([""]).result()
        except (LimelightError, OSError):
            self.__exit__()
            self._processes = None
        return self._processes is not None

    def __enter__(self) -> SplitPool:
        return self

    def __exit__(self, *error: object) -> None:
        if self._processes:
            self._processes.close()


class _Processes:
    """Processes that split texts; a thread waits for each that is busy."""

    def __init__(self, count: int, options: dict[str, Any]) -> None:
        self._all: list[subprocess.Popen[bytes]] = []
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self._threads = ThreadPoolExecutor(count)
        try:
            with tidy_os_errors("cannot start a process that splits texts"):
                for _ in range(count):
                    self._all.append(_start(options))
                    self._idle.put(self._all[-1])
        except BaseException:
            self.close()
            raise

    def submit(self, texts: list[str]) -> Future[NumberedWords]:
        return self._threads.submit(self._ask, texts)

    def _ask(self, texts: list[str]) -> NumberedWords:
        process = self._idle.get()
        assert process.stdin
        assert process.stdout
        try:
            return ask(process.stdin, process.stdout, texts)
        except (OSError, EOFError):
            raise LimelightError(
                f"a process that splits texts has ended (exit status {process.wait()}), perhaps because "
                "memory ran out; run this again",
                code="process-ended",
            ) from None
        finally:
            self._idle.put(process)

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        for process in self._all:
            process.kill()
        self._threads.shutdown(cancel_futures=True)  # which waited for them
        for process in self._all:
            with suppress(OSError), process:  # closes its pipes, one of which may hold a part of a question
                pass


def _start(options: dict[str, Any]) -> subprocess.Popen[bytes]:
    """In a group of its own: Ctrl-C is for this process alone, which then ends the others."""
    group = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", START], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0,
        creationflags=group,
    )  # fmt: skip
    assert process.stdin
    with suppress(BrokenPipeError):  # if it has ended already, the first question finds out
        process.stdin.write(json.dumps([str(path) for path in sys.path]).encode() + b"\n")
        send(process.stdin, json.dumps(options).encode())
    return process
