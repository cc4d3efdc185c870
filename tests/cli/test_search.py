"""`limelight index` and `limelight search`, as typed."""

from __future__ import annotations

import json
import shutil

import pandas
import pytest

from limelight.cli import main
from reviews import write_csv
from shared_reader import share_reader

TEXTS = ["The soup was cold. We left.", "A friendly host.", "The train was late."]


@pytest.fixture(autouse=True)
def one_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    share_reader(monkeypatch)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    table = write_csv(folder / "texts.csv", text=TEXTS, stars=[1, 5, 2])
    assert main(["index", str(table), "--sentences", "--out", str(folder / "index")]) == 0
    return folder / "index"


def test_a_search_prints_score_text_row_and_words(index, call):
    code, out, _ = call("search", index, "chilly broth", "--top", 1)
    first, second = out.splitlines()
    assert code == 0
    assert first.split(maxsplit=1)[1] == "The soup was cold."
    assert 0 < float(first.split()[0]) < 1
    assert "texts.csv, row 1" in second
    assert " – " in second


def test_a_search_says_what_meaning_and_words_add(index, call):
    _, out, _ = call("search", index, "cold soup", "--top", 1)
    assert "row 1: meaning 0." in out
    assert "; words 0." in out
    assert "(cold 0." in out
    pairs = out.partition("(")[2].partition(")")[0].split(", ")
    assert len(pairs) == 4
    assert pairs[3].startswith("others ")
    _, out, _ = call("search", index, "cold soup", "--top", 1, "--by", "words")
    assert "row 1: words 0." in out
    assert call("search", index, "kinase", "--by", "words")[:2] == (0, "nothing found\n")
    assert call("search", index, "kinase", "--by", "words", "--json")[:2] == (0, "")
    assert "words" not in call("search", index, "cold soup", "--by", "meaning")[1]


def test_filters_are_typed_as_conditions(index, call, refused):
    _, out, _ = call("search", index, "soup", "--where", "stars>1", "--where", "stars<=2", "--json")
    assert [json.loads(line)["row"] for line in out.splitlines()] == [3]
    assert "city" in refused("search", index, "soup", "--where", "city=Ghent")


def test_passages_are_an_index_of_their_own(tmp_path, call, refused):
    table = write_csv(tmp_path / "texts.csv", text=TEXTS)
    assert call("index", table, "--passages", "--out", tmp_path / "index")[1].endswith("3 passages\n")
    assert "--sentences" in refused("index", table, "--out", tmp_path / "index", "--add", "--sentences")


def test_long_texts_without_passages_are_warned_of(tmp_path, call):
    table = write_csv(tmp_path / "texts.csv", text=["Soup. " * 2000, "A friendly host."])
    assert "1 text has more than 10,000" in call("index", table, "--out", tmp_path / "a")[2]
    assert call("index", table, "--out", tmp_path / "b", "--passages")[2] == ""


def test_json_lines_have_everything(index, call):
    _, out, _ = call("search", index, "--json", "--top", 2, stdin=b"chilly broth\n\nlate bus\n")
    hits = [json.loads(line) for line in out.splitlines()]
    assert [(hit["query"], hit["rank"]) for hit in hits] == [
        (query, rank) for query in ("chilly broth", "late bus") for rank in (1, 2)
    ]
    assert hits[0]["columns"] == {"stars": "1"}
    assert hits[0]["start"] == 0
    assert len(hits[0]["words"][0]) == 3


def test_queries_of_standard_input_may_be_in_another_encoding(index, call, refused):
    assert "--encoding" in refused("search", index, stdin="café".encode("cp1252"))
    code, out, _ = call("search", index, "--encoding", "cp1252", "--json", stdin="café".encode("cp1252"))
    assert (code, json.loads(out.splitlines()[0])["query"]) == (0, "café")


def test_a_table_that_is_added_has_the_text_column_of_the_index(tmp_path, call):
    first = write_csv(tmp_path / "first.csv", title=TEXTS, about=["x", "y", "z"])
    more = write_csv(tmp_path / "more.csv", title=["Warm beer."], about=["w"])
    assert call("index", first, "--text", "title", "--out", tmp_path / "index")[0] == 0
    assert call("index", more, "--out", tmp_path / "index", "--add")[1].endswith("4 texts\n")
    hit = json.loads(call("search", tmp_path / "index", "warm beer", "--top", 1, "--json")[1])
    assert (hit["text"], hit["columns"]) == ("Warm beer.", {"about": "w"})


def test_a_guessed_encoding_is_told_once(tmp_path, call):
    (tmp_path / "menu.csv").write_bytes("text\nCafé crème\n".encode("cp1252"))
    _, _, err = call("index", tmp_path / "menu.csv", "--out", tmp_path / "index")
    assert err.count("cp1252") == 1


def test_a_page_is_written_once(index, call, refused, tmp_path):
    out = tmp_path / "results.html"
    assert call("search", index, "broth", "--out", out)[0] == 0
    assert out.read_text().startswith("<!doctype html>")
    assert "--overwrite" in refused("search", index, "broth", "--out", out)
    assert call("search", index, "broth", "--out", out, "--overwrite", "--no-words", "--per-row")[0] == 0


@pytest.mark.parametrize("suffix", ["csv", "parquet", "xlsx"])
def test_hits_as_a_table(suffix, index, call, tmp_path):
    out = tmp_path / f"hits.{suffix}"
    assert call("search", index, "cold soup", "late train", "--top", 1, "--out", out)[0] == 0
    found = {"csv": pandas.read_csv, "parquet": pandas.read_parquet, "xlsx": pandas.read_excel}[suffix](out)
    names = ["query", "rank", "score", "text", "source", "row", "key", "matches", "pairs", "stars"]
    assert list(found) == names
    assert list(found["text"]) == ["The soup was cold.", "The train was late."]
    assert list(found["row"]) == [1, 3]
    assert list(map(int, found["stars"])) == [1, 2]
    if suffix != "parquet":
        assert found["matches"][0].startswith("cold +0.")
    assert call("search", index, "kinase", "--by", "words", "--out", tmp_path / f"none.{suffix}")[0] == 0


@pytest.mark.parametrize("asked", [["--format", "jsonl"], ["--json"], ["--format", "text"]])
def test_a_page_never_holds_another_format(index, refused, tmp_path, asked):
    refused("search", index, "broth", "--out", tmp_path / "results.html", *asked)
    assert not (tmp_path / "results.html").exists()


def test_the_same_command_with_add_goes_on(tmp_path, call, refused):
    first, second = (write_csv(tmp_path / f"{k}.csv", text=[text]) for k, text in enumerate(TEXTS[:2]))
    place = tmp_path / "index"
    assert call("index", first, "--out", place)[0] == 0
    assert "--add" in refused("index", first, second, "--out", place)
    code, out, err = call("index", first, second, "--out", place, "--add", "--json")
    assert (code, json.loads(out)["texts"]) == (0, 2)
    assert "already in the index" in err
    assert "--sentences" in refused("index", second, "--out", place, "--add", "--sentences")
    assert call("index", second, "--out", place, "--overwrite")[1].endswith("1 text\n")


def test_lines_of_standard_input_are_indexed(tmp_path, call, refused):
    place = tmp_path / "index"
    assert call("index", "-", "--out", place, stdin="Cold soup.\nA café.\n".encode())[0] == 0
    assert "row 2" in refused("index", "-", "--out", place, "--add", stdin=b"Late train.\n\n")
    assert call("index", "-", "--out", place, "--add", "--skip-bad", stdin=b"Late train.\n\n")[0] == 0
    _, out, _ = call("search", place, "café", "--json", "--no-words")
    assert json.loads(out.splitlines()[0])["text"] == "A café."
    assert len(out.splitlines()) == 3
    assert "--text" in refused("index", "-", "--text", "review", "--out", place, "--add", stdin=b"x\n")
    assert "no texts" in refused("index", "-", "--out", place, "--add", stdin=b"")


def test_rows_are_updated_and_deleted_by_key(tmp_path, call, refused):
    table, place = write_csv(tmp_path / "texts.csv", text=TEXTS, id=["a", "b", "c"]), tmp_path / "index"
    assert call("index", table, "--key", "id", "--out", place)[0] == 0
    new = write_csv(tmp_path / "new.csv", text=["Warm beer.", "A bus."], id=["b", "d"])
    assert "--update" in refused("index", new, "--out", place, "--add")
    assert call("index", new, "--out", place, "--update")[1].endswith("4 texts\n")
    assert "row 1, key b: " in call("search", place, "beer", "--top", 1)[1]
    code, out, err = call("index", "--out", place, "--delete", "a", "c", "none", "a", "--compact")
    assert (code, out[-8:]) == (0, "2 texts\n")
    assert "1 of the 3 keys" in err
    assert {*place.glob("deleted-*")} == set()
    _, out, _ = call("search", place, "cold soup", "--json")
    assert {json.loads(line)["key"] for line in out.splitlines()} == {"b", "d"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--delete", "first"], "number"),
        (["--delete", "1", "--overwrite"], "--delete"),
        (["--add", "--key", "id", "--compact"], "number"),
        ([], "CORPUS"),
    ],
)
def test_changes_that_cannot_be_made_are_one_line(index, refused, arguments, complaint):
    assert complaint in refused("index", "--out", index, *arguments)


def test_an_unfinished_index_is_searched_with_a_warning(index, call, tmp_path):
    from limelight.search.index_folder import read_config, write_config

    place = shutil.copytree(index, tmp_path / "index")
    config = read_config(place)
    config.sources[0].finished = False
    write_config(place, config)
    code, out, err = call("search", place, "broth", "--top", 1)
    assert (code, out.count("\n")) == (0, 2)
    assert "texts.csv" in err
    assert "--add" in err
    table = write_csv(tmp_path / "texts.csv", text=TEXTS, stars=[1, 5, 2])
    assert call("index", table, "--out", place, "--add")[0] == 0
    assert call("search", place, "broth", "--top", 1)[2] == ""


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["broth", "--top", "0"], "--top"),
        (["broth", "--out", "x.doc"], ".html"),
        ([""], "no words"),
        (["broth", "--model", "no/such/model"], "no/such/model"),
    ],
)
def test_bad_searches_are_one_line(index, refused, arguments, complaint):
    assert complaint in refused("search", index, *arguments)


def test_what_is_not_there_is_one_line(tmp_path, refused):
    (tmp_path / "empty.csv").write_text("text\n")
    assert "not an index" in refused("search", tmp_path, "broth")
    assert "no texts" in refused("index", tmp_path / "empty.csv", "--out", tmp_path / "index")
    assert "CORPUS" in refused("index", "--out", tmp_path / "index")
    assert not (tmp_path / "index").exists()
    assert "no query" in refused("search", tmp_path, stdin=b"\n")
