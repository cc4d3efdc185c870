"""The card of a reader: the README.md of its folder, with what each row reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..config.recipe import Recipe
from ..reading.captions import NO_ASPECT
from .markdown import mapping, metadata, number, one_line, quote, table

_USE = """## Use

```python
import limelight

reader = limelight.load("path/to/this/folder")
reader.encode(["The soup was cold."])  # one vector per text, to compare by its dot product
reader.embed(["The soup was cold."])  # the matrix M, one line per row below
```

PyTorch is not needed."""
_ROWS = """## What each row reads

The words that get the most attention above an even share{where}."""
_LICENCES = "To be filled in: the licence of the teacher, and those of the texts."


def reader_card(words: int, recipe: Recipe, facts: Mapping[str, Any]) -> str:
    """The card as Markdown; `facts` may have `licences`, a paragraph, and `pretraining`, its options.

    >>> facts = {"rows": [["no", "not"]], "held_out": 9, "teacher": "MiniLM"}
    >>> card = reader_card(5000, Recipe(), facts)
    >>> "| 1 | no, not |" in card, "MiniLM" in card
    (True, True)
    """
    options = mapping(facts.get("pretraining")) or dataclasses.asdict(recipe.model)
    parts = [
        metadata({"library_name": "limelight", "pipeline_tag": "sentence-similarity",
                         "tags": ["limelight", "sentence-embedding", "self-attention"], "license": "other"}),
        "# A Limelight reader",
        _summary(words, recipe.model.vector_size, facts),
        _USE,
        _figures(facts),
        rows_section(facts, _where(facts)),
        "## Recipe\n\n" + table(("option", "value"), [(quote(k), quote(v)) for k, v in options.items()]),
        f"## Licences\n\n{quote(facts.get('licences') or _LICENCES)}",
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def _summary(words: int, size: int, facts: Mapping[str, Any]) -> str:
    texts = mapping(facts.get("texts"))
    files = quote(", ".join(map(str, texts.get("files", []))))
    teacher, rows = quote(facts.get("teacher", "unknown")), texts.get("rows")
    count = f"{rows:,}" if isinstance(rows, int) else "some"
    return (
        f"Turns a text into a matrix M and one vector of {size} numbers, without labels. It knows {words:,} "
        "words and reads others by their spelling. Its vectors were learnt from those of the sentence "
        f"encoder {teacher}, on {count} texts ({files})."
    )


def row_words(facts: Mapping[str, Any]) -> list[str]:
    """The words of each row, as one line each."""
    rows = facts.get("rows")
    if not isinstance(rows, list):
        return []
    return [one_line(", ".join(map(str, row))) if isinstance(row, list) else "" for row in rows]


def _figures(facts: Mapping[str, Any]) -> str:
    names = {"cosine": "cosine to the teacher's vectors", "overlap": "overlap of two rows of attention"}
    rows = [(what, number(facts[name])) for name, what in names.items() if name in facts]
    return "## Figures\n\nOn held-out texts, means.\n\n" + table(("figure", "value"), rows) if rows else ""


def _where(facts: Mapping[str, Any]) -> str:
    """In which texts the rows were described."""
    if "rows_from" in facts:
        return f", in {quote(facts['rows_from'])}"
    texts = facts.get("held_out")
    return f", in {texts:,} held-out texts" if isinstance(texts, int) else ""


def rows_section(facts: Mapping[str, Any], where: str = "") -> str:
    """What each row reads, as Markdown; empty if that is not known. `where` says in which texts."""
    rows = [(str(k), quote(words or NO_ASPECT)) for k, words in enumerate(row_words(facts), 1)]
    return _ROWS.format(where=where) + "\n\n" + table(("row", "words"), rows) if rows else ""
