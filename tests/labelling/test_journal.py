"""The journal: nothing is lost, whoever writes and whatever ends them."""

from __future__ import annotations

import json
import os
import signal
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.labelling.journal import Journal, journal_of, text_keys
from refusing import refuses


def test_an_event_is_one_line_that_another_process_reads(tmp_path):
    path = journal_of(tmp_path / "labels.csv")
    event = Journal(path).append("label", by="ann", rows=["a.0"], label=["é"], chosen="auto")
    assert [json.loads(line) for line in path.read_text().splitlines()] == [event]
    assert Journal(path).events == [event]


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_torn_last_line_is_dropped_and_then_written_over(tmp_path, cut):
    path = tmp_path / "journal"
    journal = Journal(path)
    first = journal.append("skip", by="ann", rows=["a.0"])
    journal.append("skip", by="ann", rows=["b.0"])
    os.truncate(path, path.stat().st_size - cut)
    again = Journal(path)
    assert again.events == [first]
    third = again.append("skip", by="ann", rows=["c.0"])
    assert Journal(path).events == [first, third]


def test_a_writer_reads_first_what_others_appended(tmp_path):
    ann, ben = Journal(tmp_path / "journal"), Journal(tmp_path / "journal")
    events = [ann.append("skip", by="ann", rows=["a.0"]), ben.append("skip", by="ben", rows=["a.0"])]
    events.append(ann.append("unsure", by="ann", rows=["b.0"]))
    assert ann.events == events
    assert ben.reread() == 1
    assert ben.events == events
    assert ben.reread() == 0


def test_people_who_write_at_once_lose_nothing(tmp_path):
    path = tmp_path / "journal"

    def write(name: str) -> None:
        journal = Journal(path)
        for number in range(20):
            journal.append("skip", by=name, rows=[f"{number}.0"])

    people = [threading.Thread(target=write, args=(name,)) for name in ("ann", "ben", "cy")]
    for person in people:
        person.start()
    for person in people:
        person.join()
    events = Journal(path).events
    for name in ("ann", "ben", "cy"):
        assert [event["rows"] for event in events if event["by"] == name] == [[f"{k}.0"] for k in range(20)]


@pytest.mark.parametrize("line", ["{}", "[1]", "soup", '{"do": "dance", "id": "1", "by": "ann"}'])
def test_a_line_that_is_no_event_is_refused(tmp_path, line):
    (tmp_path / "journal").write_text(line + "\n")
    with refuses("journal-broken"):
        Journal(tmp_path / "journal")


@given(st.lists(st.sampled_from(["good", "bad", "", "\ud800", "soup\n"]), max_size=8), st.randoms())
def test_keys_stay_when_the_table_is_sorted(texts, random):
    keys = text_keys(texts)
    assert len(set(keys)) == len(texts)
    order = list(range(len(texts)))
    random.shuffle(order)
    assert sorted(text_keys([texts[k] for k in order])) == sorted(keys)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_kill_while_writing_loses_at_most_that_line(tmp_path, call):
    path = tmp_path / "journal"
    first = Journal(path).append("skip", by="ann", rows=["a.0"])
    pid = os.fork()
    if pid == 0:
        setattr(os, call, lambda *given: os.kill(os.getpid(), signal.SIGKILL))
        Journal(path).append("skip", by="ann", rows=["b.0"])
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    journal = Journal(path)
    assert journal.events[0] == first
    assert len(journal.events) == (1 if call == "write" else 2)
    last = journal.append("skip", by="ann", rows=["c.0"])
    assert Journal(path).events[-1] == last
