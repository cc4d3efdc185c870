"""The example in examples/javascript gives the same answers as Python, where Node is there.

Without onnxruntime-node, Python runs the graphs in its place. To test with it:

npm install --ignore-scripts --prefix FOLDER onnxruntime-node
LIMELIGHT_NODE_MODULES=FOLDER/node_modules pytest tests/runtime/test_javascript.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trained
from limelight.runtime.model import Model
from limelight.text.tokenizer import Tokenizer
from serve.in_node import needs_node
from serve.test_page_model import odd_texts
from trained import PAIRS, network_of, recipe_of, save, weights_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "javascript"
INSTALLED = Path(os.environ.get("LIMELIGHT_NODE_MODULES", EXAMPLE / "node_modules"))
IS_INSTALLED = (INSTALLED / "onnxruntime-node").is_dir()
TEXTS = ("w1 w2 unheard, w3 W4!", "w9")
STAND_IN = """
const { execFileSync } = require("child_process")
exports.Tensor = class { constructor(type, data, dims) { Object.assign(this, { type, data, dims }) } }
exports.InferenceSession = {
  create: async file => ({
    run: async feeds => {
      const given = Object.entries(feeds).map(([name, { data, dims }]) => [name, Array.from(data), dims])
      const input = JSON.stringify(given)
      return JSON.parse(execFileSync(process.env.PYTHON, ["-c", process.env.RUN, file], { input }))
    },
  }),
}
"""
RUN = """
import json, sys, numpy, onnxruntime
feeds = {name: numpy.array(data, numpy.int32).reshape(dims) for name, data, dims in json.load(sys.stdin)}
session = onnxruntime.InferenceSession(sys.argv[1])
names = [output.name for output in session.get_outputs()]
found = zip(names, session.run(names, feeds))
print(json.dumps({name: {"data": x.ravel().tolist(), "dims": x.shape} for name, x in found}))
"""

pytestmark = needs_node


def with_modules(place: Path) -> dict[str, str]:
    """The environment in which Node finds onnxruntime-node, or what takes its place."""
    modules = INSTALLED if IS_INSTALLED else place
    if not IS_INSTALLED:
        (place / "onnxruntime-node").mkdir()
        (place / "onnxruntime-node" / "index.js").write_text(STAND_IN)
    return {**os.environ, "NODE_PATH": str(modules), "PYTHON": sys.executable, "RUN": RUN}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return with_modules(tmp_path_factory.mktemp("node_modules"))


def node(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["node", str(EXAMPLE / "predict.js"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize(
    ("pair", "precision"), [*((pair, "float32") for pair in PAIRS), (None, "int8"), ("gated", "int8")]
)
def test_same_answers(tmp_path: Path, pair: str | None, precision: str, environment: dict[str, str]) -> None:
    folder = save(tmp_path / "model", pair)
    texts = TEXTS[: 1 + (pair is not None)]
    flag = ["--int8"] if precision == "int8" else []
    done = node(environment, *flag, str(folder), *texts)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    reading = Model.load(folder, precision=precision).read(*texts)
    near = {"rtol": 0, "atol": 1e-5 if precision == "float32" else 0.01}
    assert found["label"] == reading.label
    np.testing.assert_allclose(found["probabilities"], reading.probabilities, **near)
    sides = [reading] if pair is None else [reading.first, reading.second]
    for side, text in zip(sides, found["texts"], strict=True):
        assert text["words"] == list(side.words)
        np.testing.assert_allclose(text["attention"], side.overall, **near)


@pytest.mark.parametrize("task", ["multi-label", "ordinal", "regression"])
def test_same_answers_in_other_tasks(tmp_path: Path, task: str, environment: dict[str, str]) -> None:
    recipe = recipe_of({"task": task, "max_length": 3})
    labels: list[Any] = {"regression": ["value"], "ordinal": [1, 2, 3]}.get(task, list(trained.LABELS))
    weights = weights_of(network_of(recipe, classes=len(labels)))
    folder = save(
        tmp_path / "model", recipe=recipe, labels=labels, weights=weights,
        thresholds=np.array([0.4, 0.5, 0.6]) if task == "multi-label" else None,
    )  # fmt: skip
    done = node(environment, str(folder), TEXTS[0])
    assert done.returncode == 0, done.stderr
    found, (expected,) = json.loads(done.stdout), Model.load(folder).predict([TEXTS[0]])
    assert found["texts"][0]["words"] == ["w1", "w2", "unheard"]
    if task == "regression":
        assert found["label"] == pytest.approx(expected, abs=1e-5)
    else:
        assert found["label"] == (list(expected) if task == "multi-label" else expected)


def test_a_wrong_call_is_one_line(tmp_path: Path, environment: dict[str, str]) -> None:
    done = node(environment, str(save(tmp_path / "model")), "one", "two")
    assert (done.returncode, done.stderr) == (2, "error: this model reads one text; got 2\n")


# ---------------------------------------------------------------- words


def split(tmp_path: Path, tokenizer: Tokenizer, texts: list[str]) -> list[list[dict[str, Any]]]:
    """What words.js makes of the texts."""
    script = f"""
    const fs = require("fs")
    const {{ Tokenizer }} = require({json.dumps(str(EXAMPLE / "words.js"))})
    const {{ file, texts }} = JSON.parse(fs.readFileSync(0, "utf8"))
    const tokenizer = new Tokenizer(JSON.parse(file))
    console.log(JSON.stringify(texts.map(text => tokenizer.encode(text))))
    """
    given = json.dumps({"file": tokenizer.to_json(), "texts": texts})
    done = subprocess.run(["node", "-e", script], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_contraction_is_two_words(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_words(["i", "ca", "n't", "pay", "can"])
    texts = ["I can't pay", "Mr. Smith's dog-eared 1,000.50 ...", ""]
    found = [[word["word"] for word in each] for each in split(tmp_path, tokenizer, texts)]
    assert found == [["I", "ca", "n't", "pay"], ["Mr.", "Smith", "'s", "dog-eared", "1,000.50", "..."], [""]]
    assert [word["id"] for word in split(tmp_path, tokenizer, texts[:1])[0]] == [2, 3, 4, 5]


@pytest.mark.parametrize(("lowercase", "split_characters"), [(True, True), (False, True), (True, False)])
def test_odd_texts_have_the_same_words_as_in_python(
    tmp_path: Path, lowercase: bool, split_characters: bool
) -> None:
    options = {"lowercase": lowercase, "split_characters": split_characters}
    plain = Tokenizer.from_words([], **options)
    texts = odd_texts()
    words = {word.encode(errors="replace").decode() for text in texts for word in plain.split(text)}
    words = sorted({word.lower() for word in words} if lowercase else words)
    tokenizer = Tokenizer.from_words(words[::2], **options)
    for text, found in zip(texts, split(tmp_path, tokenizer, texts), strict=True):
        assert [word["id"] for word in found] == tokenizer.locate(text)[0].tolist(), ascii(text)
