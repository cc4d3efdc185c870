"""`limelight pretrain` as people call it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from limelight.cli import main
from pretraining.teachers import SMALL, write

OPTIONS = [f"--{name.replace('_', '-')}={value}" for name, value in {**SMALL, "epochs": 1}.items()]


def test_a_reader_is_made_described_and_used(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    given = ["pretrain", "texts.txt", "--teacher", "vectors.npy", "--out", "r", *OPTIONS]
    assert main(given) == 0
    out, err = capsys.readouterr()
    assert "saved r: a reader of 70 texts" in out
    assert "epoch 1/1" in err
    assert main([*given, "--quiet"]) == 2
    assert "r already exists" in capsys.readouterr().err
    assert main(["info", "r", "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert (about["vocabulary"], about["vector"], len(about["facts"]["rows"])) == (12, 8, 3)
    assert main(["embed", "r", "texts.txt", "--out", "v.npy", "--vector"]) == 0
    assert np.load("v.npy").shape == (70, 8)


@pytest.mark.parametrize(
    ("argv", "match"),
    [
        ([], "needs TEXTS"),
        (["texts.txt", "--out", "r"], "needs --teacher"),
        (["texts.txt", "--teacher", "vectors.npy"], "needs --out"),
        (["texts.txt", "--teacher", "vectors.npy", "--out", "r", "--rows", "0"], "--rows is 0"),
        (["none.txt", "--teacher", "vectors.npy", "--out", "r"], "no such file: none.txt"),
        (["--resume", "r"], "no interrupted run for r"),
        (["--resume", "r", "--rows", "3"], "give nothing else"),
    ],
)
def test_bad_input_is_one_line(argv, match, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    assert main(["pretrain", *argv]) == 2
    err = capsys.readouterr().err
    assert match in err
    assert err.count("\n") == 1


def test_a_run_is_resumed_by_its_own_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.run").mkdir()
    (tmp_path / "r.run" / "run.json").write_text('{"format": 1, "command": "pretrain"}')
    assert main(["train", "--resume", "r"]) == 2
    assert "limelight pretrain --resume" in capsys.readouterr().err
