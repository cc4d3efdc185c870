"""`limelight similar`: two texts in the terminal and as a picture, and many pairs from a table."""

from __future__ import annotations

import json

import pytest

import limelight
import trained
from reviews import write_csv
from shared_reader import share_reader

SOUP = ("The soup was cold.", "Chilly broth & <b>bread</b>")


@pytest.fixture(autouse=True)
def one_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    share_reader(monkeypatch)


def test_two_texts_in_the_terminal_and_as_json(call):
    code, out, _ = call("similar", "reader", *SOUP)
    expected = limelight.load("reader").compare(*SOUP)
    assert code == 0
    assert f"Similarity {expected.similarity:.3f}" in out
    assert "cold  Chilly" in " ".join(out.split("\n")).replace("   ", "  ")
    found = json.loads(call("similar", "reader", *SOUP, "--json")[1])
    assert sum(map(sum, found["matrix"])) == pytest.approx(found["similarity"], abs=1e-5)


def test_pictures(call, refused, tmp_path):
    for name in ("soup.html", "soup.svg", "soup.json", "soup.txt"):
        code, out, _ = call("similar", "reader", *SOUP, "--out", tmp_path / name)
        assert (code, out) == (0, f"saved {tmp_path / name}\n")
    assert "&lt;b&gt;" in (tmp_path / "soup.html").read_text("utf-8")
    assert "--overwrite" in refused("similar", "reader", *SOUP, "--out", tmp_path / "soup.svg")
    assert ".html, .svg" in refused("similar", "reader", *SOUP, "--out", tmp_path / "soup.gif")


def test_a_trained_model_compares_by_m(call, tmp_path):
    folder = trained.save(tmp_path / "model")
    found = json.loads(call("similar", folder, "w1 w2", "w2 w3", "--json")[1])
    assert found["similarity"] == pytest.approx(limelight.load(folder).compare("w1 w2", "w2 w3").similarity)


def test_many_pairs_from_a_table_or_from_lines(call, tmp_path):
    table = write_csv(tmp_path / "pairs.csv", a=["cold soup", "train"], b=["chilly broth", "bus"])
    code, out, _ = call("similar", "reader", "--data", table, "--text", "a", "--text2", "b", "--top", 1)
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [(line["text"], line["text2"], len(line["pairs"])) for line in lines] == [
        ("cold soup", "chilly broth", 1), ("train", "bus", 1)
    ]  # fmt: skip
    assert lines[0]["pairs"][0][:2] == ["cold", "chilly"]
    _, again, _ = call(
        "similar", "reader", "--data", "-", "--top", 1, stdin=b"cold soup\tchilly broth\ntrain\tbus\n"
    )
    assert again == out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("soup",), "two texts"),
        ((), "two texts"),
        (("soup", ""), "no words"),
        (("soup", "broth", "--data", "x.csv"), "not both"),
        (("--data", "x.csv", "--out", "x.html"), "--out"),
        (("soup", "broth", "--json", "--out", "x.json"), "--json"),
        (("--data", "-", "--top", "-1"), "--top is -1"),
    ],
)
def test_what_is_refused(argv, said, refused):
    assert said in refused("similar", "reader", *argv)


def test_explain_shows_what_the_rows_of_a_reader_read(call, refused):
    found = json.loads(call("explain", "reader", "The soup was cold.", "--json")[1])
    assert (found["words"], found["decided"]) == (["The", "soup", "was", "cold", "."], None)
    assert call("explain", "reader", "The soup was cold.")[0] == 0
    assert "limelight similar" in refused("explain", "reader", *SOUP)
    assert "--by" in refused("explain", "reader", "The soup was cold.", "--by", "leave-one-out")
