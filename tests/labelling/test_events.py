"""Which events a journal takes: each kind with its fields, and what each field may hold."""

from __future__ import annotations

import pytest

from limelight.labelling.journal import CHOSEN, find_fault, text_keys

KEY = text_keys(["good"])[0]
ALWAYS = {"id": "9f3a61c2", "by": "ann", "when": "2026-11-18T09:30:00+00:00"}
KINDS: dict[
    str, tuple[dict[str, object], dict[str, object]]
] = {  # the fields that it must have, and may have
    "label": ({"rows": [KEY], "label": "x"}, {"chosen": "auto", "checked": [KEY], "marks": {KEY: [[0, 4]]}}),
    "skip": ({"rows": [KEY]}, {}),
    "unsure": ({"rows": []}, {}),
    "note": ({"rows": [KEY], "text": ""}, {}),
    "marks": ({"rows": [KEY], "marks": [[0, 1], [1, 2]]}, {}),
    "undo": ({"of": "0123456789abcdef"}, {}),
    "add_class": ({"name": "x"}, {"description": None}),
    "rename_class": ({"name": "x", "to": "y"}, {}),
    "remove_class": ({"name": "x"}, {}),
}
WRONG: dict[str, list[object]] = {
    "id": ["9f3a61c", "9f3a61c2d01b77e4a", "9F3A61C2", 7], "of": ["x" * 8, 3], "by": [None],
    "when": ["2026-11-18T09:30:00", "٢026-11-18T09:30:00+00:00", "2026-11-18T09:30:00+00:00Z", 5],
    "rows": [KEY, [KEY[:-1]], [KEY[:-1] + "٣"], [KEY + "000000000"], [[KEY]], {KEY: 1}],
    "label": [5, None, [5], {"x": 1}], "chosen": ["best", None, ["auto"]], "checked": [KEY, ["a.0"]],
    "text": [None], "name": [5], "to": [["y"]], "description": [5],
    "texts": [["good"], {KEY: 5}, {KEY: "bad"}, {"good": "good"}],
}  # fmt: skip
WRONG_MARKS = [[[1, 1]], [[-1, 2]], [[0, 1, 2]], [[0, True]], [(0, 1)], {}]


@pytest.mark.parametrize("do", KINDS)
def test_an_event_has_the_fields_of_its_kind(do):
    required, optional = KINDS[do]
    event = {**ALWAYS, "do": do, **required}
    full = {**event, **optional, "texts": {KEY: "good"}}
    assert find_fault(event) == find_fault(full) == ""
    for name in (*ALWAYS, *required):
        without = {key: value for key, value in full.items() if key != name}
        assert find_fault(without) == f'it has no "{name}"'
    for name in full.keys() & WRONG.keys():
        for wrong in WRONG[name]:
            assert find_fault({**full, name: wrong}) == f'its "{name}" cannot be {ascii(wrong)[:60]}'
    for wrong in WRONG_MARKS if "marks" in full else ():
        given = {KEY: wrong} if do == "label" else wrong
        assert find_fault({**full, "marks": given}).startswith('its "marks" cannot be')
    others = {name: 1 for *_, fields in KINDS.values() for name in fields} | {"more": 1}
    for name in others.keys() - full.keys():
        assert find_fault({**full, name: 1}) == f"it has a field '{name}'"


def test_what_a_field_may_hold():
    event = {**ALWAYS, "do": "label", **KINDS["label"][0]}
    right: dict[str, list[object]] = {
        "label": [["x", "y"], [], ""], "chosen": list(CHOSEN), "id": ["0123456789abcdef"],
        "rows": [[KEY] * 2], "marks": [{}, {KEY: []}], "texts": [{}], "checked": [[]],
    }  # fmt: skip
    assert {find_fault({**event, name: value}) for name, values in right.items() for value in values} == {""}
    added = {**ALWAYS, "do": "add_class", "name": "x", "description": "about it"}
    assert find_fault(added) == ""


@pytest.mark.parametrize("do", ["dance", 5, None, ["label"]])
def test_what_is_no_kind_of_event(do):
    assert find_fault({**ALWAYS, "do": do, "rows": []}) == f"{do!a} is not a kind of event"
    assert find_fault({**ALWAYS, "do": "x" * 80}) == f"{ascii('x' * 80)[:60]} is not a kind of event"


def test_equal_texts_are_numbered():
    keys = text_keys(["a", "b", "a", "a"])
    assert [key[17:] for key in keys] == ["0", "0", "1", "2"]
    assert {len(key.split(".")[0]) for key in keys} == {16}
    assert keys[0][:16] == keys[2][:16] != keys[1][:16]
