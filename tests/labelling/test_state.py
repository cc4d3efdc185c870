"""What events add up to, and that an undo leaves no trace."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from limelight.labelling.state import Said, State, as_labels, fold
from refusing import refuses

PEOPLE, KEYS, NAMES = ["ann", "ben"], ["a.0", "b.0", "c.0"], ["x", "y", "z"]


def event(number: int, do: str, by: str = "ann", **about: object) -> dict:
    return {"id": str(number), "do": do, "by": by, "when": f"t{number}", **about}


EVENTS = st.one_of(
    st.builds(
        lambda by, rows, label: {"do": "label", "by": by, "rows": rows, "label": label, "chosen": "auto"},
        st.sampled_from(PEOPLE),
        st.lists(st.sampled_from(KEYS), min_size=1, unique=True),
        st.lists(st.sampled_from(NAMES), min_size=1, unique=True),
    ),
    st.builds(
        lambda do, by, key: {"do": do, "by": by, "rows": [key]},
        st.sampled_from(["skip", "unsure"]),
        st.sampled_from(PEOPLE),
        st.sampled_from(KEYS),
    ),
    st.builds(
        lambda key, text: {"do": "note", "by": "ann", "rows": [key], "text": text},
        st.sampled_from(KEYS),
        st.sampled_from(["", "odd"]),
    ),
    st.builds(
        lambda key, marks: {"do": "marks", "by": "ann", "rows": [key], "marks": marks},
        st.sampled_from(KEYS),
        st.sampled_from([[], [[0, 2]]]),
    ),
    st.builds(
        lambda name, to: {"do": "rename_class", "by": "ben", "name": name, "to": to},
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
    ),
    st.builds(lambda name: {"do": "remove_class", "by": "ben", "name": name}, st.sampled_from(NAMES)),
    st.builds(
        lambda name: {"do": "add_class", "by": "ben", "name": name, "description": "it is " + name},
        st.sampled_from(NAMES),
    ),
)


def numbered(events: list[dict]) -> list[dict]:
    return [{"id": str(k), "when": f"t{k}", **each} for k, each in enumerate(events)]


@given(st.lists(EVENTS, max_size=12), st.data())
def test_an_undone_event_leaves_no_trace(events, data):
    events = numbered(events)
    gone = data.draw(st.sets(st.sampled_from(events or [{"id": "-"}]).map(lambda each: each["id"])))
    undo = [event(100 + k, "undo", of=each) for k, each in enumerate(sorted(gone))]
    kept = [each for each in events if each["id"] not in gone]
    assert fold([*events, *undo], ["x"], {}) == fold(kept, ["x"], {})


@given(st.lists(EVENTS, max_size=12))
def test_event_by_event_is_the_same_as_all_at_once(events):
    events, state = numbered(events), State(["x"])
    for each in events:
        state.take(each)
    assert state == fold(events, ["x"], {})


@given(st.lists(EVENTS, max_size=12), st.randoms())
def test_lines_of_different_people_may_stand_in_any_order(events, random):
    """What each person said stays, as long as nobody changes the classes."""
    events = [each for each in numbered(events) if each["do"] in ("label", "skip", "unsure")]
    ann, ben = ([each for each in events if each["by"] == name] for name in PEOPLE)
    mixed, left = [], [ann[:], ben[:]]
    while any(left):
        mixed.append(random.choice([each for each in left if each]).pop(0))
    said, shuffled = fold(events, NAMES, {}).said, fold(mixed, NAMES, {}).said
    assert {key: dict(sorted(by.items())) for key, by in said.items()} == {
        key: dict(sorted(by.items())) for key, by in shuffled.items()
    }


def test_a_rename_goes_through_the_labels_before_it_and_to_another_class_merges():
    state = fold(
        [
            event(1, "label", rows=["a.0"], label=["x", "y"]),
            event(2, "rename_class", name="x", to="w"),
            event(3, "label", rows=["b.0"], label=["y"]),
            event(4, "rename_class", name="w", to="y"),
        ],
        ["x", "y"],
        {"x": "about x"},
    )
    assert state.classes == ["y"]
    assert state.descriptions == {"y": "about x"}
    assert state.latest("a.0") == Said(("y",), "ann", "t1", "picked", "1", "label")


def test_texts_of_a_removed_class_are_open_again():
    events = [event(1, "label", rows=["a.0"], label="x"), event(2, "remove_class", name="x")]
    assert fold(events, ["x"], {}).said == {}


def test_of_two_people_the_last_label_counts_and_a_doubt_after_it_does_not():
    events = [
        event(1, "label", "ann", rows=["a.0"], label="x"),
        event(2, "label", "ben", rows=["a.0"], label="y"),
        event(3, "unsure", "ann", rows=["a.0"]),
    ]
    assert fold(events[:2], [], {}).latest("a.0").labels == ("y",)
    assert fold(events, [], {}).latest("a.0").labels == ("y",)
    assert fold([events[1], events[0]], [], {}).latest("a.0").labels == ("x",)


def test_marks_come_with_a_label_or_by_themselves():
    events = [
        event(1, "label", rows=["a.0"], label="x", marks={"a.0": [[0, 4]]}),
        event(2, "marks", rows=["b.0"], marks=[[1, 2], [3, 4]]),
    ]
    assert fold(events, [], {}).marks == {"a.0": [(0, 4)], "b.0": [(1, 2), (3, 4)]}
    assert fold([*events, event(3, "marks", rows=["b.0"], marks=[])], [], {}).marks == {"a.0": [(0, 4)]}


def test_a_settlement_follows_its_class_and_says_nothing_of_its_author():
    events = [
        event(1, "label", "ann", rows=["a.0"], label="x"),
        event(2, "label", "ben", rows=["a.0", "b.0"], label="y", chosen="settled"),
        event(3, "label", "cy", rows=["a.0"], label="z"),
    ]
    state = fold(events, ["x"], {})
    assert state.classes == ["x", "y", "z"]
    assert {key: (said.by, said.labels) for key, said in state.holding()} == {
        "a.0": ("ben", ("y",)),
        "b.0": ("ben", ("y",)),
    }
    assert list(state.said["a.0"]) == ["ann", "cy"]
    assert fold([*events, event(4, "rename_class", name="y", to="w")], [], {}).latest("a.0").labels == ("w",)
    gone = fold([*events, event(4, "remove_class", name="y")], [], {})
    assert (gone.latest("a.0").labels, gone.latest("b.0"), gone.settled) == (("z",), None, {})


def test_of_several_labels_the_others_stay_when_a_class_goes():
    events = [
        event(1, "label", rows=["a.0"], label=["x", "y", "x"]),
        event(2, "label", rows=["b.0"], label="x"),
    ]
    state = fold([*events, event(3, "remove_class", name="x")], ["x", "y"], {"x": "about x", "y": "about y"})
    assert (state.classes, state.descriptions) == (["y"], {"y": "about y"})
    assert {key: said.labels for key, said in state.holding()} == {"a.0": ("y",)}


def test_a_class_that_is_not_there_is_neither_renamed_nor_removed():
    given = ["x", "y"], {"x": "about x", "y": "about y"}
    for about in ({"do": "rename_class", "name": "z", "to": "y"}, {"do": "remove_class", "name": "z"},
                  {"do": "rename_class", "name": "x", "to": "x"}):  # fmt: skip
        assert fold([event(1, "label", rows=["a.0"], label="x"), event(2, **about)], *given) == fold(
            [event(1, "label", rows=["a.0"], label="x")], *given
        )
    merged = fold([event(1, "rename_class", name="x", to="y")], *given)
    assert (merged.classes, merged.descriptions) == (["y"], {"y": "about y"})
    renamed = fold([event(1, "rename_class", name="x", to="z")], *given)
    assert (renamed.classes, renamed.descriptions) == (["z", "y"], {"z": "about x", "y": "about y"})


def test_a_class_is_added_once_and_described_again():
    events = [
        event(k, "add_class", name="x", description=each) for k, each in enumerate(["one", None, "two"])
    ]
    state = fold(events, [], {})
    assert (state.classes, state.descriptions) == (["x"], {"x": "two"})
    assert fold(events[:2], [], {}).descriptions == {"x": "one"}


def test_notes_are_replaced_and_removed_and_marks_end_with_their_text():
    notes = [event(k, "note", rows=["a.0", "b.0"][: 2 - k], text=text) for k, text in enumerate(["odd", ""])]
    assert fold(notes, [], {}).notes == {"b.0": "odd"}
    state = fold([event(1, "marks", rows=["a.0"], marks=[[0, 4], [2, 5]])], [], {})
    assert (state.spans("a.0", "soup"), state.spans("b.0", "soup")) == ([(0, 4)], [])
    assert state.spans("a.0", "soups") == [(0, 4), (2, 5)]


def test_only_who_was_last_asked_stands_last():
    events = [
        event(1, "skip", "ann", rows=["a.0"]),
        event(2, "unsure", "ben", rows=["a.0"]),
        event(3, "skip", "ann", rows=["a.0"]),
    ]
    assert fold(events[:2], [], {}).latest("a.0") == Said(None, "ben", "t2", "picked", "2", "unsure")
    assert fold(events, [], {}).latest("a.0") == Said(None, "ann", "t3", "picked", "3", "skip")


def test_a_label_is_a_name_or_names_each_once():
    assert as_labels(["x", "y", "x"]) == ("x", "y")
    for wrong in (5, None, ["x", 5], {"x"}):
        with refuses("option-value"):
            as_labels(wrong)
