"""The parent of several workers: it replaces one that ends or hangs, and says so in the log."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from .metrics import log


@dataclass
class Pulse:
    """When a worker was asked whether it is well, if it has not answered yet; whether it was ever ready."""

    asked: float | None = None
    ready: bool = False


class Supervisor(Multiprocess):
    """uvicorn's, but a worker has as long to start as it needs; only from then on must it answer in time.

    uvicorn's own kills a worker that has not answered five seconds after it was started: on a busy machine,
    each of them, again and again, without a line in the log.
    """

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._pulses: dict[int | None, Pulse] = {}

    def keep_subprocess_alive(self) -> None:
        """Replace workers that have ended, and those that hang."""
        for k, worker in enumerate(self.processes):
            if self.should_exit.is_set():
                return
            is_dead, seconds = not worker.process.is_alive(), self.config.timeout_worker_healthcheck
            if is_dead or _hangs(worker, self._pulses.setdefault(worker.pid, Pulse()), seconds):
                worker.kill()  # also closes its pipes
                worker.join()
                hung = f"did not answer for {seconds} seconds and was killed"
                self._replace(k, _describe(worker.exitcode) if is_dead else hung)

    def join_all(self) -> None:
        """Wait until the workers have stopped; one that hangs would keep the parent from ever ending."""
        limit = (self.config.timeout_graceful_shutdown or 0) + self.config.timeout_worker_healthcheck
        end = time.monotonic() + limit
        for worker in self.processes:
            worker.process.join(max(0.0, end - time.monotonic()))
            if worker.process.is_alive():
                worker.kill()
                log(f"worker {worker.pid} did not stop in {limit} seconds and was killed")
            worker.join()

    def _replace(self, k: int, what: str) -> None:
        """Start another in its place; one that says it cannot start would only say so again."""
        gone = self.processes[k]
        self._pulses.pop(gone.pid, None)
        if gone.exitcode == STARTUP_FAILURE:
            log(f"error: worker {gone.pid} {what}; the server stops")
            self.should_exit.set()
            return
        fresh = self.processes[k] = Process(self.config, self.sockets)
        fresh.start()
        log(f"worker {gone.pid} {what}; worker {fresh.pid} takes its place")


def _hangs(worker: Process, pulse: Pulse, seconds: float) -> bool:
    """Whether a worker that was ready has not answered for so long; asks it again once it has answered."""
    if pulse.asked is None:
        worker.parent_conn.send(b"ping")
        pulse.asked = time.monotonic()
    elif worker.parent_conn.poll():
        pulse.ready, pulse.asked = worker.parent_conn.recv() or pulse.ready, None
    return pulse.ready and pulse.asked is not None and time.monotonic() - pulse.asked > seconds


def _describe(exitcode: int | None) -> str:
    """
    >>> _describe(-9), _describe(1)
    ('was killed by signal 9', 'ended with status 1')
    """
    if exitcode is not None and exitcode < 0:
        return f"was killed by signal {-exitcode}"
    return f"ended with status {exitcode}"
