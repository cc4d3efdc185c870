"""The figures of heat maps: six rows and the overall map, with and without penalty; the surest reviews.

limelight paper figure-heatmaps --data yelp=encoded/yelp --data age=encoded/age --seeds 0 --out runs

The models are those of table 3. Drawing needs jinja2: where that is missing, the readings are kept, and
the same command draws them elsewhere.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..storage.files import atomic_file
from .experiment import Results, carry_out, tell
from .plan import Data, Plan, Run
from .report import about, figures, markdown, percent, write_picture, write_table

MODELS = {"no-penalty": "without penalty", "self-attention": "with penalty"}
SIX = 6  # rows, of 30

Kept = dict[str, dict[str, Any]]  # what `pictured` found, by model


def runs(plan: Plan) -> list[Run]:
    """With and without penalty on each data set; the first seed is drawn."""
    plan.need("figure-heatmaps", ("yelp", "age"))
    plan.keep("figure-heatmaps", "embedding", "penalty")
    return [run for run in plan.runs(tuple(MODELS)) if run.seed == plan.seeds[0]]


def write(plan: Plan, results: Results) -> None:
    """figure-heatmaps.md and .json: how much the rows repeat each other; and the pictures."""
    kept = {data.name: read(plan, data, results) for data in plan.data}
    rows = [
        [title, *(told for data in plan.data for told in _figures(kept[data.name], results, data, model))]
        for model, title in MODELS.items()
    ]
    head = ["", *(f"{data.name}: {what}" for data in plan.data for what in ("overlap", "focus", "accuracy"))]
    lines = [
        "Overlap: the mean of A A^T between two rows; 1 where all rows read the same word.",
        "Focus: the largest share of the overall attention on one word. Both are means over the texts drawn.",
        *_drawn([each for models in kept.values() for found in models.values() for each in _all(found)]),
    ]
    content = {"readings": kept, "note": plan.note}
    title = "Figures: heat maps"
    write_table(plan, "figure-heatmaps", title, markdown(head, rows), lines + about(plan, results), content)
    if not find_spec("jinja2"):
        tell("  no heat maps here (they need jinja2); the same command draws them where it is installed")
        return
    for data in plan.data:
        if len(kept[data.name]) == len(MODELS):
            draw(plan, data, kept[data.name])


def read(plan: Plan, data: Data, results: Results) -> Kept:
    """The readings of the runs that are finished."""
    paths = {model: plan.out / f"{data.name}-{model}-seed{plan.seeds[0]}" for model in MODELS}
    return {
        model: json.loads((path / "readings.json").read_text())
        for model, path in paths.items()
        if path.name in results
    }


def _figures(kept: Kept, results: Results, data: Data, model: str) -> tuple[str, str, str]:
    if model not in kept:
        return "-", "-", "-"
    found = [np.array(each["attention"]) for each in _all(kept[model])]
    overlaps = [overlap(A) for A in found]
    focus = [(A.sum(axis=0) / A.sum()).max() for A in found]
    accuracy = percent(figures(results, data, model))
    return f"{np.mean(overlaps):.3f}", f"{np.mean(focus):.3f}", accuracy


def _drawn(texts: list[dict[str, Any]]) -> list[str]:
    """What was drawn: short texts without unknown words are wanted, but a test set may have none."""
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


def draw(plan: Plan, data: Data, kept: Kept) -> None:
    """A page with everything, and the paper's figures as sheets."""
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
        if not all(kept[model].get(part) for model in MODELS):  # older readings have no texts of ours
            continue
        columns = [(title, _six_rows(kept[model][part][0])) for model, title in MODELS.items()]
        write_picture(plan.out / f"{stem}-rows{ending}", sheet(columns))
        columns = [(title, _overall(kept[model][part])) for model, title in MODELS.items()]
        write_picture(plan.out / f"{stem}-overall{ending}", sheet(columns))
    for label, found in kept["self-attention"]["surest"].items():
        if found:
            write_picture(plan.out / f"{stem}-surest-{_plain(label)}", sheet([(label, _overall(found))], 760))


def _texts(kept: Kept) -> range:
    return range(len(kept["self-attention"]["compared"]))


def _six_rows(found: dict[str, Any]) -> list[Any]:
    """Six rows, evenly chosen, and the sum of all."""
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


def _plain(label: str) -> str:
    """A class as part of a file's name."""
    return "".join(character if character.isalnum() else "-" for character in label)


def run(plan: Plan) -> None:
    """Train what table 3 has not trained yet, and draw."""
    carry_out(plan, runs(plan), lambda results: write(plan, results))
