"""`limelight embed` and `limelight predict` with --engine."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trained
from limelight.cli import main
from limelight.runtime.model import Model

TEXTS = ["w1 w2 w3", "w4", "w5 w6"]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("bulk")
    trained.save(folder / "model")
    (folder / "data").mkdir()
    pq.write_table(pa.table({"id": [7, 8, 9], "text": TEXTS}), folder / "data" / "a.parquet")
    return folder


def call(*argv: object) -> int:
    return main([str(each) for each in argv])


def test_embed(place, capsys):
    command = ("embed", place / "model", place / "data", "--out", place / "vectors", "--engine", "local")
    assert call(*command, "--dtype", "float16", "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows_out"] == 3
    schema = pq.read_table(place / "vectors").schema
    assert schema.names == ["embedding", "id", "text"]
    assert schema.field("embedding").type == pa.list_(pa.float16(), 24)
    assert call(*command) == 2
    assert "dtype 'float16', not 'float32'" in capsys.readouterr().err
    assert call(*command, "--dtype", "float16") == 0
    assert "1 done before" in capsys.readouterr().out


def test_a_classifier_has_no_vector(place, capsys):
    command = ("embed", place / "model", place / "data", "--out", place / "none", "--engine", "local")
    assert call(*command, "--vector") == 2
    assert "readers only" in capsys.readouterr().err
    assert not (place / "none").exists()


def test_embed_matrix(place):
    command = ("embed", place / "model", place / "data", "--out", place / "rows", "--engine", "local")
    assert call(*command, "--matrix") == 0
    assert pq.read_table(place / "rows").schema.field("embedding").type.list_size == 2


def test_predict(place, capsys):
    command = ("predict", place / "model", place / "data", "--out", place / "answers", "--engine", "local")
    assert call(*command, "--top", 2) == 0
    assert "1 files, 3 rows in, 3 out" in capsys.readouterr().out
    found = pq.read_table(place / "answers")
    assert found.column_names == ["label", "confidence", "label_2", "confidence_2", "id", "text"]
    assert found["label"].to_pylist() == Model.load(place / "model").predict(TEXTS)


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (("embed", "MODEL", "DATA", "--out", "new", "--engine", "local", "--flat"), "--flat"),
        (("embed", "MODEL", "DATA", "--out", "new", "--engine", "local", "--overwrite"), "--overwrite"),
        (("embed", "MODEL", "--out", "new", "--engine", "local"), "needs DATA"),
        (("embed", "MODEL", "DATA", "--out", "new", "--engine", "local", "--workers", "2"), "--workers"),
        (("embed", "MODEL", "DATA", "--out", "new", "--engine", "ray", "--workers", "0"), "workers is 0"),
        (("embed", "MODEL", "DATA", "--out", "new.npy", "--dtype", "int8"), "--dtype needs --engine"),
        (("predict", "MODEL", "DATA", "--out", "new.csv", "--address", "auto"), "--address needs --engine"),
        (("predict", "MODEL", "DATA", "--engine", "local"), "needs --out"),
        (("predict", "MODEL", "DATA", "--out", "new", "--engine", "local", "--json"), "--json"),
        (("predict", "reader", "DATA", "--out", "new", "--engine", "local"), "without labels"),
        (("predict", "MODEL", "gone", "--out", "new", "--engine", "local"), "no such file or folder: gone"),
    ],
)
def test_what_does_not_fit_is_refused(place, capsys, argv, reason, monkeypatch):
    monkeypatch.chdir(place)
    assert call(*({"MODEL": "model", "DATA": "data"}.get(each, each) for each in argv)) == 2
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1
    assert not (place / "new").exists()
