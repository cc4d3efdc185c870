"""A new pooling and a new task are right everywhere after an entry in at most five files each: here both are.

A pooling: its choice in config/recipe.py, network/parts.py, network/torch/attention.py,
network/onnx/layers.py and serve/explorer/page/network.js. A task: its name in config/recipe.py,
text/tasks.py, training/loss.py and serve/explorer/page/tasks.js. The mean of the states helped nowhere
(docs/log), and regression serves for numbers of things: so neither is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from limelight import TextRegressor, load
from limelight.config.recipe import ModelRecipe, TextRecipe
from limelight.explain import save_report
from limelight.explain.joint import page_rules
from limelight.network import parts
from limelight.network.onnx import layers
from limelight.network.torch import attention
from limelight.network.torch.shared import mask
from limelight.reading import to_svg
from limelight.runtime.model import Model
from limelight.tables.formats import BadRowError
from limelight.text import tasks
from limelight.text.questions import Question
from limelight.text.tasks import REGRESSION
from limelight.training import loss
from limelight.training.loss import TaskLoss
from reference import softmax
from serve.in_node import copy_modules, needs_node, run_node
from serve.test_page_model import READ, pack
from trained import network_of, recipe_of, tokenizer, weights_of

TEXTS = ["Good soup, cold waiter!", "soup", "w1 w2 w5 w7"]


def allow(monkeypatch: pytest.MonkeyPatch, section: type, option: str, name: str) -> None:
    """Add a choice of an option."""
    (field,) = (each for each in fields(section) if each.name == option)
    choices = (*field.metadata["choices"], name)
    monkeypatch.setattr(field, "metadata", MappingProxyType({**field.metadata, "choices": choices}))


def page(place: Path, file: str, *changes: tuple[str, str]) -> None:
    """The modules of the page, one of them changed."""
    modules = place / "modules"
    copy_modules(modules)
    source = (modules / file).read_text("utf-8")
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    (modules / file).write_text(source, "utf-8")


# ---------------------------------------------------------------- the pooling: the mean of the states


class MeanPooling(nn.Module):
    def forward(self, H: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        A = (mask(lengths, H.shape[1]) / lengths[:, None]).unsqueeze(1)
        return A @ H, A


def mean_in_onnx(net: Any, recipe: ModelRecipe, H: str, ids: str, words: str) -> tuple[str, str]:
    g = net.graph
    nothing = g.op("Mul", g.op("Cast", ids, to=1), g.constant(0, "float32"))
    scores = g.op("Unsqueeze", nothing, g.constant([1], "int64"))  # all words the same, (batch, 1, n)
    A = layers._masked_softmax(g, scores, words)
    return g.op("MatMul", A, H), A


@pytest.fixture
def mean_pooling(monkeypatch: pytest.MonkeyPatch) -> None:
    allow(monkeypatch, ModelRecipe, "pooling", "mean")
    entry = parts.Pooling(lambda recipe: "the mean of its words", lambda recipe: parts.Rows(means=1))
    monkeypatch.setitem(parts.POOLINGS, "mean", entry)
    monkeypatch.setitem(attention.POOLINGS, "mean", lambda recipe, size: MeanPooling())
    monkeypatch.setitem(layers.POOLINGS, "mean", mean_in_onnx)


def mean_model(head: str = "pruned") -> Model:
    recipe = recipe_of({"pooling": "mean", "head": head})
    weights = weights_of(network_of(recipe))
    return Model.from_parts(weights=weights, recipe=recipe, tokenizer=tokenizer(), labels=["a", "b", "c"])


@pytest.mark.usefixtures("mean_pooling")
@pytest.mark.parametrize("head", ["linear", "full", "pruned"])
def test_a_new_pooling_is_right_in_files_readings_and_pictures(head: str, tmp_path: Path) -> None:
    model = mean_model(head)
    model.save(tmp_path / "model")
    assert "and the mean of its words" in (tmp_path / "model" / "README.md").read_text()
    for text, encoded in zip(TEXTS, model._runner.encode_texts(TEXTS), strict=True):
        reading = load(tmp_path / "model").read(text)
        np.testing.assert_allclose(reading.embedding, encoded.H.mean(axis=0, keepdims=True), atol=1e-6)
        np.testing.assert_allclose(reading.attention, 1 / len(reading.words), atol=1e-6)
        p = softmax(np.log(reading.probabilities.astype(float)))[reading.target]
        np.testing.assert_allclose(reading.bias + reading.decided.sum(), p, atol=1e-5)
        assert "<svg" in to_svg(reading)
        H = encoded.H.astype(float)
        (found,) = [model._runner.without_words(encoded.H, encoded.A)]
        if len(H) > 1:
            others = np.array([np.delete(H, t, axis=0).mean(axis=0) for t in range(len(H))])
            np.testing.assert_allclose(found[:, 0], others, atol=1e-5)
    save_report(tmp_path / "report.html", model, TEXTS * 4, ["a", "b", "c"] * 4)


@needs_node
@pytest.mark.usefixtures("mean_pooling")
def test_a_new_pooling_is_right_in_the_page(tmp_path: Path) -> None:
    model = mean_model()
    entry = (
        "mean: { attention: (network, H, n) => [new Float32Array(n).fill(1 / n)], maxima: () => 0 },\n  max:"
    )
    page(tmp_path, "network.js", ("max:", entry))
    given = {
        "files": pack(tmp_path, [model], "float32"),
        "texts": [(t, "") for t in TEXTS],
        "off": [],
        "plain": False,
    }
    (found,) = run_node(tmp_path, READ, given)
    for text, read in zip(TEXTS, found, strict=True):
        expected = model.read(text)
        np.testing.assert_allclose(read["probabilities"], expected.probabilities, atol=1e-5)
        np.testing.assert_allclose(read["sides"][0]["decided"], expected.decided, atol=1e-5)
        np.testing.assert_allclose(read["sides"][0]["attention"], expected.attention, atol=1e-6)


# ---------------------------------------------------------------- the task: how many


@dataclass(frozen=True)
class Rate(Question):
    """The number to expect."""

    def value(self, Z: np.ndarray) -> np.ndarray:
        return np.exp(Z[..., 0])

    def slope(self, Z: np.ndarray) -> np.ndarray:
        return np.exp(Z) * np.eye(Z.shape[-1])[0]


class Count(type(REGRESSION)):  # type: ignore[misc]
    """Of a Poisson distribution: 0, 1, 2, ..."""

    name, operator = "count", "Exp"
    does = "Counts, for {what}"

    def parse(self, value: Any, where: str, separator: str = "") -> float:
        number: float = super().parse(value, where)
        if number < 0 or number % 1:
            raise BadRowError(f"{value!r} in {where} is not 0, 1, 2, ...")
        return number

    def activate(self, logits: np.ndarray) -> np.ndarray:
        return np.exp(logits)

    def question(self, k: int, labels: Any, asked: bool = False) -> Question:
        return Rate()


def poisson(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return nn.functional.poisson_nll_loss(logits[:, 0], labels.to(logits.dtype), reduction="none")


def is_rounded(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return logits[:, 0].exp().round() == labels


@pytest.fixture
def count_task(monkeypatch: pytest.MonkeyPatch) -> None:
    allow(monkeypatch, TextRecipe, "task", "count")
    monkeypatch.setattr("limelight.estimators.base.TASKS", (*tasks.TASKS, "count"))
    monkeypatch.setitem(tasks._TASKS, "count", Count())
    entry = TaskLoss(poisson, is_rounded, "accuracy", "Poisson regression")
    monkeypatch.setitem(loss.TASK_LOSSES, "count", entry)


def counted() -> tuple[list[str], list[int]]:
    """Each "very" makes one more."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 4, 120).tolist()
    return ["the soup was " + "very " * n + "cold" for n in numbers], numbers


@needs_node
@pytest.mark.usefixtures("count_task")
def test_a_new_task_is_right_from_the_table_to_the_page(tmp_path: Path) -> None:
    texts, numbers = counted()
    options = {"preset": "tiny", "task": "count", "epochs": 8, "learning_rate": 0.01, "max_row": False}
    clf = TextRegressor(**options, progress=False).fit(texts, numbers)
    assert clf.score(texts, numbers) > 0.5
    clf.save(tmp_path / "model")
    model = load(tmp_path / "model")
    assert "Counts, for texts" in (tmp_path / "model" / "README.md").read_text()
    reading = model.read("the soup was very very cold")
    assert (reading.answer, reading.asked) == (pytest.approx(reading.probabilities[0]), "count")
    np.testing.assert_allclose(reading.bias + reading.decided.sum(), reading.answer, rtol=1e-4)
    assert reading.answer > model.predict(["the soup was cold"])[0]
    assert "<svg" in to_svg(reading)
    assert page_rules("count", model.labels)["minAnswer"] is None
    rated = model.with_aspects({"much": ["very"]})
    save_report(tmp_path / "report.html", rated, texts, numbers)
    with pytest.raises(BadRowError, match="is not 0, 1, 2"):
        tasks.LabelFormat("count").parse("2.5", "column 'n'")

    rate = "{ value: z => Math.exp(z[0]), slope: z => Float64Array.from(z, x => Math.exp(x)) }"
    parts_of = "activate(z) { return [Math.exp(z[0])] }"
    count = f"class Count extends AnyNumber {{ {parts_of} asked() {{ return {rate} }} }}"
    page(tmp_path, "tasks.js", ("const TASKS = {", f"{count}\nconst TASKS = {{ count: new Count(),"))
    given = {
        "files": pack(tmp_path, [model], "float32"),
        "texts": [(texts[0], "")],
        "off": [],
        "plain": False,
    }
    ((found,),) = run_node(tmp_path, READ, given)
    expected = model.read(texts[0])
    np.testing.assert_allclose(found["probabilities"], expected.probabilities, rtol=1e-4)
    np.testing.assert_allclose(found["sides"][0]["decided"], expected.decided, atol=1e-4)
