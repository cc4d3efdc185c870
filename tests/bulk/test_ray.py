"""On a small Ray cluster: the job, workers that die, errors; and `Predictor` in Ray Data."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trained
from bulk.killing_bulk import DyingWorker, deaths, outputs
from limelight.bulk import Predictor, job, pieces, run
from limelight.errors import LimelightError
from limelight.runtime.model import Model

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return trained.save(tmp_path_factory.mktemp("model") / "model")


@pytest.fixture(scope="module")
def cluster():
    """Its processes inherit the environment: they must find this folder's modules."""
    paths = [str(Path(trained.__file__).parent), os.environ.get("PYTHONPATH", "")]
    changed = {
        "PYTHONPATH": os.pathsep.join(paths), "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        for name, value in changed.items():
            patch.setenv(name, value)
        yield from start_cluster()


def start_cluster():
    ray.init(
        "local", num_cpus=2, include_dashboard=False, object_store_memory=80 * 2**20, log_to_driver=False,
        logging_level="error",
    )  # fmt: skip
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


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


def test_ray_data(cluster, model, data):
    found = ray.data.read_parquet(str(data)).map_batches(
        Predictor, fn_constructor_args=(str(model),), fn_constructor_kwargs={"embed": "vector", "threads": 1},
        compute=ray.data.ActorPoolStrategy(size=1), batch_format="pyarrow",
    )  # fmt: skip
    rows = sorted(found.take_all(), key=lambda row: row["id"])
    expected = Model.load(model).embed([row["text"] for row in rows], flat=True)
    np.testing.assert_allclose(np.stack([row["embedding"] for row in rows]), expected, atol=1e-5)
