"""Runs in child processes that are killed, again and again, until they come to their end.

PyTorch takes seconds to start, so one process imports it and forks a child for every run. Started as a
program it does so for each recipe below and prints what it found as JSON:

    OMP_NUM_THREADS=1 PYTHONPATH=tests python tests/training/killing.py FOLDER
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from limelight.storage import files
from limelight.training import Fitted, checkpoint, fit
from training import toys

RECIPES: dict[str, dict[str, Any]] = {
    "sgd": {
        "optimizer": "sgd",
        "learning_rate": 0.5,
        "dropout": 0.5,
        "halve_on_plateau": True,
        "weight_decay": 1e-3,
    },
    "adagrad": {
        "optimizer": "adagrad",
        "learning_rate": 0.05,
        "dropout": 0.3,
        "clip_norm": 0.5,
        "dropout_words": 0.2,
    },
    "adam": {
        "optimizer": "adam",
        "learning_rate": 0.01,
        "dropout_states": 0.5,
        "dropout_matrix": 0.2,
        "patience": 2,
    },
    "average": {
        "optimizer": "adam",
        "learning_rate": 0.01,
        "ema_decay": 0.9,
        "halve_on_plateau": True,
        "schedule": "linear",
        "layers": 2,
        "dropout_matrix": 0.2,
        "projection": 6,
    },
}


def forked(work: Callable[[], object]) -> int:
    """Do the work in a child and return its process id; the child exits with 0, or with 1 and a traceback."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        work()
        status = 0
    except KeyboardInterrupt:
        status = 130
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def ended(pid: int) -> int:
    """The child's exit status; minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def train(folder: Path, options: dict[str, Any], **how: Any) -> Fitted:
    """A run that writes a checkpoint after every step."""
    data, recipe = toys.dataset(rows=45, dev=15), toys.recipe(**{"epochs": 2, **options})
    return fit(data, recipe, folder, **{"resume": True, "show": False, "checkpoint_every": 0.0, **how})


def dies_while_writing(point: int) -> None:
    """From now on, this process kills itself at the n-th point of what it does with files."""
    left = [point]

    def tick() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            tick()
            result = function(*arguments, **more)
            tick()
            return result

        return call

    def in_pieces(*arguments: Any) -> Iterator[Any]:
        for piece in pieces(*arguments):
            tick()
            yield piece

    pieces = checkpoint.safetensors_pieces
    checkpoint.safetensors_pieces = in_pieces  # type: ignore[assignment]
    files._create_temporary = watched(files._create_temporary)
    for name in ("fsync", "replace", "unlink"):
        setattr(os, name, watched(getattr(os, name)))


def killed_until_done(folder: Path, options: dict[str, Any], choose: random.Random) -> dict[str, int]:
    """Start, kill, resume, kill, ... until a child comes to its end; by the clock, or while it writes.

    The first three die early in their writing, so that there are kills on the fastest machine too.
    """
    kills = {"by the clock": 0, "while writing": 0, "left half-written": 0}
    while True:
        early = kills["while writing"] < 3
        point = choose.randint(1, 40) if early else choose.randint(1, 300) if choose.random() < 0.5 else 0

        def work(point: int = point) -> None:
            if point:
                dies_while_writing(point)
            train(folder, options)

        pid = forked(work)
        if not point:
            time.sleep(choose.expovariate(1 / 0.1))
            os.kill(pid, signal.SIGKILL)
        status = ended(pid)
        if status == 0:
            return kills
        if status != -signal.SIGKILL:
            raise SystemExit(f"a resumed run ended with {status} after {kills}")
        kills["while writing" if point else "by the clock"] += 1
        kills["left half-written"] += any(folder.glob(".*.part"))


def compare(folder: Path, name: str, seed: int) -> dict[str, Any]:
    """The files that a run left when it was killed all the time, beside those of one that was left alone."""
    options = RECIPES[name]
    alone, killed = folder / f"{name}-alone", folder / f"{name}-{seed}"
    if not alone.exists():
        assert ended(forked(lambda: train(alone, options))) == 0
    kills = killed_until_done(killed, options, random.Random(f"{name} {seed}"))
    expected, found = toys.contents(alone), toys.contents(killed)
    different = sorted(k for k in expected | found if expected.get(k) != found.get(k))
    return {"kills": kills, "files": sorted(expected), "different": different}


def asked_to_stop(folder: Path, number: signal.Signals) -> dict[str, Any]:
    """A run that would take forever gets a signal after its first epoch."""

    def work() -> None:
        fitted = train(folder, {"epochs": 10_000}, resume=False)
        state = fitted.state
        about = {"interrupted": fitted.interrupted, "steps": state.number, "epochs": len(state.history)}
        (folder / "told.json").write_text(json.dumps(about))

    pid = forked(work)
    wait_for(lambda: (folder / "checkpoint-000000008.safetensors").exists())
    os.kill(pid, number)
    status = ended(pid)
    newest = max(int(path.stem.removeprefix("checkpoint-")) for path in folder.glob("checkpoint-*"))
    return {"status": status, "checkpoint": newest, **json.loads((folder / "told.json").read_text())}


def asked_twice(folder: Path) -> dict[str, Any]:
    """The second signal comes while the first one's checkpoint is being written, which never ends."""

    def endless(*arguments: Any) -> Iterator[Any]:
        (folder / "writing").touch()
        time.sleep(1000)
        yield b""

    def work() -> None:
        checkpoint.safetensors_pieces = endless  # type: ignore[assignment]
        train(folder, {"epochs": 10_000}, resume=False)

    pid = forked(work)
    wait_for(lambda: (folder / "writing").exists())
    os.kill(pid, signal.SIGINT)
    time.sleep(0.05)  # two signals at once may arrive as one
    os.kill(pid, signal.SIGINT)
    return {"status": ended(pid), "half-written": sorted(path.name for path in folder.glob(".*"))}


def wait_for(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not happened():
        if time.monotonic() > end:
            raise SystemExit("it did not happen within a minute")
        time.sleep(0.005)


def main() -> None:
    folder = Path(sys.argv[1])
    found = {
        "sigkill": {name: compare(folder, name, seed=0) for name in RECIPES},
        "asked": {s.name: asked_to_stop(folder / s.name, s) for s in (signal.SIGINT, signal.SIGTERM)},
        "twice": asked_twice(folder / "twice"),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
