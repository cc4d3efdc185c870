"""`limelight aspects`, and the flags of other commands about them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import limelight
from reviews import FLAGS, THINGS, judged_reviews, review_table, write_csv
from trained import save


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save(tmp_path / "model", labels=(1, 3, 5))


def test_list_and_edit(call, folder, tmp_path):
    assert "has no aspects" in call("aspects", folder)[1]
    (tmp_path / "own.json").write_text('{"even": ["w0", "w2"], "odd": {"seeds": ["w1"], "not": ["w1 w1"]}}')
    code, out, _ = call("aspects", folder, "--set", tmp_path / "own.json")
    assert (code, out) == (0, "even\n    w0, w2\nodd\n    w1; not: w1 w1\n")
    own = tmp_path / "edited.json"
    assert call("aspects", folder, "--out", own)[1].endswith(f"\nsaved {own}\n")
    assert json.loads(own.read_text()) == json.loads((tmp_path / "own.json").read_text())
    own.write_text('{"mixed": {"seeds": ["w0", "w1"], "not": ["w1 w1"]}}')
    found = json.loads(call("aspects", folder, "--set", own, "--json")[1])
    assert found["aspects"] == {"mixed": {"seeds": ["w0", "w1"], "not": ["w1 w1"]}}
    model = limelight.load(folder)
    assert json.loads(call("aspects", folder, "--json")[1])["aspects"] == model.aspects.to_dict()
    history = [each["edit"] for each in model.facts["aspects"]["history"]]
    assert history == [f"set {tmp_path / 'own.json'}", f"set {own}"]


def test_what_cannot_be_set_is_refused(refused, folder, tmp_path):
    before = (folder / "config.json").read_bytes()
    (tmp_path / "own.json").write_text("{}")
    refused("aspects", folder, "--set", "none.json")
    refused("aspects", folder, "--set", "hotels", "--find", "2")
    assert "already exists" in refused("aspects", folder, "--set", "hotels", "--out", tmp_path / "own.json")
    assert "--out" in refused("aspects", folder, "--set", "hotels", "--overwrite")
    assert (folder / "config.json").read_bytes() == before


def test_readers_pairs_and_no_folder_are_refused(refused, tmp_path):
    assert "reader" in refused("aspects", "reader")
    assert "reader" in refused("aspects", "reader", "--set", "hotels")
    assert "pairs" in refused("aspects", save(tmp_path / "pairs", "gated"), "--set", "hotels")
    assert "not a folder" in refused("aspects", tmp_path / "none")


def test_predict(call, refused, folder, tmp_path):
    table = tmp_path / "new.csv"
    table.write_text('text\n"w0 w1, w2"\nw5\n')
    assert "aspects" in refused("predict", folder, table, "--aspects")
    assert "aspects" in refused(
        "predict", folder, table, "--aspects", "--engine", "local", "--out", tmp_path / "x"
    )
    (tmp_path / "own.json").write_text('{"even": ["w2"]}')
    call("aspects", folder, "--set", tmp_path / "own.json")
    (first, second) = csv.DictReader(call("predict", folder, table, "--aspects")[1].splitlines())
    (even,) = limelight.load(folder).read("w0 w1, w2").aspects
    assert (first["even_mentioned"], first["even_clause"]) == ("1", "w2")
    assert float(first["even_stars"]) == round(even.estimated, 2)
    assert float(first["even_effect"]) == pytest.approx(even.effect, rel=1e-5)
    assert [second[f"even_{x}"] for x in ("mentioned", "effect", "stars", "clause")] == ["0", "0", "", ""]
    assert (
        json.loads(call("predict", folder, table, "--aspects", "--json")[1].splitlines()[1])["even_stars"]
        is None
    )
    code, out, _ = call(
        "predict", folder, table, "--aspects", "--engine", "local", "--out", tmp_path / "bulk"
    )
    assert (code, "2 out" in out) == (0, True)


def test_train(call, refused, tmp_path):
    table = review_table(tmp_path / "reviews.csv", 40)
    argv = ("train", table, *FLAGS, "--epochs", 1)
    (tmp_path / "own.json").write_text('{"food": ["soup"]}')
    assert call(*argv, "--out", tmp_path / "a", "--aspects", tmp_path / "own.json")[0] == 0
    facts = limelight.load(tmp_path / "a").facts["aspects"]
    assert facts == {"definition": {"food": ["soup"]}, "history": []}
    assert "several labels" in refused(
        *argv, "--out", tmp_path / "c", "--aspects", "apps", "--task", "multi-label"
    )
    assert "no file" in refused(*argv, "--out", tmp_path / "c", "--aspects", "motels")


def test_find(call, refused, tmp_path):
    table, model = tmp_path / "reviews.csv", tmp_path / "model"
    texts = judged_reviews(60)
    write_csv(table, text=texts, stars=[1 if "awful" in text else 5 for text in texts])
    flags = [*FLAGS, "--epochs", "1", "--text", "text", "--label", "stars"]
    assert "aspects" in refused("train", table, *flags, "--out", model, "--aspects", "0")
    assert call("train", table, *flags, "--out", model, "--aspects", "3")[0] == 0
    trained = limelight.load(model).aspects
    assert {frozenset(each.seeds) for each in trained} == {frozenset(words) for words in THINGS.values()}
    assert "--data" in refused("aspects", model, "--find", "2")
    assert "--find" in refused("aspects", model, "--data", table)
    assert "--find" in refused("aspects", model, "--find", "two", "--data", table)
    assert "--find is 0" in refused("aspects", model, "--find", "0", "--data", table)
    code, out, _ = call("aspects", model, "--find", "3", "--data", table, "--text", "text")
    assert code == 0
    assert out.startswith("found 3 aspects in 60 texts of reviews.csv")
    assert {frozenset(each.seeds) for each in limelight.load(model).aspects} == {
        frozenset(each.seeds) for each in trained
    }
    trained = limelight.load(model).aspects
    assert f"{trained[0].name} (in " in out
    found = json.loads(call("aspects", model, "--find", "3", "--data", table, "--text", "text", "--json")[1])
    assert next(iter(found["aspects"])) == trained[0].name
    assert found["found"]["texts"] == 60
    assert len(found["found"]["aspects"][trained[0].name]["examples"]) >= 2
    history = [each["edit"].split()[0] for each in limelight.load(model).facts["aspects"]["history"]]
    assert history == ["find", "find"]


def test_all_or_nothing(refused, folder):
    before = (folder / "config.json").read_bytes()
    refused("aspects", folder, "--set", "hotels", "--forbid", "two words")
    refused("aspects", folder, "--text", "text")
    refused("aspects", folder, "--forbid", "")
    assert (folder / "config.json").read_bytes() == before


def test_forbidden_words(call, refused, folder, tmp_path):
    plain = call("predict", folder, review_lines(tmp_path, "w1"), "--json")[1]
    assert plain != call("predict", folder, review_lines(tmp_path, "w1 w3"), "--json")[1]
    assert call("aspects", folder, "--forbid", "w3,Hilton")[1].endswith("not read: hilton, w3\n")
    answers = [
        call("predict", folder, review_lines(tmp_path, text), "--json")[1] for text in ("w1 w3", "Hilton w1")
    ]
    labels = [json.loads(each)["confidence"] for each in (plain, *answers)]
    assert labels[0] == labels[1] == labels[2]
    assert json.loads(call("aspects", folder, "--allow", "w3", "--json")[1])["forbidden"] == ["hilton"]
    assert "single words" in refused("aspects", folder, "--forbid", "two words")


def review_lines(folder: Path, text: str) -> Path:
    return write_csv(folder / "one.csv", text=[text])
