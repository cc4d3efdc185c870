"""A lock is one process's at a time, and nobody's when that process is gone."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from limelight.storage import locks
from limelight.storage.locks import locked
from refusing import refuses

pytest.importorskip("fcntl")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(
        command, env=ENVIRONMENT, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )


HOLDER = """
import sys
from pathlib import Path
from limelight.storage.locks import locked
with locked(Path(sys.argv[1]), "taken"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_who_is_killed_holds_it_no_longer(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "lock"
    holder = start(HOLDER, path)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with refuses("busy"), locked(path, "taken by another"):
        pass
    holder.kill()
    holder.communicate()
    assert path.exists()
    with locked(path, "taken by another"):
        pass
    assert list(path.parent.iterdir()) == []


COUNTER = """
import sys
from pathlib import Path
from limelight.errors import LimelightError
from limelight.storage.locks import locked
folder, left = Path(sys.argv[1]), 200
while left:
    try:
        with locked(folder / "lock", "taken"):
            count = int((folder / "count").read_text())
            (folder / "count").write_text(str(count + 1))
            left -= 1
    except LimelightError as error:
        assert str(error) == "taken"
"""


def test_two_never_hold_it_at_once(tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0")
    counters = [start(COUNTER, tmp_path) for _ in range(3)]
    assert [counter.wait(60) for counter in counters] == [0, 0, 0]
    assert (tmp_path / "count").read_text() == "600"
    assert not (tmp_path / "lock").exists()


def test_an_error_gives_it_back(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(KeyError), locked(tmp_path / "lock", "taken"):
            raise KeyError


def test_where_there_are_no_locks_nothing_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    with monkeypatch.context() as patch:
        patch.setattr(locks.fcntl, "flock", refused)
        with locked(tmp_path / "lock", "taken"), locked(tmp_path / "lock", "taken"):
            pass
    monkeypatch.setattr(locks, "fcntl", None)
    with locked(tmp_path / "lock", "taken"), locked(tmp_path / "lock", "taken"):
        pass
    assert list(tmp_path.iterdir()) == []


WITHOUT = """
import sys
sys.modules["fcntl"] = None
from limelight.storage import locks
from limelight.storage.files import atomic_file
for content in (b"old", b"new"):
    with atomic_file(sys.argv[1]) as file:
        file.write(content)
print(locks.fcntl)
"""


def test_files_are_written_where_there_is_no_fcntl(tmp_path: Path) -> None:
    assert start(WITHOUT, tmp_path / "a").communicate(timeout=60)[0] == "None\n"
    assert (tmp_path / "a").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with refuses("os-error"), locked(tmp_path / "file/lock", "taken"):
        pass
