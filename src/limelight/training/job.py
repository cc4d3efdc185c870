"""A training job: tables in, a saved folder out. It can be interrupted anywhere and goes on where it was.

While it runs, everything lies in `OUT.run`: `run.json` (what to do), `data` (the encoded tables) and the
checkpoints. At the end the complete model folder `OUT` appears in one piece, and `OUT.run` goes; so it does
where a run fails with nothing to go on from and no weights.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config.effects import warn_ignored, warn_unused
from ..config.options import to_builtin
from ..config.presets import preset as preset_of
from ..config.recipe import Recipe
from ..errors import LimelightError, tidy_os_errors
from ..runtime.metrics import Metrics
from ..storage.files import atomic_file, check_replaceable
from ..storage.locks import locked
from ..text.dataset import Dataset
from ..text.sources import table_paths
from . import run_folder as runfiles
from .outcome import facts_of, results_of, save, warn_if_constant

if TYPE_CHECKING:
    from ..runtime.model import Model
    from ..text.encode import Paths
    from . import Fitted

FORMAT = 1
LONG = 60.0  # seconds; what took longer to encode is not thrown away


@dataclass(frozen=True)
class Job:
    """What to train from what, as `run.json` remembers it."""

    out: Path
    recipe: Recipe
    tables: dict[str, list[str]]  # train, dev, test: files, or one folder with an encoded data set
    columns: dict[str, str | None] = field(default_factory=dict)  # text, label, text2
    holdout: float = 0.1
    on_bad: str = "error"
    overwrite: bool = False
    started_in: str = ""  # the working folder that relative paths of vectors start from

    @property
    def folder(self) -> Path:
        """Where the job keeps its things until it is done."""
        return self.out.with_name(f"{self.out.name}.run")

    @property
    def encoded(self) -> bool:
        """Whether the training data is an encoded data set already."""
        return (Path(self.tables["train"][0]) / "dataset.json").is_file()


@dataclass(frozen=True)
class Outcome:
    """How a job ended."""

    out: Path
    pair: bool
    interrupted: bool
    best_epoch: int
    history: list[dict[str, Any]]
    results: dict[str, Metrics]
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
    preset: str = "small",
    holdout: float = 0.1,
    on_bad: str = "error",
    overwrite: bool = False,
    device: str = "auto",
    progress: bool = True,
    **options: Any,
) -> Model:
    """Train on a table (csv, tsv, jsonl or parquet), save the model into the folder `out`, and open it.

    The columns are guessed where their names leave no doubt. Without `dev`, a stratified part of the rows
    (`holdout`) is held out to choose the best epoch by. A row without text or label is an error, unless
    `on_bad` is "skip". `options` are those of the recipe: `rows=8`.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "reviews.csv").write_text("text,stars\\n" + "Good soup!,5\\nCold soup.,1\\n" * 20)
    >>> model = fit(folder / "reviews.csv", text="text", label="stars", out=folder / "model",
    ...             preset="tiny", progress=False)
    >>> model.predict(["Good!", "Cold..."])
    [5, 1]
    """
    given = {"train": train, "dev": dev, "test": test}
    if "random_state" in options:
        options["seed"] = options.pop("random_state")
    job = Job(
        out=Path(out), recipe=preset_of(preset).override(**options),
        tables={name: [str(path) for path in paths] for name, paths in table_paths(given).items()},
        columns={"text": text, "label": label, "text2": text2},
        holdout=to_builtin(holdout), on_bad=on_bad, overwrite=overwrite,
    )  # fmt: skip
    outcome = run(job, device=device, show=progress, given=options)
    if outcome.interrupted:
        raise KeyboardInterrupt
    from ..runtime.model import Model

    return Model.load(outcome.out)


def run(
    job: Job,
    *,
    device: str = "auto",
    show: bool = True,
    resume: bool = False,
    checkpoint_every: float = 600.0,
    tensorboard: bool = False,
    given: Iterable[str] = (),
    preset_given: bool = False,
) -> Outcome:
    """Encode, train, choose, test and save; `resume` goes on with what an earlier run of the job has left.

    Of the recipe's options that someone has `given`, those that have no effect are warned of; and if they
    have named a preset, that encoded data has other text options. Under `torchrun` the first process encodes
    and writes, and the others wait for it.
    """
    need_torch()
    from . import fit as train
    from .run import need_tensorboard
    from .setup import choose_device

    first = int(os.environ.get("RANK", "0")) == 0
    choose_device(device)  # before the long work, not after it
    if tensorboard and first:
        need_tensorboard()
    with _alone(job, resume) if first else nullcontext():
        if first:
            dataset = _prepare(job, resume, show)
            used = recipe_for(job.recipe, dataset)
            warn_unused(used, given, has_dev="dev" in dataset.splits, pairs=dataset.pair)
            if preset_given:
                warn_ignored(job.recipe, used)
            _tell_others()
        else:
            _wait_for_first()
            dataset = _open_data(job)
        fitted = train(
            dataset, recipe_for(job.recipe, dataset), job.folder, device=device, resume=resume, show=show,
            checkpoint_every=checkpoint_every, tensorboard=tensorboard,
        )  # fmt: skip
        return _finish(job, dataset, fitted, first)


def resumed(out: str | Path) -> Job:
    """The job that an interrupted run has left for `out`; the run's own folder will do, too."""
    out = Path(out)
    if out.suffix == ".run" and (out / "run.json").is_file():
        out = out.with_suffix("")
    job = Job(out, Recipe(), {})
    path = job.folder / "run.json"
    if not path.is_file():
        done = f"; {out} itself is complete" if (job.out / "config.json").is_file() else ""
        raise LimelightError(f"there is no interrupted run for {out} ({path} is missing){done}")
    with tidy_os_errors(f"cannot read {path}"):
        content = path.read_bytes()
    try:
        found = json.loads(content)
        if found.pop("format") != FORMAT:
            raise LimelightError(f"{path} is from another version of Limelight; start again with --overwrite")
        return Job(out=job.out, recipe=Recipe.from_dict(found.pop("recipe")), **found)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, LimelightError):
            raise
        raise LimelightError(f"{path} is damaged; start again with --overwrite") from error


# ---------------------------------------------------------------- before training


@contextmanager
def _alone(job: Job, resume: bool) -> Iterator[None]:
    """Nobody else has this output; the lock stands beside the job's folder, which comes and goes."""
    if not job.out.name or job.out.name == "..":
        raise LimelightError(f"{str(job.out)!r} cannot be the output; name a new folder")
    lock = job.folder.with_name(f".{job.folder.name}.lock")
    busy = f"another process is training {job.out}; wait for it, or choose another name"
    with locked(lock, busy), nullcontext() if resume else _begun(job):
        yield


@contextmanager
def _begun(job: Job) -> Iterator[None]:
    """A new run, with its `run.json`. If it fails, a folder stays only where it has something of worth."""
    check_out(job)
    try:
        _write(job)
        yield
    except BaseException:
        if not can_go_on(job) and not runfiles.has_weights(job.folder):
            shutil.rmtree(job.folder, ignore_errors=True)
        raise


def can_go_on(job: Job) -> bool:
    """Whether a run has left a checkpoint, or tables that took long to encode."""
    begun, encoded = job.folder / "run.json", job.folder / "data" / "dataset.json"
    if not begun.is_file():
        return False
    if encoded.is_file() and encoded.stat().st_mtime - begun.stat().st_mtime > LONG:
        return True
    return runfiles.can_go_on(job.folder)


def _prepare(job: Job, resume: bool, show: bool) -> Dataset:
    """The encoded data of a job."""
    if resume:
        resumed(job.out)  # it may have come to its end meanwhile
    return _open_data(job) if _has_data(job) else _encode(job, show)


def check_out(job: Job) -> None:
    """Say before the long work what would be in its way at the end."""
    from ..runtime.folder import LAYOUT

    check_replaceable(job.out, LAYOUT, job.overwrite)
    if job.folder.exists():
        if not (job.folder / "run.json").is_file():
            raise LimelightError(f"{job.folder} is in the way and not a run of Limelight; move it")
        if not job.overwrite:
            raise LimelightError(
                f"{job.folder} holds an unfinished run: go on with 'limelight train --resume {job.out}', "
                "or start again with --overwrite (in Python: overwrite=True)"
            )
        if any(job.folder.resolve() in Path(file).resolve().parents for file in _sources(job)):
            raise LimelightError(f"{job.folder} holds the data and would be removed; choose another --out")
        shutil.rmtree(job.folder)


def _sources(job: Job) -> list[str]:
    """The files that the job reads."""
    tables = [table for each in job.tables.values() for table in each]
    return [*tables, *job.recipe.text.vectors.split(",")]


def _write(job: Job) -> None:
    """Write run.json, with absolute paths to the tables and the folder that relative vectors start from."""
    tables = {name: [os.path.abspath(path) for path in paths] for name, paths in job.tables.items()}
    content = {**asdict(job), "tables": tables, "started_in": os.getcwd(), "format": FORMAT}
    del content["out"]
    with atomic_file(job.folder / "run.json") as file:
        file.write((json.dumps(content, indent=2) + "\n").encode())


def _encode(job: Job, show: bool) -> Dataset:
    from ..text.encode import encode_tables  # a machine that only trains need not read tables

    text, label, text2 = (job.columns.get(name) for name in ("text", "label", "text2"))
    return encode_tables(
        job.folder / "data", job.tables["train"], job.tables.get("dev"), job.tables.get("test"), text=text,
        label=label, text2=text2, recipe=job.recipe.text, holdout=job.holdout,
        seed=job.recipe.training.seed, on_bad=job.on_bad, overwrite=True, progress=show,
        vectors_folder=job.started_in,
    )  # fmt: skip


def _has_data(job: Job) -> bool:
    return job.encoded or (job.folder / "data" / "dataset.json").is_file()


def _open_data(job: Job) -> Dataset:
    dataset = Dataset.open(job.tables["train"][0] if job.encoded else job.folder / "data")
    if not dataset.labels:
        raise LimelightError("the encoded data set has no labels, so there is nothing to learn from it")
    return dataset


def recipe_for(recipe: Recipe, dataset: Dataset) -> Recipe:
    """The recipe with the text options that the data set was really encoded with."""
    encoded = dataset.facts.get("recipe")
    if not isinstance(encoded, dict):
        raise LimelightError("the encoded data set does not say how it was encoded; encode the tables again")
    return Recipe(Recipe.from_dict({"text": encoded}).text, recipe.model, recipe.training)


def need_torch() -> None:
    """One line where PyTorch is missing.

    Its threads wait for each other in a loop unless told otherwise before it is loaded: on a machine that
    has other work too, a training then takes several times as long.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        import torch  # noqa: F401
    except ImportError:
        raise LimelightError("training needs PyTorch: pip install 'limelight[train]'") from None


# ---------------------------------------------------------------- several processes


def _store() -> Any:
    """The store that torchrun keeps for its processes."""
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    return TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)


def _key() -> str:
    return f"limelight/data/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"


def _tell_others() -> None:
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        _store().set(_key(), "encoded")


def _wait_for_first() -> None:
    """Encoding may take hours; if it fails, torchrun ends the processes that wait."""
    _store().wait([_key()], timedelta(days=7))


# ---------------------------------------------------------------- after training


def _finish(job: Job, dataset: Dataset, fitted: Fitted, first: bool) -> Outcome:
    state = fitted.state
    if not first or (fitted.interrupted and state.best_epoch < 0):
        return Outcome(job.out, dataset.pair, fitted.interrupted, state.best_epoch, fitted.history, {}, {})
    results = results_of(fitted, dataset, ("dev",) if fitted.interrupted else ("dev", "test"))
    facts = facts_of(dataset, fitted, results)
    out = job.folder / "best" if fitted.interrupted else job.out
    with _naming_what_is_kept(job):
        save(out, dataset, fitted, facts, overwrite=fitted.interrupted or job.overwrite)
    if not fitted.interrupted:
        shutil.rmtree(job.folder, ignore_errors=True)
        warn_if_constant(results, dataset.labels)
    return Outcome(out, dataset.pair, fitted.interrupted, state.best_epoch, fitted.history, results, facts)


def resume_command(job: Job) -> str:
    """What one types to go on with it."""
    return shlex.join(["limelight", "train", "--resume", str(job.out)])


@contextmanager
def _naming_what_is_kept(job: Job) -> Iterator[None]:
    """A model that cannot be written, as on a full disk, is not lost: say where it is."""
    try:
        yield
    except LimelightError as error:
        if can_go_on(job):
            raise LimelightError(f"{error}; put that right and go on with: {resume_command(job)}") from error
        if there := runfiles.bests(job.folder):
            raise LimelightError(f"{error}; weights of it are kept in {there[-1]}") from error
        raise
