"""Where a run takes place: its device, its folder, the processes of `torchrun`, and when to stop."""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from ..errors import LimelightError, bad_value
from ..storage.locks import locked
from ..text.parallel import count_cores
from .progress import Progress

# The others wait while the first process writes a checkpoint or runs a callback. NCCL's own limit of ten
# minutes would end such a run; torchrun ends the others anyway when a process dies.
TIMEOUT = timedelta(hours=2)
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
    """Join the other processes and lock the folder; PyTorch's random state is left as it was."""
    gpus = [torch.cuda.current_device()] if device.type == "cuda" else []
    busy = f"another process is training in {folder}; choose another folder"
    with (
        _ONE_AT_A_TIME,
        join_processes(device) as processes,
        # of several processes, only the first writes
        locked(folder / ".lock", busy) if folder and processes.first else nullcontext(),
        torch.random.fork_rng(devices=gpus),
        catch_interrupts() as stop,
    ):
        progress = Progress(show and processes.first, log=processes.first)
        yield RunContext(device, processes, progress, checkpoint_every, stop)


@contextmanager
def catch_interrupts() -> Iterator[threading.Event]:
    """An event set by the first Ctrl-C or SIGTERM; a second one goes to the handler from before."""
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
    """The device of that name; 'auto' is the GPU if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name not in ("cpu", "cuda"):
        raise bad_value(f"device is {name!r}; it must be auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        what = "device is 'cuda', but PyTorch sees no GPU here; use 'cpu' or 'auto'"
        raise LimelightError(what, code="no-gpu")
    return torch.device(name)


def training_cores(device: torch.device) -> int:
    """The cores that train; 0 if a GPU does."""
    return count_cores() if device.type == "cpu" else 0


# ---------------------------------------------------------------- several processes


@dataclass(frozen=True)
class Processes:
    """The processes of a run; a single one exchanges nothing."""

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0

    def sum_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Add up every gradient over the processes; one that had no rows adds zeros."""
        parameters = [w for w in parameters if w.requires_grad]
        gradients = [torch.zeros_like(w) if w.grad is None else w.grad for w in parameters]
        whole = torch.cat([g.flatten() for g in gradients])  # in the widest of their types
        self.sum(whole)
        for w, part in zip(parameters, whole.split([w.numel() for w in parameters]), strict=True):
            w.grad = part.view_as(w).to(w.dtype)

    def sum(self, tensor: Tensor) -> None:
        """Add up over the processes, in place."""
        if self.size > 1:
            _exchange(dist.all_reduce, tensor)

    def broadcast(self, tensors: Iterable[Tensor]) -> None:
        """Give every process the first one's values."""
        for tensor in tensors if self.size > 1 else ():
            _exchange(dist.broadcast, tensor, 0)

    def any(self, flags: list[bool], device: torch.device) -> list[bool]:
        """For each flag, whether any process has set it."""
        if self.size == 1:
            return flags
        counts = torch.tensor(flags, dtype=torch.float32, device=device)
        self.sum(counts)
        return (counts > 0).tolist()

    def barrier(self) -> None:
        if self.size > 1:
            _exchange(dist.barrier)


@contextmanager
def join_processes(device: torch.device) -> Iterator[Processes]:
    """The processes that `torchrun` started, or just this one; on a CPU each has its share of the cores."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield Processes()
        return
    if not dist.is_initialized():
        _connect(device)
    before = torch.get_num_threads()
    if device.type == "cpu" and os.environ.get("OMP_NUM_THREADS", "1") == "1":  # as torchrun sets it
        here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        torch.set_num_threads(max(1, count_cores() // here))
    try:
        yield Processes(dist.get_rank(), dist.get_world_size())
    finally:
        torch.set_num_threads(before)


def _connect(device: torch.device) -> None:
    """Connect to the other processes, once: on a second time they might find each other's old addresses."""
    if device.type == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    try:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=TIMEOUT)
    except (ValueError, RuntimeError) as error:
        wrong = f"WORLD_SIZE is {os.environ['WORLD_SIZE']}, but the processes do not find each other"
        why = f"({str(error).splitlines()[0]}); start them with torchrun"
        raise LimelightError(f"{wrong} {why}", code="processes-missing") from error
    atexit.register(dist.destroy_process_group)


def _exchange(call: Callable[..., Any], *arguments: Any) -> None:
    try:
        call(*arguments)
    except RuntimeError as error:
        wrong = "another process of this run has ended; the last checkpoint is kept"
        todo = "start the same command again with --resume, with any number of processes"
        raise LimelightError(f"{wrong}: {todo}", code="process-ended") from error


class SideStream:
    """A second stream of a GPU, for work that others need not wait for; on a CPU, it is done at once.

    What the work reads must be kept until `join`; what it makes and another stream reads, until the next
    `aside` or longer, as the side stream may then use its memory again.
    """

    def __init__(self, device: torch.device) -> None:
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Within this, work goes to the side stream, after all that the current stream was given so far."""
        if self.stream is None:
            yield
            return
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            yield

    def join(self) -> None:
        if self.stream is not None:
            torch.cuda.current_stream().wait_stream(self.stream)


NO_SIDE_STREAM = SideStream(torch.device("cpu"))
