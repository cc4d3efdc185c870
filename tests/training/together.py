"""What the processes of `torchrun` do in test_distributed.py:

torchrun --nproc-per-node 2 tests/training/together.py FOLDER
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from limelight.errors import LimelightError
from limelight.training import evaluate, fit
from limelight.training.progress import Progress
from limelight.training.step import Stepper
from training import toys

# name -> precision, data, options: 41 rows in batches of 8 leave a last batch of one row
RUNS: dict[str, tuple[torch.dtype, dict[str, Any], dict[str, Any]]] = {
    "sgd": (torch.float32, {}, {"optimizer": "sgd", "learning_rate": 0.3, "weight_decay": 1e-3}),
    "adam": (
        torch.float64,
        {"pair": True},
        {"optimizer": "adam", "clip_norm": 0.5, "penalty_scale": "author"},
    ),
    "adagrad": (torch.float64, {"weighted": True}, {"optimizer": "adagrad", "clip_gates": 0.01}),
    "average": (torch.float64, {}, {"optimizer": "adam", "ema_decay": 0.8, "schedule": "linear"}),
    "stopped": (torch.float64, {}, {"optimizer": "adam", "epochs": 3}),
    "killed": (
        torch.float64,
        {},
        {"optimizer": "adagrad", "learning_rate": 0.05, "halve_on_plateau": True, "epochs": 4},
    ),
}


def train(folder: Path, name: str, **how: Any) -> Any:
    precision, data, options = RUNS[name]
    torch.set_default_dtype(precision)
    try:
        recipe = toys.recipe(**{"epochs": 2, **options})
        return fit(toys.dataset(rows=41, **data), recipe, folder / name, checkpoint_every=0.0, **how)
    finally:
        torch.set_default_dtype(torch.float32)


def impatient(self: Progress, rows: int, figures: Callable[[], dict[str, float]]) -> None:
    """Ask for the figures after every step, as a terminal does once a second: on the first process alone."""
    if self.show:
        figures()


def main() -> None:
    folder, rank, size = Path(sys.argv[1]), int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # torchrun's, which may come before the last line is said
    Progress.step = impatient  # type: ignore[method-assign]
    step, threads = Stepper.step, []

    def watched(self: Stepper, rows: Any, number: int) -> None:
        threads.append(torch.get_num_threads())
        if rank == 1 and number == 9 and name in ("stopped", "killed"):
            os.kill(os.getpid(), signal.SIGINT if name == "stopped" else signal.SIGKILL)
        step(self, rows, number)

    Stepper.step = watched  # type: ignore[method-assign]
    evaluate.WORDS["cpu"] = 60  # several batches, to share
    evaluated, gather = [0], evaluate.gather

    def counted(split: Any, rows: Any) -> Any:
        evaluated[0] += len(rows)
        return gather(split, rows)

    evaluate.gather = counted
    try:
        for name in RUNS:
            evaluated[0] = 0
            fitted = train(folder, name)
            if name == "stopped":
                assert (fitted.interrupted, fitted.state.number) == (True, 10)
                fitted = train(folder, name, resume=True)
            weights = {k: x.double().tolist() for k, x in fitted.network.state_dict().items()}
            told = {
                "history": fitted.history,
                "weights": weights,
                "threads": threads[-1],
                "evaluated": evaluated[0],
            }
            (folder / f"{name}-{rank}-of-{size}.json").write_text(json.dumps(told))
    except LimelightError as error:
        print(f"limelight: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
