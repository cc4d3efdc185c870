"""Pieces on a Ray cluster: one task each, done again by Ray when its worker or its machine dies.

Tasks of Ray Core, not Ray Data's own reading and writing: there blocks are split and joined as they flow, and
files are named by the task that wrote them, so that after a restart nobody could say which rows are missing.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..errors import LimelightError, conflict, needs_extra
from ..text.parallel import count_cores
from .pieces import Piece
from .work import Done, Worker

IN_FLIGHT = 1000  # tasks given to a cluster at a time: as many as it has cores, and more for it to grow by
RETRIES = 20  # of a piece whose worker died; one that kills every worker ends the job
_STORE = 100 * 2**20  # bytes of shared memory for Ray on one machine: pieces do not travel through it


def run_on_ray(
    worker: Worker, pieces: Sequence[Piece], address: str | None, workers: int | None
) -> Iterator[Done]:
    """What was done, in the order in which it is finished."""
    if not pieces:
        return
    predictor = copy.copy(worker.predictor)
    on_gpu = predictor.device == "cuda"
    with _cluster(address, count_cores() if on_gpu else min(workers or count_cores(), len(pieces))) as ray:
        predictor.threads = _cores_per_gpu(ray.cluster_resources()) if on_gpu else 1
        needs = {"num_cpus": predictor.threads, "num_gpus": int(on_gpu)}
        task = ray.remote(**needs, max_retries=RETRIES)(_do)
        shared = ray.put(replace(worker, predictor=predictor))
        yield from _finished(ray, (task.remote(shared, piece) for piece in pieces), workers or IN_FLIGHT)


def _cores_per_gpu(resources: dict[str, float]) -> int:
    """The cores that split words for each GPU of a cluster."""
    if not resources.get("GPU"):
        raise conflict("device is 'cuda', but the Ray cluster has no GPU; leave out the device")
    return max(1, int(resources.get("CPU", 1) // resources["GPU"]))


def _do(worker: Worker, piece: Piece) -> Done | LimelightError:
    """Runs in a worker; an error of ours comes back, where Ray would wrap it."""
    try:
        return worker(piece)
    except LimelightError as error:
        return error


def _finished(ray: Any, tasks: Iterator[Any], most: int) -> Iterator[Done]:
    running: list[Any] = []
    while True:
        while len(running) < most and (task := next(tasks, None)) is not None:
            running.append(task)
        if not running:
            return
        ready, running = ray.wait(running)
        try:
            (found,) = ray.get(ready)
        except ray.exceptions.WorkerCrashedError as error:
            fault = f"a piece ended its worker {RETRIES + 1} times: {error}"
            raise LimelightError(fault, code="cluster") from error
        if isinstance(found, LimelightError):
            for task in running:
                ray.cancel(task, force=True)
            raise found
        yield found


@contextmanager
def _cluster(address: str | None, cores: int) -> Iterator[Any]:
    """The cluster that this process is connected to, the one at an address, or one of its own."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise needs_extra("--engine ray needs Ray: pip install '.[ray]'") from None
    if ray.is_initialized():
        yield ray
        return
    own = {"num_cpus": cores, "include_dashboard": False, "object_store_memory": _STORE}
    try:
        # "local" would otherwise be whatever cluster happens to run on this machine.
        ray.init(address or "local", log_to_driver=False, logging_level="error", **({} if address else own))
    except (ConnectionError, ValueError, RuntimeError) as error:
        fault = f"no Ray cluster at {address or 'this machine'}: {error}"
        raise LimelightError(fault, code="cluster") from error
    try:
        yield ray
    finally:
        ray.shutdown()
