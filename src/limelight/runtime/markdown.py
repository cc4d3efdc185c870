"""Markdown for cards: values from outside become cells and lines that cannot break out of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
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


def cell(value: Any) -> str:
    """A value from outside as a cell of a table: a figure with four decimals, anything else quoted.

    >>> print(cell("a|b"), cell(0.5), cell(3))
    a\\|b 0.5000 3
    """
    return f"{value:.4f}" if isinstance(value, float) else quote(value).replace("|", "\\|")


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


def plain(value: Any) -> str:
    """Text without markup."""
    return str(value).replace("&", "&amp;").replace("<", "&lt;")
