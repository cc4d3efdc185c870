"""The heat map figures: six rows and the overall map, with and without penalty; the most confident texts.

limelight paper figure-heatmaps --data yelp=encoded/yelp --data age=encoded/age --seeds 0 --out runs

The models are those of table 3. Drawing needs jinja2: without it, the readings are saved, and the same
command draws them where it is installed.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..storage.files import atomic_file
from .experiment import run_experiment
from .output import log
from .plan import Data, ExperimentRun, Plan
from .report import data_notes, figures, markdown, percent, write_picture, write_table
from .results import ResultsByRun

MODELS = {"no-penalty": "without penalty", "self-attention": "with penalty"}
SIX = 6  # rows, of 30

Readings = dict[str, dict[str, Any]]  # from `collect_readings`, by model


def runs(plan: Plan) -> list[ExperimentRun]:
    """With and without penalty on each data set, with the first seed."""
    plan.require_tasks("figure-heatmaps", ("yelp", "age"))
    plan.forbid_options("figure-heatmaps", "embedding", "penalty")
    return [run for run in plan.runs(tuple(MODELS)) if run.seed == plan.seeds[0]]


def write(plan: Plan, results: ResultsByRun) -> None:
    """Write figure-heatmaps.md and .json (how much the rows overlap), and draw the pictures."""
    kept = {data.name: read(plan, data, results) for data in plan.data}
    rows = [
        [title, *(cell for data in plan.data for cell in _figures(kept[data.name], results, data, model))]
        for model, title in MODELS.items()
    ]
    head = ["", *(f"{data.name}: {what}" for data in plan.data for what in ("overlap", "focus", "accuracy"))]
    lines = [
        "Overlap: the mean of A A^T between two rows; 1 where all rows read the same word.",
        "Focus: the largest share of the overall attention on one word. Both are means over the texts drawn.",
        *_describe_texts(
            [each for models in kept.values() for found in models.values() for each in _all(found)]
        ),
    ]
    content, table = {"readings": kept, "note": plan.note}, markdown(head, rows)
    notes = [*lines, *data_notes(plan, results)]
    write_table(plan, "figure-heatmaps", "Figures: heat maps", table, notes, content)
    if not find_spec("jinja2"):
        log("  heat maps need jinja2; run the same command where it is installed")
        return
    for data in plan.data:
        if len(kept[data.name]) == len(MODELS):
            draw(plan, data, kept[data.name])


def read(plan: Plan, data: Data, results: ResultsByRun) -> Readings:
    """The readings of the finished runs."""
    paths = {model: plan.out / f"{data.name}-{model}-seed{plan.seeds[0]}" for model in MODELS}
    return {
        model: json.loads((path / "readings.json").read_text())
        for model, path in paths.items()
        if path.name in results
    }


def _figures(kept: Readings, results: ResultsByRun, data: Data, model: str) -> tuple[str, str, str]:
    if model not in kept:
        return "-", "-", "-"
    found = [np.array(each["attention"]) for each in _all(kept[model])]
    overlaps = [overlap(A) for A in found]
    focus = [(A.sum(axis=0) / A.sum()).max() for A in found]
    accuracy = percent(figures(results, data, model))
    return f"{np.mean(overlaps):.3f}", f"{np.mean(focus):.3f}", accuracy


def _describe_texts(texts: list[dict[str, Any]]) -> list[str]:
    """A line on the texts drawn: a test set may have no short texts without unknown words."""
    if not texts:
        return []
    lengths = [len(each["words"]) for each in texts]
    low, high = min(lengths), max(lengths)
    known = "all" if all(all(each["known"]) for each in texts) else "not all"
    return [
        f"Drawn are test texts of {low if low == high else f'{low} to {high}'} words, {known} of them "
        "in the vocabulary."
    ]


def _all(kept: dict[str, Any]) -> list[dict[str, Any]]:
    return [*kept["compared"], *(each for found in kept["surest"].values() for each in found)]


def overlap(A: np.ndarray) -> float:
    """The mean of A A^T off its diagonal, for A (r, n).

    >>> overlap(np.array([[1.0, 0.0], [0.5, 0.5]]))
    0.5
    """
    r = len(A)
    overlaps = A @ A.T
    return float((overlaps.sum() - np.trace(overlaps)) / max(r * (r - 1), 1))


def draw(plan: Plan, data: Data, kept: Readings) -> None:
    """Draw a page with everything, and the paper's figures as sheets."""
    from ..reading import to_page
    from .heatmap_data import to_reading
    from .heatmap_sheet import sheet

    compared = [[to_reading(kept[model]["compared"][k]) for model in MODELS] for k in _texts(kept)]
    surest = [to_reading(each) for found in kept["self-attention"]["surest"].values() for each in found]
    title = f"What the paper's model reads: {data.name}"
    with atomic_file(plan.out / f"figure-heatmaps-{data.name}.html") as file:
        file.write(to_page([*compared, *surest], title=title, names=list(MODELS.values())).encode())
    stem = f"figure-heatmaps-{data.name}"
    for part, ending in (("compared", ""), ("own", "-own")):
        if not all(kept[model].get(part) for model in MODELS):  # older readings lack our texts
            continue
        columns = [(title, _six_rows(kept[model][part][0])) for model, title in MODELS.items()]
        write_picture(plan.out / f"{stem}-rows{ending}", sheet(columns))
        columns = [(title, _overall(kept[model][part])) for model, title in MODELS.items()]
        write_picture(plan.out / f"{stem}-overall{ending}", sheet(columns))
    for label, found in kept["self-attention"]["surest"].items():
        if found:
            picture = sheet([(label, _overall(found))], 760)
            write_picture(plan.out / f"{stem}-surest-{_file_name(label)}", picture)


def _texts(kept: Readings) -> range:
    return range(len(kept["self-attention"]["compared"]))


def _six_rows(found: dict[str, Any]) -> list[Any]:
    """Six evenly spaced rows, and the sum of all."""
    from .heatmap_sheet import Map

    A = np.array(found["attention"])
    rows = sorted({round(k) for k in np.linspace(0, len(A) - 1, SIX)})
    return [*(Map(f"Row {k + 1}", found["words"], A[k]) for k in rows), *_overall([found])]


def _overall(found: list[dict[str, Any]]) -> list[Any]:
    from .heatmap_sheet import Map

    maps = []
    for each in found:
        answer = int(np.argmax(each["probabilities"]))
        sure = f"{each['labels'][answer]} with {each['probabilities'][answer]:.1%}"
        sure += f"; it is {each['label']}" if "label" in each else ""
        maps.append(Map(f"Overall: {sure}", each["words"], np.array(each["attention"]).sum(axis=0)))
    return maps


def _file_name(label: str) -> str:
    """A label as part of a file name."""
    return "".join(character if character.isalnum() else "-" for character in label)


def run(plan: Plan) -> None:
    """Train what table 3 has not trained yet, and draw."""
    run_experiment(plan, runs(plan), lambda results: write(plan, results))
