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
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..config.recipe import Recipe
from ..text.labels import Label

_ALWAYS = ("embedding", "word_size", "hidden", "rows", "head", "epochs", "seed")
_USE = (
    "Classifying {what} like those it was trained on into the labels above, and seeing which words it "
    "looked at."
)
_LIMITS = (
    "All words outside its vocabulary look the same to the model. Its probabilities are not calibrated. "
    "Its attention shows where it looked, which is not always why it decided."
)

_MARKS = str.maketrans({"&": "&amp;", "<": "&lt;", **{c: f"&#{ord(c)};" for c in "\\`*_[]#~>$"}})


def model_card(
    *, recipe: Recipe, labels: Sequence[Label], pair: bool, vocabulary: int, facts: Mapping[str, Any]
) -> str:
    """The card as Markdown with the metadata block that the hub reads.

    >>> card = model_card(recipe=Recipe(), labels=["bad", "good"], pair=False, vocabulary=5000,
    ...     facts={"name": "Soup", "results": {"test": {"accuracy": 0.9}}})
    >>> card.splitlines()[0], "| test | 0.9000 |" in card
    ('---', True)
    """
    name = _join_lines(facts.get("name", "A Limelight model"))
    parts = [
        _metadata(name, facts),
        f"# {_quote(name)}",
        _summary(recipe, pair, vocabulary),
        "## Labels\n\n" + "\n".join(f"- {_quote(label)}" for label in labels),
        _usage(pair),
        _data(facts.get("data")),
        _results(facts.get("results")),
        _confusion(facts.get("confusion"), facts.get("confusion_split"), labels),
        _recipe(recipe),
        f"## Intended use\n\n{_escape(facts.get('intended_use') or _USE.format(what=_inputs(pair)))}",
        f"## Limits\n\n{_escape(facts.get('limits') or _LIMITS)}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


# ---------------------------------------------------------------- the hub's metadata


def _metadata(name: str, facts: Mapping[str, Any]) -> str:
    """YAML with every value quoted: no text can break out of it."""
    fields: dict[str, Any] = {
        "language": facts.get("language"),
        "license": facts.get("license", "other"),
        "library_name": "limelight",
        "pipeline_tag": "text-classification",
        "tags": ["limelight", "text-classification", "sentence-embedding", "self-attention", "onnx"],
        "metrics": ["accuracy"],
        "model-index": _model_index(name, facts),
    }
    lines = [f"{key}: {_yaml(value)}" for key, value in fields.items() if value]
    return "\n".join(["---", *lines, "---"])


def _yaml(value: Any) -> str:
    """JSON, which is valid YAML but for emoji, which it may write as two halves.

    >>> print(_yaml("soup \U0001f372"))
    "soup \U0001f372"
    """
    text = json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass").decode(errors="replace")
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)


def _model_index(name: str, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    results = _mapping(facts.get("results"))
    accuracy = _mapping(results.get("test")).get("accuracy")
    if not isinstance(accuracy, int | float):
        return []
    data = _join_lines(_mapping(facts.get("data")).get("name", "custom data"))
    result = {
        "task": {"type": "text-classification"},
        "dataset": {"name": data, "type": data, "split": "test"},
        "metrics": [{"type": "accuracy", "value": accuracy}],
    }
    return [{"name": name, "results": [result]}]


# ---------------------------------------------------------------- for readers


def _inputs(pair: bool) -> str:
    return "pairs of sentences" if pair else "texts"


def _summary(recipe: Recipe, pair: bool, vocabulary: int) -> str:
    model = recipe.model
    if model.embedding == "self-attention":
        how = f"a bidirectional LSTM and structured self-attention with {model.rows} rows"
    else:
        how = f"the baseline '{model.embedding}' in place of self-attention"
    return (
        f"Classifies {_inputs(pair)} by {how}, trained with Limelight. Its vocabulary is "
        f"{vocabulary:,} words. For every text it also shows which words it looked at."
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

PyTorch is not needed. `model.onnx` (with `model.safetensors` beside it) and `model.int8.onnx` run wherever
ONNX Runtime does; the `tokenizers` library reads `tokenizer.json`."""


def _data(data: Any) -> str:
    data = _mapping(data)
    if not data:
        return ""
    rows = [(_quote(key), f"{value:,}") for key, value in data.items() if isinstance(value, int)]
    about = [f"{_quote(key)}: {_quote(value)}" for key, value in data.items() if isinstance(value, str)]
    return "\n\n".join(["## Data", *about, *([_table(("split", "rows"), rows)] if rows else [])])


def _results(results: Any) -> str:
    results = {split: _mapping(scores) for split, scores in _mapping(results).items()}
    measures = list(dict.fromkeys(name for scores in results.values() for name in scores))
    if not measures:
        return ""
    rows = [
        (_quote(split), *(_number(scores.get(m, "")) for m in measures)) for split, scores in results.items()
    ]
    return "## Results\n\n" + _table(("split", *map(_quote, measures)), rows)


def _confusion(matrix: Any, split: Any, labels: Sequence[Label]) -> str:
    is_matrix = isinstance(matrix, Sequence) and all(isinstance(row, Sequence) for row in matrix)
    if not is_matrix or {len(matrix), *map(len, matrix)} != {len(labels)}:
        return ""
    names = [_quote(label) for label in labels]
    rows = [(name, *map(_number, row)) for name, row in zip(names, matrix, strict=True)]
    on = f", {_quote(split)} data" if split else ""
    return f"## Confusion{on}\n\nRows are the true labels, columns the predicted ones.\n\n" + _table(
        ("", *names), rows
    )


def _recipe(recipe: Recipe) -> str:
    defaults, rows = Recipe(), []
    for section in ("text", "model", "training"):
        chosen, default = getattr(recipe, section), getattr(defaults, section)
        for field in dataclasses.fields(chosen):
            value = getattr(chosen, field.name)
            if field.name in _ALWAYS or value != getattr(default, field.name):
                rows.append((f"`{field.name}`", _quote(value), _escape(field.metadata["help"])))
    return "## Recipe\n\nAll other options have their defaults; `config.json` lists them all.\n\n" + _table(
        ("option", "value", "meaning"), rows
    )


# ---------------------------------------------------------------- Markdown


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """
    >>> print(_table(("label", "n"), [("a|b", "3")]))
    | label | n |
    |---|---|
    | a\\|b | 3 |
    """
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (head, *rows)]
    lines = [f"|{'|'.join(f' {cell} ' for cell in row)}|" for row in cells]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def _quote(value: Any) -> str:
    """A text from outside on one line, without effect in Markdown or HTML: no image, no link, no list.

    >>> print(_quote("![x](//evil) 1"), _quote("1. y"))
    !&#91;x&#93;(//evil) 1 1&#46; y
    """
    text = _join_lines(value).translate(_MARKS)
    text = re.sub(r"^(\d*)([-+=.)])(?=[-+=\s]|$)", lambda mark: f"{mark[1]}&#{ord(mark[2])};", text)
    # Addresses become links by themselves, even spelled with entities, unless something is between.
    return re.sub(r"(?i)(://|@|\bwww\.)", lambda mark: f"{mark[0][0]}&#8203;{mark[0][1:]}", text)


def _join_lines(value: Any) -> str:
    return " ".join(str(value).split())


def _escape(value: Any) -> str:
    return str(value).replace("&", "&amp;").replace("<", "&lt;")


def _number(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else _quote(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
