"""Checkpoints: written atomically as safetensors and JSON, the newest two kept."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import safetensors
import torch
from safetensors.torch import load_file
from torch import Tensor

from ..config.options import upgrade
from ..config.recipe import DEFAULT_TASK, options
from ..errors import LimelightError, damaged, tidy_os_errors
from ..storage.array_files import safetensors_pieces
from ..storage.files import atomic_file, remove_leftovers
from ..storage.open_files import check_memory, open_regular
from ..tables.formats import shorten
from .job import best_path, best_weights, checkpoint_path, checkpoints

FORMAT = 2  # 1 had no checksum
CHECKSUM = "~sha256"  # a name that sorts behind all others: the last bytes of the file
KEPT = 2


@dataclass
class State:
    """How far a run has come, without its tensors."""

    epoch: int = 0  # in progress, counted from 0
    batch: int = 0  # batches of it done
    number: int = 0  # steps since the start
    waited: int = 0  # evaluations since the best one
    best_epoch: int = -1
    first: dict[str, Any] | None = None  # the scores of a classifier fitted before the first step
    best_accuracy: float = -1.0  # or other score of the development rows, weighted where they are
    best_loss: float = float("inf")
    finished: bool = False
    history: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_model(self) -> bool:
        """Whether anything was learnt so far."""
        return self.best_epoch >= 0 or self.first is not None


class Found(NamedTuple):
    state: State
    tensors: dict[str, Tensor]
    best: dict[str, Tensor] | None
    problems: list[str]  # a line for each newer checkpoint that could not be read


def _damaged(path: Path, why: str = "is not a Limelight checkpoint") -> LimelightError:
    return damaged(f"{path} {why}")


def write(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Write tensors and a JSON description as one safetensors file, atomically.

    Its last tensor is the SHA-256 of the file with zeros in that place.
    """
    metadata = {"limelight": json.dumps({"format": FORMAT, **about})}
    whole = {**tensors, CHECKSUM: torch.zeros(hashlib.sha256().digest_size, dtype=torch.uint8)}
    digest = hashlib.sha256()
    with atomic_file(path) as file:
        for piece in safetensors_pieces(whole, metadata, lambda x: x.detach().cpu().numpy()):
            digest.update(piece)
            file.write(piece)
        file.seek(-digest.digest_size, os.SEEK_END)
        file.write(digest.digest())


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The inverse of `write`; a damaged or foreign file is a LimelightError."""
    about = _read_description(path)
    with _tidy_reading(path):
        check_memory(path.stat().st_size, path.name)
        tensors = load_file(path)
        if (CHECKSUM in tensors or about["format"] > 1) and not _is_intact(path):
            raise _damaged(path, "is damaged: its checksum does not match")
    tensors.pop(CHECKSUM, None)
    return tensors, about


def _is_intact(path: Path) -> bool:
    digest = hashlib.sha256()
    with open_regular(path) as file:
        left = os.fstat(file.fileno()).st_size - digest.digest_size
        while left > 0 and (piece := file.read(min(left, 1 << 20))):
            digest.update(piece)
            left -= len(piece)
        digest.update(bytes(digest.digest_size))
        return file.read() == digest.digest()


def _read_description(path: Path) -> dict[str, Any]:
    with _tidy_reading(path):
        open_regular(path).close()
        with safetensors.safe_open(path, "pt") as file:
            metadata = (file.metadata() or {}).get("limelight", "")
    try:
        about = json.loads(metadata)
        version = about["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _damaged(path) from None
    if type(version) is not int or not 1 <= version <= FORMAT:
        found = f"{path} has format {str(version)[:20]}, this version reads up to {FORMAT}"
        raise LimelightError(f"{found}; update Limelight", code="format-newer")
    if not isinstance(about.get("identity", {}), dict):
        raise _damaged(path)
    return dict(about)


@contextmanager
def _tidy_reading(path: Path) -> Iterator[None]:
    try:
        with tidy_os_errors(f"cannot read {path}"):
            yield
    except safetensors.SafetensorError as error:
        raise _damaged(path, f"is damaged ({' '.join(str(error).split())[:100]})") from error


def check_tensors(path: Path, tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Raise unless a file has all the expected tensors, in their shapes and types."""
    for name, like in expected.items():
        found = tensors.get(name)
        if found is None or found.shape != like.shape or found.dtype != like.dtype:
            shown = "missing" if found is None else f"{found.dtype} {tuple(found.shape)}"
            wrong = f"{name} is {shown}, not {like.dtype} {tuple(like.shape)}"
            raise LimelightError(f"{path} does not fit this run: {wrong}", code="run-differs")


class Checkpoints:
    """The checkpoints of a run in its folder: `checkpoint-N.safetensors` and `best-E.safetensors`."""

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        self.folder, self.identity = folder, identity
        self.best_epoch: int | None = None  # of the best weights on disk; -1 is from before the first epoch

    def prepare(self, history: Iterable[dict[str, Any]]) -> None:
        """Write the history, to see that the folder is writable, and remove what a killed process left."""
        with tidy_os_errors(f"cannot write {self.folder}"):
            self.folder.mkdir(parents=True, exist_ok=True)
            remove_leftovers(self.folder)
            self._tidy()
        self._write_history(history)

    def save(self, state: State, tensors: dict[str, Tensor], best: dict[str, Tensor] | None) -> None:
        """Write the state after `state.number` steps, then remove older files.

        The best weights are written first, named by epoch, so every checkpoint on disk has its own. Older
        files are removed even if the checkpoint cannot be written: they may be what fills the disk.
        """
        try:
            if best is not None and self.best_epoch != state.best_epoch:
                write(best_path(self.folder, state.best_epoch), best, {"identity": self.identity})
                self.best_epoch = state.best_epoch
            about = {"identity": self.identity, "state": asdict(state)}
            write(checkpoint_path(self.folder, state.number), tensors, about)
            self._write_history(state.history)
        finally:
            with tidy_os_errors(f"cannot tidy {self.folder}"):
                self._tidy()

    def newest(self, expected: Mapping[str, Tensor], best: Mapping[str, Tensor]) -> Found | None:
        """The newest readable checkpoint, None if there is none; its tensors must be like these."""
        problems: list[str] = []
        for path in checkpoints(self.folder):
            try:
                tensors, about = read(path)
                state = _state(path, about)
                path_of_best = best_path(self.folder, state.best_epoch)
                best_of_run = read(path_of_best)[0] if state.is_model else None
            except LimelightError as error:
                problems.append(str(error))
                continue
            check_identity(path, about.get("identity", {}), self.identity)
            check_tensors(path, tensors, expected)
            check_tensors(path_of_best, best_of_run or {}, best if best_of_run else {})
            self.best_epoch = state.best_epoch if state.is_model else None
            return Found(state, tensors, best_of_run, problems)
        if problems:
            raise damaged(f"{problems[0]}; there is no other checkpoint to resume from")
        return None

    def _tidy(self) -> None:
        """Keep the newest two readable checkpoints and their best weights.

        The newest best weights stay too, as the disk may have been full after them; without either, all stay.
        """
        kept, bests = 0, set()
        if self.best_epoch is not None:
            bests.add(best_path(self.folder, self.best_epoch))
        for path in checkpoints(self.folder):
            try:
                best_epoch = _state(path, _read_description(path)).best_epoch
            except LimelightError:
                continue
            if kept == KEPT:
                path.unlink(missing_ok=True)
            else:
                kept += 1
                bests.add(best_path(self.folder, best_epoch))
        for path in best_weights(self.folder) if kept or bests else ():
            if path not in bests:
                path.unlink(missing_ok=True)

    def _write_history(self, history: Iterable[dict[str, Any]]) -> None:
        with atomic_file(self.folder / "history.jsonl") as file:
            file.writelines(f"{json.dumps(record)}\n".encode() for record in history)


def check_identity(path: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Raise if a file was made with other options or data than this run's."""
    found = {"task": DEFAULT_TASK, **upgrade(found)}  # it may be from an older version
    defaults = {name: field.default for name, field in options().items()}
    for key, mine in wanted.items():
        if key.endswith("sha256") and key not in found:
            continue  # older than the checksum
        was = found.get(key, defaults.get(key))  # or older than an option
        if was != mine:
            theirs, ours = shorten(repr(was)), shorten(repr(mine))
            todo = "resume with the same, or choose another folder"
            wrong = f"{path.name} was made with {key} {theirs}, this run has {ours}"
            raise LimelightError(f"{wrong}; {todo}", code="run-differs")


def _state(path: Path, about: dict[str, Any]) -> State:
    try:
        state = State(**about["state"])
    except (KeyError, TypeError):
        raise _damaged(path) from None
    if not _is_possible(state):
        raise _damaged(path, "is damaged: its state is not one that a run can be in")
    return state


def _is_possible(state: State) -> bool:
    if type(state.best_epoch) is not int:
        return False
    counts = (state.epoch, state.batch, state.number, state.waited, state.best_epoch + 1)
    scores = (state.best_accuracy, state.best_loss)
    if not all(type(n) is int and 0 <= n < 2**53 for n in counts) or type(state.finished) is not bool:
        return False
    if not all(type(x) in (int, float) for x in scores) or not isinstance(state.history, list):
        return False
    if state.first is not None and not (isinstance(state.first, dict) and state.first.get("steps") == 0):
        return False
    records = all(isinstance(each, dict) and type(each.get("steps")) is int for each in state.history)
    return records and state.best_epoch < len(state.history)


def select_prefix(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names start with a prefix, without it."""
    return {name.removeprefix(prefix): x for name, x in tensors.items() if name.startswith(prefix)}
