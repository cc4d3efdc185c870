"""The state of a run on disk: whole or not there at all, the newest two kept, safetensors and JSON only."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import safetensors
from safetensors.torch import load_file
from torch import Tensor

from ..config.older import upgrade
from ..config.recipe import options
from ..errors import LimelightError, tidy_os_errors
from ..storage.files import atomic_file
from ..storage.safetensors import safetensors_pieces
from . import run_folder as runfiles

FORMAT = 1
KEPT = 2


@dataclass
class State:
    """Where a run stands, apart from its tensors."""

    epoch: int = 0  # the one under way, from 0
    batch: int = 0  # batches of it that are done
    number: int = 0  # steps since the start
    waited: int = 0  # evaluations since the best one
    best_epoch: int = -1
    best_accuracy: float = -1.0  # of the development rows, weighted where they are
    best_loss: float = float("inf")
    finished: bool = False
    history: list[dict[str, Any]] = field(default_factory=list)


class Found(NamedTuple):
    """A checkpoint that can be gone on from."""

    state: State
    tensors: dict[str, Tensor]
    best: dict[str, Tensor] | None
    problems: list[str]  # a line for each newer one that could not be read


def write(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Write tensors and a JSON description as one safetensors file, atomically."""
    with atomic_file(path) as file:
        metadata = {"limelight": json.dumps({"format": FORMAT, **about})}
        file.writelines(safetensors_pieces(tensors, metadata, lambda x: x.detach().cpu().numpy()))


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The inverse of `write`; a truncated or foreign file is one clear line."""
    about = _read_description(path)
    with tidy_os_errors(f"cannot read {path}"):
        return load_file(path), about


def _read_description(path: Path) -> dict[str, Any]:
    try:
        with tidy_os_errors(f"cannot read {path}"), safetensors.safe_open(path, "pt") as file:
            about = json.loads((file.metadata() or {})["limelight"])
            version = about["format"]
    except safetensors.SafetensorError as error:
        raise LimelightError(f"{path} is damaged ({error})") from error
    except (KeyError, TypeError, json.JSONDecodeError):
        raise LimelightError(f"{path} is no checkpoint of Limelight") from None
    if version != FORMAT:
        raise LimelightError(f"{path} is of format {version}, this version reads {FORMAT}: update Limelight")
    return dict(about)


class Checkpoints:
    """The checkpoints of one run in its folder: `checkpoint-N.safetensors` and `best-E.safetensors`."""

    def __init__(self, folder: Path, identity: dict[str, Any] | None = None) -> None:
        self.folder, self.identity = folder, identity or {}
        self.best_epoch = -1  # whose best weights are on disk

    def check_unused(self) -> None:
        """A new run must not mix with an older one: its checkpoints may be further on."""
        if paths := [*runfiles.checkpoints(self.folder), *runfiles.of_teachers(self.folder)]:
            raise LimelightError(
                f"{self.folder} already holds a run ({paths[0].name}); resume it, or choose another folder"
            )

    def check(self) -> None:
        """What is there must be of this run; a checkpoint that cannot be read says nothing."""
        for path in runfiles.checkpoints(self.folder):
            try:
                about = _read_description(path)
            except LimelightError:
                continue
            check_identity(path, about.get("identity", {}), self.identity)

    def prepare(self, history: Iterable[dict[str, Any]]) -> None:
        """Show that the folder can be written, and clear away what a killed process left half-written."""
        with tidy_os_errors(f"cannot write {self.folder}"):
            self.folder.mkdir(parents=True, exist_ok=True)
            for path in runfiles.half_written(self.folder):
                path.unlink(missing_ok=True)
            self._tidy()
        self._write_history(history)

    def save(self, state: State, tensors: dict[str, Tensor], best: dict[str, Tensor] | None) -> None:
        """Write the state after `state.number` steps, then let go of what is older.

        The best weights go first, under their epoch: every checkpoint on disk finds its own. If the rest
        cannot be written, what the best weights have superseded goes all the same: it may fill the disk.
        """
        try:
            if best is not None and self.best_epoch != state.best_epoch:
                write(runfiles.best(self.folder, state.best_epoch), best, {"identity": self.identity})
                self.best_epoch = state.best_epoch
            about = {"identity": self.identity, "state": asdict(state)}
            write(runfiles.checkpoint(self.folder, state.number), tensors, about)
            self._write_history(state.history)
        finally:
            with tidy_os_errors(f"cannot tidy {self.folder}"):
                self._tidy()

    def newest(self) -> Found | None:
        """The newest checkpoint that can be read, and a line for each newer one that could not."""
        problems: list[str] = []
        for path in runfiles.checkpoints(self.folder):
            try:
                tensors, about = read(path)
                state = _state(path, about)
                best_path = runfiles.best(self.folder, state.best_epoch)
                best = read(best_path)[0] if state.best_epoch >= 0 else None
            except LimelightError as error:
                problems.append(str(error))
                continue
            check_identity(path, about.get("identity", {}), self.identity)
            self.best_epoch = state.best_epoch
            return Found(state, tensors, best, problems)
        if problems:
            raise LimelightError(f"{problems[0]}; there is no other checkpoint to resume from")
        return None

    def _tidy(self) -> None:
        """Keep the newest two and their best weights; one that cannot be read does not count as one.

        The newest best weights stay too: their checkpoint may not have found room. Where there is neither,
        as after a full disk, all of them stay.
        """
        kept, bests = 0, {runfiles.best(self.folder, self.best_epoch)}
        for path in runfiles.checkpoints(self.folder):
            try:
                best_epoch = _state(path, _read_description(path)).best_epoch
            except LimelightError:
                continue
            if kept == KEPT:
                path.unlink(missing_ok=True)
            else:
                kept += 1
                bests.add(runfiles.best(self.folder, best_epoch))
        for path in runfiles.bests(self.folder) if kept or self.best_epoch >= 0 else ():
            if path not in bests:
                path.unlink(missing_ok=True)

    def _write_history(self, history: Iterable[dict[str, Any]]) -> None:
        lines = "".join(json.dumps(record) + "\n" for record in history)
        with atomic_file(self.folder / "history.jsonl") as file:
            file.write(lines.encode())


def check_identity(path: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """What a file was made with must be what this run has."""
    found = upgrade(found)  # it may be of an older version
    usual = {name: field.default for name, field in options().items()}
    for key, mine in wanted.items():
        was = found.get(key, usual.get(key))  # or older than an option
        if was != mine:
            raise LimelightError(
                f"{path.name} was made with {key} {was!r}, this run has {mine!r}; "
                "resume with the same, or choose another folder"
            )


def _state(path: Path, about: dict[str, Any]) -> State:
    try:
        return State(**about["state"])
    except (KeyError, TypeError):
        raise LimelightError(f"{path} is no checkpoint of Limelight") from None


def weights_of(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors under a prefix, without it.

    >>> weights_of({"weights.a": Tensor([1]), "optimiser.b": Tensor([2])}, "weights.")
    {'a': tensor([1.])}
    """
    return {name.removeprefix(prefix): x for name, x in tensors.items() if name.startswith(prefix)}
