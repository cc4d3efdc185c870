"""Write tables as Markdown and JSON, and plots as SVG and PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from limelight.errors import LimelightError
from limelight.storage.files import atomic_file

from . import markdown
from .plan import SPLITS, Data, Plan
from .results import ResultsByRun, log, write_json

Cell = dict[str, Any]


def figures(results: ResultsByRun, data: Data, model: str) -> Cell:
    """Mean and spread of the test accuracy over the finished seeds."""
    found = [r for r in results.values() if r["data"]["name"] == data.name and r["model"] == model]
    test = [r["accuracy"]["test"] for r in found]
    if not test:
        return {"seeds": []}
    return {
        "seeds": [r["seed"] for r in found],
        "mean": float(np.mean(test)),
        "spread": float(np.std(test, ddof=1)) if len(test) > 1 else None,
        "standard_error": standard_error(float(np.mean(test)), found[0]["data"]["rows"]["test"]),
    }


def standard_error(accuracy: float, rows: int) -> float:
    """The standard error of an accuracy on so many rows.

    >>> round(100 * standard_error(0.6421, 2000), 2)
    1.07
    """
    return float(np.sqrt(accuracy * (1 - accuracy) / rows))


def percent(cell: Cell) -> str:
    """Mean and spread in per cent.

    >>> percent({"seeds": [0, 1], "mean": 0.6421, "spread": 0.003}), percent({"seeds": []})
    ('64.21 ± 0.30', '-')
    """
    if not cell["seeds"]:
        return "-"
    mean = f"{100 * cell['mean']:.2f}"
    return mean if cell["spread"] is None else f"{mean} ± {100 * cell['spread']:.2f}"


def accuracy_table(
    plan: Plan, results: ResultsByRun, models: Mapping[str, str], paper: Mapping[str, Mapping[str, float]]
) -> tuple[str, dict[str, dict[str, Cell]]]:
    """Models down, data sets across, the paper's number beside each of ours; and the same for JSON."""
    cells = {
        data.name: {
            model: figures(results, data, model) | {"paper": paper.get(data.task, {}).get(model)}
            for model in models
        }
        for data in plan.data
    }
    head = ["", *(name for data in plan.data for name in (data.name, f"the paper's {data.task}"))]
    rows = [
        [title, *(cell for data in plan.data for cell in _with_paper(cells[data.name][model]))]
        for model, title in models.items()
    ]
    return markdown.table(head, rows), cells


def _with_paper(cell: Cell) -> tuple[str, str]:
    return percent(cell), "-" if cell["paper"] is None else f"{cell['paper']:.2f}"


def data_notes(plan: Plan, results: ResultsByRun) -> list[str]:
    """Lines on the data, the seeds and the standard error."""
    lines = ["Test accuracy in per cent at the best development epoch: mean ± standard deviation over seeds."]
    for data in plan.data:
        found = [r for r in results.values() if r["data"]["name"] == data.name]
        if not found:
            lines.append(f"{data.name}: no finished runs.")
            continue
        ours, vectors = found[0]["data"]["rows"], found[0]["data"]["vectors"]
        error = standard_error(float(np.mean([r["accuracy"]["test"] for r in found])), ours["test"])
        # if all or none are right, the formula gives 0, which is no estimate
        chance = (
            f"; one standard error of an accuracy on this test set: {100 * error:.2f} points" if error else ""
        )
        lines.append(
            f"{data.name}: {_rows(ours[k] for k in ('train', 'dev', 'test'))} train / dev / test rows "
            f"(the paper's {data.task}: {_rows(SPLITS[data.task])}); vectors: {vectors or 'none'}; "
            f"seeds: {', '.join(map(str, sorted({r['seed'] for r in found})))}"
            f"{chance}."
        )
    changed = ", ".join(f"{name} = {value}" for name, value in plan.options.items())
    lines += [f"Changed from the paper's settings: {changed}."] if changed else []
    return lines + ([plan.note] if plan.note else [])


def _rows(counts: Any) -> str:
    return " / ".join(f"{count:,}" for count in counts)


def write_table(plan: Plan, name: str, title: str, body: str, lines: Sequence[str], content: Any) -> None:
    """Write NAME.md and NAME.json into the output folder."""
    text = "\n".join([f"## {title}", "", body, "", *(f"- {line}" for line in lines), ""])
    with atomic_file(plan.out / f"{name}.md") as file:
        file.write(text.encode())
    write_json(plan.out / f"{name}.json", content)


def write_picture(path: Path, svg: str) -> None:
    """Write PATH.svg, and PATH.png if this machine can draw one."""
    with atomic_file(path.with_name(f"{path.name}.svg")) as file:
        file.write(svg.encode())
    try:
        from limelight.reading.save import svg_to_png

        png = svg_to_png(svg)
    except (LimelightError, ImportError) as error:
        _log_once(f"  no PNG pictures ({error}); run the same command where that is installed")
        return
    with atomic_file(path.with_name(f"{path.name}.png")) as file:
        file.write(png)


@cache
def _log_once(line: str) -> None:
    log(line)
