"""One small Ray cluster for all tests that need it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import trained


@pytest.fixture(scope="session")
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
    ray = pytest.importorskip("ray")
    ray.init(
        "local", num_cpus=2, include_dashboard=False, object_store_memory=80 * 2**20, log_to_driver=False,
        logging_level="error",
    )  # fmt: skip
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()
