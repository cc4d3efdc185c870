"""Several processes, each with its share of every batch, as `torchrun` starts them."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from ..errors import LimelightError

# The others wait while the first process writes a checkpoint or runs a callback. NCCL's own limit of ten
# minutes would end such a run; torchrun ends the others anyway when a process dies.
TIMEOUT = timedelta(hours=2)


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
            with _clear_errors():
                dist.all_reduce(tensor)

    def broadcast(self, tensors: Iterable[Tensor]) -> None:
        """Give every process the first one's values."""
        if self.size > 1:
            with _clear_errors():
                for tensor in tensors:
                    dist.broadcast(tensor, src=0)

    def any(self, flags: list[bool], device: torch.device) -> list[bool]:
        """For each flag, whether any process has set it."""
        if self.size == 1:
            return flags
        counts = torch.tensor(flags, dtype=torch.float32, device=device)
        self.sum(counts)
        found: list[bool] = (counts > 0).tolist()
        return found

    def first_value(self, number: int, device: torch.device) -> int:
        """The number that the first process passes here."""
        shared = torch.tensor(number, device=device)
        self.broadcast([shared])
        return int(shared)

    def barrier(self) -> None:
        """Wait until all processes are here."""
        if self.size > 1:
            with _clear_errors():
                dist.barrier()


@contextmanager
def join_processes(device: torch.device) -> Iterator[Processes]:
    """The processes that `torchrun` started, or just this one."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield Processes()
        return
    if not dist.is_initialized():
        _connect(device)
    with _share_of_cores(device):
        yield Processes(dist.get_rank(), dist.get_world_size())


def _connect(device: torch.device) -> None:
    """Connect to the other processes, once: on a second time they might find each other's old addresses."""
    if device.type == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    try:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=TIMEOUT)
    except (ValueError, RuntimeError) as error:
        raise LimelightError(
            f"WORLD_SIZE is {os.environ['WORLD_SIZE']}, but the processes do not find each other "
            f"({str(error).splitlines()[0]}); start them with torchrun",
            code="processes-missing",
        ) from error
    atexit.register(dist.destroy_process_group)


@contextmanager
def _share_of_cores(device: torch.device) -> Iterator[None]:
    """On a CPU, divide the machine's cores among its processes: torchrun gives each a single thread.

    Another value of OMP_NUM_THREADS is the user's choice and stays.
    """
    before = torch.get_num_threads()
    if device.type == "cpu" and os.environ.get("OMP_NUM_THREADS", "1") == "1":
        here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        torch.set_num_threads(max(1, cores // here))
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _clear_errors() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise LimelightError(
            "another process of this run has ended; the last checkpoint is kept: start the same command "
            "again with --resume, with any number of processes",
            code="process-ended",
        ) from error
