"""A training job: which tables to train on, by which recipe, into which folder; and its `run.json`."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..config.recipe import Recipe
from ..errors import LimelightError, tidy_os_errors
from ..storage.files import atomic_file

FORMAT = 1


@dataclass(frozen=True)
class Job:
    """What to train on what, as `run.json` stores it."""

    out: Path
    recipe: Recipe
    tables: dict[str, list[str]]  # train, dev, test: files, or one folder with an encoded data set
    columns: dict[str, str | None] = field(default_factory=dict)  # text, label, text2
    holdout: float = 0.1
    on_bad: str = "error"
    overwrite: bool = False
    started_in: str = ""  # the working directory that relative paths of vectors start from

    @property
    def folder(self) -> Path:
        """Where the job keeps its files until it is done."""
        return self.out.with_name(f"{self.out.name}.run")

    @property
    def encoded(self) -> bool:
        """Whether the training data is already an encoded data set."""
        return (Path(self.tables["train"][0]) / "dataset.json").is_file()


def save_job(job: Job) -> None:
    """Write `run.json`, with absolute table paths: the run may be resumed from another directory."""
    tables = {name: [os.path.abspath(path) for path in paths] for name, paths in job.tables.items()}
    content = {**asdict(job), "tables": tables, "started_in": os.getcwd(), "format": FORMAT}
    del content["out"]
    with atomic_file(job.folder / "run.json") as file:
        file.write((json.dumps(content, indent=2) + "\n").encode())


def load_job(out: str | Path) -> Job:
    """Load the unfinished job of the output folder `out`, or of the run's own folder `OUT.run`."""
    out = Path(out)
    if out.suffix == ".run" and (out / "run.json").is_file():
        out = out.with_suffix("")
    path = Job(out, Recipe(), {}).folder / "run.json"
    if not path.is_file():
        done = f"; {out} itself is complete" if (out / "config.json").is_file() else ""
        raise LimelightError(f"there is no interrupted run for {out} ({path} is missing){done}")
    with tidy_os_errors(f"cannot read {path}"):
        content = path.read_bytes()
    try:
        found = json.loads(content)
        if found.pop("format") != FORMAT:
            raise LimelightError(f"{path} is from another version of Limelight; start again with --overwrite")
        return Job(out=out, recipe=Recipe.from_dict(found.pop("recipe")), **found)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, LimelightError):
            raise
        raise LimelightError(f"{path} is damaged; start again with --overwrite") from error


def resume_command(job: Job) -> str:
    """The command that resumes a job.

    >>> resume_command(Job(Path("my model"), Recipe(), {}))
    "limelight train --resume 'my model'"
    """
    return shlex.join(["limelight", "train", "--resume", str(job.out)])
