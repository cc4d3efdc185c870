"""Workers that start slowly, hang, die or cannot start: which are replaced, and what the log says."""

from __future__ import annotations

from multiprocessing import Pipe
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from uvicorn.config import STARTUP_FAILURE

from limelight.serve.http import supervisor


class FakeWorker:
    """A worker as uvicorn has it, without a process."""

    started: list[FakeWorker]

    def __init__(self, *given: Any) -> None:
        self.parent_conn, self.child = Pipe()
        self.exitcode, self.pid = None, 100 + len(self.started)
        self.waited: list[float] = []
        self.process = SimpleNamespace(is_alive=lambda: self.exitcode is None, join=self.waited.append)
        self.started.append(self)

    def start(self) -> None:
        pass

    def join(self) -> None:
        pass

    def kill(self) -> None:
        self.exitcode = -9 if self.exitcode is None else self.exitcode

    def answer(self, ready: bool) -> None:
        self.child.recv()
        self.child.send(ready)


@pytest.fixture
def parent(monkeypatch):
    """A parent of one worker, and its clock, a list of one number."""
    clock = [0.0]
    monkeypatch.setattr("uvicorn.supervisors.multiprocess.SIGNALS", {})
    monkeypatch.setattr(FakeWorker, "started", [], raising=False)
    monkeypatch.setattr(supervisor, "Process", FakeWorker)
    monkeypatch.setattr("uvicorn.supervisors.multiprocess.Process", FakeWorker)
    monkeypatch.setattr(supervisor, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    made = supervisor.Supervisor(uvicorn.Config("none:app", timeout_worker_healthcheck=5), [])
    made.init_processes()
    return made, clock


def test_a_worker_has_as_long_as_it_needs_to_start(parent, capsys):
    made, clock = parent
    (worker,) = FakeWorker.started
    for k in range(200):
        clock[0] = 100.0 * k
        made.keep_subprocess_alive()
        if k == 100:  # it answers, but is not ready yet
            worker.answer(False)
    assert (FakeWorker.started, capsys.readouterr().err) == ([worker], "")


def test_a_worker_that_was_ready_and_hangs_is_replaced_and_the_log_says_so(parent, capsys):
    made, clock = parent
    made.keep_subprocess_alive()
    made.processes[0].answer(True)
    for clock[0] in (100.0, 100.1, 105.0):  # counted from the question that it does not answer
        made.keep_subprocess_alive()
    assert len(FakeWorker.started) == 1
    clock[0] = 105.2
    made.keep_subprocess_alive()
    said = capsys.readouterr().err
    assert "worker 100 did not answer for 5 seconds and was killed; worker 101 takes its place" in said
    assert made.processes == FakeWorker.started[1:]


@pytest.mark.parametrize("ready", [True, False])
def test_a_worker_that_dies_is_replaced_and_the_log_says_why(parent, capsys, ready):
    made, _ = parent
    made.keep_subprocess_alive()
    made.processes[0].answer(ready)
    made.keep_subprocess_alive()
    made.processes[0].kill()
    made.keep_subprocess_alive()
    assert "worker 100 was killed by signal 9; worker 101 takes its place" in capsys.readouterr().err


def test_a_worker_that_cannot_start_ends_the_server(parent, capsys):
    made, _ = parent
    made.processes[0].exitcode = STARTUP_FAILURE
    made.keep_subprocess_alive()
    assert made.should_exit.is_set()
    assert len(FakeWorker.started) == 1
    assert "worker 100 ended with status 3; the server stops" in capsys.readouterr().err


def test_a_worker_that_hangs_does_not_keep_the_server_from_stopping(parent, capsys):
    made, _ = parent
    made.config.timeout_graceful_shutdown = 30
    made.init_processes()
    ended, hung = FakeWorker.started
    ended.exitcode = 0
    made.join_all()
    assert (hung.waited, ended.exitcode, hung.exitcode) == ([35.0], 0, -9)
    assert capsys.readouterr().err.endswith("worker 101 did not stop in 35 seconds and was killed\n")
