"""Run a job: encode the tables, train, test, and save the model folder. It can be interrupted and resumed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config.effects import warn_ignored, warn_unused
from ..config.options import to_builtin
from ..config.presets import preset as preset_of
from ..config.recipe import Recipe
from ..errors import LimelightError
from ..runtime.metrics import AnyMetrics
from ..runtime.start import start_of
from ..text.dataset import Dataset
from ..text.sources import table_paths
from . import need_torch
from .forgetting import accuracy_before, check_old_dev, forgetting
from .job import Job, naming_kept_files, own_folder, remove_folder
from .job_data import announce_data, open_data, prepare_data, recipe_for, wait_for_data
from .outcome import calibrate, facts_of, results_of, save, warn_if_constant

if TYPE_CHECKING:
    from ..runtime.model import Model
    from ..text.encode import Paths
    from .callbacks import Callback
    from .run import Fitted


@dataclass(frozen=True)
class Outcome:
    """How a job ended."""

    out: Path
    pair: bool
    interrupted: bool
    best_epoch: int
    history: list[dict[str, Any]]
    results: dict[str, AnyMetrics]
    facts: dict[str, Any]


def fit(
    train: Paths,
    *,
    out: str | Path,
    text: str | None = None,
    label: str | None = None,
    text2: str | None = None,
    dev: Paths | None = None,
    test: Paths | None = None,
    old_dev: Paths | None = None,
    preset: str = "small",
    holdout: float | None = None,
    on_bad: str = "error",
    overwrite: bool = False,
    device: str = "auto",
    progress: bool = True,
    callbacks: Iterable[Callback] | None = None,
    **options: Any,
) -> Model:
    """Train on a table (csv, tsv, jsonl or parquet), save the model into the folder `out`, and load it.

    The columns are guessed where their names leave no doubt. Without `dev`, a stratified share of the rows
    (`holdout`, by default 0.1, but none of fewer than 1,000 rows when training starts from pretrained
    weights) is held out to choose the best epoch. A row without text or label is an error, unless
    `on_bad` is "skip". With `start` the folder of a trained model, training goes on with it; `old_dev` is a
    table on which its accuracy is measured before and after. `callbacks` are called after every step and
    epoch (`limelight.training.Callback`). `options` are those of the recipe: `rows=8`.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "reviews.csv").write_text("text,stars\\n" + "Good soup!,5\\nCold soup.,1\\n" * 20)
    >>> model = fit(folder / "reviews.csv", text="text", label="stars", out=folder / "model",
    ...             preset="tiny", progress=False)
    >>> model.predict(["Good!", "Cold..."])
    [5, 1]
    """
    given = {"train": train, "dev": dev, "test": test, "old_dev": old_dev}
    if "random_state" in options:
        if "seed" in options:
            raise LimelightError("give random_state or seed, not both")
        options["seed"] = options.pop("random_state")
    job = Job(
        out=Path(out), recipe=preset_of(preset).override(**options),
        tables={name: [str(path) for path in paths] for name, paths in table_paths(given).items()},
        columns={"text": text, "label": label, "text2": text2},
        holdout=to_builtin(holdout), on_bad=on_bad, overwrite=overwrite,
    )  # fmt: skip
    outcome = run_job(job, device=device, show=progress, callbacks=callbacks, given=options)
    if outcome.interrupted:
        raise KeyboardInterrupt
    from ..runtime.model import Model

    return Model.load(outcome.out)


def run_job(
    job: Job,
    *,
    device: str = "auto",
    show: bool = True,
    resume: bool = False,
    checkpoint_every: float = 600.0,
    tensorboard: bool = False,
    callbacks: Iterable[Callback] | None = None,
    given: Iterable[str] = (),
    preset_given: bool = False,
) -> Outcome:
    """Encode, train, choose the best epoch, test and save; `resume` continues an interrupted run.

    Options that the user has `given` and that have no effect are warned about, and with `preset_given` also
    text options of the preset that differ from those of encoded data. Under `torchrun`, the first process
    encodes and writes, and the others wait for it.
    """
    need_torch()
    from .callbacks import TensorBoard, check_callbacks
    from .setup import check_fits, choose_device
    from .train import fit as train

    first = int(os.environ.get("RANK", "0")) == 0
    choose_device(device)  # before the long work, not after it
    check_fits(job.recipe)
    hooks = check_callbacks(callbacks) + ((TensorBoard(),) if tensorboard and first else ())
    start = None
    if not job.encoded:  # a start that does not fit is an error now, not after the tables are encoded
        _, start = start_of(job.recipe, given, job.started_in)
        check_old_dev(job, start)
    with own_folder(job, resume) if first else nullcontext():
        if first:
            dataset = prepare_data(job, resume, show, start)
            _warn(job.recipe, dataset, given, preset_given)
            announce_data()
        else:
            wait_for_data()
            dataset = open_data(job)
        recipe, start = start_of(recipe_for(job.recipe, dataset), given, job.started_in, start)
        before = accuracy_before(job, start, dataset) if first else None
        fitted = train(
            dataset, recipe, job.folder, device=device, resume=resume, show=show,
            checkpoint_every=checkpoint_every, callbacks=hooks, start=start,
        )  # fmt: skip
        return _finish(job, dataset, fitted, first, resume, before)


def _warn(recipe: Recipe, dataset: Dataset, given: Iterable[str], preset_given: bool) -> None:
    used = recipe_for(recipe, dataset)
    warn_unused(used, given, has_dev="dev" in dataset.splits, pairs=dataset.pair)
    if preset_given:
        warn_ignored(recipe, used)


def _finish(
    job: Job, dataset: Dataset, fitted: Fitted, first: bool, resume: bool, before: float | None = None
) -> Outcome:
    """Measure and save the model; an interrupted run saves the best so far beside its checkpoints."""
    state = fitted.state
    if not first or (fitted.interrupted and state.best_epoch < 0):
        return Outcome(job.out, dataset.pair, fitted.interrupted, state.best_epoch, fitted.history, {}, {})
    sure = calibrate(fitted, dataset)
    results = results_of(fitted, dataset, ("dev",) if fitted.interrupted else ("dev", "test"))
    facts = facts_of(dataset, fitted, results) | sure
    if before is not None:
        facts["old_dev"] = forgetting(job, before, dataset, fitted)
    out = job.folder / "best" if fitted.interrupted else job.out
    with naming_kept_files(job):
        if not (resume and out == job.out and _is_saved(job, dataset, fitted, facts)):
            save(out, dataset, fitted, facts, overwrite=fitted.interrupted or job.overwrite)
    if not fitted.interrupted:
        remove_folder(job)
        warn_if_constant(results, dataset.labels)
    return Outcome(out, dataset.pair, fitted.interrupted, state.best_epoch, fitted.history, results, facts)


def _is_saved(job: Job, dataset: Dataset, fitted: Fitted, facts: dict[str, Any]) -> bool:
    """Whether the run was killed after it had saved this very model: config.json has all its checksums."""
    saved = job.out / "config.json"
    if not saved.is_file():
        return False
    save(job.folder / "best", dataset, fitted, facts, overwrite=True)
    return saved.read_bytes() == (job.folder / "best" / "config.json").read_bytes()
