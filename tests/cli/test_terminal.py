"""Whatever is in a label, a text, a column or a file name, it does not control the terminal."""

from __future__ import annotations

import csv
import io
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from limelight.cli import main
from limelight.cli._output import visible
from limelight.reading import Reading, to_terminal
from reviews import FLAGS

HOSTILE = "a\x1b[2J\x1b]0owned\x07\rb\x9b31m\u202eevil\u2066\x7f"
OURS = re.compile(r"\x1b\[(0|38;[\d;]+48;[\d;]+)m|\x1b\[A")  # our colours, and the cursor of progress bars
RAW = re.compile(r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\rb")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table and a model whose every name is hostile."""
    folder = tmp_path_factory.mktemp("terminal")
    rows = [(f"{word} {HOSTILE} soup", f"{word}{HOSTILE}") for word in ("good", "bad")] * 20
    with open(folder / f"{HOSTILE}.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([(f"text{HOSTILE}", f"label{HOSTILE}"), *rows])
    argv = ["train", folder / f"{HOSTILE}.csv", "--text", f"text{HOSTILE}", "--label", f"label{HOSTILE}",
            "--out", folder / HOSTILE, *FLAGS]  # fmt: skip
    assert main([str(each) for each in argv]) == 0
    return folder


COMMANDS = {
    "predict": "predict MODEL TABLE --text TEXT --probabilities",
    "predict, JSON": "predict MODEL TABLE --text TEXT --json",
    "evaluate": "evaluate MODEL TABLE --text TEXT --label LABEL",
    "info": "info MODEL",
    "info, JSON": "info MODEL --json",
    "explain": "explain MODEL HOSTILE",
    "explain, JSON": "explain MODEL HOSTILE --json",
    "encode": "encode TABLE --text TEXT --label LABEL --out OUT",
    "a missing column": "encode TABLE --text HOSTILE --label LABEL --out OUT",
    "a missing file": "evaluate MODEL MISSING",
    "a missing model": "info MISSING",
    "an unknown command": "HOSTILE",
    "an unknown flag": "info MODEL --HOSTILE",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_hostile_reaches_a_terminal(name, place, tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    words = {
        "MODEL": place / HOSTILE, "TABLE": place / f"{HOSTILE}.csv", "MISSING": place / f"no {HOSTILE}",
        "TEXT": f"text{HOSTILE}", "LABEL": f"label{HOSTILE}", "HOSTILE": f"good {HOSTILE}",
        "--HOSTILE": f"--{HOSTILE}", "OUT": tmp_path / HOSTILE,
    }  # fmt: skip
    monkeypatch.setattr(sys, "stdout", out := Terminal())
    monkeypatch.setattr(sys, "stderr", err := Terminal())
    main([str(words.get(word, word)) for word in COMMANDS[name].split()])
    shown = out.getvalue() + err.getvalue()
    assert "evil" in shown
    assert not RAW.findall(OURS.sub("", shown)), shown


def test_files_and_pipes_get_the_text_as_it_is(place, capfd):
    assert (
        main(["predict", str(place / HOSTILE), str(place / f"{HOSTILE}.csv"), "--text", f"text{HOSTILE}"])
        == 0
    )
    assert HOSTILE.replace("\r", "") in capfd.readouterr().out.replace("\r", "").replace("\n", "")


def test_a_bar_keeps_its_own_controls():
    for control in ("\r", "\r 40% of it\r", "\n\x1b[A\x1b[A", "", "\r 40%\n"):
        assert visible(control) == control
    assert visible("\r\r 40%") == "\r␍ 40%"


def test_a_reading_in_a_terminal_cannot_overwrite_or_turn_around():
    reading = Reading(
        text="good\u202esoup", offsets=np.array([[0, 4], [4, 9]]), known=np.ones(2, bool),
        attention=np.array([[0.9, 0.1]]), embedding=np.zeros((1, 4)), labels=("bad\rgood", "\x9b31m"),
        probabilities=np.array([0.8, 0.2]),
    )  # fmt: skip
    assert not RAW.findall(OURS.sub("", to_terminal(reading, colour=True)))
