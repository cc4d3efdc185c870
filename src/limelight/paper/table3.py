"""Table 3: with the penalty on rows that read the same, and without it.

limelight paper table3 --data yelp=encoded/yelp --data age=encoded/age --out runs
"""

from __future__ import annotations

from .experiment import Results, carry_out
from .plan import Plan, Run
from .report import about, accuracies, write_table
from .settings import TASKS

MODELS = {"self-attention": "with penalty", "no-penalty": "without penalty (0.0)"}
PAPER = {  # on SNLI the paper finds both alike and gives no second number
    "yelp": {"self-attention": 64.21, "no-penalty": 61.74},
    "age": {"self-attention": 80.45, "no-penalty": 79.27},
    "snli": {"self-attention": 84.4},
}


def runs(plan: Plan) -> list[Run]:
    """The model with its task's coefficient (1.0; on SNLI 0.3) and with 0."""
    plan.need("table3", TASKS)
    plan.keep("table3", "embedding", "penalty")
    return plan.runs(tuple(MODELS))


def write(plan: Plan, results: Results) -> None:
    """table3.md and table3.json."""
    titles = {**MODELS, "self-attention": f"with penalty ({_coefficients(plan)})"}
    body, cells = accuracies(plan, results, titles, PAPER)
    content = {"accuracy": cells, "note": plan.note, "runs": results}
    write_table(plan, "table3", "Table 3: the penalty", body, about(plan, results), content)


def _coefficients(plan: Plan) -> str:
    found = {run.data.task: run.recipe.training.penalty for run in plan.runs(["self-attention"])}
    same = len(set(found.values())) == 1
    each = ", ".join(f"{task} {value}" for task, value in found.items())
    return str(next(iter(found.values()))) if same else each


def run(plan: Plan) -> None:
    """Train and write the table."""
    carry_out(plan, runs(plan), lambda results: write(plan, results))
