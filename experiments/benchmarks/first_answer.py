"""Processor time until the first answer: of commands and of imports, in new processes.

    python experiments/benchmarks/first_answer.py MODEL --rounds 8 --base OTHER/src

MODEL is a folder of a trained model, OTHER another checkout to compare with: each round runs both, one after
the other. The least of all rounds is printed, in milliseconds, user and system together: it hardly depends on
what else the machine does. Files of bytecode are written first, as an installed package has them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TEXT = "The soup was cold but the waiter was lovely.\n"
READER = "import limelight; limelight.load('reader')"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--base", help="src of another checkout")
    args = parser.parse_args()
    cases = {
        "python": ["-c", "pass"],
        "import numpy, onnxruntime, tokenizers": ["-c", "import numpy, onnxruntime, tokenizers"],
        "import limelight": ["-c", "import limelight"],
        "limelight --help": ["-m", "limelight", "--help"],
        "limelight.load('reader')": ["-c", READER],
        "the same and one encode": ["-c", f"{READER}.encode('{TEXT.strip()}')"],
        "limelight predict, one line": ["-m", "limelight", "predict", args.model],
    }
    here = str(Path(__file__).resolve().parents[2] / "src")
    sources = [here, *([args.base] if args.base else [])]
    with tempfile.TemporaryDirectory() as bytecode:
        best = {(name, source): float("inf") for name in cases for source in sources}
        for _ in range(args.rounds + 1):  # the first writes the bytecode
            for name, source in best:
                best[name, source] = min(best[name, source], measure(cases[name], source, bytecode))
    print("| | " + " | ".join(["ms", "base", "ratio"][: 2 * len(sources) - 1]) + " |")
    for name in cases:
        times = [best[name, source] for source in sources]
        ratio = [f"{times[1] / times[0]:.2f}"] if args.base else []
        print(f"| {name} | {' | '.join([*(f'{1000 * each:.0f}' for each in times), *ratio])} |")


def measure(arguments: list[str], source: str, bytecode: str) -> float:
    """Seconds of processor time of one process."""
    others = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        [sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        env={**others, "PYTHONPATH": source, "PYTHONPYCACHEPREFIX": bytecode}, text=True,
    )  # fmt: skip
    assert process.stdin
    process.stdin.write(TEXT)
    process.stdin.flush()
    process.stdin.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed with {process.returncode}")
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
