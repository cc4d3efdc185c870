"""The results of finished runs: result.json in each run's folder, checked against what is asked for."""

from __future__ import annotations

import contextlib
import glob
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from limelight.config.recipe import Recipe
from limelight.errors import LimelightError
from limelight.storage.files import atomic_file
from limelight.text.dataset import Dataset
from limelight.training.train_job import recipe_for

from .plan import Data, ExperimentRun, Plan

RunResult = dict[str, Any]
ResultsByRun = Mapping[str, RunResult]  # by the run's name


def log(line: str) -> None:
    """Print a line of progress."""
    print(line, file=sys.stderr, flush=True)


def write_json(path: Path, content: Any) -> None:
    """Write JSON atomically."""
    with atomic_file(path) as file:
        file.write((json.dumps(content, indent=1) + "\n").encode())


def open_data(data: Data) -> Dataset:
    """Open a data set and check that the task's settings can be trained and tested on it."""
    dataset = Dataset.open(data.folder)
    pair = data.task == "snli"
    if dataset.pair != pair:
        texts = "pairs of texts" if pair else "single texts"
        raise LimelightError(
            f"{data.folder} does not hold {texts}, which the task {data.task} needs", code="data-task"
        )
    missing = {"train", "dev", "test"} - set(dataset.splits)
    if missing or not dataset.labels:
        what = f"no {min(missing)} split" if missing else "no labels"
        raise LimelightError(
            f"{data.folder} has {what}; encode it with train, dev and test and their labels", code="data-task"
        )
    return dataset


def describe_run(run: ExperimentRun, dataset: Dataset) -> RunResult:
    """What identifies a run: a stored result must have the same."""
    facts = dataset.facts
    return {
        "run": run.name,
        "model": run.model,
        "seed": run.seed,
        "data": {
            "name": run.data.name,
            "task": run.data.task,
            "rows": {name: len(split) for name, split in dataset.splits.items()},
            "tokenizer": dataset.tokenizer.hash,
            "vectors": PurePath(facts.get("vectors", {}).get("source", "")).name,
        },
        "recipe": full_recipe(run, dataset).to_dict(),
    }


def full_recipe(run: ExperimentRun, dataset: Dataset) -> Recipe:
    """The recipe with the text options the data was encoded with, and the size of its vectors."""
    recipe = recipe_for(run.recipe, dataset)
    return recipe if dataset.vectors is None else recipe.override(word_size=dataset.vectors.shape[1])


def read_result(out: Path, run: ExperimentRun, dataset: Dataset) -> RunResult | None:
    """The result of a finished run; None if it is not finished."""
    path = out / run.name / "result.json"
    if not path.is_file():
        return None
    try:
        result: RunResult = json.loads(path.read_text())
        result["recipe"] = Recipe.from_dict(result["recipe"]).to_dict()  # it may be older than an option
        different = [key for key, value in describe_run(run, dataset).items() if result[key] != value]
    except (ValueError, KeyError, TypeError, LimelightError):
        raise LimelightError(
            f"{path} is not a Limelight result; move it away", code="result-damaged"
        ) from None
    if different:
        raise LimelightError(
            f"{path} is of a run with another {' and '.join(different)}; "
            "give the same data and options, or another --out",
            code="result-differs",
        )
    return result


def check_results(out: Path, runs: Sequence[ExperimentRun], opened: Mapping[str, Dataset]) -> None:
    """Raise if the folder has results with other options or data, whatever their seeds."""
    for run in {(run.data.name, run.model): run for run in runs}.values():
        prefix = run.name.removesuffix(str(run.seed))
        for folder in sorted(out.glob(f"{glob.escape(prefix)}*")):
            seed = folder.name.removeprefix(prefix)
            if seed.isdecimal() and (folder / "result.json").is_file():
                same = replace(run, recipe=run.recipe.override(seed=int(seed)))
                read_result(out, same, opened[run.data.name])


def collect_results(
    out: Path, runs: Sequence[ExperimentRun], opened: Mapping[str, Dataset]
) -> dict[str, RunResult]:
    """All results that exist, also from earlier commands; unreadable ones count as missing."""
    found: dict[str, RunResult] = {}
    for run in runs:
        with contextlib.suppress(LimelightError):
            if result := read_result(out, run, opened[run.data.name]):
                found[run.name] = result
    return found


def recorded(plan: Plan, results: ResultsByRun) -> tuple[tuple[Data, ...], ResultsByRun]:
    """The plan's data and these results; without --data, all results in the folder, as they are."""
    if plan.data:
        return plan.data, results
    files = sorted(plan.out.glob("*/result.json"))
    found = {path.parent.name: json.loads(path.read_text()) for path in files}
    names = {r["data"]["name"]: r["data"]["task"] for r in found.values()}
    return tuple(Data(name, task, plan.out) for name, task in names.items()), found
