"""A run that is killed or interrupted and resumed ends with the same bits as an undisturbed one."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from limelight.training import Fitted, fit
from limelight.training.checkpoint import Checkpoints
from limelight.training.step import Stepper
from training import toys
from training.killing import RECIPES

module = importlib.import_module("limelight.training.label_objective")
TESTS = Path(__file__).parents[1]
IMPORTS = os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What real child processes left that got SIGKILL at random moments and in the midst of writing."""
    command = [sys.executable, str(TESTS / "training" / "killing.py"), str(tmp_path_factory.mktemp("runs"))]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": IMPORTS}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("name", RECIPES)
def test_a_killed_run_ends_with_the_same_bits(killed: dict[str, Any], name: str) -> None:
    kills = killed["sigkill"][name]["kills"]
    assert kills["while writing"] >= 3
    files = killed["sigkill"][name]["files"]
    assert [file for file in files if not file.startswith("best-")] == [
        "checkpoint-000000011.safetensors", "checkpoint-000000012.safetensors", "history.jsonl"
    ]  # fmt: skip
    assert killed["sigkill"][name]["different"] == []


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_run_that_is_asked_to_stop_keeps_its_state(killed: dict[str, Any], name: str) -> None:
    found = killed["asked"][name]
    assert found["status"] == 0
    assert found["interrupted"] is True
    assert found["steps"] == found["checkpoint"] > 0
    assert found["epochs"] == found["steps"] // 6


def test_asked_twice_it_ends_at_once(killed: dict[str, Any]) -> None:
    assert killed["twice"] == {"status": 130, "half-written": []}


def stop_in(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int) -> None:
    """Press Ctrl-C in the n-th call of a function."""
    function, calls = getattr(owner, name), [0]

    def pressed(*arguments: Any, **more: Any) -> Any:
        calls[0] += 1
        if calls[0] == call:
            signal.raise_signal(signal.SIGINT)
        return function(*arguments, **more)

    monkeypatch.setattr(owner, name, pressed)


Whole = tuple[Path, Fitted]


@pytest.fixture(scope="module", params=["adagrad", "adam"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """The folder of an undisturbed run with this optimizer, and what it gave."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, fit(toys.dataset(), toys.recipe(optimizer=request.param, dropout=0.5), folder, show=False)


@pytest.mark.parametrize(
    ("owner", "name", "call", "steps"),
    [
        (Stepper, "step", 1, 1),
        (Stepper, "step", 10, 10),
        (Stepper, "step", 7, 7),  # the last of an epoch: its evaluation is for the next run
        (module, "evaluate", 1, 8),
        (Checkpoints, "save", 1, 8),
    ],
)
def test_ctrl_c_anywhere(
    owner: Any, name: str, call: int, steps: int, whole: Whole, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    folder, fitted = whole
    data, recipe = toys.dataset(), fitted.recipe
    with monkeypatch.context() as patch:
        stop_in(patch, owner, name, call)
        stopped = fit(data, recipe, tmp_path / "run", show=False)
    assert stopped.interrupted
    assert (stopped.state.number, stopped.state.finished) == (steps, False)
    assert stopped.state.best_epoch == (0 if steps == 8 else -1 + (steps > 7))
    ended = fit(data, recipe, tmp_path / "run", resume=True, show=False)
    assert not ended.interrupted
    assert ended.history == fitted.history
    for key, x in fitted.network.state_dict().items():
        assert torch.equal(ended.network.state_dict()[key], x), key
    last = "checkpoint-000000021.safetensors"
    assert (tmp_path / "run" / last).read_bytes() == (folder / last).read_bytes()


def test_ctrl_c_in_the_last_evaluation_is_too_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_in(monkeypatch, module, "evaluate", 3)
    fitted = fit(toys.dataset(), toys.recipe(), tmp_path / "run", show=False)
    assert fitted.state.finished
    assert not fitted.interrupted


def test_an_interrupted_run_gives_its_best_model(monkeypatch: pytest.MonkeyPatch) -> None:
    data = toys.dataset()
    one = fit(data, toys.recipe(epochs=1), show=False)
    stop_in(monkeypatch, Stepper, "step", 10)
    stopped = fit(data, toys.recipe(), show=False)
    for key, x in one.network.state_dict().items():
        assert torch.equal(stopped.network.state_dict()[key], x), key


def test_the_old_signal_handlers_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    stop_in(monkeypatch, Stepper, "step", 2)
    fit(toys.dataset(), toys.recipe(), show=False)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_second_ctrl_c_ends_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(*arguments: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    fit(toys.dataset(), toys.recipe(epochs=1), tmp_path / "run", show=False)
    monkeypatch.setattr(Stepper, "step", twice)
    with pytest.raises(KeyboardInterrupt):
        fit(toys.dataset(), toys.recipe(epochs=2), tmp_path / "run", resume=True, show=False)
    monkeypatch.undo()
    ended = fit(toys.dataset(), toys.recipe(epochs=2), tmp_path / "run", resume=True, show=False)
    assert ended.history == fit(toys.dataset(), toys.recipe(epochs=2), show=False).history


def test_in_a_thread_there_are_no_signals() -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        fitted = pool.submit(fit, toys.dataset(), toys.recipe(epochs=1), show=False).result()
    assert fitted.state.finished
