"""What a person sees: a live bar on a terminal, plain lines elsewhere, nothing if nothing is wanted."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import struct
import sys
import termios
import types
from pathlib import Path
from typing import Any

import pytest

from limelight.training import fit, progress
from limelight.training.progress import Progress
from training import toys


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that moves on by 20 seconds whenever it is looked at."""
    now = [0.0]

    def monotonic() -> float:
        now[0] += 20
        return now[0]

    monkeypatch.setattr(progress, "time", types.SimpleNamespace(monotonic=monotonic))
    return now


class Terminal:
    """A pseudo-terminal whose output can be read back."""

    def __init__(self) -> None:
        self.reader, writer = pty.openpty()
        fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
        self.stream = open(writer, "w")  # noqa: SIM115

    def shown(self) -> str:
        self.stream.close()
        parts = []
        while True:
            try:
                parts.append(os.read(self.reader, 65536))
            except OSError:  # the other end is closed and everything read
                break
            if not parts[-1]:
                break
        os.close(self.reader)
        return b"".join(parts).decode()


def test_plain_lines_without_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fitted = fit(toys.dataset(), toys.recipe(epochs=2), tmp_path / "run")
    out, err = capsys.readouterr()
    assert out == ""
    assert "\r" not in err
    assert "\x1b" not in err
    lines = [line for line in err.splitlines() if line[0] != " "]  # a slow machine says how far it is
    assert len(lines) == 2
    for line, record in zip(lines, fitted.history, strict=False):
        assert line.startswith(f"epoch {record['epoch']}/2  loss {record['loss']:.4f}  penalty ")
        assert f"train {record['accuracy']:.2%}  dev {record['dev_accuracy']:.2%}" in line
        assert re.search(r"[\d,]+ rows/s$", line)
    assert "*" in lines[0], "the first epoch is the best so far"


def test_long_epochs_say_how_far_they_are(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    fit(toys.dataset(), toys.recipe(epochs=1))
    within = [line for line in capsys.readouterr().err.splitlines() if line.startswith("  ")]
    pattern = r"  \d+/50 rows, loss \d\.\d{3}, penalty \d\.\d{3}, accuracy \d\.\d{3}, \d+ rows/s, .* left"
    assert within
    assert all(re.fullmatch(pattern, line) for line in within), within
    counts = [int(line.split("/")[0]) for line in within]
    assert counts == sorted(counts)


def test_a_terminal_gets_a_live_bar(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    fit(toys.dataset(), toys.recipe(epochs=2))
    shown = terminal.shown()
    assert "\r" in shown
    for part in ("epoch 1/2:", "epoch 2/2:", "loss ", "penalty ", "rows/s", "all done in "):
        assert part in shown
    second = shown[shown.index("epoch 2/2") :]
    assert re.search(r"accuracy \d\.\d{3}, dev \d+\.\d\d%", second), "the last evaluation stays in sight"
    assert re.search(r"epoch 2/2  loss .* dev .*rows/s\r?\n", shown), "and every epoch leaves its line"


def test_without_a_development_split_no_epoch_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    fit(toys.dataset(dev=0), toys.recipe(epochs=2))
    assert "*" not in capsys.readouterr().err


def test_an_epoch_that_was_read_before_has_no_speed() -> None:
    shown = Progress(show=True, stream=(stream := io.StringIO()))
    shown.begin_epoch(0, 1, rows=50, done=50, may_stop_early=False)
    shown.end_epoch({"epoch": 1, "loss": 0.5, "penalty": 0.25, "accuracy": 0.75}, better=True)
    assert stream.getvalue() == "epoch 1/1  loss 0.5000  penalty 0.2500  train 75.00%\n"


def test_no_show_shows_nothing(clock: list[float], capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    fit(toys.dataset(), toys.recipe(), tmp_path / "run", show=False)
    fit(toys.dataset(), toys.recipe(epochs=4), tmp_path / "run", show=False, resume=True)
    assert capfd.readouterr() == ("", "")


def test_figures_are_asked_for_rarely() -> None:
    """Each look costs a wait for the GPU."""
    shown = Progress(show=True, stream=io.StringIO())
    shown.begin_epoch(0, 1, rows=1000, done=0, may_stop_early=False)
    for _ in range(1000):
        shown.step(1, lambda: pytest.fail("asked within the first seconds"))
    assert shown.done == 1000


def test_time_left_counts_all_epochs_and_only_new_rows(clock: list[float]) -> None:
    shown = Progress(show=True, stream=io.StringIO())
    shown.begin_epoch(1, 4, rows=100, done=40, may_stop_early=False)  # at 20 s; each look takes 20 s
    shown.done = 60
    assert shown._speed() == 1  # 20 rows in 20 s: those of before do not count
    assert shown._time_left() == "8 min 0 s"  # 40 + 2 * 100 rows at half a row per second


def test_time_left_is_an_upper_bound_where_training_may_stop_early(clock: list[float]) -> None:
    for patience, left in ((0, r"rows/s, \d"), (2, r"rows/s, at most \d")):
        terminal = io.StringIO()
        run = Progress(show=True, stream=terminal)
        run.begin_epoch(0, 4, rows=100, done=0, may_stop_early=patience > 0)
        run.step(50, lambda: {"loss": 1.0})
        run.step(50, lambda: {"loss": 1.0})
        assert re.search(left, terminal.getvalue())


@pytest.mark.parametrize(("patience", "dev", "bound"), [(0, 20, False), (2, 20, True), (2, 0, False)])
def test_only_patience_with_a_development_split_stops_early(
    patience: int, dev: int, bound: bool, clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    fit(toys.dataset(dev=dev), toys.recipe(epochs=1, patience=patience))
    assert ("at most" in capsys.readouterr().err) == bound


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (61, "1 min 1 s"), (3600, "1 h 0 min"), (9e4, "25 h 0 min")]
)
def test_clock(seconds: float, text: str) -> None:
    assert progress._format_time(seconds) == text


def test_history_is_one_json_object_per_line(tmp_path: Path) -> None:
    fitted = fit(toys.dataset(), toys.recipe(), tmp_path / "run", show=False)
    content = (tmp_path / "run" / "history.jsonl").read_text()
    assert content.endswith("\n")

    def no_constants(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")

    records = [json.loads(line, parse_constant=no_constants) for line in content.splitlines()]
    assert records == fitted.history
    assert [record["epoch"] for record in records] == [1, 2, 3]


def test_an_interrupted_run_says_where(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    import signal

    from limelight.training.step import Stepper

    step = Stepper.step
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Stepper, "step", lambda *a: (step(*a), a[2] == 9 and signal.raise_signal(signal.SIGINT))
        )
        fit(toys.dataset(), toys.recipe(), tmp_path / "run")
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "interrupted in epoch 2 at step 10"
    fit(toys.dataset(), toys.recipe(), tmp_path / "run", resume=True)
    assert capsys.readouterr().err.splitlines()[0] == "resuming in epoch 2 at step 10"
