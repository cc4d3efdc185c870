"""Markdown for cards: values from outside become cells and lines that cannot break out of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def metadata(fields: Mapping[str, Any]) -> str:
    """The hub's block of YAML, every value written as JSON, which is valid YAML: no text can break out of it.

    >>> print(metadata({"license": "mit", "language": None}))
    ---
    license: "mit"
    ---
    """
    lines = [f"{key}: {json.dumps(value)}" for key, value in fields.items() if value]
    return "\n".join(["---", *lines, "---"])


def table(head: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    """A table.

    >>> print(table(("label", "n"), [("a|b", 3)]))
    | label | n |
    |---|---|
    | a\\|b | 3 |
    """
    lines = [f"|{'|'.join(f' {one_line(cell)} ' for cell in cells)}|" for cells in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def one_line(value: Any) -> str:
    """Escape a value to one line that cannot break a table."""
    return " ".join(escape(value).split()).replace("|", "\\|")


def escape(value: Any) -> str:
    """Text without markup."""
    return str(value).replace("&", "&amp;").replace("<", "&lt;")


def number(value: Any) -> str:
    """A figure with four decimals, or anything else as it is."""
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def mapping(value: Any) -> Mapping[str, Any]:
    """A mapping from outside; anything else counts as an empty one."""
    return value if isinstance(value, Mapping) else {}
