"""A training job: which tables to train on, by which recipe, into which folder; and its folder `OUT.run`.

That holds `run.json`, `data` (the encoded tables) and the checkpoints. One process owns it at a time, and a
failed run leaves it only if useful. At the end the complete model folder `OUT` appears at once, and `OUT.run`
is removed.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from ..config.recipe import Recipe
from ..errors import LimelightError, tidy_os_errors
from ..storage.files import FolderLayout, atomic_file, check_replaceable
from ..storage.json_file import parse_object
from ..storage.locks import locked
from ..storage.open_files import read_regular
from ..tables.formats import shorten
from . import run_folder

FORMAT = 1
MAX_JOB = 2**24  # bytes of a run.json
AnyJobT = TypeVar("AnyJobT", bound="AnyJob")
SLOW_ENCODING = 60.0  # seconds; data that took longer to encode is not thrown away


class AnyJob:
    """What jobs of all commands have in common: an output folder, and files beside it until that is done."""

    command: ClassVar[str]
    out: Path
    overwrite: bool
    started_in: str = ""  # the working directory that relative paths start from

    @property
    def folder(self) -> Path:
        """Where the job keeps its files until it is done."""
        return self.out.with_name(f"{self.out.name}.run")

    @property
    def layout(self) -> FolderLayout:
        """What the output folder will be."""
        raise NotImplementedError

    def content(self) -> dict[str, Any]:
        """What `run.json` stores."""
        raise NotImplementedError

    def input_files(self) -> list[str]:
        """The files the job reads."""
        raise NotImplementedError

    def input_path(self, given: str) -> Path:
        """Where a file the job reads is; the run may be resumed from another directory."""
        return Path(self.started_in, given)


@dataclass(frozen=True)
class Job(AnyJob):
    """What to train on what, as `run.json` stores it."""

    command = "train"
    out: Path
    recipe: Recipe
    tables: dict[str, list[str]]  # train, dev, test, old_dev: files, or one folder with encoded data
    columns: dict[str, str | None] = field(default_factory=dict)  # text, label, text2
    holdout: float | None = None  # None: 0.1, or 0 with few rows and a start
    on_bad: str = "error"
    overwrite: bool = False
    started_in: str = ""  # the working directory that relative paths of vectors start from

    @property
    def layout(self) -> FolderLayout:
        from ..runtime.folder import LAYOUT

        return LAYOUT

    def content(self) -> dict[str, Any]:
        """What `run.json` stores, with paths as they were given: they go into the model's description."""
        return {**asdict(self), "started_in": os.getcwd()}

    def input_files(self) -> list[str]:
        tables = [table for each in self.tables.values() for table in each]
        return [*tables, *self.recipe.text.vectors.split(",")]

    @property
    def encoded(self) -> bool:
        """Whether the training data is already an encoded data set."""
        return os.path.isfile(self.input_path(self.tables["train"][0]) / "dataset.json")


def save_job(job: AnyJob) -> None:
    """Write `run.json`."""
    content = {**job.content(), "format": FORMAT}
    if job.command != "train":  # which older versions do not name
        content["command"] = job.command
    del content["out"]
    with atomic_file(job.folder / "run.json") as file:
        file.write((json.dumps(content, indent=2) + "\n").encode())


def load_job(out: str | Path) -> Job:
    """Load the unfinished job of the output folder `out`, or of the run's own folder `OUT.run`."""

    def build(out: Path, found: dict[str, Any]) -> Job:
        recipe = Recipe.from_dict(found.pop("recipe", {}))
        if wrong := [name for name, value in found.items() if not _FITS.get(name, _never)(value)]:
            raise LimelightError(f"{shorten(wrong[0])!r} is not as Limelight writes it")
        return Job(out=out, recipe=recipe, **found)

    return read_job(out, "train", build)


def read_job(out: str | Path, command: str, build: Callable[[Path, dict[str, Any]], AnyJobT]) -> AnyJobT:
    """Build a command's unfinished job from its `run.json`."""
    out = Path(out)
    if out.suffix == ".run" and (out / "run.json").is_file():
        out = out.with_suffix("")
    path = out.with_name(f"{out.name}.run") / "run.json"
    if not path.is_file():
        done = f"; {out} itself is complete" if (out / "config.json").is_file() else ""
        raise LimelightError(f"there is no interrupted run for {out} ({path} is missing){done}")
    with tidy_os_errors(f"cannot read {path}"):
        content = read_regular(path, MAX_JOB)
    try:
        found = parse_object(content, path.name)
        if (version := found.pop("format", None)) != FORMAT:
            raise LimelightError(f"its format is {shorten(repr(version))}, not {FORMAT}")
        other = found.pop("command", "train")
        if other == command:
            return build(out, found)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        what, why = "is damaged or from another version", shorten(" ".join(str(error).split()))
        raise LimelightError(f"{path} {what} ({why}); start again with --overwrite") from error
    again = f"limelight {shorten(str(other))} --resume"
    raise LimelightError(f"{path} is of another command; resume it with {again!r}")


def _are_tables(value: Any) -> bool:
    splits = ("train", "dev", "test", "old_dev")
    return (
        isinstance(value, dict)
        and "train" in value
        and all(
            name in splits and isinstance(files, list) and files and all(_is_path(file) for file in files)
            for name, files in value.items()
        )
    )


def _are_columns(value: Any) -> bool:
    names = ("text", "label", "text2")
    return isinstance(value, dict) and all(
        name in names and (column is None or isinstance(column, str)) for name, column in value.items()
    )


def _is_path(value: Any) -> bool:
    try:
        return isinstance(value, str) and value != "" and b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False


def _never(value: Any) -> bool:
    return False


_FITS: dict[str, Callable[[Any], bool]] = {  # what run.json may hold
    "tables": _are_tables,
    "columns": _are_columns,
    "holdout": lambda value: value is None or (type(value) in (int, float) and 0 <= value < 1),
    "on_bad": lambda value: value in ("error", "skip"),
    "overwrite": lambda value: type(value) is bool,
    "started_in": lambda value: value == "" or _is_path(value),
}


def resume_command(job: AnyJob) -> str:
    """The command that resumes a job.

    >>> resume_command(Job(Path("my model"), Recipe(), {}))
    "limelight train --resume 'my model'"
    """
    return shlex.join(["limelight", job.command, "--resume", str(job.out)])


# ---------------------------------------------------------------- its folder


@contextmanager
def own_folder(job: AnyJob, resume: bool) -> Iterator[None]:
    """Keep other processes out. The lock file stands beside the job's folder, which comes and goes."""
    if not job.out.name or job.out.name == "..":
        raise LimelightError(f"{str(job.out)!r} cannot be the output; name a new folder")
    lock = job.folder.with_name(f".{job.folder.name}.lock")
    busy = f"another process is training {job.out}; wait for it, or choose another name"
    with locked(lock, busy), nullcontext() if resume else _new_folder(job):
        yield


@contextmanager
def _new_folder(job: AnyJob) -> Iterator[None]:
    """Start the folder with its `run.json`; if the run fails, keep it only if it holds something useful."""
    check_output(job)
    try:
        save_job(job)
        yield
    except BaseException:
        if not is_resumable(job) and not run_folder.has_weights(job.folder):
            remove_folder(job)
        raise


def is_resumable(job: AnyJob) -> bool:
    """Whether a run has left a checkpoint, or tables that took long to encode."""
    started, encoded = job.folder / "run.json", job.folder / "data" / "dataset.json"
    if not started.is_file():
        return False
    if encoded.is_file() and encoded.stat().st_mtime - started.stat().st_mtime > SLOW_ENCODING:
        return True
    return run_folder.is_resumable(job.folder)


def check_output(job: AnyJob) -> None:
    """Raise before the long work if the result could not be written; with overwrite, remove an old run."""
    check_replaceable(job.out, job.layout, job.overwrite)
    if not job.folder.exists():
        return
    if not (job.folder / "run.json").is_file():
        if all(path.name.startswith(".run.json.limelight-") for path in job.folder.iterdir()):
            return  # a run that was killed before its first file was written
        raise LimelightError(f"{job.folder} exists and is not a Limelight run; move it")
    if not job.overwrite:
        raise LimelightError(
            f"{job.folder} holds an unfinished run: resume it with '{resume_command(job)}', "
            "or start again with --overwrite (in Python: overwrite=True)"
        )
    if any(job.folder.resolve() in job.input_path(file).resolve().parents for file in job.input_files()):
        raise LimelightError(f"{job.folder} holds the data and would be removed; choose another --out")
    remove_folder(job)


def remove_folder(job: AnyJob) -> None:
    """Remove the job's folder, `run.json` last: if this is cut short, it is still known for what it is."""
    for path in job.folder.iterdir() if job.folder.is_dir() else ():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != "run.json":
            path.unlink(missing_ok=True)
    shutil.rmtree(job.folder, ignore_errors=True)


@contextmanager
def naming_kept_files(job: AnyJob) -> Iterator[None]:
    """Add to an error what is kept: a model that cannot be written, as on a full disk, is not lost."""
    try:
        yield
    except LimelightError as error:
        if is_resumable(job):
            raise LimelightError(f"{error}; fix that, then resume with: {resume_command(job)}") from error
        if kept := run_folder.best_weights(job.folder):
            raise LimelightError(f"{error}; its weights are kept in {kept[-1]}") from error
        raise
