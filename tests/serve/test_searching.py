"""An index behind HTTP."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from starlette.testclient import TestClient

import limelight
from limelight.serve import create_app
from limelight.serve.api.searching import IndexRoutes, ServedIndex
from limelight.serve.http.limits import Limits
from limelight.serve.http.metrics import Metrics
from limelight.serve.http.posts import Posts

ROWS = [
    {"text": "The soup was cold.", "stars": 2, "city": "Ghent"},
    {"text": "Chilly broth, and late.", "stars": 1, "city": "Oslo"},
    {"text": "A friendly host.", "stars": 5, "city": "Ghent"},
]


@pytest.fixture(scope="module")
def reader() -> limelight.Reader:
    return limelight.load("reader")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index") / "soups"
    limelight.Index.create(folder, ROWS)
    return folder


@pytest.fixture(scope="module")
def client(reader, folder) -> TestClient:
    return TestClient(create_app({"reader": reader}, index=folder))


def test_metrics_info_and_readiness_of_an_index(reader, folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "soups")
    client = TestClient(create_app({"reader": reader}, index=copy, writable=True))
    client.post("/search", json={"query": ["cold soup", "late"]})
    client.post("/add", json={"texts": ["A warm meal."]})
    expected = {"name": "soups", "texts": 4, "shards": 2}
    assert client.get("/info").json()["index"] == expected
    counts = {"searches_total": 2, "index_texts": 4, "index_shards": 2}
    lines = client.get("/metrics").text.splitlines()
    assert {f'limelight_{name}{{index="soups"}} {count}' for name, count in counts.items()} <= set(lines)
    assert client.get("/ready").status_code == 200
    copy.rename(tmp_path / "gone")
    assert client.get("/ready").json() == {"ready": False, "error": "the index is not there"}


def test_the_size_of_an_index_is_not_looked_for_where_requests_are_answered(reader, folder, monkeypatch):
    looked = []

    def about(self):
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()  # an index that has changed takes its time to open
        looked.append(self)
        return {"texts": 1, "shards": 1}

    monkeypatch.setattr(ServedIndex, "about", about)
    client = TestClient(create_app({"reader": reader}, index=folder))
    assert client.get("/info").status_code == client.get("/metrics").status_code == 200
    assert len(looked) == 3


def test_a_hit_says_what_made_it_one(client):
    first, *_ = client.post("/search", json={"query": "cold soup", "k": 2}).json()
    assert (first["text"], first["columns"]) == ("The soup was cold.", {"stars": 2, "city": "Ghent"})
    assert {word for word, _ in first["matches"]} == {"cold", "soup"}
    assert first["score"] == pytest.approx(first["meaning"] + sum(share for _, share in first["matches"]))
    assert first["words"][0][:2] in (["soup", "soup"], ["cold", "cold"])


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ({"where": {"city": "Oslo"}}, [1]),
        ({"where": {"stars": [">=", 2]}, "by": "meaning"}, [0, 2]),
        ({"where": {"stars": [[">", 1], ["<", 5]]}}, [0]),
        ({"where": ["stars<2"]}, [1]),
        ({"by": "words"}, [0]),
    ],
)
def test_filters_and_ways(client, options, texts):
    found = client.post("/search", json={"query": "cold soup", **options}).json()
    assert [hit["text"] for hit in found] == [ROWS[k]["text"] for k in texts]


def test_several_queries_have_a_list_each_and_words_can_be_left_out(client):
    found = client.post("/search", json={"query": ["soup", "kind host"], "k": 1, "words": False}).json()
    assert [[hit["text"] for hit in hits] for hits in found] == [[ROWS[0]["text"]], [ROWS[2]["text"]]]
    assert "words" not in found[0][0]


def test_a_search_can_be_approximate(client, monkeypatch):
    monkeypatch.setattr("limelight.search.nearest.TEXTS_PER_CANDIDATE", 0)
    monkeypatch.setattr(
        "limelight.search.nearest.ExactSearch.search", lambda *_: pytest.fail("searched in full")
    )
    (hit,) = client.post("/search", json={"query": "cold soup", "k": 1, "approximate": True}).json()
    assert hit["text"] == ROWS[0]["text"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "field-invalid"),
        ({"query": "soup", "k": 0}, 422, "field-invalid"),
        ({"query": ["soup"] * 11, "k": 100}, 422, "field-invalid"),
        ({"query": "soup", "by": "magic"}, 422, "option-value"),
        ({"query": "soup", "by": 1}, 422, "field-invalid"),
        ({"query": "soup", "top_k": 3}, 422, "field-unknown"),
        ({"query": "soup", "where": {"stars": json.loads("[" * 900 + "]" * 900)}}, 400, "body-invalid"),
        ({"query": "soup", "approximate": "yes"}, 422, "field-invalid"),
        ({"query": "soup", "where": 1}, 422, "field-invalid"),
        ({"query": "soup", "where": {"stars": ["~", 1]}}, 422, "option-value"),
        ({"query": "soup", "where": {"colour": "red"}}, 422, "column-missing"),
        ({"query": "soup", "where": {"stars": None}}, 422, "option-value"),
        ({"query": "soup", "where": {"stars": [[[">", 1]]]}}, 422, "option-value"),
        ({"query": "soup", "where": [f"stars!={k}" for k in range(33)]}, 422, "option-value"),
        ({"query": " "}, 422, "text-without-words"),
        ({"query": "soup " * 3000}, 413, "too-large"),
    ],
)
def test_what_cannot_be_searched(client, body, status, code):
    answer = client.post("/search", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_hits_beyond_the_words_of_a_request_have_no_pairs(client, monkeypatch):
    monkeypatch.setattr("limelight.serve.api.searching.MAX_HIT_WORDS", 6)  # the first text has 5
    first, *others = client.post("/search", json={"query": "cold soup"}).json()
    assert len(first["words"]) == 5
    for hit in others:
        assert (hit["words"], hit["other_words"]) == ([], hit["meaning"])
    found = client.post("/search", json={"query": ["cold soup", "kinase"], "by": "words"}).json()
    assert [["words" in hit for hit in hits] for hits in found] == [[False], []]


def test_a_search_has_its_turn_between_the_pieces_of_another(reader, folder, monkeypatch):
    monkeypatch.setattr("limelight.search.hit_words.PIECE_WORDS", 1)
    turns, search, word_parts = [], limelight.Index.search, limelight.Reader.word_parts
    began, go_on = threading.Event(), threading.Event()

    def read(self, texts):
        turns.append("piece")
        began.set()
        assert go_on.wait(60)
        return word_parts(self, texts)

    monkeypatch.setattr(limelight.Reader, "word_parts", read)
    monkeypatch.setattr(
        limelight.Index, "search", lambda self, queries, **how: (
            turns.append(queries[0]) or search(self, queries, **how)
        ),
    )  # fmt: skip

    async def both():
        routes = IndexRoutes(folder, Posts(Limits()), writable=False, metrics=Metrics())
        request = SimpleNamespace(state=SimpleNamespace())
        long = asyncio.create_task(routes.search(request, {"query": "cold soup"}))
        await asyncio.to_thread(began.wait, 60)
        short = asyncio.create_task(routes.search(request, {"query": "host", "words": False}))
        await asyncio.sleep(0)
        go_on.set()
        return await long, await short

    long, short = asyncio.run(both())
    assert (len(long), len(short)) == (3, 3)
    assert turns == ["cold soup", "piece", "piece", "host", "piece", "piece"]  # the query is read, too


@pytest.mark.parametrize("depth", [3, 600, 5000])
def test_a_filter_of_nested_lists_is_one_line(client, depth):
    body = f'{{"query": "soup", "where": {{"stars": {"[" * depth + "]" * depth}}}}}'
    answer = client.post("/search", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)


def test_a_number_of_thousands_of_digits_is_refused_as_a_value(client):
    body = f'{{"query": "soup", "where": {{"stars": {"9" * 5000}}}}}'
    answer = client.post("/search", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    found = client.post("/search", json={"query": "soup", "where": {"stars": ["<", "9" * 5000]}})
    assert len(found.json()) == 3


def test_an_index_is_read_only_unless_told_otherwise(client):
    answer = client.post("/add", json={"texts": ["More soup."]})
    assert (answer.status_code, answer.json()["code"]) == (403, "read-only")


def test_texts_that_are_added_are_found_here_and_by_another_worker(reader, tmp_path):
    folder = tmp_path / "soups"
    limelight.Index.create(folder, ROWS)
    writer, other = (TestClient(create_app({"reader": reader}, index=folder, writable=True)) for _ in "ab")
    rows = ["The train was late.", {"text": "A bus that never came.", "stars": 1}]
    assert writer.post("/add", json={"texts": rows}).json() == {"added": 2, "texts": 5}
    for each in (writer, other):
        (hit,) = each.post("/search", json={"query": "no bus", "k": 1, "where": {"stars": 1}}).json()
        assert hit["text"] == "A bus that never came."
    assert writer.post("/add", json={"texts": rows}).json() == {"added": 0, "texts": 5}


def test_rows_are_updated_and_deleted_by_key(reader, tmp_path):
    folder = tmp_path / "soups"
    limelight.Index.create(folder, [{"id": k, **row} for k, row in enumerate(ROWS, 1)], key="id")
    writer, other = (TestClient(create_app({"reader": reader}, index=folder, writable=True)) for _ in "ab")
    rows = [{"id": 1, "text": "A bus that never came."}, {"id": 4, "text": "Warm beer."}]
    taken = writer.post("/add", json={"texts": rows})
    assert (taken.status_code, taken.json()["code"]) == (409, "key-exists")
    assert taken.json()["error"].endswith("already has id '1'; /update replaces such rows")
    assert writer.post("/update", json={"texts": rows}).json() == {"added": 2, "texts": 4}
    assert writer.post("/delete", json={"keys": ["2", 3, 99]}).json() == {"deleted": 2, "texts": 2}
    for each in (writer, other):
        found = each.post("/search", json={"query": "cold soup"}).json()
        assert {hit["key"]: hit["text"] for hit in found} == {row["id"]: row["text"] for row in rows}


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [("/delete", {"keys": 1}, 422, "field-invalid"), ("/delete", {"keys": [None]}, 422, "field-invalid"),
     ("/delete", {"keys": ["x"]}, 422, "option-value"), ("/delete", {"keys": []}, 400, "body-invalid"),
     ("/update", {"texts": [{"id": 1, "text": "soup"}]}, 409, "index-without-keys")],
)  # fmt: skip
def test_what_cannot_be_changed(client, reader, folder, path, body, status, code):
    writer = TestClient(create_app({"reader": reader}, index=folder, writable=True))
    answer = writer.post(path, json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert "--" not in answer.json()["error"]  # flags are not for a client
    assert client.post(path, json=body).status_code == 403  # read-only


@pytest.mark.parametrize(
    ("texts", "status", "code"),
    [("soup", 422, "field-invalid"), ([1], 422, "field-invalid"), ([], 400, "body-invalid"),
     ([{"stars": 1}], 422, "row-unusable"), (["soup", ""], 422, "row-unusable")],
)  # fmt: skip
def test_what_cannot_be_added(reader, folder, texts, status, code):
    writer = TestClient(create_app({"reader": reader}, index=folder, writable=True))
    answer = writer.post("/add", json={"texts": texts})
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    if code == "row-unusable":
        row = len(texts)
        assert answer.json()["error"] == f"texts, row {row}: no text in it; correct this row or leave it out"


def test_the_document_has_the_routes_of_an_index_where_there_is_one(client, reader):
    assert {"/search", "/add", "/update", "/delete"} <= set(client.get("/openapi.json").json()["paths"])
    without = TestClient(create_app({"reader": reader}))
    assert "/search" not in without.get("/openapi.json").json()["paths"]
    assert without.post("/search", json={"query": "soup"}).status_code == 404
