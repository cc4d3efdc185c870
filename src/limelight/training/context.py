"""Where a run takes place: its device, the other processes, its folder, and when the user asks to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ..errors import LimelightError
from ..storage.locks import locked
from .distributed import Processes, join_processes
from .progress import Progress

_ONE_AT_A_TIME = threading.RLock()  # PyTorch has one random number generator for all threads


@dataclass(frozen=True)
class RunContext:
    """Where a run takes place, and who is watching."""

    device: torch.device
    processes: Processes
    progress: Progress
    checkpoint_every: float  # seconds
    stop: threading.Event  # set when the user asks to stop


@contextmanager
def run_context(
    device: torch.device, folder: Path | None, show: bool, checkpoint_every: float
) -> Iterator[RunContext]:
    """Join the other processes, keep other runs out of the folder, and note when the user asks to stop.

    PyTorch's random state, of the CPU and of the GPU that is used, is left as it was.
    """
    gpus = [torch.cuda.current_device()] if device.type == "cuda" else []
    with (
        _ONE_AT_A_TIME,
        join_processes(device) as processes,
        _lock(folder, processes),
        torch.random.fork_rng(devices=gpus),
        catch_interrupts() as stop,
    ):
        progress = Progress(show and processes.first, log=processes.first)
        yield RunContext(device, processes, progress, checkpoint_every, stop)


def _lock(folder: Path | None, processes: Processes) -> AbstractContextManager[None]:
    """Keep other runs out of the folder; of several processes, only the first writes."""
    if folder is None or not processes.first:
        return nullcontext()
    return locked(folder / ".lock", f"another process is training in {folder}; choose another folder")


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

    ours = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) is not signal.SIG_IGN]
    before: dict[int, Any] = {n: signal.signal(n, handle) for n in ours}  # an ignored one stays ignored
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def choose_device(name: str) -> torch.device:
    """The device of that name; 'auto' is the GPU if there is one.

    >>> choose_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name not in ("cpu", "cuda"):
        raise LimelightError(f"device is {name!r}; it must be auto, cpu or cuda", code="option-value")
    if name == "cuda" and not torch.cuda.is_available():
        what = "device is 'cuda', but PyTorch sees no GPU here; use 'cpu' or 'auto'"
        raise LimelightError(what, code="no-gpu")
    return torch.device(name)
