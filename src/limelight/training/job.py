"""A job of `train` or `pretrain`: its folder `OUT.run`, and how it is saved, resumed and shared by processes.

The folder holds `run.json`, `data` (the encoded tables) and the checkpoints. One process owns it at a
time, and a failed run leaves it only if useful. At the end `OUT` appears at once, and `OUT.run` is removed.
"""

import json
import os
import shlex
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, Self

from ..errors import LimelightError, damaged, name_taken
from ..storage.files import check_replaceable, write_file
from ..storage.json_file import parse_object
from ..storage.locks import locked
from ..storage.open_files import read_regular
from ..tables.formats import shorten

FORMAT = 1
MAX_JOB_BYTES = 2**24  # of a run.json
SLOW_ENCODING = 60.0  # seconds; data that took longer to encode is not thrown away


class Job(ABC):
    """What both kinds of jobs have in common: an output folder, and files beside it until that is done."""

    command: ClassVar[str]
    out: Path
    overwrite: bool
    started_in: str = ""  # the working directory that relative paths start from

    @property
    def folder(self) -> Path:
        """Where the job keeps its files until it is done."""
        return self.out.with_name(f"{self.out.name}.run")

    @abstractmethod
    def content(self) -> dict[str, Any]:
        """What `run.json` stores."""

    @classmethod
    @abstractmethod
    def from_content(cls, out: Path, found: dict[str, Any]) -> Self:
        """The inverse of `content`, checked."""

    @abstractmethod
    def input_files(self) -> list[str]:
        """The files the job reads."""

    def input_path(self, given: str) -> Path:
        """Where a file the job reads is; the run may be resumed from another directory."""
        return Path(self.started_in, given)

    def save(self) -> None:
        content = {**self.content(), "format": FORMAT, "command": self.command}
        del content["out"]
        write_file(self.folder / "run.json", json.dumps(content, indent=2) + "\n")

    @classmethod
    def load(cls, out: str | Path) -> Self:
        """Load the unfinished job of the output folder `out`, or of the run's own folder `OUT.run`."""
        out = Path(out)
        if out.suffix == ".run" and (out / "run.json").is_file():
            out = out.with_suffix("")
        path = out.with_name(f"{out.name}.run") / "run.json"
        if not path.is_file():
            done = f"; {out} itself is complete" if (out / "config.json").is_file() else ""
            missing = f"there is no interrupted run for {out} ({path} is missing){done}"
            raise LimelightError(missing, code="run-missing")
        content = read_regular(path, MAX_JOB_BYTES)
        try:
            found = parse_object(content, path.name)
            if (version := found.pop("format", None)) != FORMAT:
                raise ValueError(f"its format is {shorten(repr(version))}, not {FORMAT}")
            other = found.pop("command", "train")  # which version 0.2 does not name
            if other == cls.command:
                return cls.from_content(out, found)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            if getattr(error, "code", "") == "run-outdated":
                raise
            what, why = "is damaged or from another version", shorten(" ".join(str(error).split()))
            raise damaged(f"{path} {what} ({why}); start again with --overwrite") from error
        again = f"limelight {shorten(str(other))} --resume"
        raise LimelightError(f"{path} is of another command; resume it with {again!r}", code="run-kind")

    @property
    def resume_command(self) -> str:
        return shlex.join(["limelight", self.command, "--resume", str(self.out)])

    def is_resumable(self) -> bool:
        """Whether a run has left a checkpoint, what a teacher read, or tables that took long to encode."""
        started, encoded = self.folder / "run.json", self.folder / "data" / "dataset.json"
        if not started.is_file():
            return False
        if encoded.is_file() and encoded.stat().st_mtime - started.stat().st_mtime > SLOW_ENCODING:
            return True
        return bool(checkpoints(self.folder) or vector_files(self.folder))

    def check_output(self) -> None:
        """Raise now, not later, if the result could not be written; with overwrite, remove an old run."""
        from ..runtime.folder import LAYOUT

        check_replaceable(self.out, LAYOUT, self.overwrite)
        if not self.folder.exists():
            return
        if not (self.folder / "run.json").is_file():
            if all(path.name.startswith(".run.json.limelight-") for path in self.folder.iterdir()):
                return  # a run that was killed before its first file was written
            raise name_taken(f"{self.folder} exists and is not a Limelight run; move it")
        if not self.overwrite:
            what = f"{self.folder} holds an unfinished run: resume it with '{self.resume_command}'"
            again = "or start again with --overwrite (in Python: overwrite=True)"
            raise LimelightError(f"{what}, {again}", code="run-unfinished")
        if any(self.folder.resolve() in self.input_path(x).resolve().parents for x in self.input_files()):
            inside = f"{self.folder} holds the data and would be removed; choose another --out"
            raise LimelightError(inside, code="out-holds-data")
        self.remove_folder()

    def remove_folder(self) -> None:
        """Remove the job's folder, `run.json` last: if this is cut short, it is still a Limelight run."""
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != "run.json":
                path.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def owned(self, resume: bool) -> Iterator[None]:
        """Keep other processes out; a new job's folder stays only if it is useful, should the job fail."""
        if not self.out.name or self.out.name == "..":
            wrong = f"{str(self.out)!r} cannot be the output; name a new folder"
            raise LimelightError(wrong, code="out-name")
        lock = self.folder.with_name(f".{self.folder.name}.lock")
        busy = f"another process is training {self.out}; wait for it, or choose another name"
        with locked(lock, busy):
            if not resume:
                self.check_output()
            try:
                if not resume:
                    self.save()
                yield
            except BaseException:
                if not (resume or self.is_resumable() or best_weights(self.folder)):
                    self.remove_folder()
                raise

    @contextmanager
    def prepared(self, resume: bool, prepare: Callable[[], Any]) -> Iterator[bool]:
        """Own the folder and prepare the data; yields whether this is the first process.

        The others wait for it, perhaps for hours; if it fails, torchrun ends them.
        """
        first, several = int(os.environ.get("RANK", "0")) == 0, int(os.environ.get("WORLD_SIZE", "1")) > 1
        key = f"limelight/data/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
        with self.owned(resume) if first else nullcontext():
            if first:
                prepare()
                if several:
                    _torchrun_store().set(key, "encoded")
            else:
                _torchrun_store().wait([key], timedelta(days=7))
            yield first

    @contextmanager
    def naming_kept_files(self) -> Iterator[None]:
        """Add to an error what is kept: a model that cannot be written, as on a full disk, is not lost."""
        try:
            yield
        except LimelightError as error:
            if self.is_resumable():
                more = f"fix that, then resume with: {self.resume_command}"
            elif kept := best_weights(self.folder):
                more = f"its weights are kept in {kept[-1]}"
            else:
                raise
            raise LimelightError(f"{error}; {more}", code=error.code) from error


def _torchrun_store() -> Any:
    """The key-value store that torchrun keeps for its processes."""
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    return TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)


# ---------------------------------------------------------------- the files of a run in its folder


def checkpoint_path(folder: Path, number: int) -> Path:
    return folder / f"checkpoint-{number:09d}.safetensors"


def checkpoints(folder: Path) -> list[Path]:
    """All checkpoints, the newest first."""
    return sorted(folder.glob("checkpoint-*.safetensors"), reverse=True)


def best_path(folder: Path, epoch: int) -> Path:
    return folder / f"best-{epoch:04d}.safetensors"


def best_weights(folder: Path) -> list[Path]:
    """All files of best weights, the earliest epoch first; perhaps without a checkpoint."""
    return sorted(folder.glob("best-*.safetensors"))


def vector_files(folder: Path) -> list[Path]:
    """The vectors that a sentence encoder gave for the texts, in order."""
    return sorted(folder.glob("vectors-*.npy"))
