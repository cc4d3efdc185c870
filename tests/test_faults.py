"""Old state or new, never a third, whichever step fails; `make fuzz` tries all of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

pytestmark = pytest.mark.hypothesis


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs Linux")
def test_a_failure_at_any_step_leaves_the_old_state_or_the_new_one(tmp_path: Path) -> None:
    every = ["--all"] if settings.default.max_examples >= 1000 else []
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("faults.py"), tmp_path, *every], check=True,
        capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths},
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    assert set(found) >= {
        "save a model",
        "train",
        "add to an index",
        "replace an index",
        "bulk",
        "save a page",
        "label a text",
        "write the labels",
        "keep vectors",
    }
    assert not {name: each["wrong"] for name, each in found.items() if each["wrong"]}, done.stderr
    assert all(each["tries"] >= (2 * each["steps"] if every else 3) for each in found.values())
