"""Writing whole or not at all, whatever ends the process in between."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from limelight.storage import files
from limelight.storage.files import (
    FolderLayout,
    atomic_file,
    atomic_folder,
    check_writable,
    exchange,
    remove_leftovers,
    workshop,
)
from limelight.storage.locks import try_lock
from refusing import refuses

KILLED = """
import os, signal, sys
from limelight.storage.files import FolderLayout, atomic_file, atomic_folder

layout = FolderLayout("anything", (), ("part",))
with atomic_file(sys.argv[1] + "/a[1].npy") as file, atomic_folder(sys.argv[1] + "/data", layout) as folder:
    file.write(b"half")
    (folder / "part").write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


ANY = FolderLayout("anything", (), ("part",))
NOTE = FolderLayout("a note", ("note.txt",), ())


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_place_is_tried_and_left_as_it_was(tmp_path):
    check_writable(tmp_path / "new" / "folder")
    assert names(tmp_path) == []
    (tmp_path / "note.txt").write_text("mine")
    for place in (tmp_path / "note.txt", tmp_path / "note.txt" / "folder"):
        with refuses("os-error"):
            check_writable(place)
    assert (tmp_path / "note.txt").read_text() == "mine"


def test_what_a_killed_process_left_goes_with_the_next_try(tmp_path):
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", KILLED, tmp_path])
        assert done.returncode == -signal.SIGKILL
        assert len(names(tmp_path)) == 2  # of this try alone
    with atomic_file(tmp_path / "a[1].npy") as file:
        file.write(b"whole")
    with atomic_folder(tmp_path / "data", ANY) as folder:
        (folder / "part").write_bytes(b"whole")
    assert names(tmp_path) == ["a[1].npy", "data"]
    assert (tmp_path / "a[1].npy").read_bytes() == (tmp_path / "data" / "part").read_bytes() == b"whole"


def test_two_who_write_at_once_leave_each_other_alone(tmp_path):
    with atomic_file(tmp_path / "a") as first, atomic_folder(tmp_path / "b", ANY) as folder:
        first.write(b"first")
        (folder / "part").write_bytes(b"first")
        with atomic_file(tmp_path / "a") as second:
            second.write(b"second")
        with atomic_folder(tmp_path / "b", ANY, overwrite=True) as other:
            (other / "part").write_bytes(b"second")
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b" / "part").read_bytes() == b"second"
        (tmp_path / "b" / "part").unlink()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b" / "part").read_bytes() == b"first"
    assert names(tmp_path) == ["a", "b"]


@pytest.mark.parametrize("opened", [False, True])
def test_what_another_sweeps_up_before_it_is_locked_is_made_anew(tmp_path, monkeypatch, opened):
    create, swept, made_for = files._create_temporary, [], []

    def sweep(path):
        if path.name not in swept:
            swept.append(path.name)
            files._remove_leftovers(path)

    def made(path):
        part = create(path)
        made_for.append(path)
        if not opened:
            sweep(path)
        return part

    def locked(handle):
        if opened:
            sweep(made_for[-1])
        return try_lock(handle)

    monkeypatch.setattr(files, "_create_temporary", made)
    monkeypatch.setattr(files, "try_lock", locked)
    with atomic_file(tmp_path / "a") as file, atomic_folder(tmp_path / "b", ANY) as folder:
        file.write(b"whole")
        (folder / "part").write_bytes(b"whole")
    assert swept == ["a", "b"]
    assert names(tmp_path) == ["a", "b"]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b" / "part").read_bytes() == b"whole"


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_not_ours_is_never_replaced(tmp_path, overwrite: bool):
    thesis = tmp_path / "thesis"
    thesis.mkdir()
    (thesis / "chapter1.tex").write_text("mine")
    (tmp_path / "note.txt").write_text("mine")
    for path in (thesis, tmp_path / "note.txt"):
        with refuses("exists"), atomic_folder(path, NOTE, overwrite):
            pass
    assert (thesis / "chapter1.tex").read_text() == (tmp_path / "note.txt").read_text() == "mine"
    assert names(tmp_path) == ["note.txt", "thesis"]


def filled(path: Path, content: bytes, overwrite: bool = False) -> None:
    with atomic_folder(path, NOTE, overwrite) as folder:
        (folder / "note.txt").write_bytes(content)


@pytest.fixture
def without_exchange(monkeypatch):
    """As where the system cannot exchange two names in one step."""
    monkeypatch.setattr(files, "exchange", lambda one, other: False)


def test_two_folders_trade_names(tmp_path):
    filled(tmp_path / "a", b"old")
    filled(tmp_path / "b", b"new")
    if not exchange(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this system cannot")
    assert (tmp_path / "a" / "note.txt").read_bytes() == b"new"
    assert (tmp_path / "b" / "note.txt").read_bytes() == b"old"
    assert not exchange(tmp_path / "a", tmp_path / "missing")
    assert names(tmp_path) == ["a", "b"]


READER = """
import os, sys
print("ready", flush=True)
count = 0
while count < 1000 or not os.path.exists(sys.argv[1] + ".done"):
    os.close(os.open(sys.argv[1], os.O_RDONLY))
    count += 1
"""


def test_a_reader_never_finds_a_folder_that_is_being_replaced_missing(tmp_path):
    filled(tmp_path / "data", b"old")
    filled(tmp_path / "other", b"old")
    if not exchange(tmp_path / "data", tmp_path / "other"):
        pytest.skip("this system cannot exchange two names")
    reader = subprocess.Popen([sys.executable, "-c", READER, tmp_path / "data"], stdout=subprocess.PIPE)
    assert reader.stdout is not None
    assert reader.stdout.readline() == b"ready\n"
    for content in (b"new", b"old") * 200:
        filled(tmp_path / "data", content, overwrite=True)
    (tmp_path / "data.done").touch()
    assert reader.wait(60) == 0
    assert names(tmp_path) == ["data", "data.done", "other"]


@pytest.mark.usefixtures("without_exchange")
def test_a_folder_is_replaced_where_names_cannot_be_exchanged(tmp_path):
    for content in (b"old", b"new"):
        filled(tmp_path / "data", content, overwrite=True)
        assert (tmp_path / "data" / "note.txt").read_bytes() == content
    assert names(tmp_path) == ["data"]


def test_the_old_folder_left_by_a_kill_after_the_exchange_goes(tmp_path, monkeypatch):
    filled(tmp_path / "data", b"old")
    with monkeypatch.context() as patched:  # as if killed before the old one is removed
        patched.setattr(files, "_remove", lambda part: None)
        filled(tmp_path / "data", b"new", overwrite=True)
    assert len(names(tmp_path)) == 2
    filled(tmp_path / "data", b"newer", overwrite=True)
    assert names(tmp_path) == ["data"]
    assert (tmp_path / "data" / "note.txt").read_bytes() == b"newer"


@pytest.mark.parametrize(
    "name", [".data.20240101.old", ".data.limelight-mine.part", ".data.limelight-12345678.part"]
)
@pytest.mark.parametrize("inside", [None, "note.txt", "limelight"])
def test_only_what_we_wrote_is_removed(tmp_path, name, inside):
    """Whatever its name: a folder of ours has our note inside."""
    if inside:
        (tmp_path / name).mkdir()
    mine = tmp_path / name / inside if inside else tmp_path / name
    mine.write_text("mine")
    filled(tmp_path / "data", b"new")
    remove_leftovers(tmp_path)
    assert names(tmp_path) == [name, "data"]
    assert mine.read_text() == "mine"


def killed_while_writing(path: Path) -> None:
    """Leave behind what a killed writer of a file does."""
    pid = os.fork()
    if pid == 0:
        with atomic_file(path) as file:
            file.write(b"half")
            file.flush()
            os._exit(0)
    os.waitpid(pid, 0)


def test_what_a_killed_writer_left_goes_with_the_next_or_when_the_folder_is_tidied(tmp_path):
    for name in "ab":
        killed_while_writing(tmp_path / name)
    assert len(names(tmp_path)) == 2
    with atomic_file(tmp_path / "a") as file:
        file.write(b"whole")
    assert len(names(tmp_path)) == 2
    remove_leftovers(tmp_path)
    assert names(tmp_path) == ["a"]


def test_two_writers_who_may_not_overwrite_do_not_replace_each_other(tmp_path):
    late = atomic_folder(tmp_path / "b", NOTE), atomic_file(tmp_path / "a", overwrite=False)
    for writer in late:
        writer.__enter__()
    filled(tmp_path / "b", b"first")
    (tmp_path / "a").write_bytes(b"first")
    for writer in late:
        with refuses("exists"):
            writer.__exit__(None, None, None)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b" / "note.txt").read_bytes() == b"first"
    assert names(tmp_path) == ["a", "b"]


def test_a_file_that_may_not_overwrite_where_there_are_no_links(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", refuse)
    with atomic_file(tmp_path / "a", overwrite=False) as file:
        file.write(b"whole")
    assert (tmp_path / "a").read_bytes() == b"whole"
    assert names(tmp_path) == ["a"]


@pytest.mark.usefixtures("without_exchange")
def test_the_old_folder_comes_back_where_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    filled(tmp_path / "data", b"old")
    replace, calls = os.replace, []

    def failing(source, target):
        calls.append(source)
        if len(calls) == 2:  # the new folder into place
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with refuses("os-error"):
        filled(tmp_path / "data", b"new", overwrite=True)
    assert len(calls) == 3
    assert names(tmp_path) == ["data"]
    assert (tmp_path / "data" / "note.txt").read_bytes() == b"old"


@pytest.mark.usefixtures("without_exchange")
def test_the_old_folder_is_kept_where_it_cannot_come_back(tmp_path, monkeypatch):
    filled(tmp_path / "data", b"old")
    replace, calls = os.replace, []

    def failing(source, target):
        calls.append(source)
        if len(calls) > 1:
            raise OSError(5, "Input/output error")
        replace(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", failing)
        with refuses("os-error"):
            filled(tmp_path / "data", b"new", overwrite=True)
    assert [path.read_bytes() for path in tmp_path.glob(".data.*.part/was/note.txt")] == [b"old"]
    with refuses("exists"):
        filled(tmp_path / "data", b"newer")
    assert names(tmp_path) == ["data"]


@pytest.mark.usefixtures("without_exchange")
def test_half_of_an_old_folder_never_comes_back(tmp_path, monkeypatch):
    filled(tmp_path / "data", b"old")
    with monkeypatch.context() as patched:  # as if killed while the old one is removed
        patched.setattr(files, "_remove", lambda part: None)
        filled(tmp_path / "data", b"new", overwrite=True)
    (tmp_path / "data").rename(tmp_path / "elsewhere")
    filled(tmp_path / "data", b"newer")
    assert names(tmp_path) == ["data", "elsewhere"]
    assert (tmp_path / "data" / "note.txt").read_bytes() == b"newer"


@pytest.mark.parametrize("name", [".", "..", "a/.."])
def test_a_folder_needs_a_name(tmp_path, monkeypatch, name: str):
    monkeypatch.chdir(tmp_path)
    with refuses("path-name"):
        filled(Path(name), b"new", overwrite=True)


def test_a_folder_is_written_through_a_link(tmp_path):
    filled(tmp_path / "v1", b"old")
    (tmp_path / "current").symlink_to("v1")
    filled(tmp_path / "current", b"new", overwrite=True)
    assert (tmp_path / "current").is_symlink()
    assert (tmp_path / "v1" / "note.txt").read_bytes() == b"new"
    assert names(tmp_path) == ["current", "v1"]


def test_the_old_folder_comes_back_after_a_kill_between_the_two_renames(tmp_path):
    filled(tmp_path / "data", b"old")
    killed = """
import os, signal, sys
from pathlib import Path
from limelight.storage import files
from limelight.storage.files import FolderLayout, atomic_folder

files.exchange = lambda one, other: False
replace, calls = os.replace, []

def killing(source, target):
    calls.append(source)
    if len(calls) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)

os.replace = killing
with atomic_folder(Path(sys.argv[1]), FolderLayout("a note", ("note.txt",), ()), overwrite=True) as folder:
    (folder / "note.txt").write_bytes(b"new")
"""
    done = subprocess.run([sys.executable, "-c", killed, tmp_path / "data"])
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "data").exists()
    with refuses("exists"):
        filled(tmp_path / "data", b"newer")
    assert (tmp_path / "data" / "note.txt").read_bytes() == b"old"
    filled(tmp_path / "data", b"newer", overwrite=True)
    assert (tmp_path / "data" / "note.txt").read_bytes() == b"newer"
    assert names(tmp_path) == ["data"]


def test_a_file_is_written_through_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/file")
    for content in (b"new", b"newer"):
        with atomic_file(tmp_path / "link") as file:
            file.write(content)
        assert (tmp_path / "folder" / "file").read_bytes() == content
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path) == ["folder", "link"]
    assert names(tmp_path / "folder") == ["file"]


def test_permissions_are_those_of_any_new_file(tmp_path):
    with atomic_file(tmp_path / "a") as file:
        file.write(b"whole")
    filled(tmp_path / "b", b"whole")
    (tmp_path / "plain").touch()
    (tmp_path / "folder").mkdir()
    mode = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert (mode["a"], mode["b"]) == (mode["plain"], mode["folder"])


@pytest.mark.usefixtures("without_exchange")
def test_where_folders_cannot_be_opened(tmp_path, monkeypatch):
    """As on Windows, where also a file can only be synced by who may write it."""
    opened = os.open

    def open_(path, flags, *rest, **more):
        if "dir_fd" not in more:  # which shutil.rmtree gives, here
            assert not Path(path).is_dir()
            assert flags & (os.O_RDWR | os.O_WRONLY)
        return opened(path, flags, *rest, **more)

    monkeypatch.setattr(files, "_POSIX", False)
    monkeypatch.setattr(os, "open", open_)
    for overwrite in (False, True):
        with atomic_file(tmp_path / "a") as file:
            file.write(b"whole")
        filled(tmp_path / "data", b"whole", overwrite)
    assert names(tmp_path) == ["a", "data"]


def test_a_name_that_cannot_be_is_one_line(tmp_path):
    path = tmp_path / ("x" * 300)
    for writing in (atomic_file(path), atomic_folder(path, ANY)):
        with refuses("os-error"), writing:
            pass


def test_a_device_is_not_replaced(tmp_path):
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    with refuses("exists"), atomic_file(link):
        pass
    assert link.is_symlink()
    assert names(tmp_path) == ["null"]


def test_a_workshop_keeps_what_is_begun_until_it_is_done(tmp_path):
    def fail(place: Path) -> None:
        (place / "half").mkdir(parents=True)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), workshop(tmp_path / "shop") as place:
        fail(place)
    with workshop(tmp_path / "shop") as place:
        assert names(place) == ["half"]
    assert names(tmp_path) == []


def test_a_workshop_takes_no_folder_of_yours(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "thesis.txt").touch()
    with refuses("exists"), workshop(tmp_path / "shop"):
        pass
    assert names(tmp_path / "shop") == ["thesis.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_in_place_of_our_note_is_not_waited_for(tmp_path):
    leftover = tmp_path / ".a.limelight-01234567.part"
    leftover.mkdir()
    os.mkfifo(leftover / "limelight")
    with atomic_file(tmp_path / "a") as file:
        file.write(b"whole")
    assert names(tmp_path) == [leftover.name, "a"]
