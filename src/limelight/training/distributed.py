"""Several processes, each with a part of every batch, as `torchrun` starts them."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from ..errors import LimelightError


@dataclass(frozen=True)
class Group:
    """The processes of a run; alone, there is one, and nothing is exchanged."""

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0

    def sum_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Add up every gradient over the processes; one that had no rows gives zeros."""
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

    def any(self, wishes: list[bool], device: torch.device) -> list[bool]:
        """What one process wishes, all do."""
        if self.size == 1:
            return wishes
        votes = torch.tensor(wishes, dtype=torch.float32, device=device)
        self.sum(votes)
        found: list[bool] = (votes > 0).tolist()
        return found

    def first_has(self, number: int, device: torch.device) -> int:
        """The number that the first process gives here."""
        shared = torch.tensor(number, device=device)
        self.broadcast([shared])
        return int(shared)

    def barrier(self) -> None:
        """Wait for each other."""
        if self.size > 1:
            with _clear_errors():
                dist.barrier()


@contextmanager
def group(device: torch.device) -> Iterator[Group]:
    """The processes that `torchrun` started, or just this one."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield Group()
        return
    if not dist.is_initialized():
        _meet(device)
    with _share_of_cores(device):
        yield Group(dist.get_rank(), dist.get_world_size())


def _meet(device: torch.device) -> None:
    """Find the other processes, once: those who part and meet again may find each other's old addresses."""
    if device.type == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    try:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    except (ValueError, RuntimeError) as error:
        raise LimelightError(
            f"WORLD_SIZE is {os.environ['WORLD_SIZE']}, but the processes do not find each other "
            f"({str(error).splitlines()[0]}); start them with torchrun"
        ) from error
    atexit.register(dist.destroy_process_group)


@contextmanager
def _share_of_cores(device: torch.device) -> Iterator[None]:
    """On a CPU, each process of this machine takes its part of the cores: torchrun leaves it a single one.

    Whoever sets OMP_NUM_THREADS to something else knows better.
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
            "again with --resume, with any number of processes"
        ) from error
