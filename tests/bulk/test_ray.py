"""On a small Ray cluster: workers that die, errors that come back, and what docs/bulk.md shows.

One test, for a cluster takes seconds to start, and nothing of it may be left for other tests.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trained
from bulk.killing_bulk import DyingWorker, deaths, outputs
from bulk.test_page import COMMANDS, SNIPPETS, engine_of, write_tables
from limelight.bulk import Predictor, job, pieces, run
from limelight.cli import main
from limelight.runtime.model import Model
from refusing import refuses


@pytest.fixture
def cluster(monkeypatch, tmp_path) -> Iterator[None]:
    """Its processes inherit the folder and the environment: they must find the modules of the tests."""
    monkeypatch.chdir(tmp_path)
    ray = pytest.importorskip("ray")
    paths = [str(Path(trained.__file__).parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    own = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    if own:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))  # its many processes inherit this, too
    ray.init(
        "local", num_cpus=2, include_dashboard=False, object_store_memory=80 * 2**20, log_to_driver=False,
        logging_level="error",
    )  # fmt: skip
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()
    if own:
        os.sched_setaffinity(0, own)


def test_on_a_small_cluster(cluster, tmp_path, monkeypatch):
    texts = write_tables(tmp_path)
    workers_that_die_leave_the_same_files(tmp_path, monkeypatch)
    an_error_in_a_worker_is_one_line(tmp_path)
    what_the_page_shows_runs(texts)


def workers_that_die_leave_the_same_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "wanted").write_text("[3, 1]")
    with monkeypatch.context() as patch:
        patch.setattr(pieces, "PIECE_ROWS", 4)
        run(Predictor("model", threads=1), "reviews", "alone")
        patch.setattr(job, "Worker", DyingWorker)
        found = run(Predictor("model"), "reviews", "killed", engine="ray", workers=2)
    assert found == job.Summary(3, 0, 12, 12, 0)
    assert deaths(folder) >= 3
    assert outputs(folder / "killed") == outputs(folder / "alone")
    names = {path.name for path in (folder / "killed").iterdir() if not path.name.startswith(".")}
    assert names == {*outputs(folder / "alone"), "_manifest.json"}


def an_error_in_a_worker_is_one_line(folder: Path) -> None:
    (folder / "bad").mkdir()
    pq.write_table(pa.table({"text": ["w1", None]}), folder / "bad" / "b.parquet")
    with refuses("row-unusable"):
        run(Predictor("model"), "bad", "bad-out", engine="ray")
    assert run(Predictor("model"), "bad", "bad-out", engine="ray", on_bad="skip").skipped == 1


def what_the_page_shows_runs(texts: list[str]) -> None:
    (snippet,) = (each for each in SNIPPETS if engine_of(each) == "ray")
    exec(compile(snippet, "bulk.md", "exec"), {})
    expected = Model.load("model").predict(texts)
    assert pq.read_table("ray-answers").sort_by("id")["label"].to_pylist() == expected
    for line in COMMANDS:
        program, *argv = shlex.split(line)
        assert program == "limelight"
        assert main(argv) == 0
    assert pq.read_table("answers").sort_by("id")["label"].to_pylist() == expected
    assert pq.read_table("vectors").schema.field("embedding").type == pa.list_(pa.float16(), 384)
