"""What README.md and docs/usage.md show runs: every command and every snippet, in order, on small tables."""

from __future__ import annotations

import io
import re
import shlex
import sys
from pathlib import Path

import pytest

from limelight.cli import main
from limelight.config import presets
from reviews import pairs, review_table, write_csv

HERE = Path(__file__).parent.parent
PAGES = ["README.md", "docs/usage.md"]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ECHO = re.compile(r'echo "(.*?)" \| (.*)')


@pytest.fixture
def newcomer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the tables that the pages name, and a small preset that is quick."""
    review_table(tmp_path / "reviews.csv", 60)
    review_table(tmp_path / "test.csv", 20, 1)
    review_table(tmp_path / "new.csv", 10, 2)
    first, second, labels = pairs(40)
    write_csv(tmp_path / "pairs.csv", premise=first, hypothesis=second, label=labels)
    quick = presets.preset("tiny").override(epochs=2, vectors="default")
    monkeypatch.setitem(presets.PRESETS, "small", quick)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_command(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if echo := ECHO.fullmatch(line):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(echo[1].encode() + b"\n")))
        line = echo[2]
    program, *argv = shlex.split(line, comments=True)
    if program == "make":
        assert f"\n{argv[0]}:" in (HERE / "Makefile").read_text()
        return
    assert program == "limelight", line
    assert main(argv) == 0, line


@pytest.mark.parametrize("page", PAGES)
def test_everything_shown_runs(page, newcomer, monkeypatch, capfd):
    blocks = FENCE.findall((HERE / page).read_text())
    assert len(blocks) >= 4
    for language, code in blocks:
        if language == "python":
            exec(compile(code, page, "exec"), {})
        else:
            assert language == "bash"
            for line in code.splitlines():
                run_command(line, monkeypatch)
    assert any(newcomer.glob("reading.*"))


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = (HERE / page).read_text()
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
        assert (HERE / page).parent.joinpath(link).exists(), link


def test_every_figure_comes_from_the_results():
    """A percentage in the README must stand in docs/results.md."""
    results = (HERE / "docs" / "results.md").read_text()
    for figure in re.findall(r"\d+(?:\.\d+)?%", (HERE / "README.md").read_text()):
        assert figure.rstrip("%") in results, figure
