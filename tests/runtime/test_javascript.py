"""The example in examples/javascript gives the same answers as Python, where Node and its runtime are there.

npm install --ignore-scripts --prefix FOLDER onnxruntime-node
LIMELIGHT_NODE_MODULES=FOLDER/node_modules pytest tests/runtime/test_javascript.py
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from limelight.runtime.model import Model
from trained import PAIRS, save

EXAMPLE = Path(__file__).parents[2] / "examples" / "javascript"
MODULES = Path(os.environ.get("LIMELIGHT_NODE_MODULES", EXAMPLE / "node_modules"))
TEXTS = ("w1 w2 unheard, w3 W4!", "w9")

pytestmark = [
    pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed"),
    pytest.mark.skipif(
        not (MODULES / "onnxruntime-node").is_dir(),
        reason="onnxruntime-node is not installed; see the top of this file",
    ),
]


def node(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["node", str(EXAMPLE / "predict.js"), *arguments]
    environment = {**os.environ, "NODE_PATH": str(MODULES)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_same_answers(tmp_path: Path, pair: str | None, precision: str) -> None:
    folder = save(tmp_path / "model", pair)
    texts = TEXTS[: 1 + (pair is not None)]
    flag = ["--int8"] if precision == "int8" else []
    done = node(*flag, str(folder), *texts)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    reading = Model.load(folder, precision=precision).read(*texts)
    near = {"rtol": 0, "atol": 1e-5 if precision == "float32" else 0.01}  # int8 rounds what is read together
    assert found["label"] == reading.label
    np.testing.assert_allclose(found["probabilities"], reading.probabilities, **near)
    sides = [reading] if pair is None else [reading.first, reading.second]
    for side, text in zip(sides, found["texts"], strict=True):
        assert text["words"] == list(side.words)
        np.testing.assert_allclose(text["attention"], side.overall, **near)


def test_a_wrong_call_is_one_line(tmp_path: Path) -> None:
    done = node(str(save(tmp_path / "model")), "one", "two")
    assert (done.returncode, done.stderr) == (2, "error: this model reads one text; got 2\n")
