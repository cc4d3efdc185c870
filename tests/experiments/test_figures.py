"""The figures and the measured costs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from experiments.paper import cost, figure_heatmaps, figure_rows
from experiments.paper.__main__ import main
from experiments.paper.curves_plot import curves_plot
from experiments.paper.figure_rows import line_chart
from experiments.paper.heatmap_data import OWN, surest
from experiments.paper.plan import Data, Plan

import reference
from agreement import assert_agree
from experiments_small import TINY, plan, result, results, run, save_pairs, save_reviews
from limelight.text.dataset import Split

FLAGS = [each for name, value in TINY.items() for each in ("--set", f"{name}={value}")]


def test_the_chart_of_rows_has_a_line_for_each_r(tmp_path):
    data = Data("blogs", "age", Path())
    histories = [[{"test_accuracy": 0.4}, {"test_accuracy": last}] for last in (0.5, 0.6)]
    found = results(
        *(
            result("blogs", "age", f"r{r}+all-epochs", seed, 0.5, history=history)
            for r in figure_rows.ROWS
            for seed, history in enumerate(histories)
        )
    )
    figure_rows.write(Plan(tmp_path, (data,)), found)
    svg = (tmp_path / "figure-rows-blogs.svg").read_text()
    assert svg.count("<polyline") == 10
    for r in figure_rows.ROWS:
        assert f">r = {r}</text>" in svg
    content = json.loads((tmp_path / "figure-rows.json").read_text())
    assert content["curves"]["blogs"]["30"] == pytest.approx([40, 55])
    assert "| 30 | 50.00 ± 0.00 |" in (tmp_path / "figure-rows.md").read_text().splitlines()


def test_a_chart_escapes_and_keeps_its_names_apart():
    svg = line_chart("a < b", "x", "y", {f"<{k}>": [1, 1 + k / 1000] for k in range(8)})
    assert "a &lt; b" in svg
    heights = [float(y) for y in re.findall(r'y="([\d.]+)"[^>]*>&lt;\d&gt;', svg)]
    gaps = np.diff(sorted(heights))
    assert len(heights) == 8
    assert gaps.min() >= 12.9


def test_the_surest_are_right_and_in_order():
    P = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.95, 0.05], [0.99, 0.01]])
    split = Split(np.zeros(5), np.ones(5), labels=np.array([0, 0, 0, 0, 1]))
    assert surest(P, split, np.arange(5), 0).tolist() == [3, 0, 1]


def test_the_heat_maps_show_the_words(tmp_path):
    folder = save_reviews(tmp_path / "data")
    asked = plan(tmp_path, ("yelp", "yelp", folder), options={"epochs": 4, "rows": 8})
    run(figure_heatmaps, asked)
    page = (tmp_path / "figure-heatmaps-yelp.html").read_text()
    assert page.count("without penalty") >= 3
    kept = json.loads((tmp_path / "yelp-self-attention-seed0" / "readings.json").read_text())
    assert list(kept["surest"]) == ["1", "5"]
    for word in kept["compared"][0]["words"]:
        assert word in page
    A = np.array(kept["compared"][0]["attention"])
    np.testing.assert_allclose(A.sum(axis=1), 1, atol=1e-3)
    sheet = (tmp_path / "figure-heatmaps-yelp-rows.svg").read_text()
    assert [sheet.count(f">Row {k}<") for k in (1, 2, 8)] == [2, 2, 2]
    assert sheet.count(">Row ") == 12
    assert sheet.count(">waiter<") == 14  # six rows and the overall map, twice
    assert "| with penalty |" in (tmp_path / "figure-heatmaps.md").read_text()


def test_the_heat_maps_tell_what_they_are_of(tmp_path):
    def told(*texts):
        return figure_heatmaps._describe_texts(
            [{"words": text, "known": [w != "?" for w in text]} for text in texts]
        )

    assert told() == []
    assert told("ab") == ["Drawn are test texts of 2 words, all of them in the vocabulary."]
    assert told("ab", "c?d") == ["Drawn are test texts of 2 to 3 words, not all of them in the vocabulary."]
    folder = save_reviews(tmp_path / "data")
    run(figure_heatmaps, plan(tmp_path, ("yelp", "yelp", folder)))
    table = (tmp_path / "figure-heatmaps.md").read_text()
    assert "- Drawn are test texts of 9 words, all of them in the vocabulary.\n" in table


def test_texts_of_ours_are_drawn_where_they_were_read(tmp_path):
    folder = save_reviews(tmp_path / "data")
    asked = plan(tmp_path, ("yelp", "yelp", folder), options={"epochs": 1, "rows": 8})
    run(figure_heatmaps, asked)
    path = tmp_path / "yelp-self-attention-seed0" / "readings.json"
    kept = json.loads(path.read_text())
    assert [len(each["attention"]) for each in kept["own"]] == [8] * len(OWN["yelp"])
    assert "waiter" in kept["own"][0]["words"]
    drawn = tmp_path / "figure-heatmaps-yelp-overall-own.svg"
    assert drawn.read_text().count(">Overall") == 2 * len(OWN["yelp"])
    assert "; it is" not in drawn.read_text()  # nobody has labelled them
    del kept["own"]  # as readings were before
    path.write_text(json.dumps(kept))
    drawn.unlink()
    run(figure_heatmaps, asked)
    assert not drawn.exists()


def test_the_costs_are_measured(tmp_path):
    cost.measure(plan(tmp_path), lengths=(4, 8))
    content = json.loads((tmp_path / "cost.json").read_text())
    assert set(content["penalty"]) == set(cost.FORMS)
    assert all(spent > 0 for by in content["penalty"].values() for spent in by.values())
    for by in content["steps"].values():
        assert all(spent > 0 and size > 0 for spent, size in by.values())
    assert content["steps"]["cnn"]["8"][1] > content["steps"]["cnn"]["4"][1]
    assert (tmp_path / "cost-penalty.svg").read_text().count("<polyline") == 3
    text = (tmp_path / "cost.md").read_text()
    assert "| words | P, ms |" in text
    assert "- On cpu; batches of 16, forwards and backwards, float32, fastest of seven rounds taken " in text


@pytest.mark.parametrize("step", ["table1", "table4"])
def test_what_cannot_be_written_is_said_first(step, tmp_path, capfd):
    (tmp_path / "file").write_text("not a folder")
    data = ["--data", f"yelp={save_reviews(tmp_path / 'data')}"] if step == "table1" else []
    for out in (tmp_path / "file", tmp_path / "file" / "runs"):
        assert main([step, *data, "--out", str(out)]) == 2
        assert capfd.readouterr() == (
            "",
            f"python -m experiments.paper: cannot write {out}: Not a directory\n",
        )


def test_the_help_of_an_experiment(capfd):
    with pytest.raises(SystemExit) as end:
        main(["figure-rows", "--help"])
    assert end.value.code == 0
    paragraphs = capfd.readouterr().out.split("\n\n")
    assert paragraphs[1] == "Test accuracy by epoch, for r from 1 to 30."
    assert "the same command resumes" in paragraphs[3]


KL = [cost.kl_by_pairs, cost.kl_by_sums]


@pytest.mark.parametrize("form", KL)
@pytest.mark.parametrize(("batch", "r", "n"), [(3, 5, 7), (1, 1, 4), (2, 3, 1)])
def test_both_forms_of_kl_and_their_gradients_are_the_reference_s(form, batch, r, n):
    rng = np.random.default_rng(0)
    scores = {f"scores {k}": rng.normal(size=(r, n)) for k in range(batch)}

    def annotations(v):
        return [np.array([reference.softmax(row) for row in x]) for x in v.values()]

    assert_agree(
        lambda v: [form(torch.stack([x.softmax(1) for x in v.values()])).reshape(1)],
        lambda v: [[reference.penalty(annotations(v), "kl")]],
        scores,
    )


@pytest.mark.parametrize("form", KL)
def test_kl_falls_as_the_rows_part(form):
    same = torch.full((1, 2, 4), 0.25).double()
    apart = torch.tensor([[[0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.7]]], dtype=torch.float64)
    assert form(same).item() == pytest.approx(0, abs=1e-12)
    assert form(apart).item() == pytest.approx(-2 * 0.6 * np.log(7), abs=1e-12)


@pytest.mark.parametrize("form", KL)
def test_kl_does_not_grow_with_the_batch(form):
    A = torch.randn(2, 3, 5, generator=torch.manual_seed(0)).double().softmax(2)
    torch.testing.assert_close(form(torch.cat([A, A])), form(A), rtol=0, atol=1e-12)


def test_kl_by_sums_does_not_see_padding():
    A = torch.randn(2, 3, 5, generator=torch.manual_seed(0)).double().softmax(2)
    padded = torch.cat([A, torch.zeros(2, 3, 60).double()], dim=2).requires_grad_()
    value = cost.kl_by_sums(padded)
    torch.testing.assert_close(value, cost.kl_by_sums(A), rtol=0, atol=1e-12)
    value.backward()
    assert padded.grad is not None
    assert padded.grad.isfinite().all()


def test_memory_counts_what_is_kept():
    network = torch.nn.Linear(4, 3, bias=False)
    x = torch.ones(5, 4)
    work = lambda: network(x).tanh().sum().backward()  # noqa: E731
    assert cost.memory(work, network, torch.device("cpu")) == 4 * (5 * 4 + 5 * 3)


def test_the_command_line(tmp_path, capfd):
    pairs = save_pairs(tmp_path / "pairs")
    argv = ["table2", "--data", f"snli={pairs}", "--out", str(tmp_path / "runs"), "--seeds", "5"]
    code = main([*argv, "--only", "snli-self-*", "--note", "Made up.", "--device", "cpu", *FLAGS])
    out, err = capfd.readouterr()
    assert code == 0
    assert out == (tmp_path / "runs" / "table2.md").read_text()
    assert "- Made up.\n" in out
    assert "[1/1] snli-self-attention-seed5" in err
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
        "snli-self-attention-seed5", "table2.json", "table2.md",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--set", "row=3"], "did you mean 'rows'"),
        (["--set", "rows=many"], "rows=VALUE"),
        (["--set", "rows=0"], "must be at least 1"),
        (["--seeds", "1", "1"], "given twice"),
        (["--data", "yelp=nowhere"], "nowhere"),
    ],
)
def test_bad_flags(tmp_path, capfd, flags, complaint):
    given = [] if "--data" in flags else ["--data", f"yelp={tmp_path}"]
    assert main(["table1", "--out", str(tmp_path / "runs"), *given, *flags]) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert complaint in err
    assert not (tmp_path / "runs").exists()


BARE = """
import sys
for name in "tqdm pyarrow jinja2 markupsafe resvg_py sklearn onnx onnxruntime zstandard".split():
    sys.modules[name] = None
from experiments.paper.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_machine_with_little_installed_trains(tmp_path):
    """Training and tables need torch, numpy, tokenizers and safetensors; pictures come later."""
    folder = save_reviews(tmp_path / "data")
    argv = ["figure-heatmaps", "--data", f"yelp={folder}", "--out", str(tmp_path), "--seeds", "0"]
    done = subprocess.run(
        [sys.executable, "-c", BARE, *argv, "--device", "cpu", *FLAGS], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "heat maps need jinja2" in done.stderr
    assert main([*argv, "--device", "cpu", *FLAGS]) == 0
    assert "waiter" in (tmp_path / "figure-heatmaps-yelp.html").read_text()


@pytest.mark.parametrize("values", [[0.5, 0.9], [1.09641, 1.09642], [0.433679, 0.433680], [12.5, 1250.0]])
def test_the_numbers_of_a_curve_fit_beside_it(values):
    """They end at the axis; a digit takes less than 6.5 pixels."""
    svg = curves_plot("Loss", {"dev": values})
    text = re.findall(r'<text x="([\d.]+)" y="[\d.]+" class="end">([\d.]+)</text>', svg)
    assert len({number for _, number in text}) == len(text) >= 2
    assert all(6.5 * len(number) <= float(x) for x, number in text)
