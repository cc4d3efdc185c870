"""The model card: the README.md of a saved folder, for people and for the hub.

Its facts are plain JSON, all of them optional:

    name, language, license      of the model
    data                         {"name": "...", "train": 8544, "dev": 1101, "test": 2210}: rows
    results                      {"dev": {"accuracy": 0.48, ...}, "test": {...}}: numbers by split
    confusion                    (classes, classes): rows are the true labels, columns the predicted ones
    confusion_split              which split it was counted on
    intended_use, limits         a paragraph each
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..config.recipe import Recipe
from ..text.labels import Label

_ALWAYS = ("embedding", "word_size", "hidden", "rows", "head", "epochs", "seed")
_USE = (
    "To sort {what} into the labels above, where they are like those it was trained on, and to see which "
    "words it looked at."
)
_LIMITS = (
    "Words that are not in its vocabulary are all alike to the model. Its probabilities are not "
    "calibrated. What it attends to shows where it looked, which is not always why it decided."
)


def model_card(
    *, recipe: Recipe, labels: Sequence[Label], pair: bool, vocabulary: int, facts: Mapping[str, Any]
) -> str:
    """The card as Markdown with the metadata block that the hub reads.

    >>> card = model_card(recipe=Recipe(), labels=["bad", "good"], pair=False, vocabulary=5000,
    ...     facts={"name": "Soup", "results": {"test": {"accuracy": 0.9}}})
    >>> card.splitlines()[0], "| test | 0.9000 |" in card
    ('---', True)
    """
    name = _line(facts.get("name", "A Limelight model"))
    parts = [
        _metadata(name, facts),
        f"# {name}",
        _summary(recipe, pair, vocabulary),
        "## Labels\n\n" + "\n".join(f"- {_line(label)}" for label in labels),
        _usage(pair),
        _data(facts.get("data")),
        _results(facts.get("results")),
        _confusion(facts.get("confusion"), facts.get("confusion_split"), labels),
        _recipe(recipe),
        f"## Intended use\n\n{_text(facts.get('intended_use') or _USE.format(what=_what(pair)))}",
        f"## Limits\n\n{_text(facts.get('limits') or _LIMITS)}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


# ---------------------------------------------------------------- the hub's metadata


def _metadata(name: str, facts: Mapping[str, Any]) -> str:
    """YAML, every value written as JSON, which YAML contains: no text can break out of it."""
    fields: dict[str, Any] = {
        "language": facts.get("language"),
        "license": facts.get("license", "other"),
        "library_name": "limelight",
        "pipeline_tag": "text-classification",
        "tags": ["limelight", "text-classification", "sentence-embedding", "self-attention", "onnx"],
        "metrics": ["accuracy"],
        "model-index": _model_index(name, facts),
    }
    lines = [f"{key}: {json.dumps(value)}" for key, value in fields.items() if value]
    return "\n".join(["---", *lines, "---"])


def _model_index(name: str, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    results = _mapping(facts.get("results"))
    accuracy = _mapping(results.get("test")).get("accuracy")
    if not isinstance(accuracy, int | float):
        return []
    data = _line(_mapping(facts.get("data")).get("name", "own data"))
    result = {
        "task": {"type": "text-classification"},
        "dataset": {"name": data, "type": data, "split": "test"},
        "metrics": [{"type": "accuracy", "value": accuracy}],
    }
    return [{"name": name, "results": [result]}]


# ---------------------------------------------------------------- for people


def _what(pair: bool) -> str:
    return "pairs of sentences" if pair else "texts"


def _summary(recipe: Recipe, pair: bool, vocabulary: int) -> str:
    model = recipe.model
    if model.embedding == "self-attention":
        how = f"a bidirectional LSTM and structured self-attention with {model.rows} rows"
    else:
        how = f"the baseline '{model.embedding}' in place of self-attention"
    return (
        f"Classifies {_what(pair)} by {how}, trained with Limelight. It knows {vocabulary:,} words. "
        "For every text it also says which words it looked at."
    )


def _usage(pair: bool) -> str:
    call = '"A man plays the guitar.", "A man makes music."' if pair else '"The soup was cold."'
    return f"""## Use

```python
import limelight

model = limelight.load("path/to/this/folder")
reading = model.read({call})
print(reading.label, reading.confidence)
```

No PyTorch is needed. `model.onnx` (with `model.safetensors` beside it) and `model.int8.onnx` run wherever
ONNX Runtime does; `tokenizer.json` is read by the `tokenizers` library."""


def _data(data: Any) -> str:
    data = _mapping(data)
    if not data:
        return ""
    rows = [(key, f"{value:,}") for key, value in data.items() if isinstance(value, int)]
    about = [f"{_line(key)}: {_line(value)}" for key, value in data.items() if isinstance(value, str)]
    return "\n\n".join(["## Data", *about, *([_table(("split", "rows"), rows)] if rows else [])])


def _results(results: Any) -> str:
    results = {split: _mapping(scores) for split, scores in _mapping(results).items()}
    measures = list(dict.fromkeys(name for scores in results.values() for name in scores))
    if not measures:
        return ""
    rows = [(split, *(_number(scores.get(m, "")) for m in measures)) for split, scores in results.items()]
    return "## Results\n\n" + _table(("split", *measures), rows)


def _confusion(matrix: Any, split: Any, labels: Sequence[Label]) -> str:
    whole = isinstance(matrix, Sequence) and all(isinstance(row, Sequence) for row in matrix)
    if not whole or {len(matrix), *map(len, matrix)} != {len(labels)}:
        return ""
    rows = [(label, *map(_number, row)) for label, row in zip(labels, matrix, strict=True)]
    on = f", {_line(split)} data" if split else ""
    return f"## Confusion{on}\n\nRows: the true label. Columns: the predicted one.\n\n" + _table(
        ("", *labels), rows
    )


def _recipe(recipe: Recipe) -> str:
    usual, rows = Recipe(), []
    for section in ("text", "model", "training"):
        own, default = getattr(recipe, section), getattr(usual, section)
        for field in dataclasses.fields(own):
            value = getattr(own, field.name)
            if field.name in _ALWAYS or value != getattr(default, field.name):
                rows.append((f"`{field.name}`", value, field.metadata["help"]))
    return "## Recipe\n\nThe rest is as usual; `config.json` has all of it.\n\n" + _table(
        ("option", "value", "meaning"), rows
    )


# ---------------------------------------------------------------- Markdown


def _table(head: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    """
    >>> print(_table(("label", "n"), [("a|b", 3)]))
    | label | n |
    |---|---|
    | a\\|b | 3 |
    """
    lines = [f"|{'|'.join(f' {_line(cell)} ' for cell in cells)}|" for cells in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def _line(value: Any) -> str:
    """One line that neither breaks a table nor is read as HTML."""
    return " ".join(_text(value).split()).replace("|", "\\|")


def _text(value: Any) -> str:
    return str(value).replace("&", "&amp;").replace("<", "&lt;")


def _number(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
