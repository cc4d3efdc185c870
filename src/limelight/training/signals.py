"""Ctrl-C and SIGTERM: the first asks the run to stop after the current step, the second ends it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def catch_interrupts() -> Iterator[threading.Event]:
    """An event set by the first Ctrl-C or SIGTERM; a second one goes to the handler from before.

    >>> with catch_interrupts() as stop:
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
        elif callable(original := before[number]):
            original(number, frame)
        else:
            raise KeyboardInterrupt

    before: dict[int, Any] = {n: signal.signal(n, handle) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
