"""Figures of earlier readers are listed, and their commands run again where they have not been."""

from __future__ import annotations

import re

import pytest

from experiments import remeasure

TEXT = """\
## Readers

### Kept
<!-- reader now1 -->

    false

### Old
<!-- reader now1, reader-fast then -->

Words:

    echo \\
        DATA/a >> log
    echo b >> log     # 3 s

### Older, H200
<!-- reader then -->

    false

### Of no reader

    false
"""


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    (tmp_path / "results.md").write_text(TEXT)
    monkeypatch.setattr(remeasure, "RESULTS", tmp_path / "results.md")
    monkeypatch.setattr(remeasure, "ROOT", tmp_path)
    monkeypatch.setattr(remeasure, "bundled_checksums", lambda: {"reader": "now123", "reader-fast": "later4"})


def test_sections_of_an_earlier_reader_are_listed(capsys):
    remeasure.main([])
    assert capsys.readouterr().out.splitlines() == [
        "docs/results.md, Old: measured with an earlier reader-fast",
        "docs/results.md, Older, H200: measured with an earlier reader",
    ]


def test_commands_run_once_and_with_their_places(tmp_path, capsys):
    remeasure.main(["--run", str(tmp_path / "out")])
    assert "give --set DATA=" in capsys.readouterr().out
    assert (tmp_path / "log").read_text() == "b\n"
    for _ in range(2):
        remeasure.main(["--run", str(tmp_path / "out"), "--set", "DATA=/data"])
    assert (tmp_path / "log").read_text() == "b\n/data/a\n"
    assert sorted(p.name for p in (tmp_path / "out" / "old-now123-later4").iterdir()) == ["1.txt", "2.txt"]


def test_a_command_that_fails_is_run_again(tmp_path, capsys):
    remeasure.main(["--run", str(tmp_path / "out"), "--only", "older, h200"])
    assert "failed with 1" in capsys.readouterr().out
    assert [p.name for p in (tmp_path / "out" / "older-h200-now123").iterdir()] == ["1.partial"]


def test_every_section_with_a_bundled_reader_says_which(monkeypatch):
    """Presets `small` and `fast` start from one; with random weights there is nothing to say."""
    monkeypatch.undo()
    text = remeasure.RESULTS.read_text()
    sections = remeasure.read_sections(text)
    assert {name for each in sections for name in each.readers} == set(remeasure.bundled_checksums())
    marked = {each.title for each in sections}
    assert [
        part.partition("\n")[0]
        for part in re.split(r"^#+ ", text, flags=re.MULTILINE)[1:]
        if re.search(r"`(?:limelight serve )?(?:reader[\w-]*|small|fast)`|the (?:bundled )?readers?\b", part)
        and "random weights" not in part
        and part.partition("\n")[0] not in marked
    ] == []


def test_the_results_name_every_section_of_an_earlier_reader(monkeypatch):
    monkeypatch.undo()
    text, checksums = remeasure.RESULTS.read_text(), remeasure.bundled_checksums()
    named = re.search(r"^- \*\*Readers\*\*: [^:\n]*: (.*?)\.$", text, re.MULTILINE | re.DOTALL)
    earlier = [each.title for each in remeasure.read_sections(text) if each.earlier(checksums)]
    assert (" ".join(named[1].split()).split("; ") if named else []) == earlier
