"""Fields of a body, checked by their schema."""

from __future__ import annotations

import math
from typing import Any

import pytest

from limelight.serve.http.fields import FLAG, SHARE, TEXT, TEXTS, Fields, Schema, list_of, one_of, text, whole
from limelight.serve.http.limits import RequestError

ROW = whole(0, 9)
SPANS = list_of({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}, "pairs", 3)
INNER: Schema = {
    "type": "object",
    "properties": {"a": TEXT, "b": FLAG},
    "required": ["a"],
    "description": "x",
}


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (TEXT, ["", "soup"], [3, True, ["soup"], {}]),
        (TEXTS, ["soup", [], ["soup"]], [3, {}]),
        (FLAG, [True, False], [0, 1, "yes"]),
        (SHARE, [0, 1, 0.5], [True, -0.1, 1.1, math.nan, math.inf, "0.5"]),
        (ROW, [0, 9], [-1, 10, True, 1.0, 10**400, "1"]),
        ({**ROW, "type": ["integer", "string"]}, [9, "soup"], [10, 1.5]),
        (list_of(ROW, "rows", 4), [[], [0, 9]], [[10], [True], [0, "1"], [[1]], 1]),
        (SPANS, [[], [[0, 4], [7, 9]]], [[[0]], [[0, 1, 2]], [[0, "1"]], [0, 1]]),
        (one_of("auto", "random"), ["auto"], ["best", ["auto"], 1]),
    ],
)
def test_a_value_fits_its_schema_or_is_refused(schema: Schema, good: list[Any], bad: list[Any]) -> None:
    fields = Fields({"x": {"description": "right", **schema}})
    for value in good:
        assert fields.check({"x": value}, "/path") == {"x": value}
    for value in bad:
        with pytest.raises(RequestError, match="x must be ") as refused:
            fields.check({"x": value}, "/path")
        assert (refused.value.status, refused.value.code) == (422, "field-invalid")


@pytest.mark.parametrize(("schema", "value"), [(text(3), "soup"), (list_of(ROW, "rows", 2), [1, 2, 3])])
def test_what_is_too_long_says_so(schema: Schema, value: Any) -> None:
    with pytest.raises(RequestError, match=r"at most [23] are allowed") as refused:
        Fields({}, {"x": schema}).check({"x": value}, "/path")
    assert refused.value.status == 413


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "field-invalid"),
        ({"x": None}, "field-invalid"),
        ({"x": {"a": "1"}, "y": 1}, "field-unknown"),
        ({"x": {"a": "1", "c": 1}}, "field-unknown"),
        ({"x": {"b": True}}, "field-invalid"),
    ],
)
def test_missing_and_unknown_fields_are_refused_inside_others_too(body: dict[str, Any], code: str) -> None:
    with pytest.raises(RequestError) as refused:
        Fields({"x": INNER}).check(body, "/path")
    assert (refused.value.status, refused.value.code) == (422, code)


def test_null_says_nothing() -> None:
    body = {"x": {"a": "1", "b": None}, "z": None, "k": None}
    assert Fields({"x": INNER}, {"z": FLAG}).check(body, "/path") == {"x": {"a": "1"}}
