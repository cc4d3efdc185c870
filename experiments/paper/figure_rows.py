"""The figure on the number of rows: r from 1 to 30, test accuracy by epoch.

python -m experiments.paper figure-rows --data age=encoded/age --data snli=encoded/snli --epochs 10 --out runs
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from . import markdown
from .curves_plot import curves_plot
from .plan import TASKS, Data, ExperimentRun, Plan
from .report import data_notes, figures, percent, write_picture, write_table
from .results import ResultsByRun

ROWS = (1, 4, 7, 10, 13, 16, 20, 23, 26, 30)  # the paper has ten values from 1 to 30 but does not list them

_WIDTH, _HEIGHT = 720, 440
# From dark blue through green to orange: ordered, and distinguishable by the colour-blind.
_SCALE = ("#352a87", "#0c74dc", "#07a9c2", "#4dbd8b", "#a5be4a", "#e8b32d", "#f08a24", "#c8452c")
_STYLE = (
    "text{font:12px Helvetica,Arial,sans-serif;fill:#222222}.mid{text-anchor:middle}.end{text-anchor:end}"
    ".title{font-size:17px}.rule{stroke:#dddddd}polyline{fill:none;stroke-width:2}"
)


def runs(plan: Plan) -> list[ExperimentRun]:
    """Ten models on each data set, with each seed, tested after every epoch."""
    plan.require_tasks("figure-rows", TASKS)
    plan.forbid_options("figure-rows", "encoder", "pooling", "rows")
    return plan.runs([_model(r) for r in ROWS], curve=True)


def _model(r: int) -> str:
    return f"r{r}+all-epochs"


def curve(results: ResultsByRun, data: Data, r: int) -> list[float]:
    """Test accuracy in per cent after each epoch, the mean over the seeds."""
    found = [
        [record["test_accuracy"] for record in result["history"]]
        for result in results.values()
        if (result["data"]["name"], result["model"]) == (data.name, _model(r))
    ]
    shortest = min(map(len, found), default=0)
    return (
        [100 * float(each) for each in np.mean([line[:shortest] for line in found], axis=0)] if found else []
    )


def write(plan: Plan, results: ResultsByRun) -> None:
    """Write figure-rows.md and .json, and draw a chart for each data set."""
    curves = {data.name: {r: c for r in ROWS if (c := curve(results, data, r))} for data in plan.data}
    cells = {data.name: {r: figures(results, data, _model(r)) for r in ROWS} for data in plan.data}
    rows = [[str(r), *(percent(cells[data.name][r]) for data in plan.data)] for r in ROWS]
    body = markdown.table(["r", *(data.name for data in plan.data)], rows)
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


def line_chart(
    title: str, x: str, y: str, lines: Mapping[str, Sequence[float]], ticks: Sequence[object] | None = None
) -> str:
    """A plot as an SVG file of its own: one line per name, over numbers from 1 or `ticks`.

    >>> svg = line_chart("Accuracy", "epoch", "per cent", {"r = 1": [50, 60], "r = 30": [55]})
    >>> svg.count("<polyline"), "r = 30" in svg
    (2, True)
    """
    plot = curves_plot(title, lines, x, ticks, size=(540, 320)).replace("<svg", '<svg x="32" y="44"', 1)
    colours = [_colour(k, len(lines)) for k in range(len(lines))]
    each = "".join(f".line{k}{{stroke:{c}}}text.dot{k},.dot{k}{{fill:{c}}}" for k, c in enumerate(colours))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}"><style>{_STYLE}{each}</style>'
        f'<rect width="100%" height="100%" fill="#ffffff"/><text x="64" y="28" class="title">{escape(title)}'
        f'</text>{plot}<text x="{_WIDTH / 2}" y="{_HEIGHT - 12}" class="mid">{escape(x)}</text>'
        f'<text transform="translate(22 {_HEIGHT / 2}) rotate(-90)" class="mid">{escape(y)}</text></svg>\n'
    )


def _colour(number: int, count: int) -> str:
    """The colour of a line, evenly spaced along the scale."""
    place = number * (len(_SCALE) - 1) / max(count - 1, 1)
    low = int(min(place, len(_SCALE) - 2))
    first, second = (np.array(list(bytes.fromhex(_SCALE[k][1:]))) for k in (low, low + 1))
    return f"#{bytes(np.rint(first + (place - low) * (second - first)).astype(np.uint8).tolist()).hex()}"
