import re
from dataclasses import replace

import numpy as np
import pytest

from limelight.reading import to_terminal
from limelight.reading.reading import GOOD_SOUP, PairReading
from limelight.reading.terminal import _nearest
from reading.readings import SOUP, focused, make_reading


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch):
    for name in ("NO_COLOR", "COLORTERM", "COLORFGBG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def test_a_reading_as_a_whole():
    assert to_terminal(GOOD_SOUP, colour=False, rows=True).splitlines() == [
        "good 80.0%",
        "bad   ████                 0.200",
        "good  ████████████████     0.800",
        "",
        "What decided",
        "Words above 0 support “good”, words below 0 speak against it.",
        "Good soup",
        "  Good  +0.700",
        "  soup  -0.200",
        "",
        "What each row read",
        "  Rows 1–2",
        "    Good 0.700, soup 0.300",
    ]


def test_plain_text_has_the_words_and_their_weights():
    shown = to_terminal(make_reading(SOUP, focused(SOUP, "cold", "cold", "rude")), colour=False, width=60)
    assert "\x1b" not in shown
    assert "The soup was cold, the waiter rude\nand the bill a joke." in shown
    assert "\n  cold  0.6015\n  rude  0.3030\n" in shown
    assert "\n  Rows 1–2\n    cold 0.9000\n" in shown
    assert "\n  Row 3\n    rude 0.9000" in shown
    assert max(map(len, shown.splitlines())) <= 60


def test_the_max_pooled_row_is_called_so():
    reading = replace(make_reading(SOUP, focused(SOUP, "cold", "rude", "bill")), max_row=True)
    shown = to_terminal(reading, colour=False, width=60)
    assert "\n  Row 1\n    cold 0.9000" in shown
    assert "\n  Row 3, max\n    bill 0.9000" in shown


def test_rows_are_a_line_until_asked_for():
    reading = make_reading("Good soup", [[0.1, 0.9]], decided=np.ones(2), row_weights=np.ones(1))
    shown = to_terminal(reading, colour=False, width=80)
    assert shown.endswith("\n\nWhat each row read: 1 row; most for this answer: row 1 (here “soup”)")
    assert to_terminal(reading, colour=False, rows=True).endswith("  Row 1\n    soup 0.900, Good 0.100")


def test_it_tells_what_decided_before_what_was_read():
    reading = make_reading(
        "Good soup", [[0.1, 0.9]], decided=np.array([-0.25, 0.5]), truth="good", trust="A little.",
        row_names=("food: soup",),
    )  # fmt: skip
    shown = to_terminal(reading, colour=False, width=60, rows=True)
    assert shown.startswith("bad 80.0%\nTrue label: good (wrong)\n")
    assert "Words above 0 support “bad”, words below 0 speak against" in shown
    assert "\n  soup  +0.500\n  Good  -0.250\n\nWhat each row read\n  food: soup (row 1)\n" in shown
    assert shown.endswith("\n\nHow far to trust it: A little.")
    assert "Orange words support “bad”" in to_terminal(reading, colour=True)


def test_true_colours(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLORTERM", "truecolor")
    shown = to_terminal(make_reading("Good soup", [[1.0, 0.0]]), colour=True, width=60)
    assert "\x1b[38;2;236;233;228;48;2;154;74;5mGood\x1b[0m soup" in shown
    monkeypatch.setenv("COLORFGBG", "0;15")
    assert "48;2;245;130;32mGood" in to_terminal(make_reading("Good soup", [[1.0, 0.0]]), colour=True)


def test_256_colours():
    shown = to_terminal(make_reading("Good soup", [[1.0, 0.0]]), colour=True, width=60)
    assert re.search(r"\x1b\[38;5;\d+;48;5;\d+mGood\x1b\[0m soup", shown)
    assert (_nearest(255, 0, 0), _nearest(95, 135, 175), _nearest(8, 8, 8)) == (196, 67, 232)


@pytest.mark.parametrize(
    ("name", "value", "tty", "coloured"),
    [("TERM", "xterm", True, True), ("TERM", "xterm", False, False), ("NO_COLOR", "1", True, False),
     ("NO_COLOR", "", True, True), ("TERM", "dumb", True, False)],
)  # fmt: skip
def test_colours_are_found_out(monkeypatch, name: str, value: str, tty: bool, coloured: bool):
    monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: tty, raising=False)
    assert ("\x1b[" in to_terminal(make_reading("Good soup", [[1.0, 0.0]]))) == coloured


def test_the_text_cannot_steer_the_terminal():
    shown = to_terminal(make_reading("\x1b[31mred\x07 \x9b5m", labels=("\x1b[2J", "b")), colour=False)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)
    assert "␛[31mred␇" in shown


def test_lines_fit_the_width_with_colours_too():
    shown = to_terminal(make_reading(SOUP + " 汤汤汤汤 👩‍🍳 " + "x" * 90, r=6), colour=True, width=40)
    bare = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert max(len(line) for line in bare.splitlines()) <= 40
    assert bare.count("x") >= 90


def test_pairs_empty_texts_and_many_classes():
    pair = PairReading(make_reading("A dog", [[1.0, 0.0]]), make_reading("An animal", [[0.0, 1.0]]))
    assert "\nA dog\nAn animal\n" in to_terminal(pair, colour=False)
    assert to_terminal(make_reading(""), colour=False).endswith("All rows together\n(empty text)")
    many = make_reading("Soup", labels=tuple(range(9)), probabilities=[1 / 9] * 9)
    assert "and 4 more classes" in to_terminal(many, colour=False)
