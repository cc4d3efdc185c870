"""A job's run.json: what is written is read back, and a job that cannot be resumed says why."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from limelight.config.presets import preset
from limelight.training.train_job import TrainJob
from refusing import refuses


@pytest.fixture
def job(tmp_path: Path) -> TrainJob:
    tables = {"train": [str(tmp_path / "reviews.csv")], "test": [str(tmp_path / "test.csv")]}
    return TrainJob(
        tmp_path / "model", preset("tiny"), tables, {"text": "review", "label": None}, 0.2, "skip", True
    )


def test_a_saved_job_is_loaded(job: TrainJob) -> None:
    job.folder.mkdir()
    job.save()
    started = dataclasses.replace(job, started_in=os.getcwd())
    assert TrainJob.load(job.out) == started
    assert TrainJob.load(job.folder) == started
    assert not job.is_resumable()  # there is nothing to resume from


def test_paths_stay_as_given_and_start_where_the_run_did(job: TrainJob, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    job.folder.mkdir()
    TrainJob(job.out, job.recipe, {"train": ["reviews.csv"]}).save()
    found = TrainJob.load(job.out)
    assert found.tables == {"train": ["reviews.csv"]}
    assert found.input_path("reviews.csv") == tmp_path / "reviews.csv"


@pytest.mark.parametrize("content", ["{", "[]", '{"format": 1}', '{"format": 9}'])
def test_a_job_that_cannot_be_read(content: str, job: TrainJob) -> None:
    job.folder.mkdir()
    (job.folder / "run.json").write_text(content)
    with refuses("file-damaged") as error:
        TrainJob.load(job.out)
    assert "--overwrite" in str(error.value)


def test_a_job_that_is_not_there(job: TrainJob) -> None:
    with refuses("run-missing"):
        TrainJob.load(job.out)
    job.out.mkdir()
    (job.out / "config.json").write_text(json.dumps({}))
    with refuses("run-missing"):
        TrainJob.load(job.out)


def test_a_job_of_version_0_2_is_loaded_unless_it_has_teachers(job: TrainJob) -> None:
    job.folder.mkdir()
    job.save()
    path = job.folder / "run.json"
    written = json.loads(path.read_text())
    del written["command"]
    written["recipe"]["training"] |= {"teachers": 0, "teacher_weight": 0.5, "noisy_copies": 0}
    written["recipe"]["text"] |= {"missing_vectors": "neighbours"}
    path.write_text(json.dumps(written))
    assert TrainJob.load(job.out) == dataclasses.replace(job, started_in=os.getcwd())
    written["recipe"]["training"] |= {"teachers": 5}
    path.write_text(json.dumps(written))
    with refuses("run-outdated"):
        TrainJob.load(job.out)


def test_the_command_to_resume_is_quoted(tmp_path: Path) -> None:
    command = TrainJob(Path("my model"), preset("tiny"), {}).resume_command
    assert command == "limelight train --resume 'my model'"


def test_jobs_need_no_pytorch_until_they_run() -> None:
    """`need_torch` sets how PyTorch's threads wait, and must come before PyTorch is loaded."""
    code = "import sys, limelight.training.train_job; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


@pytest.mark.parametrize(
    "change",
    [
        {"tables": {}}, {"tables": {"train": []}}, {"tables": {"train": [""]}}, {"tables": {"train": [3]}},
        {"tables": {"train": ["\ud800"]}}, {"tables": {"train": "a.csv"}}, {"tables": {"train": ["a\0b"]}},
        {"tables": {"train": ["a"], "more": ["b"]}}, {"columns": {"text": 3}}, {"columns": []},
        {"holdout": "x"}, {"holdout": 7}, {"on_bad": "ignore"}, {"overwrite": 1}, {"started_in": None},
        {"recipe": 3}, {"recipe": {"model": {"rows": "many"}}}, {"out": "elsewhere"}, {"format": None},
    ],
)  # fmt: skip
def test_a_job_with_other_contents(change: dict[str, object], job: TrainJob) -> None:
    job.folder.mkdir()
    job.save()
    path = job.folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with refuses("file-damaged"):
        TrainJob.load(job.out)
