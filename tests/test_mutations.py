"""A sample of what `make fuzz` tries in thousands: mutated files, and folders that are replaced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the programs fork and read /proc")


def run(program: str, *arguments: str) -> dict[str, Any]:
    path = os.pathsep.join([str(HERE.parent / "src"), str(HERE)])
    command = [sys.executable, str(HERE / program), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout))


def test_mutated_files_give_an_answer_or_one_line() -> None:
    for name, found in run("mutations.py", "360", "7").items():
        assert found["answered"] + found["refused"] == 60, name
        assert min(found["answered"], found["refused"]) > 0, name


def test_a_folder_replaced_all_the_time_is_always_whole() -> None:
    assert run("replacing.py", "20") == {"one step": {"whole": 20}, "two step": {"whole": 20}}
