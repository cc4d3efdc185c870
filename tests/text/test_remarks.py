"""What a table says about itself before anything is learnt from it: a line each, and none without cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from limelight.config.recipe import TextRecipe
from limelight.text import remarks
from limelight.text.encode import encode_tables
from limelight.text.remarks import TextRemarks


def lines(*rows: tuple[str, object], counts: dict[str, int] | None = None) -> list[str]:
    found = TextRemarks()
    for text, label in rows:
        found.add(text, label)
    return found.lines(counts or {})


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("Good<br>soup", "<br>"),
        ('<A HREF="x">Good</A>', '<A HREF="x">'),
        ("Good &amp; warm", "&amp;"),
        ("Good&#39;s", "&#39;"),
        ("I <3 soup & bread", ""),
        ("a < b > c", ""),
        ("AT&T;", ""),
        ("<blah>", ""),
    ],
)
def test_html(text: str, html: str) -> None:
    assert lines((text, 1)) == ([f"texts with HTML in them, such as {html!r}: 1"] if html else [])


@pytest.mark.parametrize(
    ("text", "count"), [("😀", 1), ("😀 👍🏽!", 1), ("😀 ok", 0), ("...", 0), ("☕ 5", 0)]
)
def test_emoji_alone(text: str, count: int) -> None:
    assert lines((text, 1)) == ["texts of emoji alone: 1"] * count


def test_duplicates_with_the_same_label_and_with_others() -> None:
    assert lines(("a", 1), ("b", 1), ("A", 1)) == []
    assert lines(("a", 1), ("b", 2), ("a", 1), ("a", 1)) == ["rows that repeat another, text and label: 2"]
    different = "texts that have different labels in different rows"
    assert lines(("a", 1), ("b", 2), ("a", 2), ("a", 3)) == [f"{different}: 1"]
    assert lines(("a", 1), ("a", 2), ("a", 1), ("b", 1), ("b", 2)) == [
        "rows that repeat another, text and label: 1", f"{different}: 2"
    ]  # fmt: skip


def test_a_pair_is_a_duplicate_only_of_the_same_pair() -> None:
    found = TextRemarks()
    for second in ("x", "y", "x"):
        found.add("a", 1, second)
    assert found.lines({}) == ["rows that repeat another, text and label: 1"]


def test_no_rows_and_more_rows_than_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines() == []
    monkeypatch.setattr(remarks, "MAX_COMPARED", 3)
    assert lines(*[("a", 1)] * 9) == ["rows of the first 3 that repeat another, text and label: 2"]


def test_small_classes() -> None:
    assert lines(counts={"a": 1, "b": 2, "c": 3}) == ["classes of two rows or fewer: a, b"]


def test_training_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["Good<br>soup,1", "Warm soup,1", "Warm soup,1", "😀,2", "Warm soup,2"]
    (tmp_path / "a.csv").write_text("text,label\n" + "\n".join(rows))
    encode_tables(tmp_path / "out", tmp_path / "a.csv", recipe=TextRecipe(), holdout=0, progress=True)
    said = capsys.readouterr().err
    for line in (
        "classes of two rows or fewer: 2",
        "texts with HTML in them, such as '<br>': 1",
        "texts of emoji alone: 1",
        "rows that repeat another, text and label: 1",
        "texts that have different labels in different rows: 1",
    ):
        assert f"{line}\n" in said
    encode_tables(
        tmp_path / "out", tmp_path / "a.csv", recipe=TextRecipe(), holdout=0, progress=False, overwrite=True
    )
    assert capsys.readouterr().err == ""
