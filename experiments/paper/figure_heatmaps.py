"""The heat map figures: six rows and the overall map, with and without penalty; the most confident texts.

python -m experiments.paper figure-heatmaps --data yelp=encoded/yelp --data age=encoded/age --seeds 0 --out runs

The models are those of table 3. Drawing needs jinja2: without it, the readings are saved, and the same
command draws them where it is installed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from typing import Any

import numpy as np

from limelight.reading.colours import LIGHT, levels
from limelight.reading.pieces import printable
from limelight.reading.wrap import ems
from limelight.storage.files import atomic_file

from . import markdown
from .plan import Data, ExperimentRun, Plan
from .report import data_notes, figures, percent, write_picture, write_table
from .results import ResultsByRun, log

MODELS = {"no-penalty": "without penalty", "self-attention": "with penalty"}
SIX = 6  # rows, of 30
_SIZE, _LEADING, _MARGIN = 14.0, 24.0, 24.0
_CHARACTER = 1.06  # typefaces differ: a little more room than Helvetica needs

Readings = dict[str, dict[str, Any]]  # from `collect_readings`, by model


def runs(plan: Plan) -> list[ExperimentRun]:
    """With and without penalty on each data set, with the first seed."""
    plan.require_tasks("figure-heatmaps", ("yelp", "age"))
    plan.forbid_options("figure-heatmaps", "encoder", "pooling", "penalty")
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
    content, table = {"readings": kept, "note": plan.note}, markdown.table(head, rows)
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
    overlaps = [(A @ A.T)[~np.eye(len(A), dtype=bool)].mean() if len(A) > 1 else 0.0 for A in found]
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


def draw(plan: Plan, data: Data, kept: Readings) -> None:
    """Draw a page with everything, and the paper's figures as sheets."""
    from limelight.reading import to_page

    from .heatmap_data import to_reading

    pairs = zip(*(kept[model]["compared"] for model in MODELS), strict=True)
    compared = [
        each
        for pair in pairs
        for name, one in zip(MODELS.values(), pair, strict=True)
        for each in (name, to_reading(one))
    ]
    surest = [to_reading(each) for found in kept["self-attention"]["surest"].values() for each in found]
    title = f"What the paper's model reads: {data.name}"
    with atomic_file(plan.out / f"figure-heatmaps-{data.name}.html") as file:
        file.write(to_page([*compared, *surest], title=title, rows=True).encode())
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


def _six_rows(found: dict[str, Any]) -> list[Map]:
    """Six evenly spaced rows, and the sum of all."""
    A = np.array(found["attention"])
    rows = sorted({round(k) for k in np.linspace(0, len(A) - 1, SIX)})
    return [*(Map(f"Row {k + 1}", found["words"], A[k]) for k in rows), *_overall([found])]


def _overall(found: list[dict[str, Any]]) -> list[Map]:
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


# ---------------------------------------------------------------- several heat maps on one sheet


@dataclass(frozen=True)
class Map:
    """Words, a weight for each, and what they show."""

    caption: str
    words: Sequence[str]
    weights: np.ndarray  # (n,)


def sheet(columns: Sequence[tuple[str, Sequence[Map]]], width: float = 520.0) -> str:
    """Columns with their titles; in every map, the strongest word has the strongest colour.

    >>> svg = sheet([("without penalty", [Map("Row 1", ["Good", "soup"], np.array([0.9, 0.1]))])])
    >>> svg.count("<rect"), "Good" in svg
    (3, True)
    """
    drawn = [
        _column(title, maps, _MARGIN + k * (width + _MARGIN), width)
        for k, (title, maps) in enumerate(columns)
    ]
    height = max(bottom for _, bottom in drawn) + _MARGIN
    across = _MARGIN + len(columns) * (width + _MARGIN)
    inside = "".join(part for parts, _ in drawn for part in parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{across:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {across:.0f} {height:.0f}" font-family="Helvetica,Arial,sans-serif" '
        f'font-size="{_SIZE:g}"><rect width="100%" height="100%" fill="{LIGHT.paper}"/>{inside}</svg>\n'
    )


def _column(title: str, maps: Sequence[Map], x: float, width: float) -> tuple[list[str], float]:
    parts, y = [_text(x, 36, title, LIGHT.ink, 17)], 60.0
    for each in maps:
        parts.append(_text(x, y, each.caption, LIGHT.muted, 12))
        drawn, y = _map(each, x, y + 20, width)
        parts += drawn
    return parts, y


def _map(each: Map, x: float, y: float, width: float) -> tuple[list[str], float]:
    parts, at = [], 0.0
    even = float(each.weights.sum()) / max(len(each.weights), 1)
    # at least three even shares: even attention looks pale
    steps = levels(each.weights, max(float(each.weights.max(initial=0.0)), min(3, len(each.weights)) * even))
    for word, step in zip(map(printable, each.words), steps.tolist(), strict=True):
        wide = _SIZE * _CHARACTER * ems(word)
        if at and at + wide > width:
            at, y = 0.0, y + _LEADING
        if step > 0:
            box = f'x="{x + at - 2:.1f}" y="{y - 15:.1f}" width="{wide + 4:.1f}" height="20"'
            parts.append(f'<rect {box} rx="3" fill="{LIGHT.warm[step]}"/>')
        parts.append(_text(x + at, y, word, LIGHT.ink, _SIZE))
        at += wide + 5
    return parts, y + _LEADING + 12


def _text(x: float, y: float, text: str, colour: str, size: float) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{colour}">{escape(printable(text))}</text>'
    )
