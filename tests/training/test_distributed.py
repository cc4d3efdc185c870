"""Several processes are one process; one that dies ends the run with a clear line, and it goes on later."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from limelight.errors import LimelightError
from limelight.training.distributed import Group, group
from limelight.training.fit import _find_answers
from limelight.training.progress import Progress
from limelight.training.run import Run, Setting
from limelight.training.teaching import Lessons
from training import toys
from training.together import RUNS, train

TESTS = Path(__file__).parents[1]
IMPORTS = os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])


def torchrun(processes: int, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    command += [str(TESTS / "training" / "together.py"), str(folder)]
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"} | {"PYTHONPATH": IMPORTS}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The runs in a single process."""
    folder = tmp_path_factory.mktemp("alone")
    return {name: train(folder, name, show=False) for name in RUNS}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The runs in two processes, of which one is killed in the last run."""
    folder = tmp_path_factory.mktemp("two")
    return folder, torchrun(2, folder)


def told(folder: Path, name: str, rank: int, size: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{name}-{rank}-of-{size}.json").read_text())
    return found


def assert_equal(found: dict[str, Any], fitted: Any) -> None:
    for name, x in fitted.network.state_dict().items():
        np.testing.assert_allclose(found["weights"][name], x.numpy(), rtol=0, atol=1e-6, err_msg=name)
    for ours, theirs in zip(found["history"], fitted.history, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("name", ["sgd", "adam", "adagrad", "average", "taught", "stopped"])
def test_two_processes_are_one(name: str, alone: dict[str, Any], two: tuple[Path, Any]) -> None:
    folder, result = two
    assert (folder / f"{name}-1-of-2.json").exists(), result.stderr
    assert_equal(told(folder, name, 0, 2), alone[name])
    assert told(folder, name, 1, 2)["weights"] == told(folder, name, 0, 2)["weights"]


def test_each_process_takes_its_share_of_the_cores(two: tuple[Path, Any]) -> None:
    cores = len(os.sched_getaffinity(0))
    assert told(two[0], "sgd", 0, 2)["threads"] == max(1, cores // 2)


def test_a_killed_process_ends_the_run_and_it_resumes_with_another_number(
    alone: dict[str, Any], two: tuple[Path, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, result = two
    assert result.returncode != 0
    assert "limelight: another process of this run has ended; the last checkpoint is kept" in result.stderr
    assert not (folder / "killed-0-of-2.json").exists()
    numbers = [int(path.stem[-9:]) for path in (folder / "killed").glob("checkpoint-*")]
    assert sorted(numbers) == [8, 9]
    resumed = train(folder, "killed", resume=True)
    assert "resuming in epoch 2 at step 9" in capsys.readouterr().err
    weights = {name: x.tolist() for name, x in resumed.network.state_dict().items()}
    assert_equal({"weights": weights, "history": resumed.history}, alone["killed"])


def test_gradients_of_different_types_are_added_up() -> None:
    """A bf16 network keeps its word vectors in float32."""
    low, high = nn.Parameter(torch.ones(2, dtype=torch.bfloat16)), nn.Parameter(torch.ones(3))
    unused, frozen = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1), requires_grad=False)
    low.grad, high.grad = torch.full_like(low, 0.5), torch.full_like(high, 1 / 3)
    Group().sum_gradients([low, high, unused, frozen])
    assert low.grad.dtype == torch.bfloat16
    assert low.grad.tolist() == [0.5, 0.5]
    assert torch.equal(high.grad, torch.full((3,), 1 / 3))
    assert unused.grad is not None
    assert unused.grad.tolist() == [0]
    assert frozen.grad is None


def test_processes_that_were_not_started_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.delenv("RANK", raising=False)
    with (
        pytest.raises(LimelightError, match=r"WORLD_SIZE is 2, .* start them with torchrun$"),
        group(torch.device("cpu")),
    ):
        pass


class Elsewhere(Group):
    """A process whose first one has found a checkpoint of step 5."""

    def broadcast(self, tensors: Iterable[torch.Tensor]) -> None:
        for tensor in tensors:
            tensor.fill_(5)


def test_a_folder_that_is_not_shared_is_noticed(tmp_path: Path) -> None:
    setting = Setting(torch.device("cpu"), Elsewhere(1, 2), Progress(False), 600.0, threading.Event())
    run = Run(toys.dataset(), toys.recipe(), tmp_path, setting)
    with pytest.raises(LimelightError, match="process 1 found a checkpoint of step 0, the first process"):
        run.resume()


def test_answers_that_are_not_shared_are_noticed() -> None:
    setting = Setting(torch.device("cpu"), Elsewhere(1, 2), Progress(False), 600.0, threading.Event())
    lessons = Lessons(toys.dataset(), toys.recipe(teachers=2))
    with pytest.raises(LimelightError, match="the processes found answers of different teachers"):
        _find_answers(lessons, setting)


def test_one_process_exchanges_nothing() -> None:
    with group(torch.device("cpu")) as processes:
        assert processes == Group(0, 1)
        assert processes.first
        x = torch.ones(2)
        processes.sum(x)
        processes.broadcast([x])
        processes.barrier()
        assert x.tolist() == [1, 1]
