"""Table 1: the paper's model beside its two baselines, on reviews and on the age of authors.

limelight paper table1 --data yelp=encoded/yelp --data age=encoded/age --out runs
"""

from __future__ import annotations

from ..training.compare import MODELS
from .experiment import Results, carry_out
from .lengths import merge
from .plan import Data, Plan, Run
from .report import about, accuracies, markdown, write_table

PAPER = {
    "yelp": {"max": 61.99, "cnn": 62.05, "self-attention": 64.21},
    "age": {"max": 77.40, "cnn": 78.15, "self-attention": 80.45},
}


def runs(plan: Plan) -> list[Run]:
    """Three models on each data set, with each seed."""
    plan.need("table1", tuple(PAPER))
    plan.keep("table1", "embedding")
    return plan.runs(tuple(MODELS))


def write(plan: Plan, results: Results) -> None:
    """table1.md and table1.json."""
    body, cells = accuracies(plan, results, MODELS, PAPER)
    body = "\n\n".join([body, *(table for data in plan.data if (table := lengths(results, data)))])
    content = {"accuracy": cells, "note": plan.note, "runs": results}
    write_table(
        plan, "table1", "Table 1: self-attention and the baselines", body, about(plan, results), content
    )


def lengths(results: Results, data: Data) -> str:
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
    return markdown([f"{data.name}, words", *MODELS.values()], rows) if len(rows) > 1 else ""


def run(plan: Plan) -> None:
    """Train and write the table."""
    carry_out(plan, runs(plan), lambda results: write(plan, results))
