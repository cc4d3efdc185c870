"""The scoreboard's own parts, on an additive model of four words; the peers are not needed."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

SHARES = np.array([0.4, -0.1, 0.2, 0.1])  # of the words in the probability of the second class


@pytest.fixture
def scoreboard(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "experiments" / "benchmarks")
    return import_module("scoreboard")


def additive(masks: np.ndarray) -> np.ndarray:
    p = 0.3 + masks @ SHARES
    return np.stack([1 - p, p], axis=1)


@pytest.fixture
def text(scoreboard: ModuleType) -> Any:
    places = np.array([[0, 4], [5, 7], [7, 10]]), np.array([[0, 3]])
    marked, maps = np.array([True, False, True, False]), np.eye(4)
    return scoreboard.Text(("Good don't", "ok!"), places, marked, maps)


def test_a_word_goes_with_what_follows_it(scoreboard, text):
    kept = scoreboard._without(text, np.array([True, False, True, False]))
    assert kept == ("Good n't", "")


def test_an_additive_model_has_no_remainder_and_every_call_counts(scoreboard, text):
    exact = lambda asked, seed: scoreboard.Found(SHARES, 0.3)  # noqa: E731
    model = SimpleNamespace(
        ask=lambda given: scoreboard.Asked(given, additive),
        methods={"what decided": exact, "leave one out": scoreboard.leave_one_out},
    )
    found = scoreboard.measure(model, text, 0, again=True)
    assert found["what decided"]["remainder"] == pytest.approx(0, abs=1e-12)
    assert "remainder" not in found["leave one out"]
    assert [each["calls"] for each in found.values()] == [1, 5]
    for each in found.values():  # the order of the words is the same, and the strongest two are marked
        assert each["again"] == each["AUPRC"] == each["F1"] == pytest.approx(1)
        assert each["class"] == 1
        # without 1, 1, 1, 1 and 2 of the words; with only them
        assert each["without"] == pytest.approx((4 * 0.4 + 0.6) / 5)
        assert each["only"] == pytest.approx((4 * 0.2 + 0.0) / 5)


def test_the_table_has_means_over_seeds_the_worst_class_and_dashes(scoreboard, tmp_path, capsys):
    def line(k: int, own: float) -> str:
        both = {"what decided": own, "leave one out": 0.5}
        cost = {"class": k, "only": 0.1, "seconds": 0.002, "calls": 1}
        return json.dumps({name: cost | {"without": value} for name, value in both.items()})

    for seed, own in enumerate((0.4, 0.5)):
        lines = [line(0, own)] * 6 + [line(1, 0.3)] * 6 + [line(2, 0.0)]  # too few of the last to tell
        (tmp_path / f"sst5-{seed}-limelight.jsonl").write_text("\n".join(['{"accuracy": 0.5}', *lines]))
    data = {name: scoreboard.read(tmp_path, name, "limelight") for name in scoreboard.EPOCHS}
    row = scoreboard.figures_of(data, "what decided")
    assert row["SST-5: of leave one out (worst class)"] == "0.69 ± 0.07 (0.60)"
    assert [row[name] for name in ("ms", "calls", "hotels: compr.", "two runs")] == [
        "2 ± 0",
        "1 ± 0",
        "-",
        "-",
    ]
    scoreboard.print_table(tmp_path)
    shown = capsys.readouterr().out
    assert "Limelight, `small`, sst5: accuracy 50.0 ± 0.0%; texts of each seed: [13, 13]" in shown
    assert "| leave one out | - | 0.500 ± 0.000 |" in shown
    assert len({line.count("|") for line in shown.splitlines() if line.startswith("|")}) == 1
