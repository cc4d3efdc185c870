"""Carrying out an experiment: each of its runs trains once, goes on where it stopped, leaves result.json."""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from ..config.recipe import Recipe
from ..errors import LimelightError
from ..storage.files import atomic_file
from ..storage.locks import BusyError, locked
from ..text.dataset import Dataset
from ..training import run_folder
from ..training.job_data import recipe_for
from .plan import Data, Plan, Run

if TYPE_CHECKING:
    from ..training import Fitted

Result = dict[str, Any]
Results = Mapping[str, Result]  # by the run's name


def carry_out(plan: Plan, runs: Sequence[Run], write: Callable[[Results], None]) -> None:
    """Train what is not there yet and `write` the results so far after every run.

    Nothing is trained or written where the folder has results of other options, whatever their seeds.
    A run that fails does not keep the others from running; its error comes at the end. What another process
    is training is looked at again after the others: by then it may be finished, or given up.
    """
    chosen = _chosen(runs, plan.only)
    opened = {data.name: open_data(data) for data in plan.data}
    _check_results(plan.out, runs, opened)
    failed: list[str] = []

    def result_of(run: Run) -> Result:
        dataset = opened[run.data.name]
        return read_result(plan.out, run, dataset) or train(plan, run, dataset)

    def write_all() -> None:
        write(collect(plan, runs, opened))

    waiting: Sequence[Run] = chosen
    while (busy := _go_through(waiting, result_of, write_all, failed)) and len(busy) < len(waiting):
        waiting = busy
    if failed:
        raise LimelightError(f"{len(failed)} of {len(chosen)} runs are not done: {failed[0]}")
    if busy:
        write_all()
        tell(
            f"{len(busy)} of {len(chosen)} runs are still being trained by another process; "
            "the same command later gives the whole table"
        )


def _go_through(
    runs: Sequence[Run], result_of: Callable[[Run], Result], after: Callable[[], None], failed: list[str]
) -> list[Run]:
    """Get every run done, and note which failed; those that another process is training are left over."""
    busy = []
    for number, run in enumerate(runs, 1):
        tell(f"[{number}/{len(runs)}] {run.name}")
        try:
            result = result_of(run)
        except BusyError as error:
            busy.append(run)
            tell(f"  passed over: {error}")
        except LimelightError as error:
            failed.append(f"{run.name}: {error}")
            tell(f"  not done: {error}")
        else:
            tell(f"  test {result['accuracy']['test']:.2%}, {result['seconds']:.0f} s")
            after()
    return busy


def train(plan: Plan, run: Run, dataset: Dataset) -> Result:
    """Train, or go on training, unless another process does or has just done so."""
    with locked(plan.out / f".{run.name}.lock", "it is being trained by another process"):
        return read_result(plan.out, run, dataset) or _train(plan, run, dataset)


def _train(plan: Plan, run: Run, dataset: Dataset) -> Result:
    """The folder ends with result.json and, where there are rows, readings.json."""
    from ..training import fit

    folder = plan.out / run.name
    clock = folder / "seconds.json"  # of the parts before an interruption
    before = float(json.loads(clock.read_text())) if clock.is_file() else 0.0
    started = time.monotonic()
    fitted = fit(
        dataset, _settled(run, dataset), folder, device=plan.device, resume=folder.is_dir(), show=plan.show,
        after_epoch=_tester(dataset) if run.curve else None,
    )  # fmt: skip
    seconds = before + time.monotonic() - started
    if fitted.interrupted:
        write_json(clock, seconds)
        tell("interrupted; the same command goes on from here")
        raise KeyboardInterrupt
    result = _result(run, dataset, fitted) | {"seconds": round(seconds, 2)}
    _keep_readings(folder, fitted, dataset, run.data.task)
    write_json(folder / "result.json", result)
    _tidy(folder)
    return result


def _tester(dataset: Dataset) -> Callable[[Any], dict[str, float]]:
    from ..training.evaluate import evaluate

    return lambda network: {"test_accuracy": evaluate(network, dataset.splits["test"]).accuracy}


def _result(run: Run, dataset: Dataset, fitted: Fitted) -> Result:
    from ..model.network import parameters_by_part
    from ..training.outcome import results_of
    from .lengths import by_length

    found = results_of(fitted, dataset, ("dev", "test"))
    return {
        **asked(run, dataset),
        "accuracy": {split: each.accuracy for split, each in found.items()},
        "by_length": by_length(fitted.network, dataset.splits["test"]),
        "best_epoch": fitted.state.best_epoch + 1,
        "steps": fitted.state.number,
        "history": fitted.history,
        "parameters": parameters_by_part(fitted.network),
        "device": _device_name(fitted),
    }


def asked(run: Run, dataset: Dataset) -> Result:
    """What makes a run this run; a result of anything else is not taken for it."""
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
        "recipe": _settled(run, dataset).to_dict(),
    }


def _settled(run: Run, dataset: Dataset) -> Recipe:
    """The recipe with the text options that the data was encoded with, and its vectors' size."""
    recipe = recipe_for(run.recipe, dataset)
    return recipe if dataset.vectors is None else recipe.override(word_size=dataset.vectors.shape[1])


def _device_name(fitted: Fitted) -> str:
    import torch

    device = next(fitted.network.parameters()).device
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def _keep_readings(folder: Path, fitted: Fitted, dataset: Dataset, task: str) -> None:
    """What the heat maps show of this model; its weights themselves are not kept."""
    if dataset.pair or fitted.recipe.model.embedding != "self-attention":
        return
    from .heatmap_data import pictured

    write_json(folder / "readings.json", pictured(fitted.network, dataset, task))


def _tidy(folder: Path) -> None:
    """A finished run needs nothing to go on from."""
    run_folder.clear(folder)
    (folder / "seconds.json").unlink(missing_ok=True)


# ---------------------------------------------------------------- what is there already


def open_data(data: Data) -> Dataset:
    """The data set, if it is one that the task's settings can be trained and tested on."""
    dataset = Dataset.open(data.folder)
    pair = data.task == "snli"
    if dataset.pair != pair:
        texts = "pairs of texts" if pair else "single texts"
        raise LimelightError(f"{data.folder} does not hold {texts}, which the task {data.task} is about")
    missing = {"train", "dev", "test"} - set(dataset.splits)
    if missing or not dataset.labels:
        what = f"no {min(missing)} split" if missing else "no labels"
        raise LimelightError(f"{data.folder} has {what}; encode it with train, dev and test and their labels")
    return dataset


def read_result(out: Path, run: Run, dataset: Dataset) -> Result | None:
    """The result of a finished run; None if it is not finished."""
    path = out / run.name / "result.json"
    if not path.is_file():
        return None
    try:
        result: Result = json.loads(path.read_text())
        result["recipe"] = Recipe.from_dict(result["recipe"]).to_dict()  # it may be older than an option
        different = [key for key, value in asked(run, dataset).items() if result[key] != value]
    except (ValueError, KeyError, TypeError, LimelightError):
        raise LimelightError(f"{path} is no result of Limelight; move it away") from None
    if different:
        raise LimelightError(
            f"{path} is of a run with another {' and '.join(different)}; "
            "give the same data and options, or another --out"
        )
    return result


def _check_results(out: Path, runs: Sequence[Run], opened: Mapping[str, Dataset]) -> None:
    for run in {(run.data.name, run.model): run for run in runs}.values():
        prefix = run.name.removesuffix(str(run.seed))
        for folder in sorted(out.glob(f"{glob.escape(prefix)}*")):
            seed = folder.name.removeprefix(prefix)
            if seed.isdecimal() and (folder / "result.json").is_file():
                same = replace(run, recipe=run.recipe.override(seed=int(seed)))
                read_result(out, same, opened[run.data.name])


def collect(plan: Plan, runs: Sequence[Run], opened: Mapping[str, Dataset]) -> dict[str, Result]:
    """All results that are there, of this command and of those before it; what is unfit counts as missing."""
    found: dict[str, Result] = {}
    for run in runs:
        with contextlib.suppress(LimelightError):
            if result := read_result(plan.out, run, opened[run.data.name]):
                found[run.name] = result
    return found


def _chosen(runs: Sequence[Run], only: Sequence[str]) -> list[Run]:
    for pattern in only:
        if not fnmatch.filter([run.name for run in runs], pattern):
            names = ", ".join(run.name for run in runs)
            raise LimelightError(f"--only {pattern} is the name of no run; there are: {names}")
    return [run for run in runs if not only or any(fnmatch.fnmatch(run.name, each) for each in only)]


def write_json(path: Path, content: Any) -> None:
    """JSON, all of it or nothing."""
    with atomic_file(path) as file:
        file.write((json.dumps(content, indent=1) + "\n").encode())


def tell(line: str) -> None:
    """A line of progress."""
    print(line, file=sys.stderr, flush=True)
