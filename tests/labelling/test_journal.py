"""The journal: nothing is lost, whoever writes and whatever ends them; what is damaged is not believed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import LimelightError
from limelight.labelling.journal import Journal, journal_of, text_keys
from refusing import refuses

TEXTS = ["good soup", "bad soup", "café \ud800", "room"]
A, B, C, D = text_keys(TEXTS)
OLD = (  # as versions before checksums and texts wrote it
    f'{{"id":"00000001","do":"label","rows":["{A}"],"label":["x"],"chosen":"auto","by":"ann","when":"2026-11-17T09:30:00+00:00"}}\n'
    f'{{"id":"00000002","do":"skip","rows":["{B}"],"by":"ann","when":"2026-11-17T09:30:01+00:00"}}\n'
)


def filled(path: Path) -> Journal:
    """A journal with an event of every kind."""
    journal = Journal(path)
    journal.append(
        "label", by="ann", rows=[A], texts={A: TEXTS[0]}, label=["x"], chosen="auto", marks={A: [[0, 4]]}
    )
    journal.append("label", by="bob", rows=[B, C], texts={B: TEXTS[1], C: TEXTS[2]}, label="x", checked=[B])
    journal.append("note", by="ann", rows=[A], texts={A: TEXTS[0]}, text="odd")
    journal.append("marks", by="ann", rows=[B], marks=[[0, 3]])
    journal.append("unsure", by="ann", rows=[D], texts={D: TEXTS[3]})
    journal.append("undo", by="ann", of=journal.events[0]["id"])
    journal.append("add_class", by="ann", name="y", description=None)
    journal.append("rename_class", by="ann", name="y", to="z")
    journal.append("remove_class", by="ann", name="z")
    return journal


def test_an_event_is_one_line_that_another_process_reads(tmp_path):
    path = journal_of(tmp_path / "labels.csv")
    event = Journal(path).append("label", by="ann", rows=[A], label=["é"], chosen="auto")
    (line,) = [json.loads(line) for line in path.read_text("ascii").splitlines()]
    assert re.fullmatch("[0-9a-f]{8}", line.pop("sum"))
    assert line == event
    assert Journal(path).events == [event]


def test_the_first_line_about_a_text_has_the_text(tmp_path):
    journal = filled(tmp_path / "journal")
    assert journal.texts == {A: TEXTS[0], B: TEXTS[1], C: TEXTS[2], D: TEXTS[3]}
    assert [event.get("texts") for event in journal.events[:4]] == [
        {A: TEXTS[0]}, {B: TEXTS[1], C: TEXTS[2]}, None, None
    ]  # fmt: skip
    again = Journal(tmp_path / "journal")
    assert (again.texts, again.events) == (journal.texts, journal.events)


# ---------------------------------------------------------------- a process is killed


def test_cut_anywhere_whole_lines_are_left_and_the_next_is_written_after_them(tmp_path):
    path = tmp_path / "journal"
    journal = filled(path)
    content = path.read_bytes()
    ends = [match.start() for match in re.finditer(b"\n", content)]
    for cut in [*range(ends[1] + 3), *range(ends[-2], len(content))]:
        path.write_bytes(content[:cut])
        again = Journal(path)
        whole = journal.events[: sum(end <= cut for end in ends)]  # a line without its end alone is whole
        assert again.events == whole
        if cut % 50 == 0:
            new = again.append("skip", by="ann", rows=[A])
            assert Journal(path).events == [*whole, new]


def test_blocks_that_a_power_cut_left_empty_are_written_over(tmp_path):
    path = tmp_path / "journal"
    events = filled(path).events
    with path.open("ab") as file:
        file.write(b'{"id":"12' + bytes(4000))
    journal = Journal(path)
    assert journal.events == events
    last = journal.append("skip", by="ann", rows=[C])
    assert Journal(path).events == [*events, last]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_kill_while_writing_loses_at_most_that_line(tmp_path, call):
    path = tmp_path / "journal"
    first = Journal(path).append("skip", by="ann", rows=[A])
    pid = os.fork()
    if pid == 0:
        setattr(os, call, lambda *given: os.kill(os.getpid(), signal.SIGKILL))
        Journal(path).append("skip", by="ann", rows=[B])
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    journal = Journal(path)
    assert journal.events[0] == first
    assert len(journal.events) == (1 if call == "write" else 2)
    last = journal.append("skip", by="ann", rows=[C])
    assert Journal(path).events[-1] == last


def test_after_a_full_disk_the_same_journal_goes_on(tmp_path, monkeypatch):
    journal = Journal(tmp_path / "journal")
    first, write = journal.append("skip", by="ann", rows=[A]), os.write

    def half(handle, content):
        write(handle, bytes(content)[: len(content) // 2])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, refuses("os-error"):
        patch.setattr(os, "write", half)
        journal.append("skip", by="ann", rows=[B])
    assert journal.events == [first]
    last = journal.append("skip", by="ann", rows=[C])
    assert Journal(journal.path).events == [first, last]


# ---------------------------------------------------------------- damage


def line_of(error: LimelightError) -> int:
    return int(re.search(r", line (\d+): ", str(error))[1])


def test_every_damaged_byte_is_noticed_at_its_line(tmp_path):
    """Anything but the same events is refused, and the line is named."""
    path = tmp_path / "journal"
    events = filled(path).events
    content, tries, refused = path.read_bytes(), 0, 0
    for at, byte in enumerate(content):
        number = content[:at].count(b"\n") + 1
        new = [byte ^ 1, byte ^ 0x80, 0, ord("\n"), ord(" ")][at % 5]
        if number not in (1, 6, len(events)) or new == byte:
            continue
        path.write_bytes(content[:at] + bytes([new]) + content[at + 1 :])
        # An end in place of a line's first byte leaves a blank line.
        is_start = new == ord("\n") and content[at - 1 : at] in (b"", b"\n")
        found = opened(path)
        tries, refused = tries + 1, refused + (found != events)
        assert found in (events, number + is_start), (at, new)
    assert refused >= tries - 1  # but for a space in place of the file's last end


def opened(path: Path) -> object:
    """The events, or the number of the line for which the journal is refused."""
    try:
        return Journal(path).events
    except LimelightError as error:
        return line_of(error) if error.code == "journal-broken" else error


def test_an_old_journal_opens_and_its_damage_is_looked_for(tmp_path):
    path = tmp_path / "journal"
    path.write_text(OLD)
    journal = Journal(path)
    assert [event["do"] for event in journal.events] == ["label", "skip"]
    journal.append("skip", by="ann", rows=[C], texts={C: TEXTS[2]})
    assert [event["rows"] for event in Journal(path).events] == [[A], [B], [C]]
    path.write_text(OLD.replace("skip", "slip"))
    with refuses("journal-broken") as found:
        Journal(path)
    assert line_of(found.value) == 2
    path.write_text(OLD.replace("\n", "\r\n") + "\r\n\n")  # from another system, and blank lines
    assert len(Journal(path).events) == 2


def test_a_last_line_without_its_end_is_kept_if_it_is_whole(tmp_path):
    """As an editor leaves it in which someone removed a damaged line."""
    path = tmp_path / "journal"
    events = filled(path).events
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    journal = Journal(path)
    assert journal.events == events
    last = journal.append("skip", by="ann", rows=[A])
    assert Journal(path).events == [*events, last]
    assert journal.reread() == 0
    with path.open("ab") as file:
        file.write(b"{}\n")
    with refuses("journal-broken") as found:
        journal.reread()
    assert line_of(found.value) == len(events) + 2
    assert journal.events == [*events, last]


def hostile() -> list[str]:
    """Lines that are no events, each made of one that is."""
    good = json.loads(OLD.splitlines()[0])
    changes = [
        {"id": 7}, {"id": None}, {"id": "x"}, {"do": "dance"}, {"do": []}, {"do": {}}, {"by": 3}, {"when": 3},
        {"when": "now"}, {"rows": None}, {"rows": "a"}, {"rows": [1]}, {"rows": [[]]}, {"rows": {"a": 1}},
        {"rows": ["a.0"]}, {"label": None}, {"label": 5}, {"label": [1]}, {"label": [["x"]]}, {"label": {}},
        {"chosen": "best"}, {"chosen": []}, {"checked": [1]}, {"marks": [[0, 4]]}, {"marks": {A: [[4, 0]]}},
        {"marks": {A: [[0, 1.5]]}}, {"marks": {A: [[True, 4]]}}, {"marks": {A: [0, 4]}}, {"marks": {A: None}},
        {"texts": {A: "another text"}}, {"texts": [A]}, {"texts": {A: 5}}, {"more": 1}, {"sum": "00000000"},
        {"do": "undo"}, {"do": "undo", "of": [1]}, {"do": "note"}, {"do": "note", "text": 5},
        {"do": "marks"}, {"do": "marks", "marks": [[0]]}, {"do": "add_class", "name": None},
        {"do": "rename_class", "name": "x"}, {"do": "remove_class", "name": ["x"]},
    ]  # fmt: skip
    others = ["{}", "[1]", "soup", "null", "[" * 100_000, '{"id":' * 50_000, '{"id": NaN}', "1" * 5000]
    return [*others, *(json.dumps({**good, **change}) for change in changes)]


@pytest.mark.parametrize("line", hostile(), ids=lambda line: line[-40:])
@pytest.mark.parametrize("end", ["\n", "}"])
def test_a_line_that_is_no_event_is_refused_in_one_line(tmp_path, line, end):
    (tmp_path / "journal").write_text(f"{OLD}\n{line}{end}")
    with refuses("journal-broken") as found:
        Journal(tmp_path / "journal")
    assert line_of(found.value) == 4  # a blank one comes before it
    assert "delete this line" in str(found.value)
    assert (tmp_path / "journal").read_text() == f"{OLD}\n{line}{end}"


def test_what_could_not_be_read_again_is_not_written(tmp_path):
    journal = Journal(tmp_path / "journal")
    with refuses("option-value"):
        journal.append("note", by="ann", rows=[A], text=5)
    with refuses("option-value"):
        Journal(None).append("dance", by="ann")
    assert journal.append("note", by="ann", rows=[A], text="5") == Journal(journal.path).events[0]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_or_a_folder_is_no_journal(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with refuses("file-type"):
            Journal(tmp_path / name)


# ---------------------------------------------------------------- several processes, and a file that vanishes


def test_a_writer_reads_first_what_others_appended(tmp_path):
    ann, ben = Journal(tmp_path / "journal"), Journal(tmp_path / "journal")
    events = [ann.append("skip", by="ann", rows=[A]), ben.append("skip", by="ben", rows=[A])]
    events.append(ann.append("unsure", by="ann", rows=[B]))
    assert ann.events == events
    assert ben.reread() == 1
    assert ben.events == events
    assert ben.reread() == 0


def test_every_line_is_an_event_and_little_is_compared_before_the_next(tmp_path):
    journal = Journal(tmp_path / "journal")
    for row in (A, B, C):
        journal.append("skip", by="ann", rows=[row])
        assert len(journal._read.last) == 64
    content = journal.path.read_bytes()
    assert content.count(b"\n") == len(content.splitlines()) == 3
    assert journal._read == (len(content), 3, content[-64:])
    again = Journal(journal.path)
    assert (again._read, again.events) == (journal._read, journal.events)


def test_people_who_write_at_once_lose_nothing(tmp_path):
    path = tmp_path / "journal"
    keys = text_keys(map(str, range(20)))

    def write(name: str) -> None:
        journal = Journal(path)
        for key in keys:
            journal.append("skip", by=name, rows=[key])

    people = [threading.Thread(target=write, args=(name,)) for name in ("ann", "ben", "cy")]
    for person in people:
        person.start()
    for person in people:
        person.join()
    events = Journal(path).events
    for name in ("ann", "ben", "cy"):
        assert [event["rows"] for event in events if event["by"] == name] == [[key] for key in keys]


@pytest.mark.parametrize("seen", [True, False])
def test_a_journal_that_is_deleted_is_written_again(tmp_path, seen):
    path = tmp_path / "folder" / "journal"
    journal = filled(path)
    shutil.rmtree(path.parent)
    if seen:
        assert journal.reread() == 0
        assert Journal(path).events == journal.events
    last = journal.append("skip", by="ann", rows=[C])
    assert Journal(path).events == journal.events
    assert journal.events[-1] == last
    assert journal.texts == Journal(path).texts


def test_of_two_who_had_it_open_neither_loses_what_the_other_did_not_know(tmp_path):
    path = tmp_path / "journal"
    ann, ben = Journal(path), Journal(path)
    first = ann.append("skip", by="ann", rows=[A])
    ben.reread()
    second = ben.append("skip", by="ben", rows=[B])  # ann has not read it
    path.unlink()
    third = ann.append("skip", by="ann", rows=[C])
    fourth = ben.append("skip", by="ben", rows=[D])
    found = Journal(path).events
    assert found == [first, third, second, fourth]
    ann.reread()
    for each in (ann, ben):
        assert sorted(event["id"] for event in each.events) == sorted(event["id"] for event in found)


def test_a_backup_that_is_put_back_is_completed(tmp_path):
    path = tmp_path / "journal"
    journal = Journal(path)
    first = journal.append("skip", by="ann", rows=[A])
    backup = path.read_bytes()
    second = journal.append("skip", by="ann", rows=[B])
    path.write_bytes(backup)
    assert journal.reread() == 0
    assert Journal(path).events == [first, second]


@given(st.lists(st.sampled_from(["good", "bad", "", "\ud800", "soup\n"]), max_size=8), st.randoms())
def test_keys_stay_when_the_table_is_sorted(texts, random):
    keys = text_keys(texts)
    assert len(set(keys)) == len(texts)
    order = list(range(len(texts)))
    random.shuffle(order)
    assert sorted(text_keys([texts[k] for k in order])) == sorted(keys)
