"""Starts the processes of test_distributed.py:

    PYTHONPATH=tests python tests/training/launching.py FOLDER

PyTorch takes two seconds to start. This process imports it once; `torchrun` and the processes that it starts
are forked from here.
"""

from __future__ import annotations

import json
import os
import runpy
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed.run

import training.together  # noqa: F401 - before the forks
from training.killing import ended, forked

HERE = Path(__file__).parent
# As `torchrun` has it if nobody has chosen; the forked ones come too late to be told by the environment.
os.environ["OMP_NUM_THREADS"] = "1"
torch.set_num_threads(1)

Ended = tuple[int, str]  # the exit code, and what was printed to stderr


def start(log: Path, work: Callable[[], object]) -> int:
    """The process id of a fork that does the work and prints to a file."""

    def redirected() -> None:
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        work()

    return forked(redirected)


def run(logs: Path, *works: Callable[[], object]) -> list[Ended]:
    """All at the same time."""
    logs.mkdir()
    names = [logs / str(k) for k in range(len(works))]
    children = [start(log, work) for log, work in zip(names, works, strict=True)]
    codes = [ended(child) for child in children]
    return [(code, log.read_text("utf-8")) for code, log in zip(codes, names, strict=True)]


def torchrun(script: str, *arguments: object, how: list[str]) -> Callable[[], object]:
    command = [*how, "--start-method", "fork", "--run-path", str(HERE / script), *map(str, arguments)]
    return lambda: torch.distributed.run.main(command)


def by_environment(script: str, *arguments: object, given: dict[str, str]) -> Callable[[], object]:
    """As a cluster's scheduler starts a process."""

    def work() -> None:
        os.environ.update(given)
        sys.argv = [script, *map(str, arguments)]
        runpy.run_path(str(HERE / script), run_name="__main__")

    return work


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])


def two_processes(folder: Path) -> list[Ended]:
    return run(
        folder / "logs", torchrun("together.py", folder, how=["--standalone", "--nproc-per-node", "2"])
    )


def two_nodes(folder: Path) -> dict[str, list[Ended]]:
    """Two machines with one shared folder: one is killed, then both start again."""
    port = free_port()
    where = ["--nnodes", "2", "--master-addr", "127.0.0.1", "--master-port", port]
    nodes = [torchrun("node.py", folder, "kill", how=[*where, "--node-rank", rank]) for rank in "01"]
    killed = run(folder / "killed", *nodes)
    given = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "WORLD_SIZE": "2"}
    given |= {"LOCAL_WORLD_SIZE": "1", "LOCAL_RANK": "0"}
    nodes = [by_environment("node.py", folder, given=given | {"RANK": rank}) for rank in "01"]
    return {"killed": killed, "restarted": run(folder / "restarted", *nodes)}


def main() -> None:
    folder = Path(sys.argv[1])
    for name in ("two", "nodes"):
        (folder / name).mkdir()
    found: dict[str, Any] = {"two": two_processes(folder / "two"), **two_nodes(folder / "nodes")}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
