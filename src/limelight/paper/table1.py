"""Table 1: the paper's model beside its two baselines, on reviews and on the age of authors.

limelight paper table1 --data yelp=encoded/yelp --data age=encoded/age --out runs
"""

from __future__ import annotations

from .experiment import Plan, Results, Run, carry_out
from .report import about, accuracies, write_table

MODELS = {
    "max": "BiLSTM + max pooling + MLP",
    "cnn": "CNN + max pooling + MLP",
    "self-attention": "Structured self-attention",
}
PAPER = {
    "yelp": {"max": 61.99, "cnn": 62.05, "self-attention": 64.21},
    "age": {"max": 77.40, "cnn": 78.15, "self-attention": 80.45},
}


def runs(plan: Plan) -> list[Run]:
    """Three models on each data set, with each seed."""
    plan.need("table1", tuple(PAPER))
    return plan.runs(tuple(MODELS))


def write(plan: Plan, results: Results) -> None:
    """table1.md and table1.json."""
    body, cells = accuracies(plan, results, MODELS, PAPER)
    content = {"accuracy": cells, "note": plan.note, "runs": results}
    write_table(
        plan, "table1", "Table 1: self-attention and the baselines", body, about(plan, results), content
    )


def run(plan: Plan) -> None:
    """Train and write the table."""
    carry_out(plan, runs(plan), lambda results: write(plan, results))
