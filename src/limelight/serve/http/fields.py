"""The fields of a route's body, as JSON Schema: by it they are checked, and described to clients.

One that a route does not have is an error, never ignored; null says nothing.
"""

import math
from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, NamedTuple

from .bodies import Body
from .limits import RequestError

Schema = dict[str, Any]  # its description completes the sentence "NAME must be ..."
TEXT: Schema = {"type": "string", "description": "a text"}
TEXTS: Schema = {"type": ["string", "array"], "description": "a text or a list of texts"}
FLAG: Schema = {"type": "boolean", "description": "true or false"}
SHARE: Schema = {
    "type": "number", "minimum": 0, "maximum": 1, "description": "a number from 0 to 1, such as 0.8",
}  # fmt: skip
_NAMES = {
    str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object",
    type(None): "null",
}  # fmt: skip


def text(most: int) -> Schema:
    return {**TEXT, "maxLength": most}


def whole(low: int, high: int) -> Schema:
    about = f"an integer from {low:,} to {high:,}"
    return {"type": "integer", "minimum": low, "maximum": high, "description": about}


def one_of(*values: Any) -> Schema:
    return {"enum": list(values), "description": f"one of {', '.join(map(str, values))}"}


def list_of(items: Schema, what: str, most: int) -> Schema:
    return {"type": "array", "items": items, "maxItems": most, "description": f"a list of {what}"}


class Fields(NamedTuple):
    """What a body has, and what it may have, by name."""

    required: Mapping[str, Schema] = MappingProxyType({})
    optional: Mapping[str, Schema] = MappingProxyType({})

    def check(self, body: Body, where: str) -> dict[str, Any]:
        """The fields that say something; one that is missing, unknown or of the wrong type is an error.

        >>> Fields({}, {"k": whole(1, 9)}).check({"top_k": 3}, "/search")
        Traceback (most recent call last):
        limelight.serve.http.limits.RequestError: /search has no field "top_k" (did you mean "k"?); it takes k
        """
        known = {**self.required, **self.optional}
        given = {name: value for name, value in body.items() if value is not None}
        for name in given:
            if name not in known:
                shown = name[:40]  # it may have megabytes
                near = [each for each in known if each in shown.split("_")]
                near = near or get_close_matches(shown, known, n=1)
                hint = f' (did you mean "{near[0]}"?)' if near else ""
                takes = f"it takes {', '.join(known) or 'none'}"
                raise RequestError(
                    422, f'{where} has no field "{shown}"{hint}; {takes}', code="field-unknown"
                )
        for name, schema in self.required.items():
            if name not in given:
                raise RequestError(422, f"{name} must be {schema['description']}")
        return {name: _checked(name, value, known[name]) for name, value in given.items()}

    def schema(self) -> Schema:
        """For the OpenAPI document."""
        known = {**self.required, **self.optional}
        return {
            "type": "object", "required": list(self.required), "properties": known,
            "additionalProperties": False,
        }  # fmt: skip


def _checked(name: str, value: Any, schema: Schema) -> Any:
    for kind, limit, what in ((str, "maxLength", "characters"), (list, "maxItems", "entries")):
        if isinstance(value, kind) and len(value) > (most := schema.get(limit, math.inf)):
            fault = f"{name} has {len(value):,} {what}; at most {most:,} are allowed"
            raise RequestError(413, fault)
    if not _fit([value], schema):
        raise RequestError(422, f"{name} must be {schema['description']}")
    if "properties" in schema and isinstance(value, dict):
        known = schema["properties"]
        return Fields({each: known[each] for each in schema.get("required", ())}, known).check(value, name)
    return value


def _fit(values: list[Any], schema: Schema) -> bool:
    """Whether all the values do. There may be millions of them: each step looks at all at once."""
    if "type" in schema:
        known = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        found = {_NAMES[kind] for kind in set(map(type, values))}
        if not found <= {*known, *(["integer"] if "number" in known else [])}:
            return False
    numbers = [value for value in values if isinstance(value, int | float)] if "minimum" in schema else []
    if numbers and not schema["minimum"] <= min(numbers) <= max(numbers) <= schema["maximum"]:
        return False
    if "enum" in schema and not all(value in schema["enum"] for value in values):
        return False
    lists = [value for value in values if isinstance(value, list)]
    low, high = schema.get("minItems", 0), schema.get("maxItems", math.inf)
    if not all(low <= len(value) <= high for value in lists):
        return False
    return "items" not in schema or all(_fit(value, schema["items"]) for value in lists)
