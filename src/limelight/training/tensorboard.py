"""TensorBoard's log of a run; the package is needed only where it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import LimelightError


def need_tensorboard() -> Any:
    """TensorBoard's writer class, or an error that says how to install it."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise LimelightError("TensorBoard is not installed: pip install tensorboard") from None
    return SummaryWriter


def open_tensorboard(folder: Path, number: int) -> Any:
    """A writer for the run in `folder` after `number` steps; what a killed run logged later is purged."""
    return need_tensorboard()(str(folder / "tensorboard"), purge_step=number + 1)
