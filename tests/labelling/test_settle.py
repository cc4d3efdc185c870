"""A settlement ends a disagreement, and is not what its author said of the text."""

from __future__ import annotations

import pytest

from labelling.test_session import start
from labelling.test_state import event
from limelight.labelling.state import fold

TEXTS = ["bed", "soup", "cook", "egg"]


def differing() -> object:
    """Ann and Ben differ on half of the texts."""
    session = start(TEXTS, reader=None, classes=["x", "y"])
    for row, (ann, ben) in enumerate(["xx", "yy", "xy", "yx"]):
        session.label(row, ann, by="ann")
        session.label(row, ben, by="ben")
    return session


def test_who_settles_does_not_agree_with_themselves():
    session = differing()
    before = session.agreement()
    assert before.alpha == pytest.approx(0.125)
    assert before.pairs["ann", "ben"][:2] == (4, 0.5)
    for row in (2, 3):
        session.settle(row, "x", by="ann")
    assert session.agreement() == before
    assert session.disagreements() == []
    assert session.said(3, by="ann").labels == ("y",)
    assert [session.said(row).labels for row in range(4)] == [("x",), ("y",), ("x",), ("x",)]


def test_it_holds_until_it_is_settled_again():
    session = differing()
    session.settle(2, "x", by="cy")
    for by in ("ann", "ben", "cy"):
        session.label(2, "y", by=by)
        session.unsure(2, by=by)
    said = session.said(2)
    assert (said.labels, said.by, said.chosen) == (("x",), "cy", "settled")
    assert session.by_class == {"x": 3, "y": 1}  # on row 3 Ben spoke last
    session.settle(2, "y", by="ben")
    assert session.said(2).labels == ("y",)
    session.undo(by="ben")
    assert session.said(2).labels == ("x",)


def test_a_settled_text_is_written_as_such(tmp_path):
    session = differing()
    session.settle(2, "y", by="cy")
    assert session.save(tmp_path / "out.csv") == 4
    assert (tmp_path / "out.csv").read_text().splitlines()[3].split(",")[:2] == ["y", "cy"]
    assert (tmp_path / "out.csv").read_text().splitlines()[3].endswith(",settled,cook")


def test_it_follows_the_classes_and_one_that_is_removed_leaves_what_people_said():
    events = [
        event(1, "label", "ann", rows=["a.0"], label="x"),
        event(2, "label", "cy", rows=["a.0"], label=["y"], chosen="settled"),
        event(3, "rename_class", name="y", to="z"),
    ]
    state = fold(events, ["x", "y"], {})
    assert (state.latest("a.0").labels, state.settled["a.0"].by) == (("z",), "cy")
    assert list(state.said["a.0"]) == ["ann"]
    state = fold([*events, event(4, "remove_class", name="z")], ["x", "y"], {})
    assert (state.latest("a.0").labels, state.settled) == (("x",), {})


def test_a_text_that_was_only_settled_is_not_given_out():
    session = start(TEXTS[:2], reader=None, classes=["x"])
    session.settle(0, "x")
    assert [shown.row for shown in session.next(count=5)] == [1]
    assert session.progress().labelled == 1
