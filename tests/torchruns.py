"""`limelight` by torchrun; its processes are forks: importing PyTorch would take each of them 2 s."""

from __future__ import annotations

import sys
from pathlib import Path

import limelight

PROGRAM = """
import sys
import limelight.training.evaluate
from torch.distributed.run import main
main(sys.argv[1:])
"""


def torchrun(processes: int, *argv: str) -> list[str]:
    """The command for `limelight ARGV` in several processes."""
    how = ["--standalone", f"--nproc-per-node={processes}", "--start-method", "fork", "--run-path"]
    start = str(Path(limelight.__file__).with_name("__main__.py"))
    return [sys.executable, "-c", PROGRAM, *how, start, *argv]
