"""The model card: the README.md of a saved folder, for people and for the hub.

Its facts are plain JSON, all of them optional:

    name, language, license      of the model
    data                         {"name": "...", "train": 8544, "dev": 1101, "test": 2210}: rows
    results                      {"dev": {"accuracy": 0.48, ...}, "test": {...}}: numbers by split
    confusion                    (classes, classes): rows are the true labels, columns the predicted ones
    confusion_split              which split it was counted on
    rows                         the words that each row reads, a list each; none: no clear aspect
    old_dev                      {"data": "dev.csv", "rows": 200, "before": 0.915, "after": 0.905}: accuracy
    confidence                   {"temperature": 1.3, "rows": 1101, "curve": [[threshold, share, right], ...]}
    trust                        {"texts": 100, "data": "held-out texts", "without": 0.33, "random": 0.07}
    intended_use, limits         a paragraph each
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import __version__
from ..config.recipe import Recipe
from ..reading.captions import trust_sentence
from ..text.labels import Label
from .confidence import saved_curve
from .markdown import escape, mapping, metadata, number, one_line, quote, table
from .metrics import forgetting_sentence
from .reader_card import rows_section

_TASKS = {"multi-label": "Gives {what} any number of labels", "regression": "Predicts a number for {what}"}
_ENCODERS = {"bilstm": "a bidirectional LSTM and ", "cnn": "a CNN and ", "words": "its words and "}
_ALWAYS = ("encoder", "pooling", "word_size", "hidden", "rows", "head", "epochs", "seed")
_USES = {"regression": "Predicting this number for {what} like those it was trained on"}
_USE = "Classifying {what} like those it was trained on into the labels above"
_MEASURES = {"accuracy": "accuracy", "micro_f1": "f1", "r2": "r_squared"}  # ours, by what the hub calls them
_LIMITS = (
    "All words outside its vocabulary look the same to the model. {calibrated} Its attention shows where it "
    "looked, which is not always why it decided."
)
_NOT_CALIBRATED = "Its probabilities are not calibrated."
_CALIBRATED = "Its probabilities are calibrated on texts like the development set's, and on no others."


def model_card(
    *,
    recipe: Recipe,
    labels: Sequence[Label],
    pair: bool,
    vocabulary: int,
    facts: Mapping[str, Any],
    thresholds: Sequence[float] | np.ndarray | None = None,
) -> str:
    """The card as Markdown with the metadata block that the hub reads.

    >>> card = model_card(recipe=Recipe(), labels=["bad", "good"], pair=False, vocabulary=5000,
    ...     facts={"name": "Soup", "results": {"test": {"accuracy": 0.9}}})
    >>> card.splitlines()[0], "| test | 0.9000 |" in card
    ('---', True)
    """
    name = one_line(facts.get("name", "A Limelight model"))
    parts = [
        _metadata(name, facts),
        f"# {quote(name)}",
        _summary(recipe, pair, vocabulary),
        _labels(labels, recipe.text.task, thresholds),
        _usage(pair, recipe.text.task),
        _data(facts.get("data")),
        _results(facts.get("results")),
        _forgotten(facts),
        _confusion(facts.get("confusion"), facts.get("confusion_split"), labels),
        _confidence(facts),
        _trust(facts),
        rows_section(facts, ", in training texts"),
        _recipe(recipe),
        f"## Intended use\n\n{escape(facts.get('intended_use') or _use(pair, recipe.text.task))}",
        f"## Limits\n\n{escape(facts.get('limits') or _limits(facts))}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


# ---------------------------------------------------------------- the hub's metadata


def _metadata(name: str, facts: Mapping[str, Any]) -> str:
    fields: dict[str, Any] = {
        "language": facts.get("language"),
        "license": facts.get("license", "other"),
        "library_name": "limelight",
        "pipeline_tag": "text-classification",
        "tags": ["limelight", "text-classification", "sentence-embedding", "self-attention", "onnx"],
        "metrics": [_main_result(facts)[0]],
        "model-index": _model_index(name, facts),
    }
    return metadata(fields)


def _model_index(name: str, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    kind, value = _main_result(facts)
    if not isinstance(value, int | float):
        return []
    data = one_line(mapping(facts.get("data")).get("name", "custom data"))
    result = {
        "task": {"type": "text-classification"},
        "dataset": {"name": data, "type": data, "split": "test"},
        "metrics": [{"type": kind, "value": value}],
    }
    return [{"name": name, "results": [result]}]


def _main_result(facts: Mapping[str, Any]) -> tuple[str, Any]:
    """What the hub calls the measure that matters most, and its value on test data."""
    results = mapping(facts.get("results"))
    found = {**mapping(results.get("dev")), **mapping(results.get("test"))}
    ours = next((name for name in _MEASURES if name in found), "accuracy")
    return _MEASURES[ours], mapping(results.get("test")).get(ours)


# ---------------------------------------------------------------- for readers


def _inputs(pair: bool) -> str:
    return "pairs of sentences" if pair else "texts"


def _summary(recipe: Recipe, pair: bool, vocabulary: int) -> str:
    model = recipe.model
    how = _ENCODERS[model.encoder] + (
        f"structured self-attention with {model.rows} rows" if model.attention_rows else "max pooling"
    )
    what = _TASKS.get(recipe.text.task, "Classifies {what}").format(what=_inputs(pair))
    return (
        f"{what} by {how}, trained with Limelight. Its vocabulary is "
        f"{vocabulary:,} words. For every text it also shows which words decided and what each row read. "
        f"Limelight {__version__} wrote this folder."
    )


def _use(pair: bool, task: str) -> str:
    return f"{_USES.get(task, _USE).format(what=_inputs(pair))}, and seeing which words decided."


def _labels(labels: Sequence[Label], task: str, thresholds: Sequence[float] | np.ndarray | None) -> str:
    """The labels; with thresholds, from which probability on each is given."""
    if task == "regression":
        return ""
    if thresholds is None:
        return "## Labels\n\n" + "\n".join(f"- {quote(label)}" for label in labels)
    rows = [(quote(label), number(float(x))) for label, x in zip(labels, thresholds, strict=True)]
    how = "A label is predicted if its probability is at least its threshold."
    return f"## Labels\n\n{how}\n\n" + table(("label", "threshold"), rows)


def _usage(pair: bool, task: str) -> str:
    shown = "reading.answer" if task in _TASKS else "reading.label, reading.confidence"
    call = '"A man plays the guitar.", "A man makes music."' if pair else '"The soup was cold."'
    return f"""## Use

```python
import limelight

model = limelight.load("path/to/this/folder")
reading = model.read({call})
print({shown})
```

PyTorch is not needed. `model.onnx` (with `model.safetensors` beside it) and `model.int8.onnx` run wherever
ONNX Runtime does; the `tokenizers` library reads `tokenizer.json`."""


def _data(data: Any) -> str:
    data = mapping(data)
    if not data:
        return ""
    rows = [(quote(key), f"{value:,}") for key, value in data.items() if isinstance(value, int)]
    about = [f"{quote(key)}: {quote(value)}" for key, value in data.items() if isinstance(value, str)]
    return "\n\n".join(["## Data", *about, *([table(("split", "rows"), rows)] if rows else [])])


def _results(results: Any) -> str:
    results = {split: mapping(scores) for split, scores in mapping(results).items()}
    measures = list(dict.fromkeys(name for scores in results.values() for name in scores))
    if not measures:
        return ""
    rows = [
        (quote(split), *(number(scores.get(m, "")) for m in measures)) for split, scores in results.items()
    ]
    return "## Results\n\n" + table(("split", *map(quote, measures)), rows)


def _forgotten(facts: Mapping[str, Any]) -> str:
    sentence = forgetting_sentence(facts.get("old_dev"))
    return f"## What it forgot\n\n{escape(sentence)}" if sentence else ""


def _confusion(matrix: Any, split: Any, labels: Sequence[Label]) -> str:
    is_matrix = isinstance(matrix, Sequence) and all(isinstance(row, Sequence) for row in matrix)
    if not is_matrix or {len(matrix), *map(len, matrix)} != {len(labels)}:
        return ""
    names = [quote(label) for label in labels]
    rows = [(name, *map(number, row)) for name, row in zip(names, matrix, strict=True)]
    on = f", {quote(split)} data" if split else ""
    return f"## Confusion{on}\n\nRows are the true labels, columns the predicted ones.\n\n" + table(
        ("", *names), rows
    )


def _trust(facts: Mapping[str, Any]) -> str:
    sentence = trust_sentence(facts.get("trust"))
    return f"## How far to trust what decided\n\n{escape(sentence)}" if sentence else ""


def _confidence(facts: Mapping[str, Any]) -> str:
    """What is answered for some wanted precisions."""
    curve, rows = saved_curve(facts.get("confidence")), []
    for precision in (0.9, 0.95, 0.99):
        found = [point for point in curve if point.precision >= precision][:1]
        rows += [(f"{precision:.0%}", f"{each.threshold:.3f}", f"{each.share:.1%}") for each in found]
    if not rows:
        return ""
    about = "On the development set, where `predict` abstains below a probability (`--target-precision`):"
    return f"## Abstaining\n\n{about}\n\n" + table(("right", "abstain below", "answered"), rows)


def _limits(facts: Mapping[str, Any]) -> str:
    return _LIMITS.format(calibrated=_CALIBRATED if mapping(facts.get("confidence")) else _NOT_CALIBRATED)


def _recipe(recipe: Recipe) -> str:
    defaults, rows = Recipe(), []
    for section in ("text", "model", "training"):
        chosen, default = getattr(recipe, section), getattr(defaults, section)
        for field in dataclasses.fields(chosen):
            value = getattr(chosen, field.name)
            if field.name in _ALWAYS or value != getattr(default, field.name):
                rows.append((f"`{field.name}`", quote(value), escape(field.metadata["help"])))
    return "## Recipe\n\nAll other options have their defaults; `config.json` lists them all.\n\n" + table(
        ("option", "value", "meaning"), rows
    )
