"""Several processes equal one; if one dies, the run ends with a clear message and can be resumed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from limelight.training import context, evaluate
from limelight.training.context import Processes, RunContext, join_processes
from limelight.training.label_objective import LabelObjective
from limelight.training.progress import Progress
from limelight.training.run import TrainingRun
from limelight.training.starting_network import build_network
from refusing import refuses
from training import toys
from training.together import RUNS, train

TESTS = Path(__file__).parents[1]
IMPORTS = os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The runs in a single process."""
    folder = tmp_path_factory.mktemp("alone")
    return {name: train(folder, name, show=False) for name in RUNS}


@dataclass(frozen=True)
class Launched:
    """What real processes printed and left."""

    folder: Path
    two: tuple[int, str]  # of torchrun: its exit code, what was printed
    killed: list[tuple[int, str]]  # of each node
    restarted: list[tuple[int, str]]


@pytest.fixture(scope="module")
def launched(tmp_path_factory: pytest.TempPathFactory) -> Launched:
    """The runs in two processes, of which one is killed in the last run; and a run on two nodes."""
    folder = tmp_path_factory.mktemp("launched")
    command = [sys.executable, str(TESTS / "training" / "launching.py"), str(folder)]
    environment = {**os.environ, "PYTHONPATH": IMPORTS}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert result.returncode == 0, result.stdout + result.stderr
    found = json.loads(result.stdout)
    return Launched(folder, found["two"][0], found["killed"], found["restarted"])


def told(folder: Path, name: str, rank: int, size: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{name}-{rank}-of-{size}.json").read_text())
    return found


def assert_equal(found: dict[str, Any], fitted: Any) -> None:
    for name, x in fitted.network.state_dict().items():
        np.testing.assert_allclose(found["weights"][name], x.numpy(), rtol=0, atol=1e-6, err_msg=name)
    for ours, theirs in zip(found["history"], fitted.history, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("name", ["sgd", "adam", "adagrad", "average", "stopped"])
def test_two_processes_are_one(name: str, alone: dict[str, Any], launched: Launched) -> None:
    folder = launched.folder / "two"
    assert (folder / f"{name}-1-of-2.json").exists(), launched.two
    assert_equal(told(folder, name, 0, 2), alone[name])
    rows = 20 * len(alone[name].history)
    read = [told(folder, name, rank, 2)["evaluated"] for rank in (0, 1)]
    assert sum(read) >= rows
    assert min(read) > 0, "both processes evaluate"
    assert told(folder, name, 1, 2)["weights"] == told(folder, name, 0, 2)["weights"]


def test_each_process_takes_its_share_of_the_cores(launched: Launched) -> None:
    cores = len(os.sched_getaffinity(0))
    assert told(launched.folder / "two", "sgd", 0, 2)["threads"] == max(1, cores // 2)


def test_a_killed_process_ends_the_run_and_it_resumes_with_another_number(
    alone: dict[str, Any], launched: Launched, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, (code, printed) = launched.folder / "two", launched.two
    assert code != 0
    assert "limelight: another process of this run has ended; the last checkpoint is kept" in printed
    assert not (folder / "killed-0-of-2.json").exists()
    numbers = [int(path.stem[-9:]) for path in (folder / "killed").glob("checkpoint-*")]
    assert sorted(numbers) == [8, 9]
    resumed = train(folder, "killed", resume=True)
    assert "resuming in epoch 2 at step 9" in capsys.readouterr().err
    weights = {name: x.tolist() for name, x in resumed.network.state_dict().items()}
    assert_equal({"weights": weights, "history": resumed.history}, alone["killed"])


def test_a_killed_node_and_a_restart_give_the_same_weights(launched: Launched) -> None:
    """Two nodes with one shared folder: one is killed, both start again."""
    (first, printed), (second, _) = launched.killed
    assert first != 0
    assert second != 0
    assert "another process of this run has ended; the last checkpoint is kept" in printed
    assert [code for code, _ in launched.restarted] == [0, 0], launched.restarted
    assert "resuming in epoch 2 at step 9" in launched.restarted[0][1]
    node = {
        (name, rank): json.loads((launched.folder / "nodes" / f"{name}-{rank}.json").read_text())
        for name in ("undisturbed", "disturbed")
        for rank in (0, 1)
    }
    assert node["disturbed", 0]["weights"] == node["undisturbed", 0]["weights"]
    assert node["disturbed", 1]["weights"] == node["undisturbed", 1]["weights"]
    assert len(node["disturbed", 0]["history"]) == len(node["undisturbed", 0]["history"]) == 4


def test_gradients_of_different_types_are_added_up() -> None:
    """A bf16 network keeps its word vectors in float32."""
    low, high = nn.Parameter(torch.ones(2, dtype=torch.bfloat16)), nn.Parameter(torch.ones(3))
    unused, frozen = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1), requires_grad=False)
    low.grad, high.grad = torch.full_like(low, 0.5), torch.full_like(high, 1 / 3)
    Processes().sum_gradients([low, high, unused, frozen])
    assert low.grad.dtype == torch.bfloat16
    assert low.grad.tolist() == [0.5, 0.5]
    assert torch.equal(high.grad, torch.full((3,), 1 / 3))
    assert unused.grad is not None
    assert unused.grad.tolist() == [0]
    assert frozen.grad is None


def test_processes_that_were_not_started_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.delenv("RANK", raising=False)
    with refuses("processes-missing"), join_processes(torch.device("cpu")):
        pass


def test_processes_wait_long_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """NCCL gives up after ten minutes, and the first process may be busy with a large checkpoint."""
    given: dict[str, Any] = {}
    monkeypatch.setattr(context.dist, "init_process_group", lambda backend, **more: given.update(more))
    monkeypatch.setattr(context.atexit, "register", lambda _: None)
    context._connect(torch.device("cpu"))
    assert given["timeout"] >= timedelta(hours=1)


class Share(Processes):
    """One of several processes; what each would exchange is added up by the test."""

    def sum(self, tensor: torch.Tensor) -> None:
        exchanged.append(tensor.clone())
        tensor.copy_(torch.stack(exchanged).sum(0))


exchanged: list[torch.Tensor] = []


@pytest.mark.parametrize("size", [2, 3, 50])
def test_evaluation_is_shared_and_gives_the_same_bits(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(evaluate.WORDS, "cpu", 40)
    data = toys.dataset(rows=61, weighted=True)
    split, read = data.splits["train"], []
    network = build_network(data, toys.recipe())
    alone = evaluate.evaluate(network, split, split.weights)
    gather = evaluate.gather
    monkeypatch.setattr(evaluate, "gather", lambda split, rows: read.append(len(rows)) or gather(split, rows))
    exchanged.clear()
    shares = []
    for rank in range(size):
        read.clear()
        shared = evaluate.evaluate(network, split, split.weights, Share(rank, size))
        shares.append(sum(read))
    assert shared == alone
    assert sum(shares) == 61
    assert max(shares) < 61


class Elsewhere(Processes):
    """A process whose first one has found a checkpoint of step 5."""

    def broadcast(self, tensors: Iterable[torch.Tensor]) -> None:
        for tensor in tensors:
            tensor.fill_(5)


def test_a_folder_that_is_not_shared_is_noticed(tmp_path: Path) -> None:
    context = RunContext(torch.device("cpu"), Elsewhere(1, 2), Progress(False), 600.0, threading.Event())
    run = TrainingRun(LabelObjective(toys.dataset(), toys.recipe()), tmp_path, context, ())
    with refuses("processes-disagree"):
        run.resume()


def test_one_process_exchanges_nothing() -> None:
    with join_processes(torch.device("cpu")) as processes:
        assert processes == Processes(0, 1)
        assert processes.first
        x = torch.ones(2)
        processes.sum(x)
        processes.broadcast([x])
        processes.barrier()
        assert x.tolist() == [1, 1]
