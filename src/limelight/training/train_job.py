"""Train a model on tables: encode them, train, test, and save the folder. It can be resumed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..aspects.facts import check_takes_aspects, facts_of_training
from ..aspects.find import aspects_given, settle_aspects
from ..aspects.seeds import Aspects
from ..config.options import to_builtin
from ..config.presets import AUTO, given_to_choose
from ..config.presets import preset as preset_of
from ..config.recipe import DEFAULT_TASK, Recipe, warn_ignored, warn_unused
from ..errors import LimelightError, warn
from ..network.modules import OURS, TO_TRAIN, Modules, check_fits_recipe, recipe_with, split_modules
from ..runtime.start import Chooser, Start, start_of
from ..tables.formats import shorten
from ..text.dataset import Dataset
from ..text.encode_steps import Choose
from ..text.metrics import AnyMetrics
from ..text.sources import table_paths
from . import need_torch
from .job import Job
from .outcome import calibrate, facts_of, model_of, results_of, save, warn_if_constant

if TYPE_CHECKING:
    from ..runtime.model import Model
    from ..text.encode import Paths
    from .callbacks import Callback
    from .run import Fitted


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
    preset: str = AUTO,
    holdout: float | None = None,
    aspects: Any = None,
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
    decide (docs/train.md). Without `dev`, a stratified share of the rows (`holdout`, by default 0.1; when
    training starts from pretrained weights and there are fewer than 1,000 rows, none) is held out to choose
    the best epoch. A row without text or label is an error, unless `on_bad` is "skip". `reasons` names a
    column of words that are the reason for the label, `not_reasons` one of words that must not be
    (text/reasons.py). With `start` the folder of a trained model, training goes on with it. `aspects` are
    what reviews praise and blame: a dictionary, a JSON file, a name such as "hotels", or how many to find.
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
    given = {"train": train, "dev": dev, "test": test}
    options, modules = split_modules(_with_seed(options))
    recipe = preset_of(preset).override(**options)
    job = TrainJob(
        out=Path(out), recipe=recipe_with(recipe, modules, options) if modules else recipe,
        given=None if modules or loss is not None else given_to_choose(preset, options),
        tables={name: [str(path) for path in paths] for name, paths in table_paths(given).items()},
        columns={
            "text": text, "label": label, "text2": text2, "reasons": reasons, "not_reasons": not_reasons,
        },
        holdout=to_builtin(holdout), on_bad=on_bad, overwrite=overwrite, aspects=aspects_given(aspects),
    )  # fmt: skip
    how: dict[str, Any] = {"device": device, "show": progress, "callbacks": callbacks}
    outcome = job.run(**how, given=options, modules=modules, loss=loss)
    if outcome.fitted.interrupted:
        raise KeyboardInterrupt
    return outcome.model()


def _with_seed(options: dict[str, Any]) -> dict[str, Any]:
    """With `random_state`, as scikit-learn calls it, by its name here."""
    if "random_state" not in options:
        return options
    if "seed" in options:
        raise LimelightError("give random_state or seed, not both", code="option-twice")
    return {"seed" if name == "random_state" else name: value for name, value in options.items()}


@dataclass(frozen=True)
class Outcome:
    out: Path
    dataset: Dataset
    fitted: Fitted
    results: dict[str, AnyMetrics] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    def model(self) -> Model:
        return model_of(self.dataset, self.fitted, self.facts)


@dataclass(frozen=True)
class TrainJob(Job):
    """What to train on what, as `run.json` stores it."""

    command = "train"
    out: Path
    recipe: Recipe
    tables: dict[str, list[str]]  # train, dev, test: files, or one folder with encoded data
    columns: dict[str, Any] = field(default_factory=dict)  # text, label, text2, reasons, ...: a name or None
    holdout: float | None = None  # None: 0.1, or 0 with few rows and a start
    on_bad: str = "error"
    overwrite: bool = False
    started_in: str = ""  # the working directory that relative paths of vectors start from
    aspects: dict[str, Any] | int = field(default_factory=dict)  # as Aspects.to_dict; or how many to find
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
        return os.path.isfile(self.input_path(self.tables["train"][0]) / "dataset.json")

    def run(
        self,
        *,
        device: str = "auto",
        show: bool = True,
        resume: bool = False,
        checkpoint_every: float = 600.0,
        callbacks: Iterable[Callback] | None = None,
        given: Iterable[str] = (),
        preset_given: bool = False,
        modules: Modules = OURS,
        loss: Any = None,
    ) -> Outcome:
        """Encode, train, choose the best epoch, test and save; warn about `given` options without effect."""
        need_torch()
        from .callbacks import check_callbacks
        from .context import choose_device, training_cores
        from .run import fit as train

        where = choose_device(device)  # before the long work, not after it
        self._check_recipe(modules)
        hooks = check_callbacks(callbacks)
        # a start that does not fit is an error now, not after the tables are encoded
        opened = self._open_data() if self.encoded else None
        asked = recipe_for(self.recipe, opened) if opened else self.recipe
        cores = training_cores(where) if show else None
        recipe, start, chooser = asked, None, None
        if self.given is None or self.encoded:
            recipe, start = start_of(asked, given, self.started_in)
        else:  # the table decides once it is read
            chooser = Chooser(asked, self.given, cores)

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
            recipe = recipe_for(recipe, dataset)
            if first:
                warn_unused(recipe, given, has_dev="dev" in dataset.splits, pairs=dataset.pair)
                if preset_given:
                    warn_ignored(self.recipe, recipe)
                self._warn_of_forgetting(start, dataset)
            fitted = train(
                dataset, recipe, self.folder, device=device, resume=resume, show=show,
                checkpoint_every=checkpoint_every, start=start, **modules._asdict(), loss=loss,
                callbacks=hooks,
            )  # fmt: skip
            if not first or (fitted.interrupted and not fitted.state.is_model):
                return Outcome(self.out, dataset, fitted)
            return self._finish(dataset, fitted, resume, start, aspects)

    def _check_recipe(self, modules: Modules) -> None:
        from .starting_network import check_fits

        check_fits_recipe(modules, self.recipe, "the recipe", TO_TRAIN)
        check_fits(self.recipe)
        if self.aspects:  # and again once the table is read, which may say more
            own = self.recipe.model.has_pooling_module
            check_takes_aspects(self.recipe.text.task, bool(self.columns.get("text2")), own)

    # ------------------------------------------------------------ the data

    def _open_data(self) -> Dataset:
        given = self.input_path(self.tables["train"][0])
        dataset = Dataset.open(given if self.encoded else self.folder / "data")
        if not dataset.labels:
            wrong = "the encoded data set has no labels, so there is nothing to learn from it"
            raise LimelightError(wrong, code="no-labels")
        return dataset

    def encode(self, recipe: Recipe, start: Start | None, show: bool, choose: Choose | None = None) -> None:
        from ..text.encode import encode_tables  # needs packages that read tables; training alone does not

        encode_tables(
            self.folder / "data", self.tables["train"], self.tables.get("dev"), self.tables.get("test"),
            **self.columns, recipe=recipe.text, holdout=self.holdout, seed=recipe.training.seed,
            on_bad=self.on_bad, overwrite=True, progress=show, folder=self.started_in, start=start,
            choose=choose, all_words=not recipe.model.table_size,
        )  # fmt: skip

    # ------------------------------------------------------------ the result

    def _finish(
        self, dataset: Dataset, fitted: Fitted, resume: bool, start: Start | None, aspects: Aspects
    ) -> Outcome:
        """Measure and save the model; an interrupted run saves the best so far beside its checkpoints."""
        from .tf_idf import baselines

        confidence = calibrate(fitted, dataset)
        results = results_of(fitted, dataset, ("dev",) if fitted.interrupted else ("dev", "test"))
        facts = facts_of(dataset, fitted, results, start) | confidence
        facts |= facts_of_training(aspects, start.facts if start else None, dataset.task, dataset.pair)
        if not fitted.interrupted:
            balanced = self.recipe.training.class_weight == "balanced"
            if measured := baselines(dataset, balanced):
                facts["baselines"] = measured
        out = self.folder / "best" if fitted.interrupted else self.out
        with self.naming_kept_files():
            if not (resume and out == self.out and self._is_saved(dataset, fitted, facts)):
                save(out, dataset, fitted, facts, overwrite=fitted.interrupted or self.overwrite)
        if not fitted.interrupted:
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

    def _warn_of_forgetting(self, start: Start | None, dataset: Dataset) -> None:
        """Warn if new classes would displace old ones, of which there are few rows or none."""
        old = set(start.labels) if start else set()
        if not old or dataset.task != DEFAULT_TASK or not old < set(dataset.labels):
            return
        known = [k for k, label in enumerate(dataset.labels) if label in old]
        labels = np.asarray(dataset.splits["train"].labels)
        rows, new = int(np.isin(labels, known).sum()), len(dataset.labels) - len(old)
        warn(
            f"{rows:,} of the {len(labels):,} rows are of the {len(old)} classes that "
            f"{self.recipe.text.start} has, the others of {new} new: it may forget the old ones; "
            "add some rows of each of them"
        )


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
    "tables": lambda x: _holds(x, {"train", "dev", "test"}, _are_files) and "train" in x,
    "columns": lambda x: _holds(
        x, {"text", "label", "text2", "reasons", "not_reasons"}, lambda each: isinstance(each, str | None)
    ),
    "holdout": lambda x: x is None or (type(x) in (int, float) and 0 <= x < 1),
    "given": lambda x: x is None or (isinstance(x, list) and all(isinstance(each, str) for each in x)),
    "on_bad": lambda x: x in ("error", "skip"),
    "overwrite": lambda x: type(x) is bool,
    "started_in": lambda x: x == "" or _is_path(x),
    "aspects": lambda x: type(x) is int or (isinstance(x, dict) and Aspects.of(x).to_dict() == x),
}
