"""The job on a small Ray cluster: workers that die, errors that come back."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trained
from bulk.killing_bulk import DyingWorker, deaths, outputs
from limelight.bulk import Predictor, job, pieces, run
from limelight.errors import LimelightError


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return trained.save(tmp_path_factory.mktemp("model") / "model")


@pytest.fixture
def data(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(pieces, "PIECE_ROWS", 10)
    (tmp_path / "data").mkdir()
    given = [text or "w1" for text in trained.texts_of(60, longest=8)]
    pq.write_table(pa.table({"id": list(range(60)), "text": given}), tmp_path / "data" / "a.parquet")
    return tmp_path / "data"


def test_workers_that_die_leave_the_same_files(cluster, model, data, tmp_path, monkeypatch):
    run(Predictor(model, threads=1), data, tmp_path / "alone")
    (tmp_path / "wanted").write_text("[3, 1]")
    monkeypatch.setattr(job, "Worker", DyingWorker)
    found = run(Predictor(model), data, tmp_path / "out", engine="ray", workers=2)
    assert found == job.Summary(6, 0, 60, 60, 0)
    assert deaths(tmp_path) >= 3
    assert outputs(tmp_path / "out") == outputs(tmp_path / "alone")
    names = {path.name for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")}
    assert names == {*outputs(tmp_path / "alone"), "_manifest.json"}


def test_an_error_in_a_worker_is_one_line(cluster, model, data, tmp_path):
    pq.write_table(pa.table({"text": ["w1", None]}), data / "b.parquet")
    with pytest.raises(LimelightError, match=r"^b\.parquet, row 2: no text"):
        run(Predictor(model), data, tmp_path / "out", engine="ray")
    assert run(Predictor(model), data, tmp_path / "out", engine="ray", on_bad="skip").skipped == 1
