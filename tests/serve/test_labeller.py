"""What the labelling page asks a server for and says to it, and what is on the disk then."""

from __future__ import annotations

import csv
import json
import shlex
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

import limelight
from limelight.cli import main
from limelight.cli._parser import parser_for
from limelight.labelling.session import LabelSession
from limelight.serve.labelling.labeller import Labeller, TableSaver, close
from limelight.serve.labelling.texts import (
    check_ours,
    read_descriptions,
    read_texts,
    start_session,
    take_labels,
)
from refusing import refuses
from serve.in_node import needs_node, run_node
from serve.labels import TEXTS, WaitingReader, client_of, start
from serve.live import in_thread


@pytest.fixture
def made(tmp_path: Path) -> tuple[LabelSession, TestClient]:
    session, app = start(tmp_path, classes=["food", "room"], by="ann")
    return session, client_of(app)


def truth(row: int) -> str:
    return "food" if row < 8 else "room"


def post(client: TestClient, path: str, /, **body: Any) -> Any:
    answer = client.post(f"/label/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def label_all(client: TestClient, count: int) -> None:
    (shown,) = post(client, "next")
    for _ in range(count):
        (shown,) = post(client, "say", row=shown["row"], label=truth(shown["row"]))["next"]


def test_a_label_is_on_the_disk_before_the_next_text(made, tmp_path):
    _, client = made
    (shown,) = post(client, "next")
    answer = post(client, "say", row=shown["row"], label="food", marks=[[0, 3]])
    line = json.loads((tmp_path / "labels.csv.journal").read_text().splitlines()[-1])
    assert (line["do"], line["label"], line["by"], line["chosen"]) == ("label", ["food"], "ann", "random")
    assert answer["next"][0]["row"] != shown["row"]
    assert answer["answer"]["told"] is None  # what the model said before it knew
    (again,) = post(client, "texts", rows=[shown["row"]])
    assert again["said"] == {"by": "ann", "labels": ["food"]}
    assert (again["marks"], again["last"]) == ([[0, 3]], line["id"])
    assert answer["by_class"] == post(client, "about")["by_class"] == {"food": 1, "room": 0}


def test_what_was_said_is_written_before_the_model_is_asked_which_does_not_know_it(made, tmp_path):
    session, client = made
    label_all(client, 6)
    (shown,) = post(client, "next")
    labeller, row = client.app.state.labeller, shown["row"]
    before = session.answer(row)
    asked = []

    class Late:
        """An answer that is worked out when it is needed."""

        def __init__(self, work, *given):
            self.work, self.given = work, given

        def result(self):
            line = json.loads((tmp_path / "labels.csv.journal").read_text().splitlines()[-1])
            asked.append((line["rows"], line["label"]))
            return self.work(*self.given)

    labeller._pool = SimpleNamespace(submit=Late)
    post(client, "texts", rows=[row])
    found = post(client, "say", row=row, label="room" if before.label == "food" else "food")
    assert found["answer"]["probabilities"] == before.probabilities
    assert asked == [([session.keys[row]], list(session.said(row).labels))]
    assert session.answer(row).probabilities != before.probabilities


def test_a_model_that_fails_does_not_fail_a_label_that_is_written(made, capsys):
    session, client = made
    label_all(client, 6)
    (shown,) = post(client, "next")
    client.app.state.labeller._ahead[shown["row"]] = SimpleNamespace(result=lambda: 1 / 0)
    assert post(client, "say", row=shown["row"], label="food")["answer"] is None
    assert session.said(shown["row"]).labels == ("food",)
    assert "there is no answer: ZeroDivisionError" in capsys.readouterr().err


def test_the_answer_comes_with_its_words(made):
    _, client = made
    label_all(client, 6)
    found = post(client, "answer", row=0)
    assert set(found["probabilities"]) == {"food", "room"}
    assert [word["text"] for word in found["words"]] == TEXTS[0].split(" ")


def test_undo_brings_the_text_back(made):
    _, client = made
    (shown,) = post(client, "next")
    post(client, "say", row=shown["row"], label="food")
    undone = post(client, "undo")
    assert (undone["undone"], undone["count"], undone["texts"][0]["row"]) == ("label", 1, shown["row"])
    assert post(client, "texts", rows=[shown["row"]])[0]["said"] is None
    assert post(client, "undo") == {
        "undone": None, "count": 0, "texts": [], "classes": ["food", "room"], "descriptions": {},
        "by_class": {"food": 0, "room": 0},
    }  # fmt: skip


def test_skip_unsure_and_notes(made):
    _, client = made
    (shown,) = post(client, "next")
    (other,) = post(client, "say", row=shown["row"], do="skip")["next"]
    post(client, "say", row=other["row"], do="unsure")
    found = post(client, "progress")
    assert (found["skipped"], found["unsure"], found["labelled"]) == (1, 1, 0)
    assert post(client, "note", row=0, text="odd")["note"] == "odd"


def test_groups_cover_every_text_and_one_becomes_a_class(made):
    _, client = made
    found = post(client, "groups")
    assert sorted(row for group in found["groups"] for row in group["rows"]) == list(range(16))
    rows = found["groups"][0]["rows"]
    done = post(client, "accept", rows=rows, label="new one", chosen="group", checked=rows[:2])
    assert (done["count"], done["classes"]) == (len(rows), ["food", "room", "new one"])
    assert done["by_class"] == {"food": 0, "room": 0, "new one": len(rows)}
    undone = post(client, "undo")
    assert (undone["count"], undone["classes"]) == (len(rows), ["food", "room"])


def test_a_map_tells_the_topics_apart_and_a_selection_has_words(made):
    _, client = made
    post(client, "say", row=0, label="food")
    found = post(client, "map")
    assert (found["rows"], found["labels"][:2]) == (list(range(16)), ["food", None])
    x = [place[0] for place in found["places"]]
    assert max(x[:8]) < min(x[8:]) or min(x[:8]) > max(x[8:])
    chosen = post(client, "select", rows=[9, 10, 11])
    assert {"broke", "our", "today"} & set(chosen["words"])
    assert {each["row"] for each in chosen["sample"]} == {9, 10, 11}


def test_a_search_and_what_the_model_is_sure_of(made):
    _, client = made
    assert post(client, "find", words="soup")["rows"] == [0]
    assert post(client, "find", phrase="OUR BED BROKE")["rows"] == [8]
    found = post(client, "find", phrase="(a+)+$")
    assert (found["rows"], found["searched"], found["of"]) == ([], 16, 16)
    assert post(client, "find", similar_to=3)["rows"][0] == 3
    assert post(client, "find", similar_to=TEXTS[3])["rows"][0] == 3
    label_all(client, 8)
    found = post(client, "find", above=0.5, label="room")
    assert found["rows"]
    assert all(row >= 8 for row in found["rows"])
    assert {each["row"] for each in found["sample"]} <= set(found["rows"])


def test_keys_do_not_wait_for_a_search(made, monkeypatch):
    _, client = made
    searching, done = threading.Event(), threading.Event()

    def search(texts, rows, *about):
        searching.set()
        assert done.wait(60)
        return rows, len(rows)

    monkeypatch.setattr("limelight.labelling.session.matching_rows", search)
    with in_thread(client.app) as port, ThreadPoolExecutor() as pool:
        found = pool.submit(request, port, "find", words="soup")
        assert searching.wait(60)
        assert request(port, "say", row=3, label="food")["by_class"]["food"] == 1
        done.set()
        assert found.result()["searched"] == 16


def request(port, path, **body):
    headers = {"authorization": "Bearer t", "content-type": "application/json"}
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", f"/label/{path}", json.dumps(body), headers)
    answer = connection.getresponse()
    assert answer.status == 200
    return json.loads(answer.read())


def test_classes_change(made):
    _, client = made
    assert post(client, "classes", do="add", name="bath", description="showers")["descriptions"] == {
        "bath": "showers"
    }
    assert post(client, "classes", do="rename", name="food", to="meals")["classes"] == [
        "meals",
        "room",
        "bath",
    ]
    assert post(client, "classes", do="merge", name="bath", to="room")["classes"] == ["meals", "room"]
    assert post(client, "classes", do="remove", name="room")["classes"] == ["meals"]


def test_two_people_agree_differ_and_settle(made, tmp_path):
    _, client = made
    other = client_of(start(tmp_path, classes=["food", "room"], by="bob")[1])  # a second process, one journal
    for row in range(4):
        post(client, "say", row=row, label="food")
        post(other, "say", row=row, label="room" if row == 2 else "food")
    found = post(client, "people")
    assert found["people"] == ["ann", "bob"]
    assert found["pairs"][0]["agreed"] == 0.75
    assert [each["row"] for each in found["disagreements"]] == [2]
    assert found["disagreements"][0]["by"] == {"ann": ["food"], "bob": ["room"]}
    settled = post(client, "settle", row=2, label="room", by="ann")
    assert settled["count"] == 0
    assert (settled["alpha"], settled["pairs"]) == (found["alpha"], found["pairs"])
    assert post(client, "settle", row=2, label="room", by="cat")["count"] == 0
    assert post(other, "people")["count"] == 0
    assert post(other, "texts", rows=[2])[0]["said"] == {"by": "cat", "labels": ["room"]}
    assert post(other, "say", row=2, label="food")["settled"] == ["room"]
    assert post(other, "say", row=3, label="food")["settled"] is None
    assert post(other, "texts", rows=[2])[0]["said"] == {"by": "cat", "labels": ["room"]}


def test_people_in_two_tabs_are_not_given_the_same_text(made):
    _, client = made
    rows = [post(client, "next", by=name)[0]["row"] for name in ("ann", "bob", "cat")]
    assert len(set(rows)) == 3


def test_two_tabs_of_one_name_have_texts_of_their_own(made):
    _, client = made
    one, two = ({"tab": tab, "row": post(client, "next", tab=tab)[0]["row"]} for tab in "12")
    given = {one["row"], two["row"]}
    for each in (one, two, one, two):
        each["row"] = post(client, "say", **each, label="food")["next"][0]["row"]
        assert each["row"] not in given
        given.add(each["row"])


def test_of_two_tabs_with_one_text_the_later_is_told(made, tmp_path):
    _, client = made
    (shown,) = post(client, "next")
    assert shown["last"] == ""
    row, last = shown["row"], shown["last"]
    post(client, "say", row=row, last=last, label="food")
    journal = (tmp_path / "labels.csv.journal").read_bytes()
    for what in ({"label": "room"}, {"do": "skip"}, {"do": "unsure"}):
        answer = client.post("/label/say", json={"row": row, "last": last, **what})
        assert (answer.status_code, answer.json()["code"]) == (409, "said-meanwhile")
        assert "you said 'food' about this text in another tab" in answer.json()["error"]
    assert (tmp_path / "labels.csv.journal").read_bytes() == journal
    (now,) = post(client, "texts", rows=[row])  # who looks at it again may say something else
    post(client, "say", row=row, last=now["last"], label="room")
    post(client, "undo")
    answer = client.post("/label/say", json={"row": row, "last": "0" * 16, "label": "room"})
    assert answer.status_code == 409
    post(client, "say", row=row, last="", by="bob", label="room")  # what others said is no reason


def test_several_labels(tmp_path):
    _, app = start(tmp_path, "labels.jsonl", classes=["food", "good"], several=True)
    client = client_of(app)
    post(client, "say", row=0, label=["food", "good"])
    assert close(app.state.labeller) == 1
    assert json.loads((tmp_path / "labels.jsonl").read_text())["labels"] == ["food", "good"]


WRONG = [
    ("say", {"row": 99, "label": "food"}, 422, "field-invalid"),
    ("say", {"row": True, "label": "food"}, 422, "field-invalid"),
    ("say", {"row": 0, "label": 3}, 422, "field-invalid"),
    ("say", {"row": 0, "label": "other"}, 422, "class-unknown"),
    ("say", {"row": 0, "label": ["food", "room"]}, 422, "label-count"),
    ("say", {"row": 0, "label": "food", "marks": [[0, "1"]]}, 422, "field-invalid"),
    ("say", {"row": 0, "label": "food", "marks": [[0, 999]]}, 422, "option-value"),
    ("say", {"row": 0, "do": "explode"}, 422, "field-invalid"),
    ("say", {"row": 0, "label": "food", "by": 7}, 422, "field-invalid"),
    ("say", {"row": 0, "label": "food", "how": "worst"}, 422, "field-invalid"),
    ("say", {"row": 0, "label": "food", "how": "best"}, 422, "field-invalid"),
    ("say", {"row": 0, "label": "food", "tab": 7}, 422, "field-invalid"),
    ("say", {"row": 0, "label": "food", "last": {}}, 422, "field-invalid"),
    ("say", {"row": 0, "label": "food", "last": "0" * 16}, 409, "said-meanwhile"),
    ("say", {"row": 0, "lable": "food"}, 422, "field-unknown"),
    ("next", {"wait": 3}, 422, "field-unknown"),
    ("settle", {"row": 0, "label": "pool"}, 422, "class-unknown"),
    ("settle", {"row": 0, "label": "food", "by": 7}, 422, "field-invalid"),
    ("next", {"how": "best"}, 422, "field-invalid"),
    ("next", {"count": 2}, 422, "field-unknown"),
    ("note", {"row": 0}, 422, "field-invalid"),
    ("note", {"row": 0, "text": "x" * 1001}, 413, "too-large"),
    ("texts", {"rows": [0] * 3 + [16]}, 422, "field-invalid"),
    ("find", {}, 422, "field-invalid"),
    ("find", {"regex": "("}, 422, "field-unknown"),
    ("find", {"label": "pool"}, 422, "class-unknown"),
    ("find", {"above": 2}, 422, "field-invalid"),
    ("find", {"similar_to": 16}, 422, "field-invalid"),
    ("find", {"similar_to": "x" * 1001}, 413, "too-large"),
    ("accept", {"rows": [], "label": "food"}, 422, "field-invalid"),
    ("accept", {"rows": [0], "label": "food", "chosen": "auto"}, 422, "field-invalid"),
    ("classes", {"do": "rename", "name": "food", "to": "room"}, 422, "class-exists"),
    ("classes", {"do": "add", "name": " "}, 422, "option-value"),
    ("classes", {"do": "add", "name": "x" * 101}, 413, "too-large"),
]


@pytest.mark.parametrize(("path", "body", "status", "code"), WRONG)
def test_a_wrong_body_is_refused_and_nothing_is_written(made, tmp_path, path, body, status, code):
    _, client = made
    answer = client.post(f"/label/{path}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    journal = tmp_path / "labels.csv.journal"
    assert not journal.exists() or journal.read_text() == ""


def test_without_the_token_there_is_only_an_empty_page(made):
    _, client = made
    stranger = client_of(client.app, token="other")
    assert stranger.post("/label/about", json={}).status_code == 401
    assert stranger.post("/label/say", json={"row": 0, "label": "food"}).status_code == 401
    page = stranger.get("/")
    assert page.status_code == 200
    assert "tasted" not in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'sha256-")
    evil = client_of(client.app)
    assert evil.post("/label/about", json={}, headers={"host": "evil.example"}).status_code == 421


def test_the_table_is_written_when_it_ends_and_a_second_start_goes_on(made, tmp_path):
    _, client = made
    label_all(client, 3)
    close(client.app.state.labeller)
    with (tmp_path / "labels.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3
    assert all(row["label"] == truth(TEXTS.index(row["text"])) for row in rows)
    waiting = WaitingReader()  # it counts before it reads
    again = client_of(start(tmp_path, by="ann", reader=waiting, background=True)[1])
    about, progress = post(again, "about"), post(again, "progress")
    assert (progress["labelled"], progress["read"], sum(about["by_class"].values())) == (3, 0, 3)
    assert about["by_class"] == progress["by_class"]
    assert {each["name"]: each["labels"] for each in progress["needs"]} == about["by_class"]
    waiting.go.set()


def test_the_table_is_written_after_a_pause(tmp_path, monkeypatch):
    monkeypatch.setattr("limelight.serve.labelling.labeller.PAUSE", 0)
    session, _ = start(tmp_path, classes=["food", "room"])
    session.label(0, "food")
    saver = TableSaver(session, tmp_path / "soon.csv", None, None)
    saver.touch()
    timer = saver._timer
    if timer is not None:
        timer.join()
    assert "food" in (tmp_path / "soon.csv").read_text()


@pytest.mark.parametrize(
    ("options", "more"),
    [
        ({}, "--label label --out"),
        ({"ordered": True}, "--label label --task ordinal --out"),
        ({"several": True}, "--label label --task multi-label --separator '|' --out"),
        ({"several": True, "out": "labels.jsonl"}, "--label labels --task multi-label --out"),
    ],
)
def test_the_page_shows_a_command_that_train_takes(tmp_path, options, more):
    session, app = start(tmp_path, classes=["food", "room"], **options)
    client, out = client_of(app), tmp_path / options.get("out", "labels.csv")
    command = post(client, "about")["command"]
    assert command == f"limelight train {out} --text text {more} {tmp_path}/labels-model"
    parser_for(["train"]).parse_args(shlex.split(command)[1:])
    session.mark(0, [(0, 3)])
    assert "--reasons marks" in post(client, "about")["command"]


@needs_node
def test_the_panel_says_each_figure_once(tmp_path):
    script = 'import { estimate } from "./label_progress.js"\nconst answer = given => given.map(estimate)'
    found = {"accuracy": 0.77, "low": 0.66, "high": 0.85, "drawn": 80, "near": None, "estimate": "too few"}
    rough = {**found, "accuracy": None, "drawn": 12, "near": 0.9}
    assert run_node(tmp_path, script, [found, rough, {**found, "low": None}]) == [
        ["77%", "accuracy, 66% to 85% with 95% confidence, from 80 texts drawn at random"],
        [
            "66% to 85%",
            "accuracy with 95% confidence, from 12 texts drawn at random; 90% at most one class away",
        ],
        ["–", "too few"],
    ]


def test_the_command_ends_with_the_estimate_that_the_page_shows(tmp_path, monkeypatch, capsys):
    (tmp_path / "texts.csv").write_text("text\n" + "".join(f"{text}\n" for text in TEXTS))
    argv = ["label", tmp_path / "texts.csv", "--classes", "food", "room", "--out", tmp_path / "labels.csv"]
    shown = []

    def say(session):
        session.vectors.wait()
        for row in range(16):
            session.label(row, truth(row))
        shown.append(session.progress().estimate)

    assert label_by(monkeypatch, argv, say) == 0
    assert capsys.readouterr().err.splitlines()[-1] == shown[0]
    assert shown[0].endswith("with 95% confidence, from 16 texts drawn at random")


def test_suspects_among_the_labels(tmp_path):
    session, app = start(tmp_path, classes=["food", "room"])
    client = client_of(app)
    for row in range(16):
        session.label(row, "food" if row == 9 else truth(row))
    found = post(client, "check")
    assert found["checked"] == 16
    (suspect,) = found["suspects"]
    assert (suspect["row"], suspect["label"], suspect["suggested"]) == (9, "food", "room")
    assert (suspect["text"], suspect["around"], suspect["share"]) == (TEXTS[9], "room", 0.7)
    assert "broke" in dict(suspect["words"])


def test_a_path_that_there_is_not_names_no_other(made):
    """A labelling describes no routes: nobody is sent to a page that is not there."""
    found = made[1].get("/openapi.json")
    assert (found.status_code, found.json()["error"]) == (404, "no such route")


# ---------------------------------------------------------------- from a table


def test_texts_come_from_a_table_or_a_list(tmp_path):
    table = tmp_path / "texts.csv"
    table.write_text("id,review\n1,good soup\n2,bad soup\n")
    assert read_texts(table, "review") == (table, "review", ["good soup", "bad soup"])
    assert read_texts(["a", "b"], None) == (None, None, ["a", "b"])
    long = "The soup was cold, the waiter was slow, and nobody said a word about it."
    table.write_text(f'number,said by guests\n1,"{long}"\n2,"{long}"\n')
    with pytest.warns(UserWarning, match="taking 'said by guests' for the text"):
        assert read_texts(table, None) == (table, "said by guests", [long, long])
    with refuses("same-file"):
        check_ours(table, table)
    with refuses("no-rows"):
        start_session([], tmp_path / "labels.csv")


def test_classes_that_were_given_once_stay_and_are_not_undone(tmp_path):
    about: Any = {"classes": ["food", "room"], "descriptions": {"food": "what one eats"}, "reader": None}
    session = start_session(["good soup"], tmp_path / "labels.csv", **about)
    assert session.undo() is None
    session.rename_class("room", "bed")
    again = start_session(["good soup"], tmp_path / "labels.csv", **about)
    assert (again.classes, again.descriptions) == (("food", "bed"), {"food": "what one eats"})
    assert start_session(["good soup"], tmp_path / "labels.csv", reader=None).classes == ("food", "bed")


def test_labels_of_a_table_are_a_start_and_stay_corrected(tmp_path):
    table, out = tmp_path / "texts.csv", tmp_path / "fixed.csv"
    table.write_text("text,stars\ngood soup,5\nbad soup,5\nno soup,\n")
    for wrong in (True, False):  # a second start does not bring the wrong label back
        session = start_session(["good soup", "bad soup", "no soup"], out, reader=None)
        take_labels(session, table, "text", "stars")
        if wrong:
            assert [session.said(row) and session.said(row).labels for row in range(3)] == [
                ("5",),
                ("5",),
                None,
            ]
            session.add_class("1")
            session.label(1, "1", by="ann", chosen="settled")
    assert session.said(1).labels == ("1",)
    assert session.save(out, table, text="text") == 2
    assert out.read_text().splitlines()[0].endswith("text,stars")
    with refuses("column-missing"):
        take_labels(session, table, "text", "rating")


def test_several_labels_in_a_cell_are_several_and_come_back_as_they_were(tmp_path):
    table, out = tmp_path / "texts.csv", tmp_path / "labels.csv"
    table.write_text("text,topics\ngood soup,food|good\nbad soup,bad\nno soup,\n")
    session = start_session(["good soup", "bad soup", "no soup"], out, reader=None, several=True)
    take_labels(session, table, "text", "topics")
    assert session.classes == ("bad", "food", "good")
    assert [session.said(row) and session.said(row).labels for row in range(3)] == [
        ("food", "good"), ("bad",), None
    ]  # fmt: skip
    assert session.save(out, table, text="text") == 2
    assert [line.split(",")[0] for line in out.read_text().splitlines()] == ["label", "food|good", "bad"]


@pytest.mark.filterwarnings("ignore:.*skipped 1 of its 3 rows")
def test_rows_without_a_text_are_skipped_everywhere(tmp_path):
    table, out = tmp_path / "texts.csv", tmp_path / "labels.csv"
    table.write_text("id,text,stars\n1,,3\n2,good soup,5\n3,bad soup,1\n")
    _, column, texts = read_texts(table, "text")
    session = start_session(texts, out, reader=None)
    take_labels(session, table, column, "stars")
    assert [session.said(row).labels for row in range(2)] == [("5",), ("1",)]
    assert session.save(out, table, text=column) == 2
    assert [line.split(",")[0] for line in out.read_text().splitlines()] == ["label", "5", "1"]


def test_descriptions_are_lines_or_an_object(tmp_path):
    (tmp_path / "a.json").write_text('{"food": "what one eats"}')
    assert read_descriptions(tmp_path / "a.json") == {"food": "what one eats"}
    (tmp_path / "b.txt").write_text("food what one eats\n")
    with refuses("descriptions"):
        read_descriptions(tmp_path / "b.txt")


def label_by(monkeypatch, argv, say):
    """The exit code of the command; instead of a server, `say` gets the session."""
    monkeypatch.setattr(
        "limelight.serve.labelling.texts.run_one", lambda config, _: say(config.app.state.labeller.session)
    )
    return main([*map(str, argv), "--no-browser"])


def test_the_command_serves_until_it_is_stopped_and_writes_the_table(tmp_path, monkeypatch, capsys):
    (tmp_path / "texts.csv").write_text("id,text\n7,good soup\n8,bad soup\n")
    out = tmp_path / "labels.csv"
    argv = ["label", tmp_path / "texts.csv", "--out", out]
    assert label_by(monkeypatch, argv, lambda session: None) == 0
    argv += ["--classes", "good", "bad"]  # it goes on with its own file, even if nothing was said
    assert label_by(monkeypatch, argv, lambda session: session.label(1, "bad", by="ann")) == 0
    said = capsys.readouterr().out
    assert "labelling at http://127.0.0.1:" in said
    assert f"saved {out}: 1 labelled rows" in said
    with out.open() as file:
        (row,) = csv.DictReader(file)
    assert (row["label"], row["by"], row["id"], row["text"]) == ("bad", "ann", "8", "bad soup")
    assert main([str(each) for each in [*argv, "--several", "--ordered"]]) == 2


def test_a_table_that_was_edited_loses_no_label_and_another_is_refused(tmp_path, monkeypatch, capsys):
    table, out = tmp_path / "texts.csv", tmp_path / "labels.csv"
    texts = [f"soup {k}" for k in range(12)]
    argv = ["label", table, "--out", out, "--classes", "good", "bad"]

    def write(some):
        table.write_text("".join(f"{line}\n" for line in ["text", *some]))

    def say(session):
        for row in range(10):
            session.label(row, "bad")

    write(texts)
    assert label_by(monkeypatch, argv, say) == 0
    assert len(out.read_text().splitlines()) == 11
    write([*texts[:3], "soup, edited", *texts[4:6]])
    assert label_by(monkeypatch, argv, lambda session: None) == 0
    told = capsys.readouterr()
    assert "5 labelled texts are no longer in the table" in told.err
    assert f"saved {out}: 10 labelled rows" in told.out
    assert len(out.read_text().splitlines()) == 11
    before = out.read_bytes()
    write(["another", "table"])
    assert label_by(monkeypatch, argv, lambda session: None) == 2
    assert "none of them is in this table" in capsys.readouterr().err
    assert out.read_bytes() == before


def test_labels_that_excel_cannot_hold_are_kept_and_the_command_says_where(tmp_path, monkeypatch, capsys):
    pytest.importorskip("openpyxl")
    (tmp_path / "texts.csv").write_text(f"text\ngood soup\n{'bad soup ' * 4000}\n")
    out, other = tmp_path / "labels.xlsx", tmp_path / "labels-2.csv"
    (tmp_path / "labels.csv").write_text("something else")  # so another name is proposed
    argv = ["label", tmp_path / "texts.csv", "--classes", "good", "bad", "--out"]

    def say(session):
        session.label(0, "good")
        session.label(1, "bad")

    assert label_by(monkeypatch, [*argv, out], say) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "row 2, column 'text': 36,000 characters, and a cell of Excel holds 32,767" in line
    assert line.endswith(
        f"all labels are in {out}.journal: rename it to labels-2.csv.journal and give --out {other}"
    )
    assert not out.exists()
    Path(f"{out}.journal").rename(f"{other}.journal")  # what it says helps
    assert label_by(monkeypatch, [*argv, other], lambda session: None) == 0
    with other.open() as file:
        assert [row["label"] for row in csv.DictReader(file)] == ["good", "bad"]


def test_a_labelling_that_does_not_start_leaves_nothing(tmp_path):
    with refuses("option-value"):
        start_session(TEXTS, tmp_path / "labels.csv", several=True, ordered=["a", "b"])
    assert list(tmp_path.iterdir()) == []


def test_the_page_hears_that_the_table_is_not_written_until_it_is(made, tmp_path):
    session, client = made
    label_all(client, 1)
    saver = client.app.state.labeller.saver
    (tmp_path / "labels.csv").mkdir()
    saver._save_soon()
    fault = post(client, "progress")["fault"]
    assert (
        fault == f"{tmp_path}/labels.csv is a folder; give a file name; all labels are in {saver.out}.journal"
    )
    label_all(client, 1)  # and one goes on
    (tmp_path / "labels.csv").rmdir()
    saver._save_soon()
    assert post(client, "progress")["fault"] == ""
    session.close()


def test_a_file_that_no_labelling_wrote_is_not_replaced(tmp_path):
    (tmp_path / "labels.csv").write_text("precious")
    with refuses("exists"):
        limelight.label(["good soup"], tmp_path / "labels.csv")
    assert (tmp_path / "labels.csv").read_text() == "precious"


def test_a_class_with_an_odd_name_can_be_given_and_a_new_one_is_tidied():
    session = LabelSession(["good soup", "bad soup"], classes=["good ", "x" * 120], reader=None)
    for name in session.classes:
        assert Labeller._named(SimpleNamespace(session=session), name) == [name]
    assert Labeller._named(SimpleNamespace(session=session), [" new "]) == ["new"]
