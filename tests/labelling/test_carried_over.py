"""A table that was edited, or is another one: no label is lost without a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labelling.test_journal import OLD
from labelling.test_session import start
from limelight.labelling import LabelSession
from limelight.labelling.state import texts_gone
from limelight.tables.table import open_table
from refusing import refuses
from reviews import write_csv

TEXTS = [f"soup {k}" for k in range(6)]


def open_session(folder: Path, texts: list[str], **options: Any) -> LabelSession:
    return start(texts, reader=None, journal=folder / "out.journal", classes=["x", "y"], **options)


def label(folder: Path, texts: list[str] = TEXTS, **options: Any) -> None:
    session = open_session(folder, texts, **options)
    for row in range(len(texts)):
        session.label(row, "x" if row % 2 else "y", marks=[(0, 4)], by="ann")
    session.note(4, "odd")


def carried_over(session: LabelSession) -> int:
    return len(texts_gone(session._journal, session._state, session._rows))


def read(path: Path, *names: str) -> list[list[Any]]:
    with open_table(path) as table:
        return [["" if cell is None else cell for cell in row] for row in table.rows(names)]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "xlsx"])
@pytest.mark.parametrize("table", ["csv", "jsonl", "parquet"])
def test_labels_of_texts_that_were_edited_or_removed_stay_below_the_rows(tmp_path, suffix, table):
    label(tmp_path)
    now = [TEXTS[3], "SOUP 0", TEXTS[1]]  # one is edited, four are gone, the rest is sorted
    data = written(tmp_path / f"in.{table}", now)
    with pytest.warns(
        UserWarning, match="4 labelled texts are no longer in the table: they keep their labels"
    ):
        session = open_session(tmp_path, now)
    assert carried_over(session) == 4
    out = tmp_path / f"out.{suffix}"
    assert session.save(out, data) == 6
    found = read(out, "text", "label", "by", "marks", "note")
    marks = "[[0, 4]]"
    assert found[:2] == [[TEXTS[3], "x", "ann", marks, ""], [TEXTS[1], "x", "ann", marks, ""]]
    assert [row[:3] for row in found[2:]] == [
        ["soup 0", "y", "ann"], ["soup 2", "y", "ann"], ["soup 4", "y", "ann"], ["soup 5", "x", "ann"]
    ]  # fmt: skip
    assert (found[4][3], found[4][4]) == (marks, "odd")
    if suffix != "jsonl":  # there, a row has only the keys it had
        assert [row[0] for row in read(out, "id")] == ["0", "2", "", "", "", ""]
    assert session.progress().labelled == 2


def written(path: Path, texts: list[str]) -> Path:
    """A table of texts with their numbers."""
    ids = [str(k) for k in range(len(texts))]
    if path.suffix == ".csv":
        return write_csv(path, id=ids, text=texts)
    if path.suffix == ".jsonl":
        path.write_text("".join(f'{{"id": "{k}", "text": "{text}"}}\n' for k, text in enumerate(texts)))
        return path
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": ids, "text": texts}), path)
    return path


def test_texts_that_are_put_back_have_their_labels_again(tmp_path):
    label(tmp_path)
    with pytest.warns(UserWarning, match="5 labelled texts"):
        open_session(tmp_path, TEXTS[:1])
    again = open_session(tmp_path, TEXTS)
    assert carried_over(again) == 0
    assert [again.said(row).labels for row in range(6)] == [("y",), ("x",)] * 3


def test_a_label_that_is_taken_back_is_not_carried_over(tmp_path):
    session = open_session(tmp_path, TEXTS)
    for row in (0, 1):
        session.label(row, "x")
    session.undo()
    assert carried_over(open_session(tmp_path, [TEXTS[0]])) == 0


def test_another_table_is_refused(tmp_path):
    label(tmp_path)
    before = (tmp_path / "out.journal").read_bytes()
    with refuses("table-changed") as found:
        open_session(tmp_path, ["another", "table"])
    assert "labels of 6 texts, and none of them is in this table" in str(found.value)
    assert (tmp_path / "out.journal").read_bytes() == before


def test_an_old_journal_without_texts_keeps_them_from_the_next_label_on(tmp_path):
    (tmp_path / "out.journal").write_text(OLD)
    texts = ["good soup", "bad soup", "room"]
    with refuses("table-changed") as found:  # its one label is of "good soup"
        open_session(tmp_path, texts[1:])
    assert "put them back into the table" in str(found.value)
    session = open_session(tmp_path, texts)
    assert (session.said(0).labels, session.said(1).status) == (("x",), "skip")
    session.label(2, "y")
    with pytest.warns(UserWarning, match="1 labelled texts"):
        assert carried_over(open_session(tmp_path, texts[1:])) == 1


def test_what_another_process_labels_in_its_own_table_is_carried_over_too(tmp_path):
    ann, ben = open_session(tmp_path, TEXTS[:2]), open_session(tmp_path, TEXTS[1:])
    ben.label(4, "y")
    ann.label(0, "x")
    assert ann.save(tmp_path / "out.csv") == 2
    assert read(tmp_path / "out.csv", "text", "label") == [["soup 0", "x"], ["soup 5", "y"]]


def test_several_labels_need_several(tmp_path):
    session = open_session(tmp_path, TEXTS, several=True)
    session.label(0, ["x", "y"])
    with refuses("label-count"):
        open_session(tmp_path, TEXTS)
    assert open_session(tmp_path, TEXTS, several=True).said(0).labels == ("x", "y")


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_class_whose_name_has_the_separator_is_never_two_labels(tmp_path, suffix):
    """Such a class can come from a model, or from the journal of an earlier version."""
    session = start(TEXTS, reader=None, classes=["a|b", "a", "b"], several=True)
    session.label(0, ["a", "b"])
    session.label(1, "a|b")
    out = tmp_path / f"out.{suffix}"
    if suffix == "jsonl":
        assert session.save(out) == 2
        assert [row[0] for row in read(out, "labels")] == [["a", "b"], ["a|b"]]
        return
    with refuses("class-name"):
        session.save(out)
    session.rename_class("a|b", "a or b")
    assert session.save(out) == 2
    assert [row[0] for row in read(out, "label")] == ["a|b", "a or b"]


def test_people_who_differ_on_a_text_that_is_gone_are_asked_nothing(tmp_path):
    session = open_session(tmp_path, TEXTS)
    for row in (0, 1):
        session.label(row, "x", by="ann")
        session.label(row, "y", by="ben")
    session.label(2, "x", by="ann")
    session.skip(0, by="cy")
    session.unsure(2, by="ben")
    assert session.disagreements() == [(row, {"ann": ("x",), "ben": ("y",)}) for row in (0, 1)]
    with pytest.warns(UserWarning, match="1 labelled texts are no longer"):
        again = open_session(tmp_path, TEXTS[1:])
    assert [row for row, _ in again.disagreements()] == [0]
    again.settle(0, "x")
    assert again.disagreements() == []
