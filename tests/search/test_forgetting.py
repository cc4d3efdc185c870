"""An index that is updated and deleted from is, to the bit, the one built of what is left."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trained
from drawing import examples
from limelight import Index
from limelight.search import build, index_folder
from limelight.search.index import Index as AnyIndex
from refusing import refuses
from reviews import write_csv

ROWS = [
    {"id": "a", "text": "w1 w2. W3 w1."},
    {"id": "b", "text": "w2 w2 w4"},
    {"id": "c", "text": "w5. W6 w7"},
    {"id": "d", "text": "w1 w8"},
]
WORDS = st.lists(st.sampled_from([f"w{k}" for k in range(1, 9)]), min_size=1, max_size=5).map(" ".join)
ROW = st.tuples(st.integers(0, 9), WORDS)
CHANGES = st.one_of(
    st.tuples(st.just("update"), st.lists(ROW, min_size=1, max_size=4, unique_by=lambda row: row[0])),
    st.tuples(st.just("delete"), st.lists(st.integers(0, 9), max_size=3)),
    st.tuples(st.just("compact"), st.none()),
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained.save(tmp_path_factory.mktemp("model") / "model")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Path:
    place = tmp_path_factory.mktemp("built") / "index"
    return Index.create(place, ROWS, model=model, key="id", sentences=True).folder


@pytest.fixture
def index(tmp_path: Path, built: Path) -> Index:
    return Index.open(shutil.copytree(built, tmp_path / "index"))


def hits(index: AnyIndex, **how: Any) -> list[Any]:
    """All of them: the order of equal scores is that of the places, and an update with the same stays."""
    found = index.search(["w1 w2", "w4 w8 w5"], 99, words=False, **how)
    for each in found:
        assert [hit.score for hit in each] == sorted((hit.score for hit in each), reverse=True)
    return [sorted((hit.score, hit.text, hit.key, hit.matches) for hit in each) for each in found]


def change(index: Index, rows: dict[int, str], how: str, what: Any) -> None:
    """Change an index, and the rows that it must hold, those added last at the end."""
    if how == "compact":
        index.compact()
    elif how == "delete":
        assert index.delete(what) == sum(rows.pop(key, None) is not None for key in set(what))
    else:
        for key, text in what:
            rows.pop(key, None)
            rows[key] = text
        index.update([{"id": key, "text": text, "n": key} for key, text in what])


@pytest.mark.filterwarnings("ignore:.*already in the index")
@examples(8)
@given(
    changes=st.lists(CHANGES, min_size=1, max_size=7),
    full=st.integers(2, 6),
    share=st.sampled_from([0, 0.25, 1]),
)
def test_any_changes_give_the_index_of_what_is_left(tmp_path_factory, model, changes, full, share):
    place = tmp_path_factory.mktemp("changed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_folder, "SHARD_TEXTS", full)
        patch.setattr(build, "MAX_DELETED", share)
        patch.setattr(build, "MAX_ALIKE", 2)
        first = [{"id": 0, "text": "w1", "n": 0}, {"id": 1, "text": "w2 w3", "n": 1}]
        index = Index.create(place / "index", first, model=model, key="id")
        rows = {row["id"]: row["text"] for row in first}
        for how, what in changes:
            change(index, rows, how, what)
        left = [{"id": key, "text": text, "n": key} for key, text in rows.items()]
        assert len(index) == len(Index.open(place / "index")) == len(left)
        index.verify()
        if not left:
            return
        anew = Index.create(place / "anew", left, model=model, key="id")
        for by in ("meaning", "words", "both"):
            assert hits(index, by=by) == hits(anew, by=by)
        for least in {0, max(rows) // 2}:
            assert hits(index, where={"n": (">=", least)}) == hits(anew, where={"n": (">=", least)})
        V = np.eye(1, index.config.size, dtype=np.float32)
        assert index.search_vectors(V, 50)[0].tolist() == anew.search_vectors(V, 50)[0].tolist()


def test_all_sentences_of_a_row_go_and_come_together(index):
    assert index.delete(["a", "nothing"]) == 1
    assert (len(index), {hit.key for hit in index.search("w1 w5", 10)}) == (4, {"b", "c", "d"})
    assert index.update([{"id": "a", "text": "w1. W2. W3."}, {"id": "b", "text": "w4"}]) == 4
    found = index.search("w1 w4 w5", 10)
    assert sorted((hit.key, hit.text) for hit in found) == [
        ("a", "W2."), ("a", "W3."), ("a", "w1."), ("b", "w4"), ("c", "W6 w7"), ("c", "w5."), ("d", "w1 w8"),
    ]  # fmt: skip
    assert {hit.key for hit in index.search("w1 w4", 10, per_row=True)} == {"a", "b", "c", "d"}


def test_a_column_that_only_deleted_rows_have_is_none(index):
    index.add([{"id": "e", "text": "w1", "city": "Ghent"}])
    assert [hit.key for hit in index.search("w1", where={"city": "Ghent"})] == ["e"]
    index.delete(["e"])
    with refuses("column-missing"):
        index.search("w1", where={"city": "Ghent"})


def test_rows_without_a_key_column_are_named_by_number(tmp_path, model):
    index = Index.create(tmp_path / "index", ["w1. W2.", "w3"], model=model, sentences=True)
    index.add(["w4", "w5"])
    assert {hit.text: hit.key for hit in index.search("w1 w3", 9)} == {
        "w1.": 1, "W2.": 1, "w3": 2, "w4": 3, "w5": 4,
    }  # fmt: skip
    assert index.delete([1, f"{4:018}", f"{2:019}", 5, 0, "9" * 5000]) == 2
    index.compact()
    index.add(["w6"])  # a number is never given twice
    assert {hit.text: hit.key for hit in index.search("w1 w3", 9)} == {"w3": 2, "w4": 3, "w6": 5}
    with refuses("option-value"):
        index.delete(["w3"])
    with refuses("index-without-keys"):
        index.update([{"text": "w7"}])


def test_a_list_whose_texts_were_all_deleted_can_be_added_again(tmp_path, model):
    index = Index.create(tmp_path / "index", ["w1"], model=model)
    assert (index.add(["w2"]), index.delete([2]), index.add(["w2"])) == (1, 1, 1)
    with pytest.warns(UserWarning, match="already in the index"):
        assert index.add(["w2"]) == 0


def test_keys_say_what_is_in_the_index(index):
    with refuses("key-exists"):
        index.add([{"id": "e", "text": "w1"}, {"id": "b", "text": "w1"}])
    assert len(index) == 6
    index.delete(["b"])
    for _ in "ab":  # the first list again, of which a row was deleted
        with refuses("key-exists"):
            index.add(ROWS)
        index.compact()
    index.update(ROWS)
    assert len(index) == 6
    with pytest.warns(UserWarning, match="already in the index"):
        assert index.update(ROWS) == 0


@pytest.mark.parametrize(
    "rows",
    [
        [{"text": "w1"}], [{"id": None, "text": "w1"}], [{"id": "", "text": "w1"}], ["w1"],
        [{"id": [1], "text": "w1"}], [{"id": 7, "text": "w1"}, {"id": "7", "text": "w2"}],
    ],
)  # fmt: skip
def test_a_row_needs_a_key_of_its_own(index, rows):
    with refuses("row-unusable"):
        index.add(rows)
    assert len(index) == 6


def test_tables_need_the_column_and_keys_of_their_own(tmp_path, model):
    one = write_csv(tmp_path / "one.csv", text=["w1", "w2"], id=[1, 2])
    two = write_csv(tmp_path / "two.csv", text=["w3"], number=[3])
    with refuses("column-missing"):
        Index.create(tmp_path / "index", two, model=model, key="id")
    index = Index.create(tmp_path / "index", one, model=model, key="id")
    assert (index.delete(2), index.search("w1")[0].key) == (1, "1")


def test_an_open_index_keeps_what_it_had(index):
    other = Index.open(index.folder)
    before = hits(other)
    index.delete(["a", "b"])
    index.compact()
    assert hits(other) == before
    assert {hit.key for hit in Index.open(index.folder).search("w1", 9)} == {"c", "d"}


def test_everything_can_be_deleted_and_come_back(index):
    assert index.delete([row["id"] for row in ROWS]) == 4
    for _ in "ab":
        with refuses("no-rows"):
            index.search("w1")
        index.compact()
    assert index.config.shards == []
    assert index.add(ROWS) == 6


def test_many_small_additions_make_few_shards(tmp_path, model, monkeypatch):
    monkeypatch.setattr(build, "MAX_ALIKE", 3)
    index = Index.create(tmp_path / "index", [{"id": 0, "text": "w1"}], model=model, key="id")
    for number in range(1, 20):
        index.update([{"id": number % 17, "text": f"w{number % 9}"}])
    assert len(index) == 17
    assert len(index.config.shards) < 7
    assert len(list(index.folder.iterdir())) == len(index.config.shards) + 2  # index.json, what is deleted


def test_a_file_of_deleted_texts_that_was_altered_is_refused(index):
    index.delete(["b"])
    path = next(index.folder.glob("deleted-*"))
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 64]))
    with refuses("file-damaged"):
        Index.open(index.folder)
    path.unlink()
    with refuses("file-damaged"):
        Index.open(index.folder)


@pytest.mark.parametrize("unit", [{"sentences": True}, {"passages": True}, {}])
def test_an_update_to_a_text_without_words_replaces_the_row(tmp_path, model, unit):
    rows = [{"id": 7, "text": "w1 w2"}, {"id": 8, "text": "w5"}]
    index = Index.create(tmp_path / "index", rows, key="id", model=model, **unit)
    index.update([{"id": 7, "text": "..."}])
    assert [hit.key for hit in index.search("w1 w2", by="words")] == []
    assert {hit.text for hit in index.search("w1 w2", by="meaning")} == {"...", "w5"}


def test_an_index_of_nothing_says_so(tmp_path, model):
    index = Index.create(tmp_path / "index", ["Cold soup.", "A late train."], model=model)
    assert index.delete(np.arange(1, 3)) == 2
    with refuses("no-rows"):
        index.search_vectors(np.ones((1, index.config.size), np.float32), 1)


def test_an_index_is_not_compacted_before_all_of_a_table_is_in_it(index):
    config = index_folder.read_config(index.folder)
    config.sources[0].finished = False
    index_folder.write_config(index.folder, config)
    with refuses("index-unfinished"):
        index.compact()
