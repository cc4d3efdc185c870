"""The state of a run on disk: whole or not there at all, the newest two kept, safetensors and JSON only."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import safetensors
from safetensors.torch import load_file, save_file
from torch import Tensor

from ..errors import LimelightError
from ..files import atomic_file, tidy_os_errors

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
    best_accuracy: float = -1.0
    best_loss: float = float("inf")
    finished: bool = False
    history: list[dict[str, Any]] = field(default_factory=list)


def write(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Write tensors and a JSON description as one safetensors file, atomically."""
    clean = {name: x.detach().contiguous().cpu() for name, x in tensors.items()}
    metadata = {"limelight": json.dumps({"format": FORMAT, **about})}
    with atomic_file(path) as file:
        try:
            save_file(clean, file.name, metadata)
        except safetensors.SafetensorError as error:
            raise OSError(None, str(error)) from error


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The inverse of `write`; a truncated or foreign file is one clear line."""
    try:
        with tidy_os_errors(f"cannot read {path}"):
            with safetensors.safe_open(path, "pt") as file:
                metadata = file.metadata() or {}
            about = json.loads(metadata["limelight"])
            tensors = load_file(path)
    except safetensors.SafetensorError as error:
        raise LimelightError(f"{path} is damaged ({error}); delete it and resume again") from error
    except (KeyError, json.JSONDecodeError):
        raise LimelightError(
            f"{path} is no checkpoint of Limelight; remove it from the run's folder"
        ) from None
    if about.get("format") != FORMAT:
        raise LimelightError(f"{path} is of format {about.get('format')}; this version reads {FORMAT}")
    return tensors, about


class Checkpoints:
    """The checkpoints of one run in its folder: `checkpoint-N.safetensors` and `best-E.safetensors`."""

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        self.folder, self.identity = folder, identity

    def save(self, state: State, tensors: dict[str, Tensor]) -> None:
        """Write the state after `state.number` steps, then let go of what is older."""
        about = {"identity": self.identity, "state": asdict(state)}
        write(self.folder / f"checkpoint-{state.number:09d}.safetensors", tensors, about)
        self._write_history(state)
        self._tidy()

    def save_best(self, epoch: int, weights: dict[str, Tensor]) -> None:
        """Write the best weights so far, under their epoch: an older checkpoint keeps its own best."""
        write(self.folder / f"best-{epoch:04d}.safetensors", weights, {"identity": self.identity})

    def load_best(self, epoch: int) -> dict[str, Tensor]:
        """The best weights that a checkpoint refers to."""
        tensors, _ = read(self.folder / f"best-{epoch:04d}.safetensors")
        return tensors

    def newest(self) -> tuple[State, dict[str, Tensor], list[str]] | None:
        """The newest checkpoint that can be read, and a line for each one that could not."""
        problems: list[str] = []
        for path in self._paths():
            try:
                tensors, about = read(path)
            except LimelightError as error:
                problems.append(str(error))
                continue
            self._check_identity(path, about["identity"])
            return State(**about["state"]), tensors, problems
        if problems:
            raise LimelightError(problems[0])
        return None

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob("checkpoint-*.safetensors"), reverse=True)

    def _check_identity(self, path: Path, identity: dict[str, Any]) -> None:
        for key, mine in self.identity.items():
            if identity.get(key) != mine:
                was = identity.get(key)
                raise LimelightError(
                    f"{path.name} was made with {key} {was!r}, this run has {mine!r}; "
                    "resume with the same, or choose another folder"
                )

    def _tidy(self) -> None:
        for old in self._paths()[KEPT:]:
            old.unlink(missing_ok=True)
        needed = {f"best-{epoch:04d}.safetensors" for epoch in self._best_epochs()}
        for path in self.folder.glob("best-*.safetensors"):
            if path.name not in needed:
                path.unlink(missing_ok=True)

    def _best_epochs(self) -> set[int]:
        found = set()
        for path in self._paths():
            with safetensors.safe_open(path, "pt") as file:
                found.add(json.loads(file.metadata()["limelight"])["state"]["best_epoch"])
        return found

    def _write_history(self, state: State) -> None:
        lines = "".join(json.dumps(record) + "\n" for record in state.history)
        with atomic_file(self.folder / "history.jsonl") as file:
            file.write(lines.encode())


def weights_of(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors under a prefix, without it.

    >>> weights_of({"weights.a": Tensor([1]), "optimiser.b": Tensor([2])}, "weights.")
    {'a': tensor([1.])}
    """
    return {name.removeprefix(prefix): x for name, x in tensors.items() if name.startswith(prefix)}
