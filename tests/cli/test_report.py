"""`limelight report` on saved models and tables."""

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

import limelight
from limelight.aspects.seeds import Aspects
from limelight.cli import main
from limelight.runtime.edits import write_aspects
from limelight.runtime.folder import save_folder
from reviews import FLAGS, reviews, write_csv
from trained import LABELS, network_of, recipe_of, save, texts_of, weights_of


def table(folder: Path) -> str:
    texts = [text or "w1" for text in texts_of(25)]
    path = folder / "test.csv"
    path.write_text("text,stars\n" + "".join(f"{text},{LABELS[k % 3]}\n" for k, text in enumerate(texts)))
    return str(path)


def test_a_report_is_written_once_and_never_over_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model, data, out = save(tmp_path / "soup"), table(tmp_path), tmp_path / "report.html"
    command = ["report", str(model), data, "--out", str(out), "--most", "20"]
    assert main(command) == 0
    assert "<title>soup on test.csv</title>" in out.read_text()
    assert "<b>25</b><span>3 classes" in out.read_text()
    assert "From 20 of the texts, chosen at random." in out.read_text()
    assert main(command) == 2
    assert "already exists" in capsys.readouterr().err
    assert main([*command, "--overwrite"]) == 0


def test_what_does_not_fit_is_named_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("limelight.runtime.model.Model.read_many", lambda *texts: 1 / 0)
    save(tmp_path / "soup")
    table(tmp_path)
    Path("odd.csv").write_text("text,stars\nw1,bad\nw2,odd\n")
    assert main(["report", "soup", "odd.csv", "--label", "stars"]) == 2
    told = "limelight: odd.csv, row 3: the label 'odd' does not occur in the training data, which has: "
    assert capsys.readouterr().err == f"{told}bad, fair, good\n"
    assert not Path("report.html").exists()


def test_a_model_has_one_accuracy_on_a_table(call, tmp_path: Path):
    """train, its card, evaluate, predict and report, which looks at the words of some rows only."""
    texts, stars = reviews(120)
    stars = [star if k % 7 else 6 - star for k, star in enumerate(stars)]  # that no model gets right
    data, folder, out = tmp_path / "t.csv", tmp_path / "m", tmp_path / "report.html"
    write_csv(data, text=texts, stars=stars)
    trained = call("train", data, "--dev", data, "--out", folder, *FLAGS)[1]
    evaluated = call("evaluate", folder, data)[1]
    assert call("report", folder, data, "--out", out, "--most", "30")[0] == 0
    assert call("predict", folder, data, "--text", "text", "--out", tmp_path / "p.csv")[0] == 0
    with (tmp_path / "p.csv").open() as file:
        answers = [row["label"] == row["stars"] for row in csv.DictReader(file)]
    accuracy = f"{sum(answers) / len(answers):.2%}"
    assert 0.5 < sum(answers) / len(answers) < 1
    assert f"dev 120 {accuracy}" in " ".join(trained.split())
    assert f" 120 {accuracy}" in " ".join(evaluated.split())
    assert f"<dt>Accuracy</dt><dd><b>{accuracy}</b>" in out.read_text()
    assert f"| dev | {sum(answers) / len(answers):.4f} |" in (folder / "README.md").read_text()


def test_a_report_is_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["report", str(save(tmp_path / "soup")), table(tmp_path), "--out", "report.png"]) == 2
    assert "report.png should end in .html" in capsys.readouterr().err


def aspect_table(path: Path, **more: list) -> Path:
    texts = [text or "w1" for text in texts_of(24)]
    return write_csv(path, text=texts, hotel=[f"hotel {k % 2}" for k in range(24)], **more)


@pytest.fixture
def starred(tmp_path: Path) -> Path:
    """A model of stars with aspects."""
    model = save(tmp_path / "model", labels=(1, 3, 5))
    write_aspects(model, Aspects.of({"even": ["w0", "w2", "w4"], "odd": ["w1", "w3"]}), "set")
    return model


def test_aspects_are_the_first_page_with_or_without_labels(call, starred: Path, tmp_path: Path):
    out, days = tmp_path / "report.html", [f"2012-{1 + k // 2:02}-03" for k in range(24)]
    stars = [(1, 3, 5)[k % 3] for k in range(24)]
    command = ["report", starred, aspect_table(tmp_path / "a.csv", stars=stars, day=days), "--out", out]
    code, printed, _ = call(*command, "--by", "hotel", "--date", "day", "--json")
    found = json.loads(printed)
    assert (code, found["saved"], found["models"]["model"]["rows"]) == (0, str(out), 24)
    assert found["aspects"]["groups"]["texts"] == {"hotel 0": 12, "hotel 1": 12}
    assert found["aspects"]["aspects"][0]["periods"][0]["period"] == "2012 Q1"
    page = out.read_text()
    assert page.index("What lifts and what lowers the stars") < page.index("Accuracy")
    assert "By hotel" in page
    command[2] = aspect_table(tmp_path / "b.csv", day=days)
    code, printed, _ = call(*command, "--by", "hotel", "--json", "--overwrite")
    assert (code, json.loads(printed)["models"]) == (0, {})
    assert "no labels to compare with" in out.read_text()
    assert "Accuracy" not in out.read_text()


def test_the_label_is_not_what_texts_are_grouped_by(call, refused, starred: Path, tmp_path: Path):
    stars = [(1, 3, 5)[k % 3] for k in range(24)]
    same = ["report", starred, "--out", tmp_path / "r.html", "--overwrite", "--json"]
    both = aspect_table(tmp_path / "a.csv", stars=stars, category=["x", "y"] * 12)
    assert call(*same, both, "--by", "category")[0] == 0
    assert "which column is the label" in refused(*same, both)
    printed = call(*same, aspect_table(tmp_path / "c.csv", grade=stars), "--by", "hotel")[1]
    assert json.loads(printed)["models"]["model"]["rows"] == 24  # the only other column, and it fits
    printed = call(*same, aspect_table(tmp_path / "b.csv", stars=stars), "--by", "stars")[1]
    assert json.loads(printed)["models"]["model"]["rows"] == 24
    assert json.loads(printed)["aspects"]["groups"]["texts"] == {"1": 8, "3": 8, "5": 8}


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("hotel", [5, *[77] * 23]),
        ("stars", ["good"] * 24),
        ("rating", [5, "", *[3] * 22]),
        ("label", [""] * 24),
    ],
)
def test_a_guessed_column_that_does_not_fit_is_no_label(
    call, refused, starred: Path, tmp_path: Path, column: str, values: list
):
    data = write_csv(tmp_path / "a.csv", text=["w0 w5"] * 24, **{column: values})
    same = ["report", starred, data, "--out", tmp_path / "r.html"]
    refused(*same, "--label", column)
    code, printed, err = call(*same, "--json")
    assert (code, json.loads(printed)["models"], f"the guessed column '{column}'" in err) == (0, {}, True)
    assert "no labels to compare with" in (tmp_path / "r.html").read_text()
    (tmp_path / "a.csv").write_text(f"text,{column}\nw0,5\n,3\n")
    assert "no text in column 'text'" in refused(*same, "--overwrite")


@pytest.mark.parametrize("more", ["--by town", "--date town", "--date hotel"])
def test_columns_of_aspects_that_are_refused(refused, starred: Path, tmp_path: Path, more: str):
    data = aspect_table(tmp_path / "a.csv", day=["2012-03-05"] * 24)
    refused("report", starred, data, "--out", tmp_path / "r.html", *more.split())
    assert not (tmp_path / "r.html").exists()


def test_groups_are_for_a_model_with_aspects(refused, starred: Path, tmp_path: Path):
    data, plain = aspect_table(tmp_path / "a.csv"), save(tmp_path / "plain", labels=(1, 3, 5))
    assert "aspects" in refused("report", plain, data, "--by", "hotel")


def test_dates_of_parquet_are_read(call, starred: Path, tmp_path: Path):
    frame = pd.DataFrame({"text": ["w0 w5"] * 9, "day": pd.date_range("2012-01-30", periods=9, freq="MS")})
    frame.to_parquet(tmp_path / "a.parquet")
    _, printed, _ = call(
        "report", starred, tmp_path / "a.parquet", "--date", "day", "--out", tmp_path / "r.html", "--json"
    )
    assert json.loads(printed)["aspects"]["dates"] == {"by": "quarter", "missing": 0, "unread": 0}


def test_predicted_numbers_and_lines_have_the_page_on_aspects_alone(call, refused, tmp_path: Path):
    recipe = recipe_of({"rows": 2, "task": "regression"})
    weights = weights_of(network_of(recipe, classes=1))
    model = save(tmp_path / "model", recipe=recipe, weights=weights, labels=("value",))
    (tmp_path / "a.txt").write_text("w0 w5\nw0, w3\n")
    command = ["report", model, tmp_path / "a.txt", "--out", tmp_path / "r.html"]
    assert "aspects" in refused(*command)
    write_aspects(model, Aspects.of({"even": ["w0"]}), "set")
    assert call(*command)[0] == 0
    assert "What lifts and what lowers the number" in (tmp_path / "r.html").read_text()


def test_a_summary_has_a_title_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model, out = limelight.load(save(tmp_path / "plain", labels=(1, 3, 5))), tmp_path / "guests.html"
    save_folder(tmp_path / "soup", model.with_aspects({"soup_bowls": ["w1"], "bread": ["w3"]}).parts)
    texts = [f"{text or 'w1'} and w3" for text in texts_of(40)]
    data = write_csv(
        tmp_path / "stays.csv", text=texts, stars=[(1, 3, 5)[k % 3] for k in range(40)],
        hotel=["A", "B"] * 20, date=[f"2024-0{1 + k % 6}-11" for k in range(40)],
    )  # fmt: skip
    columns = ["--by", "hotel", "--date", "date"]
    command = ["report", str(tmp_path / "soup"), str(data), *columns, "--out", str(out)]
    title = ["--summary", "--title", "What <our> guests 😀 say"]
    assert main([*command, *title, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["title"] == "What <our> guests 😀 say"
    page = out.read_text()
    assert "What &lt;our&gt; guests 😀 say" in page
    assert "soup bowls" in page
    assert "stars that came with the reviews" in page
    assert "By hotel" in page
    assert "F1" not in page
    assert main([*command, "--title", "x", "--overwrite"]) == 2
    assert "--summary" in capsys.readouterr().err
    bare = ["report", str(tmp_path / "plain"), str(data), "--summary", "--out", str(out), "--overwrite"]
    assert main(bare) == 2
    assert "aspects" in capsys.readouterr().err
    assert out.read_text() == page
