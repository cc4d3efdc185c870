"""Training on two nodes with one shared folder: one is killed, both start again, the weights are the same."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from training.test_distributed import IMPORTS, TESTS


def run_nodes(folder: Path, *what: str, torchrun: bool) -> list[tuple[int, str]]:
    """Start both nodes, as two machines would; the exit codes, and what each printed.

    Each by `torchrun`, or with the environment that it, or a cluster's scheduler, gives.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = os.environ | {
        "PYTHONPATH": IMPORTS, "OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
        "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1", "LOCAL_RANK": "0",
    }  # fmt: skip
    nodes = []
    for rank in ("0", "1"):
        launcher = ["-m", "torch.distributed.run", "--nnodes", "2", "--node-rank", rank]
        launcher += ["--master-addr", "127.0.0.1", "--master-port", str(port)]
        node = [*(launcher if torchrun else []), str(TESTS / "training" / "node.py"), str(folder), *what]
        nodes.append(
            subprocess.Popen(
                [sys.executable, *node], env=environment | {"RANK": rank}, stderr=subprocess.PIPE,
                stdout=subprocess.DEVNULL, text=True,
            )
        )  # fmt: skip
    try:
        printed = [node.communicate(timeout=120)[1] for node in nodes]
        return [(node.returncode, each) for node, each in zip(nodes, printed, strict=True)]
    finally:
        for node in nodes:
            node.kill()


def test_a_killed_node_and_a_restart_give_the_same_weights(tmp_path):
    (first, printed), (second, _) = run_nodes(tmp_path, "kill", torchrun=True)
    assert first != 0
    assert second != 0
    assert "another process of this run has ended; the last checkpoint is kept" in printed
    assert not (tmp_path / "disturbed-0.json").exists()
    assert [code for code, _ in run_nodes(tmp_path, torchrun=False)] == [0, 0]
    told = {
        (name, rank): json.loads((tmp_path / f"{name}-{rank}.json").read_text())
        for name in ("undisturbed", "disturbed")
        for rank in (0, 1)
    }
    assert told["disturbed", 0]["weights"] == told["undisturbed", 0]["weights"]
    assert told["disturbed", 1]["weights"] == told["undisturbed", 1]["weights"]
    assert len(told["disturbed", 0]["history"]) == len(told["undisturbed", 0]["history"]) == 4
