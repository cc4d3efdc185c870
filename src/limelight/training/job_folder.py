"""The folder `OUT.run` of a job: one process owns it at a time, and a failed run leaves it only if useful.

It holds `run.json`, `data` (the encoded tables) and the checkpoints. At the end the complete model folder
`OUT` appears at once, and `OUT.run` is removed.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from ..errors import LimelightError
from ..storage.files import check_replaceable
from ..storage.locks import locked
from . import run_folder
from .job import Job, resume_command, save_job

SLOW_ENCODING = 60.0  # seconds; data that took longer to encode is not thrown away


@contextmanager
def own_folder(job: Job, resume: bool) -> Iterator[None]:
    """Keep other processes out. The lock file stands beside the job's folder, which comes and goes."""
    if not job.out.name or job.out.name == "..":
        raise LimelightError(f"{str(job.out)!r} cannot be the output; name a new folder")
    lock = job.folder.with_name(f".{job.folder.name}.lock")
    busy = f"another process is training {job.out}; wait for it, or choose another name"
    with locked(lock, busy), nullcontext() if resume else _new_folder(job):
        yield


@contextmanager
def _new_folder(job: Job) -> Iterator[None]:
    """Start the folder with its `run.json`; if the run fails, keep it only if it holds something useful."""
    check_output(job)
    try:
        save_job(job)
        yield
    except BaseException:
        if not is_resumable(job) and not run_folder.has_weights(job.folder):
            shutil.rmtree(job.folder, ignore_errors=True)
        raise


def is_resumable(job: Job) -> bool:
    """Whether a run has left a checkpoint, or tables that took long to encode."""
    started, encoded = job.folder / "run.json", job.folder / "data" / "dataset.json"
    if not started.is_file():
        return False
    if encoded.is_file() and encoded.stat().st_mtime - started.stat().st_mtime > SLOW_ENCODING:
        return True
    return run_folder.is_resumable(job.folder)


def check_output(job: Job) -> None:
    """Raise before the long work if the result could not be written; with overwrite, remove an old run."""
    from ..runtime.folder import LAYOUT

    check_replaceable(job.out, LAYOUT, job.overwrite)
    if not job.folder.exists():
        return
    if not (job.folder / "run.json").is_file():
        raise LimelightError(f"{job.folder} exists and is not a Limelight run; move it")
    if not job.overwrite:
        raise LimelightError(
            f"{job.folder} holds an unfinished run: resume it with '{resume_command(job)}', "
            "or start again with --overwrite (in Python: overwrite=True)"
        )
    if any(job.folder.resolve() in Path(file).resolve().parents for file in _input_files(job)):
        raise LimelightError(f"{job.folder} holds the data and would be removed; choose another --out")
    shutil.rmtree(job.folder)


def _input_files(job: Job) -> list[str]:
    tables = [table for each in job.tables.values() for table in each]
    return [*tables, *job.recipe.text.vectors.split(",")]


@contextmanager
def naming_kept_files(job: Job) -> Iterator[None]:
    """Add to an error what is kept: a model that cannot be written, as on a full disk, is not lost."""
    try:
        yield
    except LimelightError as error:
        if is_resumable(job):
            raise LimelightError(f"{error}; fix that, then resume with: {resume_command(job)}") from error
        if kept := run_folder.best_weights(job.folder):
            raise LimelightError(f"{error}; its weights are kept in {kept[-1]}") from error
        raise
