"""Every preset, every artefact: whatever is made of a model gives the same answers to the same hundred texts.

They are held against the reference, in float64. What rounds nothing more than float32 does must agree to
EXACT in each probability; a page's 16 bits to PAGE. Int8 is near: on average, at most, and in the label of
every text where the reference is not torn between two.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import limelight
from artefacts import CASES, SPREAD, Artefacts, texts
from browsers import needs_chromium
from limelight.config.presets import PRESETS
from limelight.network.onnx.arithmetic import Int8
from limelight.runtime.folder import open_folder
from limelight.serve.explorer.one_file import save_page
from runtime.test_javascript import run_package
from runtime.test_reader import compute
from serve.in_node import needs_node, run_node
from serve.test_one_file import opened
from test_gpu import with_torch

EXACT, PAGE = 1e-4, 0.01
INT8_MEAN, INT8_MOST = 0.03, 0.25  # of a number: in spreads
# a random head over what two vectors have in common: the reader's own vectors have a test of their own below
INT8_PAIRS = {"small, pairs, regression": 0.04}
SURE, EQUAL_LABELS = 0.1, 0.97  # a label's lead in probability; the share of such texts with that label
IN_FLOAT32: dict[str, Callable[[Artefacts], np.ndarray]] = {
    "load": lambda made: made.load(),
    "model.onnx": lambda made: made.onnx("model.onnx"),
    "GPU runner": lambda made: made.gpu_runner(),
}
IN_INT8: dict[str, Callable[[Artefacts], np.ndarray]] = {
    "load": lambda made: made.load("int8"),
    "model.int8.onnx": lambda made: made.onnx("model.int8.onnx"),
}
RUN_IN_A_PAGE = [
    name
    for name, case in CASES.items()
    if "task" not in case.options and case.recipe.model.encoder == "bilstm"
]
Make = Callable[[str], Artefacts]
PAGE_SCRIPT = """
import zlib from "node:zlib"
import { LocalModel } from "./local_model.js"
import { parseModel } from "./model_file.js"
import { softmax } from "./network.js"

const answer = given => given.map(({ file, texts }) => {
  const model = new LocalModel(parseModel(new Uint8Array(zlib.gunzipSync(fs.readFileSync(file)))))
  const M = new Map(texts.flat().map(text => [text, model.encode(text).M]))
  return texts.map(all => [...softmax(model.network.classify([all.map(text => M.get(text))])[0].logits)])
})
"""
PACKAGE_SCRIPT = """
import { load } from "./index.js"

const answer = given => Promise.all(given.map(async ({ folder, texts }) => {
  const model = await load(folder)
  return texts.map(each => model.predict(...each)).map(({ probabilities, value }) => probabilities ?? [value])
}))
"""


@pytest.fixture(scope="module")
def made_before() -> dict[str, Artefacts]:
    return {}


@pytest.fixture
def make(
    made_before: dict[str, Artefacts],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Make:
    """The artefacts of a case; in a model of small sizes too, int8 rounds what it does in a large one."""

    def artefacts(name: str) -> Artefacts:
        if not CASES[name].start:
            monkeypatch.setattr(Int8, "SMALL", 0)
        if name not in made_before:
            made_before[name] = Artefacts(CASES[name], tmp_path_factory.mktemp("made"))
        return made_before[name]

    return artefacts


def labels_of(answers: np.ndarray, task: str) -> np.ndarray:
    if task == "multi-label":
        return answers >= 0.5
    return (answers.cumsum(axis=1) >= 0.5).argmax(axis=1) if task == "ordinal" else answers.argmax(axis=1)


def is_sure(answers: np.ndarray, task: str) -> np.ndarray:
    """Where one label leads by more than rounding can change."""
    if task == "multi-label":
        return np.abs(answers - 0.5) > SURE / 2
    if task == "ordinal":
        return (np.abs(answers.cumsum(axis=1)[:, :-1] - 0.5) > SURE / 2).all(axis=1)
    second, first = np.sort(answers, axis=1)[:, -2:].T
    return first - second > SURE


def test_the_cases_are_every_preset_and_the_texts_a_hundred() -> None:
    assert set(PRESETS) <= set(CASES)
    assert len(set(texts())) == 100
    assert {case.recipe.text.task for case in CASES.values()} == {
        "auto", "multi-label", "ordinal", "regression"
    }  # fmt: skip
    assert {case.recipe.model.pair for case in CASES.values() if case.pair} == {"gated", "concat", "vectors"}
    assert {case.recipe.model.head for case in CASES.values()} == {"full", "linear", "pruned"}


def test_the_default_has_words_in_4_bits_and_spelled_ones(make: Make) -> None:
    made = make("small")
    assert b"words.weight.scale" in (made.folder / "model.safetensors").read_bytes()[:5000]
    model = limelight.load(made.folder)
    ids, _ = model.tokenizer.locate("soooup")
    assert ids[0] > 1
    assert "soooup" not in limelight.load("reader").tokenizer.vocabulary
    assert np.abs(model.weights["words.weight"][ids[0]]).max() > 0.01


@pytest.mark.parametrize("artefact", IN_FLOAT32)
@pytest.mark.parametrize("name", CASES)
def test_float32(name: str, artefact: str, make: Make) -> None:
    made = make(name)
    np.testing.assert_allclose(IN_FLOAT32[artefact](made), made.reference, rtol=0, atol=EXACT)


@pytest.mark.parametrize("artefact", IN_INT8)
@pytest.mark.parametrize("name", CASES)
def test_int8(name: str, artefact: str, make: Make) -> None:
    made = make(name)
    found, expected = IN_INT8[artefact](made), made.reference
    error = np.abs(found - expected) / (SPREAD if made.task == "regression" else 1)
    assert error.mean() < INT8_PAIRS.get(name, INT8_MEAN)
    assert error.max() < INT8_MOST
    if made.task == "regression":
        return
    sure = is_sure(expected, made.task)
    assert sure.mean() > 0.75
    assert (labels_of(found, made.task) == labels_of(expected, made.task))[sure].mean() >= EQUAL_LABELS


def test_int8_rounds_words_of_4_bits_once(make: Make) -> None:
    """The file holds them packed; what is loaded is the same and not rounded to int8 besides."""
    made = make("small")
    np.testing.assert_allclose(IN_INT8["load"](made), IN_INT8["model.int8.onnx"](made), rtol=0, atol=1e-3)


@needs_node
def test_page(make: Make, tmp_path: Path) -> None:
    """The JavaScript of the one-file page, in one process of Node for all: it takes a while to start."""
    wanted = [(name, "float32", EXACT) for name in RUN_IN_A_PAGE]
    wanted += [(name, "float16", PAGE) for name in RUN_IN_A_PAGE if name in PRESETS]
    given = [make(name).pack_for_page(precision) for name, precision, _ in wanted]
    for (name, precision, bound), found in zip(wanted, run_node(tmp_path, PAGE_SCRIPT, given), strict=True):
        expected, case = make(name).reference, f"{name}, {precision}"
        np.testing.assert_allclose(found, expected, rtol=0, atol=bound, err_msg=case)


@needs_node
def test_package_in_javascript(make: Make) -> None:
    """Every case, its last texts, the odd ones: in one process of Node."""
    given = [{"folder": str(make(name).folder), "texts": make(name).items[-12:]} for name in CASES]
    for name, found in zip(CASES, run_package(PACKAGE_SCRIPT, given), strict=True):
        expected = make(name).reference[-12:]
        np.testing.assert_allclose(found, expected.reshape(12, -1), rtol=0, atol=EXACT, err_msg=name)


@needs_chromium
@pytest.mark.parametrize("name", ["small", "tiny, pairs"])
def test_page_in_a_browser(name: str, make: Make, tmp_path: Path) -> None:
    """The last texts, the odd ones among them: typing takes a browser a third of a second each."""
    made = make(name)
    save_page(limelight.load(made.folder), tmp_path / "page.html")
    with opened(tmp_path / "page.html") as page:
        for given, expected in list(zip(made.items, made.reference, strict=True))[-7:]:
            for k, text in enumerate(given):
                page.locator("textarea").nth(k).fill(text)
            page.wait_for_function(
                "([expected, near]) => [...document.querySelectorAll('.bars span')].every((bar, k) =>"
                " Math.abs(parseFloat(bar.textContent) / 100 - expected[k]) < near)",
                arg=[expected.tolist(), PAGE], timeout=10_000,
            )  # fmt: skip


# ---------------------------------------------------------------- the bundled reader


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    """The reference's, of length 1."""
    found = open_folder()
    known = {word: k for k, word in enumerate(found.tokenizer.vocabulary)}
    weights = {name: array.astype(np.float64) for name, array in found.weights.items()}
    split = limelight.load("reader").tokenizer.split
    return np.array([compute(split(text), known, weights) for text in texts()])


def test_reader_in_float32(vectors: np.ndarray) -> None:
    reader = limelight.load("reader", threads=1)
    for each in (reader, with_torch(reader)):
        np.testing.assert_allclose(each.encode(texts()), vectors, rtol=0, atol=EXACT)


def test_reader_in_int8(vectors: np.ndarray) -> None:
    found = limelight.load("reader", precision="int8", threads=1).encode(texts())
    cosines = (found * vectors).sum(axis=1)
    assert cosines.mean() > 0.999
    assert cosines.min() > 0.995


def test_the_fast_reader_in_torch_and_int8() -> None:
    """Its float32 is checked against the mathematics in tests/runtime/test_reader.py."""
    reader = limelight.load("reader-fast", threads=1)
    expected = reader.encode(texts())
    np.testing.assert_allclose(with_torch(reader).encode(texts()), expected, rtol=0, atol=EXACT)
    found = limelight.load("reader-fast", precision="int8", threads=1).encode(texts())
    read = expected.any(axis=1)  # a text without words has zeros
    assert (found * expected).sum(axis=1)[read].min() > 0.995
    assert not found[~read].any()
