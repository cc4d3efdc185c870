"""`limelight report` and `limelight trust` on saved models and tables."""

import json
import re
from pathlib import Path

import pytest

from limelight.cli import main
from trained import LABELS, save, texts_of


def table(folder: Path) -> str:
    texts = [text or "w1" for text in texts_of(25)]
    path = folder / "test.csv"
    path.write_text("text,stars\n" + "".join(f"{text},{LABELS[k % 3]}\n" for k, text in enumerate(texts)))
    return str(path)


def test_a_report_is_written_once_and_never_over_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model, data, out = save(tmp_path / "soup"), table(tmp_path), tmp_path / "report.html"
    command = ["report", str(model), data, "--out", str(out), "--most", "20"]
    assert main(command) == 0
    assert "<title>soup on 20 of the 25 rows of test.csv, sampled</title>" in out.read_text()
    assert "<b>20</b><span>3 classes" in out.read_text()
    assert main(command) == 2
    assert "already exists" in capsys.readouterr().err
    assert main([*command, "--overwrite"]) == 0


def test_two_models_make_one_report(tmp_path: Path):
    models, out = [str(save(tmp_path / name)) for name in ("soup", "salad")], tmp_path / "both.html"
    assert main(["report", *models, table(tmp_path), "--out", str(out)]) == 0
    assert "<title>soup and salad on test.csv</title>" in out.read_text()


def test_trust_as_a_table_and_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model, data = str(save(tmp_path / "soup")), table(tmp_path)
    command = ["trust", model, data, "--texts", "10", "--label", "stars", "--with", model]
    assert main(command) == 0
    told = capsys.readouterr().out
    assert "mean over 10 texts" in told
    assert "Spearman 1.000, Jensen-Shannon 0.000 bits" in told
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["texts"] == 10
    assert {each["name"] for each in found["attributions"]} >= {
        "Overall attention",
        "Leave one out",
        "Random",
    }
    alike = {"spearman": 1.0, "divergence": 0.0, "decided": 1.0}
    assert found["agreement"] == pytest.approx(alike, abs=1e-9)
    assert f"{found['until_change']:.1%} of the words" in told
    assert len(found["rows"]) == 2


@pytest.mark.parametrize("more", [["--texts", "0"], ["--label", "star"]])
def test_wrong_options_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]):
    assert main(["trust", str(save(tmp_path / "soup")), table(tmp_path), *more]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("command", ["trust", "report"])
def test_what_does_not_fit_is_named_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("limelight.runtime.model.Model.read_many", lambda *texts: 1 / 0)
    save(tmp_path / "soup")
    save(tmp_path / "both", pair="gated")
    table(tmp_path)
    more = ["soup", "test.csv", "--with", "both"] if command == "trust" else ["soup", "both", "test.csv"]
    assert main([command, *more]) == 2
    told = "limelight: both reads pairs and soup single texts; compare models of one task\n"
    assert capsys.readouterr().err == told
    Path("odd.csv").write_text("text,stars\nw1,bad\nw2,odd\n")
    assert main([command, "soup", "odd.csv", "--label", "stars"]) == 2
    told = "limelight: odd.csv, row 2: the label 'odd' does not occur in the training data, which has: "
    assert capsys.readouterr().err == f"{told}bad, fair, good\n"
    assert not Path("report.html").exists()


def test_a_report_draws_its_rows_from_all_of_the_table(tmp_path: Path):
    """A table is often sorted by its labels."""
    model, data, out = save(tmp_path / "soup"), tmp_path / "sorted.csv", tmp_path / "report.html"
    data.write_text("text,stars\n" + "".join(f"w{k % 9},{LABELS[k // 100]}\n" for k in range(300)))
    assert main(["report", str(model), str(data), "--out", str(out), "--most", "30"]) == 0
    page = out.read_text().split("Metrics by class</h3>")[1].split("</table>")[0]
    rows = [int(n) for n in re.findall(r"</bdi></th><td>(\d+)</td>", page)]
    assert sum(rows) == 30
    assert min(rows) > 3


def test_a_report_is_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["report", str(save(tmp_path / "soup")), table(tmp_path), "--out", "report.png"]) == 2
    assert "report.png should end in .html" in capsys.readouterr().err
