"""The files a run keeps in its folder: their names, and how to find them."""

from __future__ import annotations

from pathlib import Path


def checkpoint_path(folder: Path, number: int) -> Path:
    """The checkpoint after `number` steps."""
    return folder / f"checkpoint-{number:09d}.safetensors"


def checkpoints(folder: Path) -> list[Path]:
    """All checkpoints, the newest first."""
    return sorted(folder.glob("checkpoint-*.safetensors"), reverse=True)


def best_path(folder: Path, epoch: int) -> Path:
    """The best weights so far, from that epoch."""
    return folder / f"best-{epoch:04d}.safetensors"


def best_weights(folder: Path) -> list[Path]:
    """All files of best weights, the earliest epoch first; perhaps without a checkpoint."""
    return sorted(folder.glob("best-*.safetensors"))


def vector_files(folder: Path) -> list[Path]:
    """The vectors that a sentence encoder gave for the texts, in order."""
    return sorted(folder.glob("vectors-*.npy"))
