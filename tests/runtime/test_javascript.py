"""The package in js/ gives the same words, vectors and answers as Python, where Node is there."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trained
from limelight.runtime.edits import write_forbidden
from limelight.runtime.model import Model
from limelight.runtime.reader import load
from limelight.text.tokenizer import Tokenizer
from serve.in_node import needs_node
from serve.test_page_model import odd_texts
from trained import PAIRS, network_of, recipe_of, save, weights_of

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "js"
TEXTS = ("w1 w2 unheard, w3 W4!", "w9")


def run_package(script: str, given: Any) -> Any:
    """What `answer(given)` returns, where `script` defines it and may import from the package."""
    runner = f"""
    import {{ readFileSync }} from "node:fs"
    {script}
    process.stdout.write(JSON.stringify(await answer(JSON.parse(readFileSync(0, "utf8")))))
    """
    command, given = ["node", "--input-type=module", "-e", runner], json.dumps(given)
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, cwd=PACKAGE)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def answers(folder: Path, items: list[tuple[str, ...]]) -> list[dict[str, Any]]:
    """Of each item: what is predicted, and the words, A and the embedding of each of its texts."""
    script = """
    import { load } from "./index.js"
    async function answer({ folder, items }) {
      const model = await load(folder)
      return items.map(texts => ({
        ...model.predict(...texts),
        texts: texts.map(text => {
          const { words, A } = model.encode(text)
          return { words, A: A.map(row => [...row]), vector: [...model.embed(text)] }
        }),
      }))
    }
    """
    return run_package(script, {"folder": str(folder), "items": items})


def test_what_the_package_takes_from_elsewhere_is_up_to_date():
    """If not: python scripts/build_js.py. The last digits of a vector depend on the machine."""
    from scripts import build_js

    for path, content in build_js.contents().items():
        if path != build_js.VECTORS:
            assert path.read_text("utf-8") == content, path.name
            continue
        expected, stored = json.loads(content), json.loads(path.read_text("utf-8"))
        pairs = zip(expected.pop("texts"), stored.pop("texts"), strict=True)
        for wanted, found in pairs:
            np.testing.assert_allclose(found.pop("vector"), wanted.pop("vector"), atol=2e-5)
            assert found == wanted
        assert stored == expected


@needs_node
def test_the_packages_own_tests_pass():
    done = subprocess.run(["node", "--test", "."], cwd=PACKAGE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@needs_node
@pytest.mark.parametrize("pair", PAIRS)
def test_same_answers(tmp_path, pair):
    folder, texts = save(tmp_path / "model", pair), TEXTS[: 1 + (pair is not None)]
    (found,) = answers(folder, [texts])
    model = Model.load(folder)
    reading = model.read(*texts)
    near = {"rtol": 0, "atol": 1e-5}
    assert found["label"] == reading.label
    np.testing.assert_allclose(found["probabilities"], reading.probabilities, **near)
    sides = [reading] if pair is None else [reading.first, reading.second]
    for side, text, given in zip(sides, found["texts"], texts, strict=True):
        assert [given[word["start"] : word["end"]] for word in text["words"]] == list(side.words)
        np.testing.assert_allclose(text["A"], side.attention, **near)
        np.testing.assert_allclose(text["vector"], model.embed([given], flat=True)[0], **near)


@needs_node
@pytest.mark.parametrize(
    "options", [{"encoder": "words"}, {"encoder": "cnn"}, {"encoder": "words", "projection": 6}]
)
def test_other_encoders(tmp_path, options):
    recipe = recipe_of({**options, "pooling": "max" if options["encoder"] == "cnn" else "self-attention"})
    folder = save(tmp_path / "model", recipe=recipe, weights=weights_of(network_of(recipe)))
    found = answers(folder, [(text,) for text in TEXTS])
    expected = Model.load(folder).predict_proba(TEXTS)
    np.testing.assert_allclose([each["probabilities"] for each in found], expected, rtol=0, atol=1e-5)


@needs_node
@pytest.mark.parametrize("task", ["multi-label", "ordinal", "regression"])
def test_same_answers_in_other_tasks(tmp_path, task):
    recipe = recipe_of({"task": task, "max_length": 3})
    labels: list[Any] = {"regression": ["value"], "ordinal": [1, 2, 3]}.get(task, list(trained.LABELS))
    weights = weights_of(network_of(recipe, classes=len(labels)))
    folder = save(
        tmp_path / "model", recipe=recipe, labels=labels, weights=weights,
        thresholds=np.array([0.4, 0.5, 0.6]) if task == "multi-label" else None,
    )  # fmt: skip
    (found,), (expected,) = answers(folder, [TEXTS[:1]]), Model.load(folder).predict([TEXTS[0]])
    assert [word["word"] for word in found["texts"][0]["words"]] == ["w1", "w2", "unheard"]
    if task == "regression":
        assert found["value"] == pytest.approx(expected, abs=1e-5)
    else:
        assert found["label"] == (list(expected) if task == "multi-label" else expected)


@needs_node
def test_forbidden_words_are_not_read(tmp_path):
    folder = save(tmp_path / "model")
    write_forbidden(folder, ["w2", "w3-w4"])
    items = [("w1 W2 w5",), ("w1 w2/w6 w5",), ("w7-w3-w4 w3",), ("w2",)]
    found = answers(folder, items)
    assert [[word["word"] for word in each["texts"][0]["words"]] for each in found] == [
        ["w1", "w5"], ["w1", "w5"], ["w3"], [""],
    ]  # fmt: skip
    expected = Model.load(folder).predict_proba([text for (text,) in items])
    np.testing.assert_allclose([each["probabilities"] for each in found], expected, rtol=0, atol=1e-5)


@needs_node
def test_the_fast_reader_when_saved(tmp_path):
    reader = load("reader-fast")
    reader.save(tmp_path / "fast")
    script = """
    import { load } from "./index.js"
    const answer = async ([folder, text]) => [...(await load(folder)).embed(text)]
    """
    text = "Zorbleflux macrophages can't pay."
    found = run_package(script, [str(tmp_path / "fast"), text])
    np.testing.assert_allclose(found, reader.encode(text), rtol=0, atol=1e-5)


# ---------------------------------------------------------------- words


@needs_node
@pytest.mark.parametrize(("lowercase", "split_characters"), [(True, True), (False, True), (True, False)])
def test_odd_texts_have_the_same_words_as_in_python(lowercase, split_characters):
    script = """
    import { Tokenizer } from "./page/tokenizer.js"
    import { tokenizerOf } from "./rules.js"
    function answer({ file, texts }) {
      const tokenizer = new Tokenizer(tokenizerOf(JSON.parse(file)))
      return texts.map(text => tokenizer.locate(text).map(({ id }) => id))
    }
    """
    options = {"lowercase": lowercase, "split_characters": split_characters}
    plain = Tokenizer.from_words([], **options)
    texts = odd_texts()
    words = {word.encode(errors="replace").decode() for text in texts for word in plain.split(text)}
    words = sorted({word.lower() for word in words} if lowercase else words)
    tokenizer = Tokenizer.from_words(words[::2], **options)
    found = run_package(script, {"file": tokenizer.to_json(), "texts": texts})
    for text, ids in zip(texts, found, strict=True):
        assert ids == tokenizer.locate(text)[0].tolist(), ascii(text)


def test_a_word_is_in_lower_case_letter_by_letter():
    assert Tokenizer.from_words([]).words("ΑΣ \ud800") == ["ασ", "\ufffd"]  # as its id is found


@needs_node
def test_the_package_is_complete(tmp_path):
    """What is published is what package.json names."""
    shutil.copytree(PACKAGE, tmp_path / "js", ignore=shutil.ignore_patterns("test"))
    where = json.dumps(str(tmp_path / "js" / "index.js"))
    script = f"import {{ load }} from {where}\nconst answer = () => typeof load"
    assert run_package(script, None) == "function"
