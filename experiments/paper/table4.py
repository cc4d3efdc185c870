"""The pruning table of appendix A: how large every part is, and what pruning costs.

python -m experiments.paper table4 --out runs                     counts parameters, without training
python -m experiments.paper table4 --data yelp=encoded/yelp --out runs
"""

from __future__ import annotations

from typing import Any, NamedTuple

from limelight.config.recipe import Recipe
from limelight.errors import LimelightError
from limelight.network.parts import parameters_by_part, shapes

from . import markdown
from .plan import CLASSES, ORIGINAL, TASKS, Data, ExperimentRun, Plan, setting
from .report import data_notes, figures, percent, write_table
from .results import ResultsByRun


class Printed(NamedTuple):
    """A row of the paper's table."""

    hidden: str
    softmax: str
    other: str
    total: str
    accuracy: float


PAPER = {
    ("yelp", "original"): Printed("54M", "15K", "1.3M", "55.3M", 64.21),
    ("yelp", "pruned"): Printed("2.7M", "52.5K", "1.3M", "4.1M", 63.86),
    ("age", "original"): Printed("72M", "20K", "1.3M", "73.2M", 80.45),
    ("age", "pruned"): Printed("822K", "63.75K", "1.3M", "2.1M", 77.32),
    ("snli", "original"): Printed("72M", "12K", "22.9M", "95.0M", 84.43),
    ("snli", "pruned"): Printed("5.6M", "45K", "22.9M", "28.6M", 83.16),
}
HEAD = ["", "hidden layer", "paper", "softmax", "paper", "other parts", "paper", "total", "paper",
        "accuracy", "paper"]  # fmt: skip

COUNTING = (
    "Parameters without the word vectors; the total has all biases. The paper's 2.7M leaves the column part "
    "of Yelp's pruned layer out (its total has it), and its other parts, 1.3M, come to 1.18M at d = 100."
)


class Size(NamedTuple):
    """The number of parameters of each part, as the paper's table counts them."""

    hidden: int  # full: its weights; pruned: weights and biases
    softmax: int  # weights
    other: int  # biLSTM and attention; on SNLI the gated encoder too
    total: int  # everything but the word vectors


def runs(plan: Plan) -> list[ExperimentRun]:
    """Original and pruned on each data set, with each seed; without data none, only counts."""
    plan.forbid_options("table4", "encoder", "pooling", "head")
    if plan.only and not plan.data:
        raise LimelightError(
            "--only selects runs, but without --data there are none; give --data too", code="needs-data"
        )
    found = plan.runs(["self-attention", "b4000", "pruned"])
    return [run for run in found if run.model in (ORIGINAL[run.data.task], "pruned")]


def parameters(recipe: Recipe, task: str) -> dict[str, int]:
    """Parameters by part."""
    return parameters_by_part(shapes(recipe.model, 2, CLASSES[task], task == "snli"))


def size(parts: dict[str, int], pruned: bool) -> Size:
    """The parts as the paper groups them.

    >>> size(parameters(setting("yelp", "pruned"), "yelp"), pruned=True).hidden
    2890500
    """
    hidden = parts["hidden"] + (parts["hidden biases"] if pruned else 0)
    other = parts["encoder"] + parts["attention"] + parts["gate"]
    return Size(hidden, parts["softmax"], other, sum(parts.values()) - parts["words"])


def write(plan: Plan, results: ResultsByRun) -> None:
    """Write table4.md and table4.json."""
    rows, content = [], {}
    for data in plan.data or [Data(task, task, plan.out) for task in TASKS]:
        for kind, model in (("original", ORIGINAL[data.task]), ("pruned", "pruned")):
            recipe = setting(data.task, model).override(**plan.options)
            parts = _trained(results, data, model) or parameters(recipe, data.task)
            counted, cell = size(parts, kind == "pruned"), figures(results, data, model)
            printed = PAPER[data.task, kind]
            sizes = [f"{count:,}" for count in counted]
            pairs = [each for pair in zip(sizes, printed[:4], strict=True) for each in pair]
            title = f"{data.name}, {kind}, {_units(recipe)}"
            rows.append([title, *pairs, percent(cell), f"{printed.accuracy:.2f}"])
            content[f"{data.name}, {kind}"] = {
                "parameters": counted._asdict(), "by_part": parts, "accuracy": cell,
                "paper": printed._asdict(),
            }  # fmt: skip
    title = "Table 4: model size before and after pruning"
    lines = [COUNTING, *(data_notes(plan, results) if plan.data else [plan.note] if plan.note else [])]
    full: dict[str, Any] = {"sizes": content, "note": plan.note, "runs": results}
    write_table(plan, "table4", title, markdown.table(HEAD, rows), lines, full)


def _trained(results: ResultsByRun, data: Data, model: str) -> dict[str, int] | None:
    """The parameters as trained, if it was: the data decides on vector size and classes."""
    for result in results.values():
        if (result["data"]["name"], result["model"]) == (data.name, model):
            return dict(result["parameters"])
    return None


def _units(recipe: Recipe) -> str:
    model = recipe.model
    return f"b={model.head_hidden}" if model.head == "full" else f"p={model.row_units} q={model.column_units}"
