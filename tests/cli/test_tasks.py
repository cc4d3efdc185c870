"""Several labels a text, ordered labels and numbers on the command line, from training to reports."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest

import limelight
from limelight.reading.picture import make_picture
from refusing import refuses
from reviews import BAD, GOOD, write_csv

TINY = ["--preset", "tiny", "--epochs", 8, "--learning-rate", 0.02, "--seed", 1, "--quiet"]


def rows(count: int, seed: int = 0) -> list[tuple[str, list[str], float]]:
    """Texts about food, service, both or neither, good or bad; their labels; how many good words."""
    rng = random.Random(seed)
    found = []
    for number in range(count):
        about = [topic for k, topic in enumerate(("soup", "waiter")) if number >> k & 1]
        words = [rng.choice((GOOD, BAD)[rng.random() < 0.5]) for _ in about]
        text = " and ".join(f"the {topic} was {word}" for topic, word in zip(about, words, strict=True))
        found.append((text or "we came by bus", about, sum((1.0 if w in GOOD else -1.0) for w in words)))
    return found


def sets_table(path: Path, count: int = 120, seed: int = 0) -> Path:
    lines = [json.dumps({"text": t, "labels": y}) for t, y, _ in rows(count, seed)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    from limelight.cli import main

    folder = tmp_path_factory.mktemp("several")
    table = sets_table(folder / "train.jsonl")
    argv = ["train", table, "--test", sets_table(folder / "test.jsonl", 40, 1), "--out", folder / "model"]
    assert main([str(each) for each in (*argv, *TINY)]) == 0
    return folder


def test_several_labels_from_lists(several):
    model = limelight.load(several / "model")
    assert (model.task, model.labels) == ("multi-label", ("soup", "waiter"))
    assert model.predict(["the soup was cold and the waiter was rude"]) == [("soup", "waiter")]
    assert model.facts["results"]["test"]["micro_f1"] > 0.9
    assert len(model.thresholds) == 2
    assert limelight.load(several / "model").recipe.text.task == "multi-label"


def test_several_labels_have_no_precision_to_aim_at(several, refused):
    with refuses("model-task"):
        limelight.load(several / "model").threshold(0.9)
    said = refused("predict", several / "model", several / "test.jsonl", "--target-precision", "0.9")
    assert "development" not in said  # more development rows would not help


def test_evaluate_says_f1(several, call):
    code, out, _ = call("evaluate", several / "model", several / "test.jsonl", "--json")
    figures = json.loads(out)
    assert code == 0
    saved = limelight.load(several / "model").facts["results"]["test"]
    assert figures["all_rows"]["micro_f1"] == saved["micro_f1"]
    assert figures["rows"] == figures["of_rows"] - figures["learnt_from"]  # some of its texts are of training
    assert figures["classes"]["soup"]["rows"] == 9
    assert "confusion" not in figures
    code, out, _ = call("evaluate", several / "model", several / "test.jsonl", "--at-least", 1)
    assert ("micro F1" in out, "label " in out) == (True, True)
    assert code == (0 if figures["micro_f1"] == 1 else 1)


def test_predict_joins_or_lists_the_labels(several, call, tmp_path):
    table = write_csv(tmp_path / "new.csv", id=[1, 2], text=["the soup and the waiter", "we came by bus"])
    code, out, _ = call("predict", several / "model", table)
    assert code == 0
    assert list(csv.reader(out.splitlines()))[1:] == [
        ["soup|waiter", "1", "the soup and the waiter"], ["", "2", "we came by bus"],
    ]  # fmt: skip
    code, out, _ = call("predict", several / "model", table, "--json", "--words", "--probabilities")
    first, second = map(json.loads, out.splitlines())
    assert (first["labels"], second["labels"]) == (["soup", "waiter"], [])
    assert sum(first["probabilities"].values()) > 1.2
    assert first["words"]


def test_explain_shows_what_decided_each_label(several, call, tmp_path):
    code, out, _ = call("explain", several / "model", "the soup was cold and the waiter was rude")
    assert code == 0
    assert out.startswith("soup, waiter\n")
    assert out.count("What decided") == 2
    assert "support “soup”" in out
    assert "support “waiter”" in out
    for name in ("a.html", "a.svg", "a.txt"):
        text = "the soup was cold and the waiter was rude"
        assert call("explain", several / "model", text, "--out", tmp_path / name)[0] == 0
        drawn = (tmp_path / name).read_text()
        assert "“soup”" in drawn
        assert "“waiter”" in drawn
    code, out, _ = call(
        "explain", several / "model", "--data", several / "test.jsonl", "--rows", "1-4", "--label", "labels"
    )
    assert "True label: soup, waiter" in out
    assert "True label: no label" in out


def test_report_and_info(several, call, tmp_path):
    out = tmp_path / "report.html"
    assert call("report", several / "model", several / "test.jsonl", "--out", out)[0] == 0
    page = out.read_text()
    assert "Micro F1" in page
    assert "Confusion matrix" not in page
    assert "micro F1" in call("info", several / "model")[1]


def test_a_separated_column_is_remembered(call, tmp_path):
    data = rows(80)
    table = write_csv(
        tmp_path / "a.csv", text=[t for t, _, _ in data], topics=["; ".join(y) for _, y, _ in data]
    )
    argv = ["train", table, "--label", "topics", "--separator", ";", "--out", tmp_path / "model", *TINY]
    assert call(*argv)[0] == 0
    code, out, _ = call("evaluate", tmp_path / "model", table, "--label", "topics", "--json")
    assert code == 0
    assert json.loads(out)["classes"].keys() == {"soup", "waiter"}
    code, out, _ = call("predict", tmp_path / "model", stdin=b"the soup was cold and the waiter was rude\n")
    assert out.splitlines()[1].startswith("soup;waiter,")


def test_numbers(call, refused, tmp_path):
    data = rows(120)
    table = write_csv(tmp_path / "a.csv", text=[t for t, _, _ in data], score=[v + 7 for *_, v in data])
    flags = ["--label", "score", "--task", "regression"]
    assert call("train", table, *flags, "--out", tmp_path / "model", *TINY)[0] == 0
    out = call("evaluate", tmp_path / "model", table, "--label", "score", "--json")[1]
    figures = json.loads(out)
    assert figures["r2"] > 0.5
    assert figures["spearman"] > 0.5
    out = call("predict", tmp_path / "model", stdin=b"the soup was lovely and the waiter was good\n")[1]
    assert out.splitlines()[0] == "value,text"
    assert 7 < float(out.splitlines()[1].split(",")[0]) < 11
    out = call("explain", tmp_path / "model", "the soup was lovely")[1]
    assert "raise the value" in out
    assert "%" not in out.splitlines()[0]
    assert "evaluate" in refused("report", tmp_path / "model", table, "--label", "score")
    argv = ["explore", tmp_path / "model", table, "--label", "score", "--save", tmp_path / "page.html"]
    assert "120 of 120 rows" in call(*argv)[1]
    card = (tmp_path / "model" / "README.md").read_text()
    assert "Predicts a number" in card
    assert "r_squared" in card


def test_ordered_labels(call, tmp_path):
    data = rows(120)
    table = write_csv(tmp_path / "a.csv", text=[t for t, _, _ in data], stars=[int(v) + 3 for *_, v in data])
    argv = ["train", table, "--task", "ordinal", "--out", tmp_path / "model", *TINY]
    assert call(*argv)[0] == 0
    model = limelight.load(tmp_path / "model")
    assert model.labels == (1, 2, 3, 4, 5)
    out = call("evaluate", tmp_path / "model", table, "--json")[1]
    figures = json.loads(out)
    assert figures["mae"] < 0.8
    assert figures["accuracy"] > 0.4
    out = call("predict", tmp_path / "model", table, "--top", 2)[1]
    assert out.startswith("label,confidence,label_2,confidence_2,")
    text = "the soup was cold and the waiter was lovely"
    out = " ".join(call("explain", tmp_path / "model", text, "--label", 2, "--against", 4)[1].split())
    assert make_picture(model.read(text)).median in out
    asked = make_picture(model.read(text, label=2, against=4))
    assert asked.colours("2", signs=True) in out
    assert asked.first.sum_line in out
    found = json.loads(call("explain", tmp_path / "model", text, "--label", 2, "--against", 4, "--json")[1])
    assert (found["label"], found["label_is"]) == (model.predict([text])[0], "median")
    assert (found["about"], found["versus"]) == (2, 4)
    argv = ["explain", tmp_path / "model", "--data", table, "--rows", "2", "--label", "stars", "--json"]
    assert json.loads(call(*argv)[1])["about"] is None  # of a table it is a column


def test_many_numbers_ask_what_is_meant(refused, tmp_path):
    values = [k / 7 for k in range(50)]
    table = write_csv(tmp_path / "a.csv", text=[f"text {k}" for k in range(50)], score=values)
    said = refused("train", table, "--out", tmp_path / "model", *TINY)
    assert "--task regression" in said
    assert "--task classification" in said
    assert not (tmp_path / "model.run").exists()


def test_a_run_of_several_labels_can_be_encoded_first(call, tmp_path):
    table = sets_table(tmp_path / "a.jsonl", 60)
    assert call("encode", table, "--preset", "tiny", "--out", tmp_path / "data")[0] == 0
    assert call("train", tmp_path / "data", "--out", tmp_path / "model", *TINY)[0] == 0
    assert limelight.load(tmp_path / "model").task == "multi-label"
