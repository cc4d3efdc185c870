"""The command line of the paper's experiments: what it prepares, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from experiments.paper.__main__ import main

import trained

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Call:
    """Run a step in this process: its exit code, standard output and standard error."""

    def run(*argv: object) -> tuple[int, str, str]:
        try:
            code = main([str(each) for each in argv])
        except SystemExit as end:  # argparse has printed its message
            code = end.code
        return code, *capfd.readouterr()

    return run


def test_prepare(call, tmp_path):
    for split in ("train", "dev", "test"):
        row = {"sentence1": "It rains.", "sentence2": "It is wet.", "gold_label": "entailment"}
        (tmp_path / f"snli_1.0_{split}.jsonl").write_text(json.dumps(row) + "\n")
    command = ("prepare", "snli", tmp_path, "--out", tmp_path / "snli")
    code, out, _ = call(*command, "--json")
    assert code == 0
    assert json.loads(out)["rows"] == {"train": 1, "dev": 1, "test": 1}
    assert call(*command, "--overwrite")[1].splitlines()[0].split() == ["train", "1", "rows"]


def test_prepare_a_small_source(call, tmp_path):
    lines = [json.dumps({"stars": 1 + k % 5, "text": f"Review {k}."}) for k in range(50)]
    (tmp_path / "small.jsonl").write_text("\n".join(lines))
    command = ("prepare", "yelp", tmp_path / "small.jsonl", "--out", tmp_path / "yelp")
    code, out, err = call(*command)
    assert (code, out) == (2, "")
    assert "50 usable rows are too few for the sizes (500000, 2000, 2000)" in err
    code, out, _ = call(*command, "--sizes", "rest", "7", "5", "--json")
    assert code == 0
    assert json.loads(out)["rows"] == {"train": 38, "dev": 7, "test": 5}
    assert "yelp already exists" in call(*command)[2]
    assert call(*command, "--sizes", "20", "7", "5", "--overwrite")[0] == 0
    assert len((tmp_path / "yelp" / "train.jsonl").read_text().splitlines()) == 20


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("table4 --out y --set vectors=a.txt", "--set vectors=a.txt: the data is already encoded"),
        ("table4 --out y --set seed=3", "--set seed=3: use --seeds"),
        ("table4 --out y --epochs 1 --set epochs=2", "epochs is given twice; give it once"),
        ("table4 --out y --set rows=1 --set rows=2", "rows is given twice"),
        ("table4 --out y --only foo", "give --data too"),
        ("table4 --out MODEL", "model is a model folder"),
        ("", "the following arguments are required: STEP"),
        ("prepare imdb x --out y", "invalid choice: 'imdb'"),
        ("prepare snli no-such --out y", "no-such"),
        ("prepare yelp x --out y --sizes all 5 5", "--sizes: 'all' is neither a number of rows nor 'rest'"),
        ("prepare snli x --out y --sizes 5 5 5", "snli has no option sizes; it has: overwrite"),
    ],
)
def test_flags(argv, message, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = trained.save(tmp_path / "model")
    before = sorted(tmp_path.iterdir())
    code, out, err = call(*(model if each == "MODEL" else each for each in argv.split()))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("python -m experiments.paper")
    assert message in err
    assert sorted(tmp_path.iterdir()) == before
