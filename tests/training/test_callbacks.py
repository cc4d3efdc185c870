"""Callbacks are called at every hook, in order, and change nothing; the logger tells what is shown."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from limelight import TextClassifier
from limelight.training import Callback, fit
from refusing import refuses
from reviews import QUICK, reviews
from training import toys


class Log(Callback):
    """Everything that was called."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def on_train_begin(self, run: Any) -> None:
        self.calls.append(("begin", run.state.number))

    def on_batch_end(self, run: Any, rows: int) -> None:
        self.calls.append((rows, run.state.number))

    def on_epoch_end(self, run: Any, record: dict[str, Any]) -> None:
        self.calls.append(("epoch", record["epoch"], run.figures()["loss"] == record["loss"]))
        record["seen"] = np.float32(0.5)

    def on_train_end(self, run: Any) -> None:
        self.calls.append("end")


def test_every_hook_is_called_in_order_and_changes_nothing(tmp_path: Path) -> None:
    data, recipe = toys.dataset(rows=50), toys.recipe(epochs=2)
    log = Log()
    plain = fit(data, recipe, show=False, device="cpu")
    watched = fit(data, recipe, tmp_path / "run", show=False, device="cpu", callbacks=[log])
    for name, w in plain.network.state_dict().items():
        assert torch.equal(w, watched.network.state_dict()[name])
    steps = [call for call in log.calls if isinstance(call[0], int)]
    assert log.calls[0] == ("begin", 0)
    assert log.calls[-1] == "end"
    assert [number for _, number in steps] == list(range(1, len(steps) + 1))
    assert sum(rows for rows, _ in steps) == 2 * 50
    assert [call for call in log.calls if call[0] == "epoch"] == [("epoch", 1, True), ("epoch", 2, True)]
    assert [record.pop("seen") for record in watched.history] == [0.5, 0.5]
    assert watched.history == plain.history


def test_the_end_is_told_after_an_error_too() -> None:
    class Fails(Log):
        def on_batch_end(self, run: Any, rows: int) -> None:
            raise RuntimeError("mine")

    log = Fails()
    with pytest.raises(RuntimeError, match="mine"):
        fit(toys.dataset(), toys.recipe(), show=False, callbacks=[log])
    assert log.calls == [("begin", 0), "end"]


def test_estimators_take_callbacks() -> None:
    from sklearn.base import clone

    texts, stars = reviews(40)
    log = Log()
    classifier = TextClassifier(**QUICK, progress=False, callbacks=[log]).fit(texts, stars)
    assert [record["seen"] for record in classifier.history_] == [0.5] * 3
    assert "callbacks" in classifier.get_params()
    assert clone(classifier).callbacks[0].calls == log.calls


@pytest.mark.parametrize(
    ("given", "said"), [([print], r"callbacks\[0\] is a builtin"), ([Log], "the class Log"), (Log(), "list")]
)
def test_what_is_no_callback_is_said_before_the_work(given: Any, said: str) -> None:
    with refuses("callback-type"):
        fit(toys.dataset(), toys.recipe(), show=False, callbacks=given)


def test_the_logger_tells_of_epochs(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.INFO, "limelight"):
        fit(toys.dataset(), toys.recipe(epochs=2), show=False)
    told = [record.getMessage() for record in caplog.records]
    assert [line.partition("  ")[0] for line in told if line.startswith("epoch")] == [
        "epoch 1/2",
        "epoch 2/2",
    ]
    assert {record.levelname for record in caplog.records} == {"INFO"}
    assert capsys.readouterr() == ("", "")


def test_steps_are_logged_for_debugging(caplog: pytest.LogCaptureFixture, monkeypatch: Any) -> None:
    now = iter(range(10**6))
    monkeypatch.setattr("limelight.training.progress.time.monotonic", lambda: next(now) * 1.0)
    with caplog.at_level(logging.DEBUG, "limelight"):
        fit(toys.dataset(), toys.recipe(epochs=1), show=False)
    assert any("rows, loss" in r.getMessage() for r in caplog.records if r.levelname == "DEBUG")


def test_a_library_says_nothing_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("limelight")
    assert any(isinstance(each, logging.NullHandler) for each in logger.handlers)
    logger.warning("the disk is full")
    assert capsys.readouterr() == ("", "")
