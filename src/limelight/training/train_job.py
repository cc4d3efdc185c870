"""Train a model on tables: encode them, train, test, and save the folder. It can be resumed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..aspects.facts import check_takes_aspects, facts_of_training
from ..aspects.find import aspects_given, settle_aspects
from ..aspects.seeds import Aspects
from ..config.choice import given_to_choose
from ..config.effects import warn_ignored, warn_unused
from ..config.options import to_builtin
from ..config.presets import AUTO
from ..config.presets import preset as preset_of
from ..config.recipe import DEFAULT_TASK, Recipe
from ..errors import LimelightError, check_at_least, warn
from ..network.modules import OURS, TO_TRAIN, Modules, check_fits_recipe, recipe_with, split_modules
from ..runtime.start import Chooser, Start, start_of
from ..storage.files import check_output_file
from ..tables.columns import Columns, choose_columns
from ..tables.formats import shorten
from ..tables.rows import Row
from ..tables.table import open_table
from ..text.dataset import Dataset
from ..text.encode_steps import Choose
from ..text.metrics import AnyMetrics
from ..text.sources import TableSource, table_paths
from ..text.tasks import find_task
from . import need_torch
from .job import Job
from .outcome import calibrate, facts_of, model_of, results_of, save, warn_if_constant
from .rehearsal import Drawn, copy_rehearsal, read_rehearsal, rehearsal_path, write_rehearsal

if TYPE_CHECKING:
    from ..runtime.model import Model
    from ..text.encode import Paths
    from .callbacks import Callback
    from .run import Fitted


# In the job's folder, so that a table is read once, even by a run that is resumed:
REHEARSAL = "rehearsal.jsonl"  # the rehearsal set that training reads too
DRAWN_TEXTS = "drawn.jsonl"  # the next one
Old = tuple[list[Row], TableSource]  # an old development set


def fit(
    train: Paths,
    *,
    out: str | Path,
    text: str | None = None,
    label: str | None = None,
    text2: str | None = None,
    reasons: str | None = None,
    not_reasons: str | None = None,
    dev: Paths | None = None,
    test: Paths | None = None,
    old_dev: Paths | None = None,
    preset: str = AUTO,
    holdout: float | None = None,
    aspects: Any = None,
    rehearse: int = 0,
    on_bad: str = "error",
    overwrite: bool = False,
    device: str = "auto",
    progress: bool = True,
    callbacks: Iterable[Callback] | None = None,
    loss: Any = None,
    **options: Any,
) -> Model:
    """Train on a table (csv, tsv, jsonl or parquet), save the model into the folder `out`, and return it.

    The columns are guessed where their names leave no doubt. Without `preset`, the rows and their words
    decide (docs/train.md). Without `dev`, a stratified share of the rows
    (`holdout`, by default 0.1; when training starts from pretrained weights and there are fewer than 1,000
    rows, none) is held out to choose the best epoch. A row without text or label is an error, unless
    `on_bad` is "skip". `reasons` names a column of words that are the reason for the label, `not_reasons` one
    of words that must not be (text/reasons.py). With `start` the folder of a trained model, training goes on
    with it; `old_dev` is a table on which its accuracy is measured before and after. `aspects` are what
    reviews praise and blame: a dictionary, a JSON file, a name such as "hotels", or how many to find.
    `rehearse` keeps so many texts of each class beside the folder, for a later `start` with it.
    `callbacks` are called after every step and epoch (`limelight.training.Callback`). `options` are those of
    the recipe: `rows=8`. The options `encoder` and `pooling` may also be PyTorch modules of your own, and
    `loss` a function that is minimised in place of the task's: docs/network.md.

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
            raise LimelightError("give random_state or seed, not both", code="option-twice")
        options["seed"] = options.pop("random_state")
    options, modules = split_modules(options)
    recipe = preset_of(preset).override(**options)
    job = TrainJob(
        out=Path(out), recipe=recipe_with(recipe, modules, options) if modules else recipe,
        given=None if modules or loss is not None else given_to_choose(preset, options),
        tables={name: [str(path) for path in paths] for name, paths in table_paths(given).items()},
        columns={
            "text": text, "label": label, "text2": text2, "reasons": reasons, "not_reasons": not_reasons,
        },
        holdout=to_builtin(holdout), on_bad=on_bad, overwrite=overwrite,
        aspects=aspects_given(aspects), rehearse=rehearse,
    )  # fmt: skip
    how: dict[str, Any] = {"device": device, "show": progress, "callbacks": callbacks}
    outcome = job.run(**how, given=options, modules=modules, loss=loss)
    if outcome.interrupted:
        raise KeyboardInterrupt
    return outcome.model()


@dataclass(frozen=True)
class Outcome:
    """How a job ended."""

    out: Path
    dataset: Dataset
    fitted: Fitted
    results: dict[str, AnyMetrics] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def interrupted(self) -> bool:
        """Whether the user has stopped it."""
        return self.fitted.interrupted

    def model(self) -> Model:
        """The model, as it was saved."""
        return model_of(self.dataset, self.fitted, self.facts)


@dataclass(frozen=True)
class TrainJob(Job):
    """What to train on what, as `run.json` stores it."""

    command = "train"
    out: Path
    recipe: Recipe
    tables: dict[str, list[str]]  # train, dev, test, old_dev: files, or one folder with encoded data
    columns: dict[str, Any] = field(default_factory=dict)  # text, label, text2, reasons, ...: a name or None
    holdout: float | None = None  # None: 0.1, or 0 with few rows and a start
    on_bad: str = "error"
    overwrite: bool = False
    started_in: str = ""  # the working directory that relative paths of vectors start from
    aspects: dict[str, Any] | int = field(
        default_factory=dict
    )  # as Aspects.to_dict has them; or how many to find
    rehearse: int = 0  # texts of each class to keep beside the model
    given: list[str] | None = None  # options that stay while the table decides on the others; None: all do

    def content(self) -> dict[str, Any]:
        """What `run.json` stores, with paths as they were given: they go into the model's description."""
        return {**asdict(self), "started_in": os.getcwd()}

    @classmethod
    def from_content(cls, out: Path, found: dict[str, Any]) -> Self:
        given = found.pop("recipe", {})
        if given.get("training", {}).get("teachers") or given.get("training", {}).get("noisy_copies"):
            gone = f"the run for {out} has teachers or noisy copies, which are no options any more"
            todo = "resume it with Limelight 0.2, or start again with --overwrite"
            raise LimelightError(f"{gone}; {todo}", code="run-outdated")
        if wrong := [name for name, x in found.items() if name not in _FITS or not _FITS[name](x)]:
            raise ValueError(f"{shorten(wrong[0])!r} is not as Limelight writes it")
        return cls(out=out, recipe=Recipe.from_dict(given), **found)

    def input_files(self) -> list[str]:
        tables = [table for each in self.tables.values() for table in each]
        return [*tables, *self.recipe.text.vectors.split(",")]

    @property
    def encoded(self) -> bool:
        """Whether the training data is already an encoded data set."""
        return os.path.isfile(self.input_path(self.tables["train"][0]) / "dataset.json")

    def run(
        self,
        *,
        device: str = "auto",
        show: bool = True,
        resume: bool = False,
        checkpoint_every: float = 600.0,
        tensorboard: bool = False,
        callbacks: Iterable[Callback] | None = None,
        given: Iterable[str] = (),
        preset_given: bool = False,
        modules: Modules = OURS,
        loss: Any = None,
    ) -> Outcome:
        """Encode, train, choose the best epoch, test and save; `resume` continues an interrupted run.

        Options that the user has `given` and that have no effect are warned about, and with `preset_given`
        also text options of the preset that differ from those of encoded data. Under `torchrun`, the first
        process encodes and writes, and the others wait for it.
        """
        need_torch()
        from ..runtime.model import Model
        from .callbacks import TensorBoard, check_callbacks
        from .context import choose_device, training_cores
        from .starting_network import check_fits
        from .train import fit as train

        where = choose_device(device)  # before the long work, not after it
        check_fits_recipe(modules, self.recipe, "the recipe", TO_TRAIN)
        check_fits(self.recipe)
        if self.aspects:  # and again below: the table may say more
            own = self.recipe.model.has_pooling_module
            check_takes_aspects(self.recipe.text.task, bool(self.columns.get("text2")), own)
        self._check_rehearse(resume)
        hooks = check_callbacks(callbacks)
        # a start that does not fit is an error now, not after the tables are encoded
        opened = self._open_data() if self.encoded else None
        asked = recipe_for(self.recipe, opened) if opened else self.recipe
        cores = training_cores(where) if show else None
        recipe, start, chooser = self._start_of(asked, given, cores)
        self._check_old_dev(start)

        def prepare() -> None:
            if resume:
                self.load(self.out)  # another process may have finished it meanwhile
            if not self.encoded and not (self.folder / "data" / "dataset.json").is_file():
                self.encode(recipe, start, show, chooser)

        with self.prepared(resume, prepare) as first:
            dataset = opened or self._open_data()
            if chooser:
                recipe, start = chooser.settled(dataset.facts)
            aspects = settle_aspects(self.aspects, dataset) if first else Aspects()
            if first:
                self._warn(recipe_for(recipe, dataset), dataset, given, preset_given)
                self._warn_of_forgetting(start, dataset)
            old = self._read_old(start, dataset) if first else None
            before = None if start is None or old is None else self._old_accuracy(Model(start), old)
            fitted = train(
                dataset, recipe_for(recipe, dataset), self.folder, device=device, resume=resume, show=show,
                checkpoint_every=checkpoint_every, start=start, **modules._asdict(), loss=loss,
                callbacks=[*hooks, *([TensorBoard()] if tensorboard and first else [])],
            )  # fmt: skip
            if not first or (fitted.interrupted and not fitted.state.is_model):
                return Outcome(self.out, dataset, fitted)
            return self._finish(dataset, fitted, resume, before, old, start, aspects)

    def _start_of(
        self, asked: Recipe, given: Iterable[str], cores: int | None
    ) -> tuple[Recipe, Start | None, Chooser | None]:
        """The recipe and what it starts from, or what decides on these when the table is read."""
        if self.given is None or self.encoded:
            return *start_of(asked, given, self.started_in), None
        return asked, None, Chooser(asked, self.given, cores)

    def _warn(self, used: Recipe, dataset: Dataset, given: Iterable[str], preset_given: bool) -> None:
        warn_unused(used, given, has_dev="dev" in dataset.splits, pairs=dataset.pair)
        if preset_given:
            warn_ignored(self.recipe, used)

    # ------------------------------------------------------------ the data

    def _open_data(self) -> Dataset:
        """Open the job's encoded data."""
        dataset = Dataset.open(
            self.input_path(self.tables["train"][0]) if self.encoded else self.folder / "data"
        )
        if not dataset.labels:
            wrong = "the encoded data set has no labels, so there is nothing to learn from it"
            raise LimelightError(wrong, code="no-labels")
        return dataset

    def encode(self, recipe: Recipe, start: Start | None, show: bool, choose: Choose | None = None) -> None:
        """Encode the tables into the job's folder."""
        from ..text.encode import encode_tables  # needs packages that read tables; training alone does not

        train = [*self.tables["train"], *self._rehearsed(start)]
        watch = partial(self._put_aside, recipe.training.seed) if self.rehearse else None
        encode_tables(
            self.folder / "data", train, self.tables.get("dev"), self.tables.get("test"),
            **self.columns, recipe=recipe.text, holdout=self.holdout, seed=recipe.training.seed,
            on_bad=self.on_bad, overwrite=True, progress=show, folder=self.started_in, start=start,
            choose=choose, all_words=not recipe.model.table_size, watch=watch,
        )  # fmt: skip

    def _put_aside(self, seed: int, rows: Iterator[Row]) -> Iterator[Row]:
        """The rows of training; a sample of them is kept for the end of the run."""
        drawn = Drawn(self.rehearse, seed)
        for row in rows:
            drawn.add(row)
            yield row
        write_rehearsal(self.folder / DRAWN_TEXTS, drawn.rows(), "")

    # ------------------------------------------------------------ the result

    def _finish(
        self, dataset: Dataset, fitted: Fitted, resume: bool, before: float | None, old: Old | None,
        start: Start | None, aspects: Aspects,
    ) -> Outcome:  # fmt: skip
        """Measure and save the model; an interrupted run saves the best so far beside its checkpoints."""
        confidence = calibrate(fitted, dataset)
        results = results_of(fitted, dataset, ("dev",) if fitted.interrupted else ("dev", "test"))
        facts = facts_of(dataset, fitted, results, start) | confidence
        facts |= facts_of_training(
            aspects, None if start is None else start.facts, dataset.task, dataset.pair
        )
        if not fitted.interrupted and (measured := self._baselines(dataset)):
            facts["baselines"] = measured
        if old is not None:
            after, data = self._old_accuracy(model_of(dataset, fitted, facts), old), self.tables["old_dev"]
            figures = {"rows": len(old[0]), "before": before, "after": after}
            facts["old_dev"] = {"data": ", ".join(data), **figures}
        out = self.folder / "best" if fitted.interrupted else self.out
        with self.naming_kept_files():
            if not (resume and out == self.out and self._is_saved(dataset, fitted, facts)):
                save(out, dataset, fitted, facts, overwrite=fitted.interrupted or self.overwrite)
        if not fitted.interrupted:
            if self.rehearse:
                self._keep_rehearsal(dataset.pair)
            self.remove_folder()
            warn_if_constant(results, dataset.labels)
        return Outcome(out, dataset, fitted, results, facts)

    def _is_saved(self, dataset: Dataset, fitted: Fitted, facts: dict[str, Any]) -> bool:
        """Whether the run was killed after it had saved this model: config.json has all its checksums."""
        saved = self.out / "config.json"
        if not saved.is_file():
            return False
        save(self.folder / "best", dataset, fitted, facts, overwrite=True)
        return saved.read_bytes() == (self.folder / "best" / "config.json").read_bytes()

    def _baselines(self, dataset: Dataset) -> dict[str, Any]:
        from .tf_idf import baselines

        return baselines(dataset, balanced=self.recipe.training.class_weight == "balanced")

    # ------------------------------------------------------------ what a model forgets as it goes on

    def _check_rehearse(self, resume: bool) -> None:
        check_at_least("rehearse", self.rehearse, 0)
        if self.rehearse and self.encoded:
            wrong = "a rehearsal set is drawn from the training table; this data is already encoded"
            raise LimelightError(wrong, code="option-conflict")
        if self.rehearse and not resume:
            check_output_file(rehearsal_path(self.out), self.overwrite)

    def _train_columns(self) -> Columns:
        """The columns of the training tables, as they are chosen when these are encoded."""
        text, label, text2 = (self.columns.get(name) for name in ("text", "label", "text2"))
        reasons, not_reasons = (self.columns.get(name) for name in ("reasons", "not_reasons"))
        first = self.input_path(self.tables["train"][0])
        chosen = choose_columns(first, text, label, text2, pair=None)
        return replace(chosen, reasons=reasons, not_reasons=not_reasons)

    def _rehearsed(self, start: Start | None) -> list[str]:
        """The rehearsal set of the model to go on with, as a table with the columns of the others, if any."""
        model, path = self.input_path(self.recipe.text.start), Path(os.path.abspath(self.folder), REHEARSAL)
        if start is None or not start.labels or not rehearsal_path(model).is_file():
            return []
        first = self.input_path(self.tables["train"][0])
        return [str(path)] if copy_rehearsal(model, start, path, self._train_columns(), first) else []

    def _keep_rehearsal(self, pair: bool) -> None:
        """Write what was drawn from all rows of training, among them those of an older rehearsal set."""
        digest = hashlib.sha256((self.out / "config.json").read_bytes()).hexdigest()
        write_rehearsal(rehearsal_path(self.out), read_rehearsal(self.folder / DRAWN_TEXTS, pair), digest)

    def _warn_of_forgetting(self, start: Start | None, dataset: Dataset) -> None:
        """Warn if new classes would displace old ones, of which there are few rows or none."""
        if self.rehearse and not find_task(dataset.task).is_class:
            wrong = f"--rehearse keeps texts of each class, but the task is {dataset.task!r}"
            raise LimelightError(wrong, code="task-option")
        if start is None or not start.labels or (self.folder / REHEARSAL).is_file():
            return
        if dataset.task != DEFAULT_TASK or not set(start.labels) < set(dataset.labels):
            return
        known = [k for k, label in enumerate(dataset.labels) if label in set(start.labels)]
        labels = np.asarray(dataset.splits["train"].labels)
        rows, new = int(np.isin(labels, known).sum()), len(dataset.labels) - len(known)
        warn(
            f"{rows:,} of the {len(labels):,} rows are of the {len(known)} classes that "
            f"{self.recipe.text.start} has, the others of {new} new: it may forget the old ones. Add rows of "
            "them, or train it with --rehearse 20 first; --old-dev measures what is lost"
        )

    def _check_old_dev(self, start: Start | None) -> None:
        """Raise if there is an old development set, but no model that it belongs to."""
        if "old_dev" not in self.tables:
            return
        if start is None or not start.labels:
            needed = "--old-dev needs --start MODEL, the trained model that it was held out from"
            raise LimelightError(needed, code="start-needed")
        if find_task(start.recipe.text.task).name != DEFAULT_TASK:
            wrong = f"--old-dev measures accuracy, but the task is {start.recipe.text.task!r}"
            raise LimelightError(wrong, code="task-option")

    def _read_old(self, start: Start | None, dataset: Dataset) -> Old | None:
        """The old development set, if there is one."""
        if "old_dev" not in self.tables or start is None:
            return None
        if not set(start.labels) <= set(dataset.labels):
            wrong = "--old-dev cannot be measured: none of the new labels is a class of the old model"
            raise LimelightError(wrong, code="label-unknown")
        paths = list(map(self.input_path, self.tables["old_dev"]))
        first = open_table(paths[0])
        text, label, text2 = (self.columns.get(name) for name in ("text", "label", "text2"))
        columns = choose_columns(first, text, label, text2, pair=dataset.pair)
        source = TableSource(paths, columns, self.on_bad, table=first)
        return list(source.rows()), source

    def _old_accuracy(self, model: Model, old: Old) -> float:
        """The accuracy on the old development set."""
        rows, source = old
        truth = find_task(model.task).column(row.label for row in rows).index(model.labels, source.name_row)
        texts2 = [row.text2 or "" for row in rows] if model.pair else None
        P = model.predict_proba([row.text for row in rows], texts2)
        return float((P.argmax(axis=1) == truth).mean())


def recipe_for(recipe: Recipe, dataset: Dataset) -> Recipe:
    """The recipe with the text options the data set was encoded with."""
    encoded = dataset.facts.get("recipe")
    if not isinstance(encoded, dict):
        wrong = "the encoded data set does not say how it was encoded; encode the tables again"
        raise LimelightError(wrong, code="data-outdated")
    return Recipe(Recipe.from_dict({"text": encoded}).text, recipe.model, recipe.training)


# ---------------------------------------------------------------- what run.json may hold


def _holds(value: Any, names: set[str], fits: Callable[[Any], bool]) -> bool:
    """Whether it is an object of some of these names, whose values fit."""
    return isinstance(value, dict) and value.keys() <= names and all(map(fits, value.values()))


def _are_files(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_path, value))


def _is_path(value: Any) -> bool:
    try:
        return isinstance(value, str) and value != "" and b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False


_FITS: dict[str, Callable[[Any], bool]] = {
    "tables": lambda x: _holds(x, {"train", "dev", "test", "old_dev"}, _are_files) and "train" in x,
    "columns": lambda x: _holds(
        x, {"text", "label", "text2", "reasons", "not_reasons"}, lambda each: isinstance(each, str | None)
    ),
    "holdout": lambda x: x is None or (type(x) in (int, float) and 0 <= x < 1),
    "rehearse": lambda x: type(x) is int and x >= 0,
    "given": lambda x: x is None or (isinstance(x, list) and all(isinstance(each, str) for each in x)),
    "on_bad": lambda x: x in ("error", "skip"),
    "overwrite": lambda x: type(x) is bool,
    "started_in": lambda x: x == "" or _is_path(x),
    "aspects": lambda x: type(x) is int or (isinstance(x, dict) and Aspects.of(x).to_dict() == x),
}
