"""What goes into an index is read once, checked as a whole, and known again by its rows."""

from __future__ import annotations

import gzip
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import trained
from limelight import Index
from limelight.search import index_folder
from limelight.search.corpus import Corpus
from limelight.tables import aside
from limelight.tables.table import _JsonTable
from refusing import refuses
from reviews import write_csv

ROWS = [{"id": k, "text": f"w{k} w{k + 1}", "n": {"a": [k, None]}} for k in range(1, 7)]
opened: list[str] = []


def hear(event: str, details: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(details[0], str | os.PathLike) and not details[2] & os.O_WRONLY:
        opened.append(os.path.realpath(details[0]))


@pytest.fixture(scope="module", autouse=True)
def listening() -> None:
    sys.addaudithook(hear)  # for good: Python has no way to remove one


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained.save(tmp_path_factory.mktemp("model") / "model")


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def count_opens(path: Path) -> int:
    return opened.count(os.path.realpath(path))


@pytest.mark.parametrize("key", [None, "id"])
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows.json", "rows.csv", "rows.txt"])
def test_a_table_is_opened_and_read_once(tmp_path, model, monkeypatch, name, key):
    path = tmp_path / name
    if name.endswith("csv"):
        write_csv(path, id=[1, 2], text=["w1", "w2"])
    elif name.endswith("txt"):
        path.write_text("w1\nw2\n")
        key = None
    elif name.endswith("json"):
        path.write_text(json.dumps(ROWS))
    else:
        write_jsonl(path, ROWS)
    passes, rows = [], _JsonTable.rows
    monkeypatch.setattr(
        _JsonTable, "rows", lambda self, wanted, keep=False: passes.append(1) or rows(self, wanted, keep)
    )
    index = Index.create(tmp_path / "index", path, model=model, key=key, sentences=True)
    assert count_opens(path) == 1
    assert len(passes) == ("json" in name)
    with pytest.warns(UserWarning, match="already in the index"):
        index.add(path)
    assert count_opens(path) == 2  # by a command of its own


def test_a_table_that_is_added_is_opened_once(tmp_path, model):
    index = Index.create(tmp_path / "index", ROWS, model=model, key="id")
    more = write_jsonl(tmp_path / "more.jsonl", [{"id": 9, "text": "w9"}])
    assert index.add(more) == 1
    changed = write_jsonl(tmp_path / "changed.jsonl", [{"id": 9, "text": "w8"}, {"id": 1, "text": "w7"}])
    assert index.update(changed) == 2
    assert (count_opens(more), count_opens(changed)) == (1, 1)


def test_what_can_be_read_once_only_is_enough(tmp_path, model, monkeypatch):
    monkeypatch.setattr(index_folder, "SHARD_TEXTS", 2)
    once = Index.create(tmp_path / "once", iter(ROWS), model=model, key="id")
    several = Index.create(tmp_path / "several", ROWS, model=model, key="id")
    for name in (path.name for path in several.folder.iterdir()):
        assert (once.folder / name).read_bytes() == (several.folder / name).read_bytes()
    assert once.config.sources[0].name == "6 texts"
    assert once.add(row for row in [{"id": 8, "text": "w1"}]) == 1


def test_entries_on_disk_are_those_in_memory(tmp_path, monkeypatch):
    rows = [{"text": "naïve 日本 👩‍🍳\n\r\u2028 x", "n": 1.5}, {"text": "lone \ud800", "k": [None, True]}] * 3
    found = []
    for size in (2**24, 8):
        monkeypatch.setattr(aside, "IN_MEMORY", size)
        first, second = Corpus(rows), Corpus(["other"])
        for each in (first, second):
            each.check(folder=tmp_path / "no such" / "index")
        found.append((list(first.entries()), list(second.entries()), list(first.entries())))
    assert found[0] == found[1]
    assert [entry["text"] for entry in found[0][2]] == [row["text"] for row in rows]
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_line(tmp_path, model, monkeypatch):
    monkeypatch.setattr(aside, "IN_MEMORY", 8)
    full = partial(open, "/dev/full", "w+b", buffering=0)
    monkeypatch.setattr("tempfile.TemporaryFile", lambda *given, **how: full())
    with refuses("os-error") as error:
        Index.create(tmp_path / "index", ROWS, model=model)
    assert str(tmp_path) in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_row_that_cannot_be_used_is_found_before_anything_is_written(tmp_path, model):
    good = write_jsonl(tmp_path / "good.jsonl", ROWS)
    bad = write_jsonl(tmp_path / "bad.jsonl", [*ROWS, {"id": 7, "text": " "}])
    with refuses("row-unusable") as error:
        Index.create(tmp_path / "index", bad, model=model)
    assert "row 7" in str(error.value)
    assert not (tmp_path / "index").exists()
    index = Index.create(tmp_path / "index", good, model=model)
    before = {path: path.read_bytes() for path in index.folder.iterdir()}
    with refuses("row-unusable"):
        index.add(bad)
    assert {path: path.read_bytes() for path in index.folder.iterdir()} == before


@pytest.mark.parametrize("value", ["digits", "nested"])
def test_columns_that_cannot_be_written_are_one_line(tmp_path, model, value):
    nested: list[Any] = []
    for _ in range(5000):
        nested = [nested]
    row = {"text": "w1", "n": 10**5000 if value == "digits" else nested}
    with refuses("row-unusable") as error:
        Index.create(tmp_path / "index", [row], model=model)
    assert "\n" not in str(error.value)
    with pytest.warns(UserWarning, match="skipped 1"):
        assert len(Index.create(tmp_path / "index", [row, "w2"], model=model, on_bad="skip")) == 1


def test_a_number_where_a_text_is_expected_is_its_text(tmp_path, model):
    rows = [{"text": "w1"}, {"text": 5}, {"text": True}]
    for given in (rows, write_jsonl(tmp_path / "rows.jsonl", rows)):
        index = Index.create(tmp_path / "index", given, model=model, overwrite=True)
        assert {hit.text for hit in index.search("w1")} == {"w1", "5", "true"}


def test_the_text_is_guessed_as_elsewhere(tmp_path, model):
    rows = [{"name": "w1", "remark": "w2 w3 w4 " * 9}]
    with pytest.warns(UserWarning, match="'remark'"):
        index = Index.create(tmp_path / "index", write_jsonl(tmp_path / "rows.jsonl", rows), model=model)
    assert index.search("w1")[0].columns == {"name": "w1"}


def test_what_is_not_a_corpus_is_one_line(tmp_path, model):
    with refuses("option-value"):
        Index.create(tmp_path / "index", 5, model=model)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, model, monkeypatch):
    path, rows = write_jsonl(tmp_path / "rows.jsonl", ROWS), _JsonTable.rows

    def changing(self, *given):
        yield from rows(self, *given)
        write_jsonl(path, ROWS[:1])

    monkeypatch.setattr(_JsonTable, "rows", changing)
    with refuses("file-changed"):
        Index.create(tmp_path / "index", path, model=model)


# ---------------------------------------------------------------- the same again


def edit(folder: Path, **changes: Any) -> None:
    data = json.loads((folder / "index.json").read_text()) | changes
    del data["sha256"]
    (folder / "index.json").write_text(json.dumps({**data, "sha256": index_folder._checksum(data)}))


def test_two_sheets_of_a_book_are_two_tables(tmp_path, model):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for name, text in (("May", "w1"), ("June", "w2")):
        sheet = book.create_sheet(name)
        sheet.append(["text"])
        sheet.append([text])
    book.save(tmp_path / "book.xlsx")
    index = Index.create(tmp_path / "index", tmp_path / "book.xlsx#May", model=model)
    assert index.add(tmp_path / "book.xlsx#June") == 1


def test_rows_are_the_same_in_another_file(tmp_path, model):
    index = Index.create(tmp_path / "index", write_jsonl(tmp_path / "a.jsonl", ROWS), model=model)
    with pytest.warns(UserWarning, match=r"b\.jsonl\.gz is already in the index, as a\.jsonl"):
        assert index.add(write_jsonl(tmp_path / "b.jsonl.gz", ROWS)) == 0
    assert index.add(write_jsonl(tmp_path / "c.jsonl", [*ROWS[1:], ROWS[0]])) == 6
