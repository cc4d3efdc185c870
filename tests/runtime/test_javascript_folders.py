"""Folders that anyone may have written: the package in js/ refuses what Python refuses, and never hangs."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limelight.errors import LimelightError
from limelight.runtime.model import Model
from runtime.test_damage import DAMAGE, Damage, config, recipe
from runtime.test_javascript import run_package
from serve.in_node import needs_node
from trained import LABELS, WORDS, edit, network_of, recipe_of, replace, save, weights_of

TEXTS = ["w1 w2 unheard", ""]
LOAD = """
import { load } from "./index.js"
async function answer({ folders, texts }) {
  const found = []
  for (const folder of folders) {
    try {
      const model = await load(folder)
      found.push({ probabilities: texts.map(text => model.predict(text).probabilities) })
    } catch (error) {
      found.push({ refused: error.message })
    }
  }
  return found
}
"""


UNREAD = ("format", "training", "model.onnx", "model.int8.onnx")  # the package reads format 2 alone


def load_all(folders: Sequence[Path | str]) -> list[dict[str, Any]]:
    return run_package(LOAD, {"folders": [str(folder) for folder in folders], "texts": TEXTS})


def words(change: Callable[[dict[str, Any]], Any]) -> Damage:
    """Another tokenizer.json, with checksums that fit."""

    def damage(folder: Path) -> None:
        content = json.loads((folder / "tokenizer.json").read_text())
        change(content)
        replace(folder, "tokenizer.json", json.dumps(content).encode())

    return damage


def options(**given: Any) -> Damage:
    return config(lambda c: c["recipe"]["text"].update(given))


def weights(value: float) -> Damage:
    """All weights the same."""

    def damage(folder: Path) -> None:
        content = (folder / "model.safetensors").read_bytes()
        start = 8 + int.from_bytes(content[:8], "little")
        numbers = np.full((len(content) - start) // 4, value, "<f4")
        replace(folder, "model.safetensors", content[:start] + numbers.tobytes())

    return damage


def repeated_word(folder: Path) -> None:
    content = (folder / "tokenizer.json").read_bytes()
    replace(folder, "tokenizer.json", content.replace(b'"w1":', b'"w2":', 1))


HOSTILE: dict[str, Damage] = {
    **{name: damage for name, (damage, _) in DAMAGE.items() if "onnx" not in name},
    "a billion rows": recipe(rows=10**9),
    "a pooling of every object": recipe(pooling="constructor"),
    "a head of every object": recipe(head="__proto__"),
    "an encoder of the user's own": recipe(encoder="module"),
    "rows are text": recipe(rows="2"),
    "rows are true": recipe(rows=True),
    "half a row": recipe(rows=2.5),
    "no rows": recipe(rows=0),
    "no hidden units": recipe(hidden=-1),
    "a head that is another": recipe(head="linear"),
    "a reader's head": recipe(head="vector"),
    "a projection that is not there": recipe(projection=3),
    "a head without units": recipe(head="pruned", row_units=0, column_units=0),
    "no recipe of the model": config(lambda c: c["recipe"].update(model=[])),
    "a negative length": options(max_length=-1),
    "a task that is none": options(task="toString"),
    "fewer labels": config(lambda c: c["labels"].pop()),
    "labels alike": config(lambda c: c.update(labels=[1, "1", "x"])),
    "a label is null": config(lambda c: c.update(labels=[None, "a", "b"])),
    "thresholds for others": config(
        lambda c: (c["recipe"]["text"].update(task="multi-label"), c.update(thresholds=[0.5]))),
    "a threshold above 1": config(
        lambda c: (c["recipe"]["text"].update(task="multi-label"), c.update(thresholds=[0.5, 0.5, 2]))),
    "forbidden is text": config(lambda c: c["facts"].update(forbidden="w1")),
    "forbidden words are numbers": config(
        lambda c: c["facts"].update(forbidden={"words": [1], "history": []})),
    "weights are infinite": weights(np.inf),
    "answers are not finite": weights(3e38),
    "rules that take for ever": words(
        lambda t: t["pre_tokenizer"]["pretokenizers"][1]["pattern"].update(Regex="(a+)+$")),
    "no rules": words(lambda t: t.pop("pre_tokenizer")),
    "further tokens": words(lambda t: t.update(added_tokens=[{"id": 0, "content": "w1"}])),
    "a part of every object": words(lambda t: t.update({"__proto__": {}})),
    "a decoder": words(lambda t: t.update(decoder={"type": "WordPiece"})),
    "no words": words(lambda t: t["model"].update(vocab={})),
    "words are a list": words(lambda t: t["model"].update(vocab=["<pad>", "<unk>"])),
    "an id twice": words(lambda t: t["model"]["vocab"].update(w1=5)),
    "an id left out": words(lambda t: t["model"]["vocab"].update(w1=10**9)),
    "an id is text": words(lambda t: t["model"]["vocab"].update(w1="3")),
    "a word more": words(lambda t: t["model"]["vocab"].update(more=len(WORDS) + 2)),
    "half a character": words(
        lambda t: t["model"]["vocab"].update({"\ud800": t["model"]["vocab"].pop("w1")})),
    "a word twice": repeated_word,
}  # fmt: skip


@needs_node
def test_what_python_refuses_is_refused_in_one_line(tmp_path: Path) -> None:
    folders = []
    for number, damage in enumerate(HOSTILE.values()):
        folders.append(save(tmp_path / str(number)))
        damage(folders[-1])
    answers = load_all([*folders, save(tmp_path / "good")])
    assert len(answers.pop()["probabilities"]) == len(TEXTS)
    for name, folder, found in zip(HOSTILE, folders, answers, strict=True):
        with pytest.raises(LimelightError):
            Model.load(folder, threads=1).predict_proba(TEXTS)
        assert "refused" in found, name
        assert "\n" not in found["refused"], name
        assert len(found["refused"].replace(str(folder), "")) < 250, name


@needs_node
def test_a_label_that_javascript_cannot_hold_is_refused(tmp_path: Path) -> None:
    folder = save(tmp_path / "model", labels=[10**18 + 1, 2, 3])
    assert "cannot hold" in load_all([folder])[0]["refused"]


@needs_node
@pytest.mark.parametrize("seed", range(2))
def test_a_changed_value_is_refused_or_read_as_python_reads_it(tmp_path: Path, seed: int) -> None:
    """Anywhere in config.json or tokenizer.json, with checksums that fit."""
    rng, folders = random.Random(seed), []
    for number in range(40):
        folders.append(save(tmp_path / str(number)))
        if number % 3:
            edit(folders[-1], lambda c: change_somewhere(rng, c))
        else:
            words(lambda t: change_somewhere(rng, t))(folders[-1])
    for folder, found in zip(folders, load_all(folders), strict=True):
        try:
            expected = Model.load(folder, threads=1).predict_proba(TEXTS)
        except LimelightError:
            assert "refused" in found, (folder / "config.json").read_text()
        else:
            assert "refused" not in found, found
            np.testing.assert_allclose(found["probabilities"], expected, rtol=0, atol=1e-5)


def change_somewhere(rng: random.Random, tree: dict[str, Any]) -> None:
    """One value is another, or is not there: of what the package reads."""
    values: list[Any] = [None, True, -1, 0, 1, 2, 2.5, 10**9, "", "max", "w1", [], {}, [1], {"a": 1}]
    node: Any = tree
    while True:
        names = node if isinstance(node, dict) else range(len(node))
        key = rng.choice([each for each in names if each not in UNREAD])
        if not isinstance(node[key], dict | list) or not node[key] or rng.random() < 0.2:
            break
        node = node[key]
    if rng.random() < 0.3 and isinstance(node, dict):
        del node[key]
    else:
        node[key] = rng.choice(values)


@needs_node
def test_an_option_that_is_missing_has_its_default(tmp_path: Path) -> None:
    made = recipe_of({"pooling": "self-attention", "head": "full"})
    folder = save(tmp_path / "model", recipe=made, weights=weights_of(network_of(made)))
    for name in ("encoder", "pooling", "head", "max_row", "author_code", "layers"):
        edit(folder, lambda c, name=name: c["recipe"]["model"].pop(name))
    edit(folder, lambda c: c["recipe"]["text"].pop("task"))
    (found,) = load_all([folder])
    expected = Model.load(folder, threads=1).predict_proba(TEXTS)
    np.testing.assert_allclose(found["probabilities"], expected, rtol=0, atol=1e-5)


@needs_node
def test_the_checksum_of_config_json_is_that_of_python(tmp_path: Path) -> None:
    """Whatever numbers and letters are in it, and however it is laid out."""
    rng = random.Random(0)
    numbers = [0.0, -0.0, 1e-4, 1e-5, 9.5e-5, 1e15, 1e16, 1.5e16, 1e22, 5e-324, 1.7976931348623157e308, 2**70]
    numbers += [rng.choice([1, -1]) * rng.random() * 10.0 ** rng.randrange(-30, 30) for _ in range(500)]
    facts = {
        "numbers": numbers, "😀": 1, "\uffff": 2, "z": "\x7f\x00\n\"\\/é😀\u2028", "": {}, "10": [],
        "9": [[]], "nothing": [None, True, False],
    }  # fmt: skip
    folder = save(tmp_path / "model", facts=facts, labels=[*LABELS[:2], "schön 😀"])
    path = folder / "config.json"
    assert "probabilities" in load_all([folder])[0]
    path.write_text(json.dumps(json.loads(path.read_text()), ensure_ascii=False, sort_keys=True, indent="\t"))
    assert "probabilities" in load_all([folder])[0]
    edit(folder, lambda c: c["facts"].update(z="other"), seal=False)
    assert "altered" in load_all([folder])[0]["refused"]


@needs_node
def test_in_a_browser_an_address_is_relative_to_the_page() -> None:
    script = """
    import { load } from "./index.js"
    async function answer(names) {
      const asked = [], node = globalThis.process
      globalThis.fetch = async address => { asked.push(String(address)); throw new Error("seen") }
      globalThis.document = { baseURI: "https://example.org/app/page.html" }
      Object.defineProperty(globalThis, "process", { value: undefined, configurable: true, writable: true })
      for (const name of names) await load(name).catch(() => {})
      globalThis.process = node
      return asked
    }
    """
    places = {
        "rf": "/app/rf", "./rf/": "/app/rf", "/rf": "/rf", "../rf//": "/rf", "https://example.org/rf/": "/rf",
    }  # fmt: skip
    found = run_package(script, list(places))
    assert found == [f"https://example.org{place}/config.json" for place in places.values()]


@needs_node
def test_in_node_a_path_may_be_an_address_of_a_file(tmp_path: Path) -> None:
    folder = save(tmp_path / "a folder")
    answers = load_all([folder, f"{folder}/", folder.as_uri()])
    assert answers[0] == answers[1] == answers[2]
    assert "probabilities" in answers[0]
