"""Writing whole or not at all, whatever ends the process in between."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from limelight.errors import LimelightError
from limelight.files import atomic_file, atomic_folder

KILLED = """
import os, signal, sys
from limelight.files import atomic_file, atomic_folder

with atomic_file(sys.argv[1] + "/a[1].npy") as file, atomic_folder(sys.argv[1] + "/data") as folder:
    file.write(b"half")
    (folder / "part").write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_a_killed_process_left_goes_with_the_next_try(tmp_path):
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", KILLED, tmp_path])
        assert done.returncode == -signal.SIGKILL
        assert len(names(tmp_path)) == 2  # of this try alone
    with atomic_file(tmp_path / "a[1].npy") as file:
        file.write(b"whole")
    with atomic_folder(tmp_path / "data") as folder:
        (folder / "part").write_bytes(b"whole")
    assert names(tmp_path) == ["a[1].npy", "data"]
    assert (tmp_path / "a[1].npy").read_bytes() == (tmp_path / "data" / "part").read_bytes() == b"whole"


def test_two_who_write_at_once_leave_each_other_alone(tmp_path):
    with atomic_file(tmp_path / "a") as first, atomic_folder(tmp_path / "b") as folder:
        first.write(b"first")
        (folder / "part").write_bytes(b"first")
        with atomic_file(tmp_path / "a") as second:
            second.write(b"second")
        with atomic_folder(tmp_path / "b", overwrite=True) as other:
            (other / "part").write_bytes(b"second")
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b" / "part").read_bytes() == b"second"
        (tmp_path / "b" / "part").unlink()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b" / "part").read_bytes() == b"first"
    assert names(tmp_path) == ["a", "b"]


def test_a_device_is_not_replaced(tmp_path):
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    with pytest.raises(LimelightError, match="it is there already and no plain file"), atomic_file(link):
        pass
    assert link.is_symlink()
    assert names(tmp_path) == ["null"]
