"""The figure on the number of rows: r from 1 to 30, test accuracy by epoch.

limelight paper figure-rows --data age=encoded/age --data snli=encoded/snli --epochs 10 --out runs
"""

from __future__ import annotations

import numpy as np

from .chart import line_chart
from .experiment import run_experiment
from .plan import Data, ExperimentRun, Plan
from .report import data_notes, figures, markdown, percent, write_picture, write_table
from .results import ResultsByRun
from .settings import TASKS

ROWS = (1, 4, 7, 10, 13, 16, 20, 23, 26, 30)  # the paper has ten values from 1 to 30 but does not list them


def runs(plan: Plan) -> list[ExperimentRun]:
    """Ten models on each data set, with each seed, tested after every epoch."""
    plan.require_tasks("figure-rows", TASKS)
    plan.forbid_options("figure-rows", "embedding", "rows")
    return plan.runs([f"r{r}" for r in ROWS], curve=True)


def curve(results: ResultsByRun, data: Data, r: int) -> list[float]:
    """Test accuracy in per cent after each epoch, the mean over the seeds."""
    found = [
        [record["test_accuracy"] for record in result["history"]]
        for result in results.values()
        if (result["data"]["name"], result["model"]) == (data.name, f"r{r}")
    ]
    shortest = min(map(len, found), default=0)
    return (
        [100 * float(each) for each in np.mean([line[:shortest] for line in found], axis=0)] if found else []
    )


def write(plan: Plan, results: ResultsByRun) -> None:
    """Write figure-rows.md and .json, and draw a chart for each data set."""
    curves = {data.name: {r: c for r in ROWS if (c := curve(results, data, r))} for data in plan.data}
    cells = {data.name: {r: figures(results, data, f"r{r}") for r in ROWS} for data in plan.data}
    rows = [[str(r), *(percent(cells[data.name][r]) for data in plan.data)] for r in ROWS]
    body = markdown(["r", *(data.name for data in plan.data)], rows)
    lines = ["The paper shows curves without numbers: 1 row is worse, 10 to 30 rows are alike."]
    content = {"curves": curves, "accuracy": cells, "note": plan.note, "runs": results}
    title = "Figure: the number of rows"
    write_table(plan, "figure-rows", title, body, lines + data_notes(plan, results), content)
    for data in plan.data:
        if curves[data.name]:
            draw(plan, data, curves[data.name])


def draw(plan: Plan, data: Data, curves: dict[int, list[float]]) -> None:
    """Draw one line per r."""
    lines = {f"r = {r}": curve for r, curve in curves.items()}
    svg = line_chart(f"Rows of the embedding: {data.name}", "epoch", "test accuracy, per cent", lines)
    write_picture(plan.out / f"figure-rows-{data.name}", svg)


def run(plan: Plan) -> None:
    """Train and draw."""
    run_experiment(plan, runs(plan), lambda results: write(plan, results))
