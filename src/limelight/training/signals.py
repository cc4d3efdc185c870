"""Ctrl-C and a polite kill: first a wish that the run follows between two steps, then the end at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interruptions() -> Iterator[threading.Event]:
    """An event that Ctrl-C (or SIGTERM) sets; a second one ends the program at once.

    >>> with interruptions() as stop:
    ...     signal.raise_signal(signal.SIGINT)
    ...     stop.is_set()
    True
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle(number: int, frame: Any) -> None:
        if not stop.is_set():
            stop.set()
        elif callable(usual := before[number]):
            usual(number, frame)
        else:
            raise KeyboardInterrupt

    before: dict[int, Any] = {n: signal.signal(n, handle) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
