"""Which part of the author's recipe does what: each taken away alone, then all of them.

python -m experiments.paper ingredients --data yelp:hotels=encoded/hotels --seeds 0 --out runs
"""

from __future__ import annotations

from dataclasses import replace

from . import markdown
from .plan import Data, ExperimentRun, Plan
from .report import data_notes, figures, percent, write_table
from .results import ResultsByRun, RunResult, recorded

MODELS = {
    "self-attention": "as its author ran it",
    "norm-clipped": "the norm of the whole gradient clipped instead of the gates'",
    "plain-start": "a narrow start, attention without biases",
    "unscaled-penalty": "the penalty not divided by n^2",
    "adagrad": "AdaGrad 0.01 instead of SGD",
    "literal": "the first three: the text taken literally",
}


def runs(plan: Plan) -> list[ExperimentRun]:
    """Each on each data set, with each seed."""
    if plan.data:
        plan.require_tasks("ingredients", ("yelp", "age"))
    return plan.runs(tuple(MODELS))


def write(plan: Plan, results: ResultsByRun) -> None:
    """Write ingredients.md and ingredients.json: accuracy, and what the attention is like by epoch."""
    given, results = recorded(plan, results)
    lacking = set(MODELS) - {"self-attention"}
    given = tuple(data for data in given if lacking & {run["model"] for run in _of(results, data)})
    tables = []
    for data in given:
        head = [data.name, "test", "largest weight of a word by epoch", "cosine of two rows by epoch"]
        rows = []
        for model, title in MODELS.items():
            found = [run for run in _of(results, data) if run["model"] == model]
            by_epoch = [_by_epoch(found, key) for key in ("largest_weight", "row_cosine")]
            rows.append([title, percent(figures(results, data, model)), *by_epoch])
        tables.append(markdown.table(head, rows))
    content = {"note": plan.note, "runs": results}
    title = "Which ingredient does what"
    write_table(
        plan,
        "ingredients",
        title,
        "\n\n".join(tables),
        data_notes(replace(plan, data=given), results),
        content,
    )


def _of(results: ResultsByRun, data: Data) -> list[RunResult]:
    return [run for run in results.values() if run["data"]["name"] == data.name]


def _by_epoch(found: list[dict], key: str) -> str:
    """Epochs 1, 2, 5, 10 and the last, of the first seed."""
    if not found:
        return "-"
    history = found[0]["history"]
    epochs = sorted({k for k in (1, 2, 5, 10) if k <= len(history)} | {len(history)})
    return ", ".join(f"{history[k - 1][key]:.2f} ({k})" for k in epochs)
