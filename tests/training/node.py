"""What each of two nodes runs in test_distributed.py:

torchrun --nnodes 2 --node-rank RANK --master-addr HOST --master-port PORT node.py FOLDER [kill]

An undisturbed run, and one whose process on the second node is killed, or that resumes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from limelight.errors import LimelightError
from limelight.training.step import Stepper
from training.together import train


def main() -> None:
    folder, kill, rank = Path(sys.argv[1]), sys.argv[2:] == ["kill"], int(os.environ["RANK"])
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # torchrun's, which may come before the last line is said
    step, name = Stepper.step, "undisturbed"

    def watched(self: Stepper, rows: Any, number: int) -> None:
        if kill and rank == 1 and number == 9 and name == "disturbed":
            os.kill(os.getpid(), signal.SIGKILL)
        step(self, rows, number)

    Stepper.step = watched  # type: ignore[method-assign]
    try:
        for name in ("undisturbed", "disturbed") if kill else ("disturbed",):
            fitted = train(folder / name, "killed", resume=True)
            weights = {k: x.double().tolist() for k, x in fitted.network.state_dict().items()}
            told = {"weights": weights, "history": fitted.history}
            (folder / f"{name}-{rank}.json").write_text(json.dumps(told))
    except LimelightError as error:
        print(f"limelight: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
