"""An index: made, added to, replaced, searched; and everything that can be wrong with it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import trained
from limelight import Index, LimelightError, load
from limelight.runtime import reader
from limelight.runtime.reader import model_sha256
from limelight.search import index as index_module
from limelight.search import index_folder
from limelight.search.build import _clear_unless_part_of, new_config, writing
from limelight.search.corpus import Corpus
from limelight.search.ranking import Ranking
from limelight.search.shards import ZERO
from limelight.storage import files
from refusing import refuses
from reviews import write_csv
from search.vectors import shards_of
from shared_reader import share_reader

TEXTS = [
    "The soup was cold. We left early.",
    "A friendly host.",
    "The train was late.",
    "Cold tea, warm beer.",
]
HERE = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def one_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    share_reader(monkeypatch)


def write_table(folder: Path) -> Path:
    return write_csv(folder / "texts.csv", text=TEXTS, stars=[1, 5, 2, 3], city=["Ghent", "Bonn", "Rome", ""])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_table(tmp_path)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    return Index.create(folder / "index", write_table(folder)).folder


@pytest.fixture
def index(tmp_path: Path, built: Path) -> Index:
    return Index.open(shutil.copytree(built, tmp_path / "index"))


def stored(index: Index) -> np.ndarray:
    parts = [(shard.vectors.astype(float) - ZERO) * shard.scales[:, None] for shard in index._shards]
    return np.concatenate(parts)


def save_another(path: Path) -> Path:
    recipe = trained.recipe_of({"rows": 2})
    return trained.save(path, weights=trained.weights_of(trained.network_of(recipe, seed=1)))


def edit(folder: Path, **changes: object) -> None:
    """Change index.json, with a checksum that fits."""
    data = json.loads((folder / "index.json").read_text()) | changes
    del data["sha256"]
    (folder / "index.json").write_text(json.dumps({**data, "sha256": index_folder._checksum(data)}))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# ---------------------------------------------------------------- what it holds and finds


def test_vectors_are_those_of_the_reader(index):
    V = load("reader", precision="int8").encode(TEXTS)
    assert np.abs(stored(index) - V).max() < 2e-3


def test_hits_have_score_row_columns_and_words(index):
    hits = index.search("cold broth", k=2)
    cosines = load("reader").encode(TEXTS) @ load("reader").encode("cold broth")
    best = int(cosines.argmax())
    assert (hits[0].text, hits[0].row, hits[0].source) == (TEXTS[best], best + 1, "texts.csv")
    assert hits[0].columns == {"stars": str([1, 5, 2, 3][best]), "city": ["Ghent", "Bonn", "Rome", ""][best]}
    assert hits[0].cosine == pytest.approx(cosines[best], abs=0.02)
    assert hits[0].comparison.matrix.sum() == pytest.approx(hits[0].cosine, abs=1e-12)
    assert hits[0].score > hits[1].score
    assert hits[0].to_dict()["words"] == hits[0].top_pairs(5)
    assert index.search("cold broth", k=1, words=False)[0].comparison is None


def test_more_hits_than_texts_are_all_texts(index):
    assert sorted(hit.row for hit in index.search("soup", k=100)) == [1, 2, 3, 4]


def test_several_queries_are_those_one_by_one(index):
    both = index.search(["late train", "kind owner"], k=3)
    for query, hits in zip(["late train", "kind owner"], both, strict=True):
        assert [hit.text for hit in hits] == [hit.text for hit in index.search(query, k=3)]


def test_sentences_point_back_to_their_rows(tmp_path, table):
    index = Index.create(tmp_path / "index", table, sentences=True)
    assert len(index) == 5
    hit = index.search("we went away", k=1)[0]
    assert (hit.text, hit.row, hit.start) == ("We left early.", 1, TEXTS[0].index("We"))
    assert hit.columns["city"] == "Ghent"


def test_one_hit_per_row(tmp_path):
    texts = ["Cold soup. The soup was cold. My soup was cold.", "Cold tea.", "A late train."]
    index = Index.create(tmp_path / "index", texts, sentences=True)
    rows = [hit.row for hit in index.search("cold soup", k=3, per_row=True)]
    assert rows[:2] == [1, 2]
    assert sorted(rows) == [1, 2, 3]
    assert index.search("cold soup", k=1, per_row=True)[0].text == index.search("cold soup", k=1)[0].text


def test_rows_of_two_tables_are_not_the_same(index):
    index.add(["Cold soup, too.", "Another host."])
    found = index.search("cold soup", k=6, per_row=True)
    assert sorted((hit.source_number, hit.row) for hit in found) == [
        (0, 1), (0, 2), (0, 3), (0, 4), (1, 1), (1, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("by", ["meaning", "words", "both"])
def test_only_queries_that_lack_rows_look_further(tmp_path, by, monkeypatch):
    texts = ["Cold soup. " * 9, "Cold tea.", "A late train.", "A late bus."]
    index = Index.create(tmp_path / "index", texts, sentences=True)
    asked, rank = [], Ranking.rank
    monkeypatch.setattr(Ranking, "rank", lambda self, some, *given, **how: (
        asked.append(list(some)) or rank(self, some, *given, **how)
    ))  # fmt: skip
    both = index.search(["cold soup", "late bus"], k=2, by=by, per_row=True, words=False)
    assert asked == [["cold soup", "late bus"], ["cold soup"]]
    assert [[hit.row for hit in hits] for hits in both] == [[1, 2], [4, 3]]


def test_a_long_text_is_found_by_its_best_passage(tmp_path):
    filler = "The room was large and the bed was soft and the towels were clean. " * 10
    texts = [filler + "A macaw sang in the lobby. " + filler, "The train was late."]
    index = Index.create(tmp_path / "index", texts, passages=True)
    assert len(index) == 4
    assert repr(index).endswith("4 passages)")
    hits = index.search("a singing macaw", k=5)
    assert [hit.row for hit in hits] == [1, 2]  # each row once
    assert "macaw" in hits[0].text
    assert texts[0][hits[0].start :].startswith(hits[0].text)
    assert len(index.search("a singing macaw", k=5, per_row=False)) == 4
    with refuses("option-conflict"):
        Index.create(tmp_path / "both", texts, passages=True, sentences=True)


def test_any_text_comes_back_as_it_was(tmp_path):
    texts = ["naïve 日本 👩‍🍳", 'a "quote"\nand a line', "lone \ud800 surrogate"]
    index = Index.create(tmp_path / "index", texts)
    assert {hit.text for hit in index.search("anything", words=False)} == set(texts)


def test_values_without_a_json_form_become_text(tmp_path):
    import datetime

    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "texts.parquet"
    day = datetime.date(2020, 2, 29)
    pq.write_table(pa.table({"text": ["soup"], "day": [day], "price": [float("nan")], "n": [3]}), path)
    assert Index.create(tmp_path / "index", path).search("soup")[0].columns == {
        "day": "2020-02-29",
        "price": None,
        "n": 3,
    }


def test_a_trained_model_is_searched_by_its_matrix(tmp_path):
    model = trained.save(tmp_path / "model")
    texts = ["w1 w2", "w3 w4 w5", "w2 w2"]
    index = Index.create(tmp_path / "index", texts, model=model, precision="float32")
    M = load(model).embed(texts, flat=True).astype(float)
    V = M / np.linalg.norm(M, axis=1, keepdims=True)
    assert np.abs(stored(index) - V).max() < 2e-2
    assert index.search(texts[1], k=1)[0].row == 2
    with refuses("text-without-words"):
        index.search("unheard")


# ---------------------------------------------------------------- growing


def test_adding_gives_the_hits_of_both(tmp_path, index):
    more = write_csv(tmp_path / "more.csv", text=["Chilly broth is served."])
    assert index.add(more) == 1
    again = Index.open(index.folder)
    assert len(again) == len(index) == 5
    assert again.search("chilly broth", k=1)[0].source == "more.csv"
    assert [source.name for source in again.config.sources] == ["texts.csv", "more.csv"]


def test_the_same_table_twice_is_skipped_with_a_warning(index, table):
    before = contents(index.folder)
    with pytest.warns(UserWarning, match=r"texts\.csv is already in the index"):
        assert index.add(table) == 0
    assert contents(index.folder) == before


def test_shards_do_not_change_what_is_found(tmp_path, table, index, monkeypatch):
    monkeypatch.setattr(index_folder, "SHARD_TEXTS", 2)
    small = Index.create(tmp_path / "small", table)
    assert [shard.rows for shard in small.config.shards] == [2, 2]
    assert [hit.text for hit in small.search("tea")] == [hit.text for hit in index.search("tea")]


def test_an_index_is_replaced_only_if_asked(tmp_path, index):
    other = write_csv(tmp_path / "other.csv", text=["Only this."])
    with refuses("exists"):
        Index.create(index.folder, other)
    assert len(Index.create(index.folder, other, overwrite=True)) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index", "other.csv"]


def test_what_is_not_an_index_is_never_replaced(tmp_path, table):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with refuses("exists"):
        Index.create(tmp_path / "mine", table, overwrite=True)
    assert (tmp_path / "mine" / "thesis.txt").exists()


def test_a_foreign_file_in_an_index_keeps_it_from_being_replaced(index, table):
    (index.folder / "notes.txt").write_text("mine")
    with refuses("exists"):
        Index.create(index.folder, table, overwrite=True)


def test_a_folder_of_yours_where_the_new_index_is_built_stays(tmp_path, index, table):
    place = shutil.copytree(index.folder, tmp_path / ".index.limelight-new")
    before = contents(place)
    with refuses("exists"):
        Index.create(index.folder, table, overwrite=True)
    assert contents(place) == before


def test_a_second_creation_that_began_before_the_first_ended_replaces_nothing(tmp_path, index, monkeypatch):
    before, checked = contents(index.folder), Corpus.check
    other = index.folder.rename(tmp_path / "other")

    def appear(*given):  # the first one ends while the second checks its texts
        checked(*given)
        other.rename(index.folder)

    monkeypatch.setattr(Corpus, "check", appear)
    with refuses("exists"):
        Index.create(index.folder, ["Only this."])
    assert contents(index.folder) == before


def test_a_killed_creation_does_not_stand_in_its_own_way(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_remove", lambda temporary: None)  # as if killed before index.json was there
    with pytest.raises(ZeroDivisionError), files.atomic_file(tmp_path / "index" / "index.json"):
        _ = 1 / 0
    monkeypatch.undo()
    assert len(os.listdir(tmp_path / "index")) == 1
    assert len(Index.create(tmp_path / "index", ["Only this."])) == 1


def test_a_new_index_goes_on_from_its_own_beginning_alone(tmp_path):
    config = index_folder.IndexConfig("reader", "0" * 64, 3, False, "int8")
    corpora = [SimpleNamespace(sha256="rows:1", text=None), SimpleNamespace(sha256="rows:2", text="t")]
    for changes, sources, stays in (
        ({}, [], True),
        ({"numbered": 5}, [("rows:2", "t")], True),
        ({}, [("rows:1", None), ("rows:2", None)], False),
        ({"size": 4}, [("rows:1", None)], False),
    ):
        begun = replace(config, **changes)
        begun.sources = [index_folder.Source("list", *each) for each in sources]
        (tmp_path / "place").mkdir(exist_ok=True)
        index_folder.write_config(tmp_path / "place", begun)
        _clear_unless_part_of(tmp_path / "place", corpora, config)
        assert (tmp_path / "place").exists() == stays, (changes, sources)


def test_an_index_that_another_process_replaced_is_added_to_with_its_own_model(tmp_path):
    first, second = trained.save(tmp_path / "first"), save_another(tmp_path / "second")
    old = Index.create(tmp_path / "index", ["w1 w2"], model=first)
    Index.create(tmp_path / "index", ["w1 w2"], model=second, overwrite=True)
    old.add(["w5 w6 w7"])
    for each in (old, Index.open(tmp_path / "index")):
        assert each.search("w5 w6 w7", k=1)[0].cosine == pytest.approx(1, abs=0.01)
        assert each.model.sha256 == each.config.model_sha256
    old.verify()


def test_ten_hits_by_both_in_full_with_their_words_are_the_default(tmp_path, monkeypatch):
    texts = [f"w1 w2 w{k}" for k in range(4, 16)]
    index = Index.create(tmp_path / "index", texts, model=trained.save(tmp_path / "model"))
    monkeypatch.setattr("limelight.search.ranking.is_worthwhile", lambda *_: pytest.fail("not in full"))
    found, given = index.search("w1 w2"), index.search("w1 w2", 10, by="both", words=False)
    assert [(hit.text, hit.score) for hit in found] == [(hit.text, hit.score) for hit in given]
    assert len(found) == 10
    assert all(hit.comparison is not None for hit in found)
    assert repr(index) == f"Index({str(index.folder)!r}, 12 texts)"
    assert index.search_vectors(np.eye(index.config.size)[:2], 3)[0].shape == (2, 3)


def test_a_sample_of_eight_texts_of_each_shard_is_verified(tmp_path, monkeypatch):
    monkeypatch.setattr(index_folder, "SHARD_TEXTS", 20)
    texts = [f"w{k % 10} w{k % 7}" for k in range(25)]
    index = Index.create(tmp_path / "index", texts, model=trained.save(tmp_path / "model"))
    read: list[list[str]] = []
    encode = index_module.encode
    monkeypatch.setattr(
        index_module, "encode", lambda model, some: read.append(list(some)) or encode(model, some)
    )
    index.verify()
    assert read == [[texts[k] for k in (0, 2, 5, 8, 10, 13, 16, 19)], texts[20:]]


@pytest.mark.parametrize(("far", "is_refused"), [(0.19, False), (0.22, True)])
def test_a_vector_may_be_a_fifth_from_what_the_model_gives(tmp_path, monkeypatch, far, is_refused):
    index = Index.create(tmp_path / "index", ["w1 w2"], model=trained.save(tmp_path / "model"))
    encode = index_module.encode
    monkeypatch.setattr(
        index_module, "encode", lambda *given: (V + far / np.sqrt(V.shape[1]) for V in encode(*given))
    )
    with refuses("file-damaged") if is_refused else nullcontext():
        index.verify()


def test_vectors_of_another_model_are_found_by_verify(tmp_path):
    first, second = trained.save(tmp_path / "first"), save_another(tmp_path / "second")
    index = Index.create(tmp_path / "index", ["w1 w2", "w3 w4"], model=first)
    edit(index.folder, model=str(second), model_sha256=model_sha256(second))
    with refuses("file-damaged"):
        Index.open(index.folder).verify()


def test_links_to_an_index_have_one_lock(tmp_path, index):
    (tmp_path / "link").symlink_to(index.folder)
    linked = Index.open(tmp_path / "link")
    with writing(index.folder), refuses("busy"):
        linked.add(["Only this."])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks")
def test_killed_while_writing_it_resumes_to_the_same_bytes(tmp_path):
    environment = {**os.environ, "PYTHONPATH": f"{HERE.parent / 'src'}:{HERE}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / "search" / "killing_index.py"), str(tmp_path), "3"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("left") == ["alone", "first.csv", "killed", "model", "second.csv", "third.csv"]
    assert {name: (each["kills"], each["different"]) for name, each in found.items()} == {
        name: (3, []) for name in ("create", "add", "update", "delete", "compact", "overwrite")
    }


# ---------------------------------------------------------------- what can be wrong


def test_another_model_is_noticed(tmp_path, index):
    model = trained.save(tmp_path / "model")
    with refuses("model-differs"):
        Index.open(index.folder, model=model)


def test_a_moved_model_is_found_where_it_is_now(tmp_path):
    old = trained.save(tmp_path / "old")
    Index.create(tmp_path / "index", ["w1 w2"], model=old)
    old.rename(tmp_path / "new")
    with refuses("not-a-model"):
        Index.open(tmp_path / "index")
    assert len(Index.open(tmp_path / "index", model=tmp_path / "new")) == 1


@pytest.mark.parametrize("size", [0, 7, 100, -1])
def test_a_truncated_shard_is_one_line(index, size):
    (path,) = index.folder.glob("shard-*")
    content = path.read_bytes()
    path.write_bytes(content[:size])
    with refuses("file-damaged") as error:
        Index.open(index.folder)
    assert "\n" not in str(error.value)


def test_a_shard_truncated_while_it_is_open_is_one_line(index):
    os.truncate(next(index.folder.glob("shard-*")), 100)
    with refuses("file-damaged"):  # it would be the end of the process
        index.search("soup")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_in_place_of_a_shard_is_not_waited_for(index):
    path = next(index.folder.glob("shard-*"))
    content = index_folder.open_shards(index.folder)
    path.unlink()
    os.mkfifo(path)
    with refuses("file-type"):
        index_folder.check_shards(index.folder, content[0])
    with refuses("file-type"):
        Index.open(index.folder)


def test_a_size_that_is_not_the_models_is_one_line(index):
    edit(index.folder, size=7, sources=[], shards=[])
    with refuses("file-damaged"):
        Index.open(index.folder)


def test_cosines_are_at_most_one(index):
    V = np.eye(1, index.config.size, dtype=np.float32) * 1.01
    index._ranking = Ranking(shards_of(np.concatenate([V, -V]), 2), index._exact)
    assert index.search_vectors(V, 4)[0].tolist() == [[1, -1]]


def test_the_digest_is_that_of_the_model_that_was_loaded(tmp_path, monkeypatch):
    first, second = trained.save(tmp_path / "first"), save_another(tmp_path / "second")
    digest, opened = model_sha256(second), reader.open_folder

    def swapped(*given):  # just before it is loaded
        files.exchange(first, second)
        return opened(*given)

    monkeypatch.setattr(reader, "open_folder", swapped)
    assert new_config(first, False, "float32")[0].model_sha256 == digest


def test_a_missing_shard_is_one_line(index):
    next(index.folder.glob("shard-*")).unlink()
    with refuses("file-damaged"):
        Index.open(index.folder)


def test_an_altered_byte_is_found_by_verify(index):
    index.verify()
    (path,) = index.folder.glob("shard-*")
    content = bytearray(path.read_bytes())
    content[-40] ^= 1
    path.write_bytes(content)
    with refuses("file-damaged"):
        index.verify()


def test_an_altered_description_is_one_line(index):
    path = index.folder / "index.json"
    path.write_text(path.read_text().replace('"rows": 4', '"rows": 5'))
    with refuses("file-damaged"):
        Index.open(index.folder)


@pytest.mark.parametrize("query", ["", "  \n"])
def test_a_query_without_words_is_one_line(index, query):
    with refuses("text-without-words"):
        index.search(query)


def test_a_query_of_unknown_words_goes_by_their_spelling(index):
    with pytest.warns(UserWarning, match="spelling"):
        assert len(index.search("qwxzv")) == 4


@pytest.mark.parametrize(
    ("texts", "sentences", "complaint"),
    [([], False, "no texts"), (["  "], False, "row 1"), (["..."], True, "no sentences")],
)
def test_an_empty_corpus_leaves_nothing_behind(tmp_path, texts, sentences, complaint):
    with pytest.raises(LimelightError, match=complaint):
        Index.create(tmp_path / "index", texts, sentences=sentences)
    assert not (tmp_path / "index").exists()


def test_a_number_in_the_column_of_texts_is_its_text(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": 3}\n{"text": "Good soup."}\n')
    found = Index.create(tmp_path / "index", tmp_path / "a.jsonl").search("soup", 2)
    assert {hit.text for hit in found} == {"3", "Good soup."}


def test_an_unfinished_corpus_comes_first(tmp_path, index, monkeypatch):
    config = index_folder.read_config(index.folder)
    config.sources[0].finished = False
    index_folder.write_config(index.folder, config)
    other = write_csv(tmp_path / "other.csv", text=["Only this."])
    with refuses("index-unfinished"):
        Index.open(index.folder).add(other)
