"""A run that is killed again and again while it writes, at a later point each time, until it ends:

    OMP_NUM_THREADS=1 PYTHONPATH=tests python tests/pretraining/killing_readers.py FOLDER

Prints how often it was killed, in which stages, and whether the reader is that of a run left alone.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path

import numpy as np

from limelight.config.pretrain_recipe import ReaderRecipe
from limelight.training import teacher as teaching
from limelight.training.pretrain_job import PretrainJob
from pretraining.teachers import SMALL, FakeTeacher, write
from training.killing import dies_while_writing, ended, forked


class Deadly(FakeTeacher):
    """Ends the process in the second shard of the texts."""

    def encode(self, texts: list[str]) -> np.ndarray:
        if self.asked:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().encode(texts)


def make(job: PretrainJob, point: int = 0, teacher: FakeTeacher | None = None) -> None:
    teaching.SHARD = 32
    if point:
        dies_while_writing(point)
    resume = (job.folder / "run.json").exists()
    job.run(encoder=teacher or FakeTeacher(), show=False, resume=resume, checkpoint_every=0.0)


def stage(job: PretrainJob) -> str:
    """How far a killed run had come."""
    if any(job.folder.glob("checkpoint-*")):
        return "training"
    if (job.folder / "start.npy").exists():
        return "before training"
    if any(job.folder.glob("vectors-*.npy")):
        return "teacher"
    return "encoding" if (job.folder / "run.json").exists() else "start"


def contents(job: PretrainJob) -> bytes:
    return (job.out / "model.safetensors").read_bytes()


def main() -> None:
    folder = Path(sys.argv[1])
    texts, _ = write(folder)
    recipe = ReaderRecipe().override(**{**SMALL, "epochs": 2})
    alone, killed = (PretrainJob(folder / name, recipe, [str(texts)], "fake") for name in ("alone", "killed"))
    assert ended(forked(lambda: make(alone))) == 0
    assert ended(forked(lambda: make(killed, teacher=Deadly()))) == -signal.SIGKILL
    stages = [stage(killed)]
    assert ended(forked(lambda: make(killed))) == 0
    same = contents(killed) == contents(alone)
    shutil.rmtree(killed.out)
    point = 2
    while True:
        status = ended(forked(lambda point=point: make(killed, point)))
        if status == 0:
            break
        if status != -signal.SIGKILL:
            raise SystemExit(f"a resumed run ended with {status} after {stages}")
        stages.append(stage(killed))
        point = 3 if stages[-1] not in stages[:-1] else point + 12
    same &= contents(killed) == contents(alone)
    left = sorted(path.name for path in folder.glob("killed*.run"))
    print(json.dumps({"stages": stages, "same": same, "left": left}))


if __name__ == "__main__":
    main()
