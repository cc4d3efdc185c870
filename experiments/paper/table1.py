"""Table 1: the paper's model beside its two baselines, on reviews and on the age of authors.

python -m experiments.paper table1 --data yelp=encoded/yelp --data age=encoded/age --out runs
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from . import markdown
from .plan import Data, ExperimentRun, Plan
from .report import accuracy_table, data_notes, write_table
from .results import ResultsByRun

MODELS = {
    "max": "BiLSTM + max pooling + MLP",
    "cnn": "CNN + max pooling + MLP",
    "self-attention": "Structured self-attention",
}
PAPER = {
    "yelp": {"max": 61.99, "cnn": 62.05, "self-attention": 64.21},
    "age": {"max": 77.40, "cnn": 78.15, "self-attention": 80.45},
}


def runs(plan: Plan) -> list[ExperimentRun]:
    """Three models on each data set, with each seed."""
    plan.require_tasks("table1", tuple(PAPER))
    plan.forbid_options("table1", "encoder", "pooling")
    return plan.runs(tuple(MODELS))


def write(plan: Plan, results: ResultsByRun) -> None:
    """Write table1.md and table1.json."""
    body, cells = accuracy_table(plan, results, MODELS, PAPER)
    body = "\n\n".join([body, *(table for data in plan.data if (table := lengths(results, data)))])
    content = {"accuracy": cells, "note": plan.note, "runs": results}
    write_table(
        plan, "table1", "Table 1: self-attention and the baselines", body, data_notes(plan, results), content
    )


def lengths(results: ResultsByRun, data: Data) -> str:
    """Accuracy by quarter of the test set, the shortest texts first: do long texts gain most?"""
    found = [
        [r["by_length"] for r in results.values() if (r["data"]["name"], r["model"]) == (data.name, model)]
        for model in MODELS
    ]
    if not all(found):
        return ""
    merged = [[merge(each) for each in seeds] for seeds in found]
    rows = []
    for part, quarter in enumerate(merged[0][0]):
        means = [100 * sum(each[part]["accuracy"] for each in seeds) / len(seeds) for seeds in merged]
        low, high = quarter["words"]
        rows.append([f"{low} to {high}", *(f"{mean:.2f}" for mean in means)])
    # one row alone says what the table above it says
    return markdown.table([f"{data.name}, words", *MODELS.values()], rows) if len(rows) > 1 else ""


def merge(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join quarters with the same range of words.

    >>> merge([{"words": [9, 9], "rows": 5, "accuracy": 0.5}, {"words": [9, 9], "rows": 15, "accuracy": 0.7}])
    [{'words': [9, 9], 'rows': 20, 'accuracy': 0.65}]
    """
    merged = []
    for words, group in groupby(parts, lambda part: part["words"]):
        same = list(group)
        rows = sum(part["rows"] for part in same)
        right = sum(part["rows"] * part["accuracy"] for part in same)
        merged.append({"words": words, "rows": rows, "accuracy": right / rows})
    return merged
