"""Markdown for cards: values from outside become cells and lines that cannot break out of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_MARKS = str.maketrans({"&": "&amp;", "<": "&lt;", **{c: f"&#{ord(c)};" for c in "\\`*_[]#~>$"}})


def metadata(fields: Mapping[str, Any]) -> str:
    """The hub's block of YAML, every value quoted: no text can break out of it.

    >>> print(metadata({"license": "mit", "language": None}))
    ---
    license: "mit"
    ---
    """
    lines = [f"{key}: {yaml(value)}" for key, value in fields.items() if value]
    return "\n".join(["---", *lines, "---"])


def yaml(value: Any) -> str:
    """JSON, which is valid YAML but for emoji, which it may write as two halves.

    >>> print(yaml("soup \U0001f372"))
    "soup \U0001f372"
    """
    text = json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass").decode(errors="replace")
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; what comes from outside must have gone through `quote`.

    >>> print(table(("label", "n"), [("a|b", "3")]))
    | label | n |
    |---|---|
    | a\\|b | 3 |
    """
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (head, *rows)]
    lines = [f"|{'|'.join(f' {cell} ' for cell in row)}|" for row in cells]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def quote(value: Any) -> str:
    """A text from outside on one line, without effect in Markdown or HTML: no image, no link, no list.

    >>> print(quote("![x](//evil) 1"), quote("1. y"))
    !&#91;x&#93;(//evil) 1 1&#46; y
    """
    text = one_line(value).translate(_MARKS)
    text = re.sub(r"^(\d*)([-+=.)])(?=[-+=\s]|$)", lambda mark: f"{mark[1]}&#{ord(mark[2])};", text)
    # Addresses become links by themselves, even spelled with entities, unless something is between.
    return re.sub(r"(?i)(://|@|\bwww\.)", lambda mark: f"{mark[0][0]}&#8203;{mark[0][1:]}", text)


def one_line(value: Any) -> str:
    """A value as one line."""
    return " ".join(str(value).split())


def escape(value: Any) -> str:
    """Text without markup."""
    return str(value).replace("&", "&amp;").replace("<", "&lt;")


def number(value: Any) -> str:
    """A figure with four decimals, or anything else as it is."""
    return f"{value:.4f}" if isinstance(value, float) else quote(value)


def mapping(value: Any) -> Mapping[str, Any]:
    """A mapping from outside; anything else counts as an empty one."""
    return value if isinstance(value, Mapping) else {}
