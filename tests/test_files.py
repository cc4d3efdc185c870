"""Writing whole or not at all, whatever ends the process in between."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from limelight import files
from limelight.errors import LimelightError
from limelight.files import atomic_file, atomic_folder, check_writable
from limelight.locks import lock

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


def test_a_place_is_tried_and_left_as_it_was(tmp_path):
    check_writable(tmp_path / "new" / "folder")
    assert names(tmp_path) == []
    (tmp_path / "note.txt").write_text("mine")
    for place in (tmp_path / "note.txt", tmp_path / "note.txt" / "folder"):
        with pytest.raises(LimelightError, match=f"^cannot write {re.escape(str(place))}: Not a directory$"):
            check_writable(place)
    assert (tmp_path / "note.txt").read_text() == "mine"


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


@pytest.mark.parametrize("opened", [False, True])
def test_what_another_sweeps_up_before_it_is_locked_is_made_anew(tmp_path, monkeypatch, opened):
    new_part, swept = files._new_part, []

    def sweep(path):
        if path.name not in swept:
            swept.append(path.name)
            files._sweep(path)

    def made(path, folder):
        part = new_part(path, folder)
        if not opened:
            sweep(path)
        return part

    def locked(handle):
        if opened:
            sweep(tmp_path / ("b" if stat.S_ISDIR(os.fstat(handle).st_mode) else "a"))
        return lock(handle)

    monkeypatch.setattr(files, "_new_part", made)
    monkeypatch.setattr(files, "lock", locked)
    with atomic_file(tmp_path / "a") as file, atomic_folder(tmp_path / "b") as folder:
        file.write(b"whole")
        (folder / "part").write_bytes(b"whole")
    assert swept == ["a", "b"]
    assert names(tmp_path) == ["a", "b"]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b" / "part").read_bytes() == b"whole"


def test_a_file_that_becomes_a_folder_leaves_nothing(tmp_path):
    (tmp_path / "data").write_bytes(b"old")
    with atomic_folder(tmp_path / "data", overwrite=True) as folder:
        (folder / "part").write_bytes(b"new")
    assert names(tmp_path) == ["data"]
    assert (tmp_path / "data" / "part").read_bytes() == b"new"


def test_a_name_that_cannot_be_is_one_line(tmp_path):
    path = tmp_path / ("x" * 300)
    for writing in (atomic_file(path), atomic_folder(path)):
        with pytest.raises(LimelightError, match=r"^cannot write .*x: File name too long$"), writing:
            pass


def test_a_device_is_not_replaced(tmp_path):
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    with pytest.raises(LimelightError, match="it is there already and no plain file"), atomic_file(link):
        pass
    assert link.is_symlink()
    assert names(tmp_path) == ["null"]
