"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown.

    >>> print(table(("label", "n"), [("a|b", "3")]))
    | label | n |
    |---|---|
    | a\\|b | 3 |
    """
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (head, *rows)]
    lines = [f"|{'|'.join(f' {cell} ' for cell in row)}|" for row in cells]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])
