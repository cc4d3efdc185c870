"""Run an experiment: each of its runs is trained once, can be interrupted, and leaves a result.json."""

from __future__ import annotations

import fnmatch
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from limelight.errors import LimelightError
from limelight.network.parts import parameters_by_part, rows_of
from limelight.storage.locks import BusyError, locked
from limelight.text.batches import row_lengths
from limelight.text.dataset import Dataset, Split
from limelight.training.job import best_weights, checkpoints

from .plan import ExperimentRun, Plan
from .results import (
    ResultsByRun,
    RunResult,
    check_results,
    collect_results,
    describe_run,
    full_recipe,
    log,
    open_data,
    read_result,
    write_json,
)

if TYPE_CHECKING:
    from limelight.network.torch.network import Network
    from limelight.training import Callback, Fitted


def run_experiment(plan: Plan, runs: Sequence[ExperimentRun], write: Callable[[ResultsByRun], None]) -> None:
    """Train what is missing, and `write` the results so far after every run; without runs, once.

    If the folder has results with other options, nothing is trained or written. A failing run does not stop
    the others; its error is raised at the end. Runs that another process is training are tried again after
    the others: by then they may be finished or abandoned.
    """
    selected = _select(runs, plan.only)
    opened = {data.name: open_data(data) for data in plan.data}
    check_results(plan.out, runs, opened)
    failed: list[str] = []

    def result_of(run: ExperimentRun) -> RunResult:
        dataset = opened[run.data.name]
        return read_result(plan.out, run, dataset) or train(plan, run, dataset)

    def write_all() -> None:
        write(collect_results(plan.out, runs, opened))

    if not runs:
        write_all()
    waiting: Sequence[ExperimentRun] = selected
    while (busy := _run_all(waiting, result_of, write_all, failed)) and len(busy) < len(waiting):
        waiting = busy
    if failed:
        raise LimelightError(f"{len(failed)} of {len(selected)} runs failed: {failed[0]}", code="runs-failed")
    if busy:
        write_all()
        log(
            f"{len(busy)} of {len(selected)} runs are still being trained by another process; "
            "run the same command later for the whole table"
        )


def _select(runs: Sequence[ExperimentRun], only: Sequence[str]) -> list[ExperimentRun]:
    """The runs whose names match a pattern of `only`; all if there is none."""
    for pattern in only:
        if not fnmatch.filter([run.name for run in runs], pattern):
            names = ", ".join(run.name for run in runs)
            raise LimelightError(
                f"--only {pattern} matches no run; the runs are: {names}", code="run-unknown"
            )
    return [run for run in runs if not only or any(fnmatch.fnmatch(run.name, each) for each in only)]


def _run_all(
    runs: Sequence[ExperimentRun],
    result_of: Callable[[ExperimentRun], RunResult],
    after: Callable[[], None],
    failed: list[str],
) -> list[ExperimentRun]:
    """Do every run and note those that failed; return those that another process is training."""
    busy = []
    for number, run in enumerate(runs, 1):
        log(f"[{number}/{len(runs)}] {run.name}")
        try:
            result = result_of(run)
        except BusyError as error:
            busy.append(run)
            log(f"  skipped: {error}")
        except LimelightError as error:
            failed.append(f"{run.name}: {error}")
            log(f"  failed: {error}")
        else:
            log(f"  test {result['accuracy']['test']:.2%}, {result['seconds']:.0f} s")
            after()
    return busy


def train(plan: Plan, run: ExperimentRun, dataset: Dataset) -> RunResult:
    """Train or resume a run, unless another process is training it or has just finished it."""
    with locked(plan.out / f".{run.name}.lock", "it is being trained by another process"):
        return read_result(plan.out, run, dataset) or _train(plan, run, dataset)


def _train(plan: Plan, run: ExperimentRun, dataset: Dataset) -> RunResult:
    """Train a run; its folder ends up with result.json and, if there is attention to draw, readings.json."""
    from limelight.training import fit

    folder = plan.out / run.name
    clock = folder / "seconds.json"  # time spent before an interruption
    before = float(json.loads(clock.read_text())) if clock.is_file() else 0.0
    started = time.monotonic()
    fitted = fit(
        dataset, full_recipe(run, dataset), folder, device=plan.device, resume=folder.is_dir(),
        show=plan.show, callbacks=[_watcher(dataset, run.curve)],
    )  # fmt: skip
    seconds = before + time.monotonic() - started
    if fitted.interrupted:
        write_json(clock, seconds)
        log("interrupted; the same command resumes it")
        raise KeyboardInterrupt
    result = _result(run, dataset, fitted) | {"seconds": round(seconds, 2)}
    _save_readings(folder, fitted, dataset, run.data.task)
    write_json(folder / "result.json", result)
    for path in (*checkpoints(folder), *best_weights(folder)):
        path.unlink(missing_ok=True)  # they are large, and a finished run does not need them
    clock.unlink(missing_ok=True)
    return result


def _watcher(dataset: Dataset, curve: bool) -> Callback:
    """Notes after every epoch how sharp and how different the rows are; for a curve, the test accuracy."""
    from limelight.training import Callback
    from limelight.training.evaluate import evaluate

    from .attention import describe_attention

    class Watcher(Callback):
        def on_epoch_end(self, run: Any, record: dict[str, Any]) -> None:
            if rows_of(run.recipe.model).attention and not dataset.pair:
                record |= describe_attention(run.network, dataset.splits["dev"])
            if curve:
                record["test_accuracy"] = evaluate(run.network, dataset.splits["test"]).score

    return Watcher()


def _result(run: ExperimentRun, dataset: Dataset, fitted: Fitted) -> RunResult:
    from limelight.training.outcome import results_of

    found = results_of(fitted, dataset, ("dev", "test"))
    tensors = {name: tuple(w.shape) for name, w in fitted.network.named_parameters()}
    return {
        **describe_run(run, dataset),
        "accuracy": {split: each.to_dict()["accuracy"] for split, each in found.items()},
        **_test_rows(fitted.network, dataset.splits["test"]),
        "best_epoch": fitted.state.best_epoch + 1,
        "steps": fitted.state.number,
        "history": fitted.history,
        "parameters": parameters_by_part(tensors),
        "device": _device_name(fitted),
    }


def _device_name(fitted: Fitted) -> str:
    import torch

    device = next(fitted.network.parameters()).device
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def _save_readings(folder: Path, fitted: Fitted, dataset: Dataset, task: str) -> None:
    """Save what the heat maps show of this model; its weights are not kept."""
    if dataset.pair or not rows_of(fitted.recipe.model).attention:
        return
    from .heatmap_data import collect_readings

    write_json(folder / "readings.json", collect_readings(fitted.network, dataset, task))


def _test_rows(network: Network, split: Split) -> dict[str, Any]:
    """Which rows are right, as bits, so that two models can be compared row by row; and by length."""
    from limelight.training.evaluate import logits

    right = logits(network, split).argmax(axis=1) == np.asarray(split.labels)
    return {"right": np.packbits(right).tobytes().hex(), "by_length": quarters(row_lengths(split), right)}


def quarters(lengths: np.ndarray, right: np.ndarray) -> list[dict[str, Any]]:
    """Range of words and accuracy of each quarter of the rows, the shortest first.

    >>> quarters(np.array([1, 9, 2, 3]), np.array([True, False, True, True]))[-1]
    {'words': [9, 9], 'rows': 1, 'accuracy': 0.0}
    """
    parts = np.array_split(np.argsort(lengths, kind="stable"), 4)
    return [
        {
            "words": [int(lengths[rows].min()), int(lengths[rows].max())],
            "rows": len(rows),
            "accuracy": float(right[rows].mean()),
        }
        for rows in parts
        if len(rows)
    ]
