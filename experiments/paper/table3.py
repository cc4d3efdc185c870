"""Table 3: with the penalty on rows that read the same, and without it.

python -m experiments.paper table3 --data yelp=encoded/yelp --data age=encoded/age --out runs
"""

from __future__ import annotations

from .plan import TASKS, ExperimentRun, Plan
from .report import accuracy_table, data_notes, write_table
from .results import ResultsByRun

MODELS = {"self-attention": "with penalty", "no-penalty": "without penalty (0.0)"}
PAPER = {  # on SNLI the paper finds both alike and gives no second number
    "yelp": {"self-attention": 64.21, "no-penalty": 61.74},
    "age": {"self-attention": 80.45, "no-penalty": 79.27},
    "snli": {"self-attention": 84.4},
}


def runs(plan: Plan) -> list[ExperimentRun]:
    """The model with its task's coefficient (1.0; on SNLI 0.3) and with 0."""
    plan.require_tasks("table3", TASKS)
    plan.forbid_options("table3", "encoder", "pooling", "penalty")
    return plan.runs(tuple(MODELS))


def write(plan: Plan, results: ResultsByRun) -> None:
    """Write table3.md and table3.json."""
    titles = {**MODELS, "self-attention": f"with penalty ({_coefficients(plan)})"}
    body, cells = accuracy_table(plan, results, titles, PAPER)
    content = {"accuracy": cells, "note": plan.note, "runs": results}
    write_table(plan, "table3", "Table 3: the penalty", body, data_notes(plan, results), content)


def _coefficients(plan: Plan) -> str:
    found = {run.data.task: run.recipe.training.penalty for run in plan.runs(["self-attention"])}
    same = len(set(found.values())) == 1
    each = ", ".join(f"{task} {value}" for task, value in found.items())
    return str(next(iter(found.values()))) if same else each
