"""The explorer with ordered labels, several labels and numbers: what its page gets, works out and shows."""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from browsers import needs_chromium
from limelight.explain import joint
from limelight.explain.model_report import measure_calibration
from limelight.reading import captions
from limelight.reading.picture import make_picture
from limelight.runtime.model import Model
from limelight.serve import create_app
from limelight.serve.explorer.explored import ExploredData, explore_data
from limelight.serve.explorer.one_file import save_page
from limelight.text.learnt_rows import LearntRows, row_hash
from limelight.text.tasks import find_task
from serve.in_node import needs_node, run_node
from serve.test_explorer import unpack
from serve.test_explorer_page import browsing, count, wait_for_count
from serve.test_one_file import opened
from serve.test_page_model import JOINT, READ, pack
from trained import network_of, recipe_of, texts_of, tokenizer, weights_of

TEXTS = [text or "w1" for text in texts_of(60)]
LABELS: dict[str, tuple[Any, ...]] = {
    "ordinal": (1, 2, 5), "multi-label": ("cold", "soup", "tea"), "regression": ("value",),
}  # fmt: skip
TRUE: dict[str, list[Any]] = {
    "ordinal": [(1, 2, 5)[k % 3] for k in range(60)],
    "multi-label": [(("cold",) * (k % 2) + ("soup",) * (k % 3 == 0)) for k in range(60)],
    "regression": [k % 7 - 1.5 for k in range(60)],
}
TASKS = tuple(LABELS)
each_task = pytest.mark.parametrize("task", TASKS)


@cache
def model_of(task: str, pair: str | None = None, rows: int = 3) -> Model:
    """A model that gives every answer for some of the texts."""
    recipe = recipe_of({"head": "linear", "task": task, "rows": rows}, pair)
    weights = weights_of(network_of(recipe, pair is not None, classes=len(LABELS[task])))
    weights["head.W_o"], weights["head.b_o"] = 6 * weights["head.W_o"], 0 * weights["head.b_o"]
    parts = {"recipe": recipe, "labels": LABELS[task], "tokenizer": tokenizer(), "pair": pair is not None}
    if not pair:
        model = Model.from_parts(weights=weights, precision="float32", threads=1, **parts)
        Z = model._runner.logits(model.embed(TEXTS))
        weights["head.b_o"] = -Z.mean(axis=0)
    least = np.array([0.4, 0.5, 0.6]) if task == "multi-label" else None
    return Model.from_parts(weights=weights, thresholds=least, precision="float32", threads=1, **parts)


def truth_of(task: str) -> np.ndarray:
    return find_task(task).column(TRUE[task]).index(LABELS[task], "test.csv")


def data_of(task: str, *others: Model) -> ExploredData:
    items = [(text,) for text in TEXTS]
    return explore_data([model_of(task), *others], items, truth_of(task), name="test.csv")


# ---------------------------------------------------------------- what the page gets


@each_task
def test_the_page_gets_what_the_task_decides(task: str) -> None:
    model = model_of(task)
    client = TestClient(create_app({"m": model}, data=data_of(task)))
    header, arrays = unpack(client.get("/explorer/data").content)
    P = model.predict_proba(TEXTS)
    assert (header["task"], header["labels"]) == (task, [str(label) for label in LABELS[task]])
    np.testing.assert_array_equal(arrays["predicted0"], model.decide(P))
    np.testing.assert_array_equal(arrays["truth"], truth_of(task))
    about = client.get("/explorer/about").json()["models"][0]
    assert about["task"] == task
    if task == "ordinal":
        decided = model.decide(P)
        assert (decided != P.argmax(axis=1)).any()  # the median is another class than the most probable
        np.testing.assert_allclose(arrays["confidence0"], P[np.arange(60), decided], atol=1e-6)
        np.testing.assert_allclose(arrays["mean0"], P @ [1, 2, 5], atol=1e-5)
        assert header["values"] == about["values"] == [1, 2, 5]
        assert about["notes"][0].startswith("Each weight is what the word adds to the mean.")
    elif task == "multi-label":
        np.testing.assert_allclose(arrays["confidence0"], P, atol=1e-6)
        assert about["thresholds"] == [0.4, 0.5, 0.6]
    else:
        assert "confidence0" not in arrays
        assert about["name"] == "Numbers of texts"
    assert np.linalg.matrix_rank(arrays["places"]) == 2


def with_labels(task: str, *labels: Any) -> Model:
    """The model of a task, as if its labels were others."""
    model = model_of(task)
    parts = {"weights": model.weights, "recipe": model.recipe, "tokenizer": model.tokenizer}
    return Model.from_parts(labels=labels, precision="float32", threads=1, **parts)


def test_labels_of_two_models_are_joined_by_task() -> None:
    other = with_labels("multi-label", "soup", "tea", "wine")
    data = data_of("multi-label", other)
    assert data.labels == ["cold", "soup", "tea", "wine"]
    names = [tuple(data.labels[k] for k in np.flatnonzero(row)) for row in data.predicted[1]]
    assert names == other.predict(TEXTS)
    assert not data.truth[:, 3].any()
    assert np.isnan(data.confidence).any(axis=1).tolist() == [[False] * 3 + [True], [True] + [False] * 3]
    np.testing.assert_array_equal(data.confidence[1][:, 1:], other.predict_proba(TEXTS))
    other = with_labels("ordinal", 1, 3, 4)
    data = data_of("ordinal", other)
    assert (data.labels, data.values) == (["1", "2", "3", "4", "5"], [1, 2, 3, 4, 5])
    assert [int(data.labels[k]) for k in data.predicted[1]] == other.predict(TEXTS)


def test_a_label_and_any_two_are_asked_about() -> None:
    model, text = model_of("multi-label"), "w1 w2 w3"
    client = TestClient(create_app({"m": model, "n": model_of("ordinal")}))
    for k, label in enumerate(LABELS["multi-label"]):
        reading = model.read(text, label=label)
        assert (reading.label, reading.target) == (label, k)
        assert reading.bias + reading.decided.sum() == pytest.approx(reading.probabilities[k], abs=1e-4)
        answer = client.post("/explain", json={"inputs": text, "label": label, "joint": True}).json()
        np.testing.assert_allclose(answer["decided"], reading.decided, atol=1e-6)
        assert answer["label"] == list(model.predict([text])[0])
    assert client.post("/explain", json={"inputs": text, "label": ["soup"]}).status_code == 422
    ordered = model_of("ordinal")
    for k, j in ((0, 2), (2, 1), (1, 0)):
        reading = ordered.read(text, label=ordered.labels[k], against=ordered.labels[j])
        asked = {"label": str(ordered.labels[k]), "against": ordered.labels[j], "joint": True}
        answer = client.post("/explain", json={"model": "n", "inputs": text, **asked}).json()
        np.testing.assert_allclose(answer["decided"], reading.decided, atol=1e-6)
        assert (answer["label"], answer["label_is"]) == (ordered.predict([text])[0], "median")
        assert (answer["about"], answer["versus"]) == (ordered.labels[k], ordered.labels[j])
    same = {"model": "n", "label": "1", "against": "1"}
    for wrong in ({"label": "wine"}, {"against": "soup"}, same):
        assert client.post("/explain", json={"inputs": text, **wrong}).status_code == 424


# ---------------------------------------------------------------- what the page works out


@needs_node
@each_task
@pytest.mark.parametrize("pair", [None, "concat"])
def test_a_model_in_the_page_answers_as_in_python(tmp_path: Path, task: str, pair: str | None) -> None:
    model = model_of(task, pair)
    asked: list[dict[str, int]] = [{}]
    if task != "regression":
        asked += [{"label": k} for k in range(3)]
    if task == "ordinal":
        asked += [{"against": 1}, *({"label": k, "against": j} for k in range(3) for j in range(3) if j != k)]
    both = [(f"w{k} w2 w3", f"w4 w{k + 1}") for k, _ in enumerate(asked)]
    given = {"files": pack(tmp_path, [model], "float32"), "texts": both, "off": [], "asked": asked}
    for texts, some, answer in zip(both, asked, run_node(tmp_path, READ, given)[0], strict=True):
        how = {name: model.labels[k] for name, k in some.items()}
        reading = model.read(*texts[: 1 + model.pair], **how)
        assert (answer["predicted"], answer["target"]) == (reading.predicted, reading.target)
        assert (answer["against"] is None) == (reading.sides[0].versus is None)
        np.testing.assert_allclose(answer["probabilities"], reading.probabilities, rtol=1e-4, atol=1e-5)
        for side, theirs in zip(reading.sides, answer["sides"], strict=True):
            np.testing.assert_allclose(theirs["decided"], side.decided, rtol=1e-3, atol=1e-4)
            np.testing.assert_allclose(theirs["rows"], side.row_weights, rtol=1e-3, atol=1e-4)
            if side.bias is not None:
                assert theirs["bias"] == pytest.approx(side.bias, rel=1e-3, abs=1e-4)


@needs_node
@each_task
def test_words_are_read_together_as_in_python(tmp_path: Path, monkeypatch, task: str) -> None:
    monkeypatch.setattr(joint, "MIN_JOINT", 1e-3)
    model, texts = model_of(task), [("w1 w2 w5", ""), ("w7 w9", ""), ("w3 w11 w20", "")]
    given = {"files": pack(tmp_path, [model], "float32"), "texts": texts, "off": [], "plain": False}
    total = 0
    for (text, _), (found,) in zip(texts, run_node(tmp_path, JOINT, given)[0], strict=True):
        expected = [each[2:] for each in joint.joint_words(model, model.read(text)).joint]
        np.testing.assert_allclose([pair["falls"] for pair in found], expected or [], atol=1e-4)
        total += len(found)
    assert (total > 1) == (task != "regression")


SAY = """
import { coloursLine, jointLine, medianLine, sumLine } from "./sentences.js"
import { taskOf } from "./tasks.js"

const answer = cases => cases.map(({ about, now }) => ({
  lines: [coloursLine(now, about), sumLine(now, about), jointLine(now, about), medianLine(now, about)],
  told: taskOf(about).tell(now, about),
}))
"""


@needs_node
def test_the_page_says_what_the_pictures_say(tmp_path: Path) -> None:
    pair = joint.JointWords((0, 1), (1, 2), 0.04, -0.304, 0.0)
    falls = {"first": "not", "second": "good", "between": " ", "falls": list(pair[2:])}
    side = {"decided": [0.5, -1.75], "bias": 0.5, "joint": [falls]}
    cases, told = [], []
    for task, P, label, against in [
        ("ordinal", [0.3, 0.3, 0.4], None, None),
        ("ordinal", [0.3, 0.3, 0.4], None, 2),
        ("ordinal", [0.1, 0.8, 0.1], 0, None),
        ("ordinal", [0.3, 0.3, 0.4], 0, 2),
        ("multi-label", [0.45, 0.3, 0.1], None, None),
        ("multi-label", [0.1, 0.1, 0.1], None, None),
        ("regression", [-12.3456], None, None),
    ]:
        labels = list(map(str, LABELS[task]))
        about = {"task": task, "labels": labels, "values": [1, 2, 5], "thresholds": [0.4, 0.5, 0.6]}
        predicted = 1 if task == "ordinal" else 0
        target = predicted if label is None else label
        now = {"predicted": predicted, "target": target, "label": label, "against": against, "sides": [side]}
        cases.append({"about": about, "now": {"probabilities": P, **now}})
        versus = "" if against is None else labels[against]
        asked, named = ("classification", labels[target]) if label is not None else (task, "")
        most = labels[int(np.argmax(P))]
        told.append(
            [
                captions.colours_line(labels[target], task=asked, versus=versus),
                captions.sum_line(-1.25, 0.5, asked, versus, named),
                captions.joint_line([("not", "good", pair)], asked, versus),
                captions.median_line("2", most, max(P)) if task == "ordinal" else "",
            ]
        )
    found = run_node(tmp_path, SAY, cases)
    assert [each["lines"] for each in found] == told
    assert [each["told"] for each in found] == [
        ["2", "30.0% · mean 2.90"], ["2", "30.0% · mean 2.90"], ["2", "80.0% · mean 2.20"],
        ["2", "30.0% · mean 2.90"], ["cold", ""], ["no label", ""], ["−12.35", ""],
    ]  # fmt: skip


TABLE = """
import zlib from "node:zlib"
import { ALL, Table } from "./data_table.js"
import { filterFromAddress, filterToAddress } from "./filter_address.js"
import { parseArrays } from "./model_file.js"

function answer({ file, filters, addresses }) {
  const table = Table.inPage(parseArrays(new Uint8Array(zlib.gunzipSync(fs.readFileSync(file)))))
  const all = { ...ALL }
  return {
    rows: filters.map(filter => [...table.select({ ...all, ...filter })]),
    score: table.task.score(table, 0),
    counts: table.task.isNumber ? [] : table.counts(table.mask(all), 0),
    bins: table.task.hasSeveral ? [-1, 1].map(label => table.calibration(table.mask(all), 0, label)) : [],
    groups: ["truth", "predicted"].map(kind => [...table.groups(kind, 0).values]),
    orders: Object.keys(table.orders(all)),
    again: addresses.map(address => String(filterToAddress(filterFromAddress(address, table), table))),
  }
}
"""


def in_table(tmp_path: Path, task: str, filters: list[Any], addresses: list[str] = []) -> Any:  # noqa: B006
    (tmp_path / "data").write_bytes(data_of(task).pack(in_page=True))
    return run_node(
        tmp_path, TABLE, {"file": str(tmp_path / "data"), "filters": filters, "addresses": addresses}
    )


@needs_node
def test_rows_of_ordered_labels(tmp_path: Path) -> None:
    model, truth = model_of("ordinal"), truth_of("ordinal")
    P = model.predict_proba(TEXTS)
    decided, means = model.decide(P), (P @ np.array([1, 2, 5])).astype(np.float32)
    filters = [{"sort": "low"}, {"sort": "off"}, {"right": "wrong"}]
    found = in_table(tmp_path, "ordinal", filters, ["#sort=high", "#area=1,2,3,4"])
    low, off, wrong = found["rows"]
    assert low == np.argsort(means, kind="stable").tolist()
    errors = np.abs(means - np.array([1, 2, 5])[truth])
    assert errors[off].tolist() == sorted(errors.tolist(), reverse=True)
    assert wrong == np.flatnonzero(decided != truth).tolist()
    metrics = find_task("ordinal").measure(P, truth)
    assert found["score"] == f"{metrics.accuracy:.2%} right, mean error {metrics.mae:.3f}"
    assert found["orders"] == ["least", "most", "low", "high", "off"]
    assert found["again"] == ["sort=high", ""]


@needs_node
def test_rows_of_several_labels(tmp_path: Path) -> None:
    model, truth = model_of("multi-label"), truth_of("multi-label")
    P = model.predict_proba(TEXTS)
    given = model.decide(P)
    filters = [
        {"truth": 1}, {"predicted": 2}, {"right": "right"}, {"truth": 0, "right": "wrong"},
        {"predicted": 0, "right": "wrong"}, {"predicted": 1, "sort": "most"}, {"from": 0.9, "to": 1},
        {"label": 1, "from": 0.4, "to": 0.5}, {"label": 2, "from": 0, "to": 0.1},
    ]  # fmt: skip
    addresses = [
        "#true=soup&sort=most", "#sort=most", "#predicted=tea&confidence=0.1-0.2&label=soup", "#label=coffee",
    ]  # fmt: skip
    found = in_table(tmp_path, "multi-label", filters, addresses)
    masks = [
        truth[:, 1] == 1, given[:, 2], (given == truth).all(axis=1), (truth[:, 0] == 1) & ~given[:, 0],
        (truth[:, 0] == 0) & given[:, 0],
    ]  # fmt: skip
    assert found["rows"][:5] == [np.flatnonzero(mask).tolist() for mask in masks]
    assert all(mask.any() for mask in masks)
    surest = sorted(np.flatnonzero(given[:, 1]).tolist(), key=lambda row: (-P[row, 1], row))
    assert found["rows"][5] == surest
    masks = [(P > 0.9).any(axis=1), (P[:, 1] > 0.4) & (P[:, 1] <= 0.5), P[:, 2] <= 0.1]
    assert found["rows"][6:] == [np.flatnonzero(mask).tolist() for mask in masks]
    assert all(0 < mask.sum() < 60 for mask in masks)
    for bins, some in zip(found["bins"], (slice(None), slice(1, 2)), strict=True):
        expected = measure_calibration(P[:, some].ravel().astype(float), truth[:, some].ravel() == 1)
        assert [each["count"] for each in bins] == expected.counts.tolist()
        np.testing.assert_allclose(
            [[each["right"], each["confidence"]] for each in bins],
            np.stack([expected.accuracy, expected.confidence], axis=1) * expected.counts[:, None],
            atol=1e-4,
        )
    metrics = find_task("multi-label").measure(P, truth, model.thresholds)
    exact = f"{metrics.subset_accuracy:.2%}"
    assert found["score"] == f"micro F1 {metrics.micro_f1:.3f}, all labels right for {exact}"
    assert [[c["right"], c["predicted"], c["real"]] for c in found["counts"]] == metrics.counts.T.tolist()
    by_truth, by_answer = found["groups"]
    assert by_truth == np.where(truth.any(axis=1), truth.argmax(axis=1), 3).tolist()
    assert by_answer == np.where(given.any(axis=1), (P * given).argmax(axis=1), 3).tolist()
    assert found["orders"] == []  # without a label there is nothing to sort by
    assert found["again"] == ["sort=most&true=soup", "", "predicted=tea&label=soup&confidence=0.1-0.2", ""]


LACKING = """
import zlib from "node:zlib"
import { ALL, Table } from "./data_table.js"
import { parseArrays } from "./model_file.js"

function answer({ file }) {
  const table = Table.inPage(parseArrays(new Uint8Array(zlib.gunzipSync(fs.readFileSync(file)))))
  const bins = (of, label) => table.calibration(table.mask(ALL), of, label).map(({ count }) => count)
  const select = filter => [...table.select({ ...ALL, ...filter })].length
  return {
    bins: [0, 1].map(of => [-1, 0, 3].map(label => bins(of, label))),
    low: [0, 1].map(of => select({ of, label: 0, from: 0, to: 0.1 })),
    sorted: select({ of: 1, truth: 0, sort: "most" }),
  }
}
"""


@needs_node
def test_a_label_that_a_model_lacks_is_left_out_of_its_calibration(tmp_path: Path) -> None:
    model, other = model_of("multi-label"), with_labels("multi-label", "soup", "tea", "wine")
    (tmp_path / "data").write_bytes(data_of("multi-label", other).pack(in_page=True))
    found = run_node(tmp_path, LACKING, {"file": str(tmp_path / "data")})
    P, Q = model.predict_proba(TEXTS).astype(float), other.predict_proba(TEXTS).astype(float)

    def bins(some: np.ndarray) -> list[int]:
        return measure_calibration(some.ravel(), np.ones(some.size, bool)).counts.tolist()

    nothing = [0] * 10
    assert found["bins"] == [[bins(P), bins(P[:, 0]), nothing], [bins(Q), nothing, bins(Q[:, 2])]]
    assert found["low"] == [np.sum(P[:, 0] <= 0.1), 0]
    assert found["sorted"] == 30


@needs_node
def test_rows_of_numbers(tmp_path: Path) -> None:
    model, truth = model_of("regression"), truth_of("regression")
    values = model.predict_proba(TEXTS)[:, 0]
    area = [0.0, -0.5, 3.0, 1.5]
    filters = [{"sort": "high"}, {"sort": "off"}, {"area": area}]
    found = in_table(
        tmp_path, "regression", filters, ["#area=0,-0.5,3,1.5&right=wrong&true=value&differ=differ"]
    )
    high, off, inside = found["rows"]
    assert high == np.argsort(-values, kind="stable").tolist()
    errors = np.abs(values - truth)
    np.testing.assert_allclose(errors[off], sorted(errors, reverse=True), atol=1e-5)
    mask = (truth >= 0) & (truth <= 3) & (values >= -0.5) & (values <= 1.5)
    assert 0 < mask.sum() < 60
    assert inside == np.flatnonzero(mask).tolist()
    metrics = find_task("regression").measure(values[:, None], truth)
    assert found["score"] == f"R² {metrics.r2:.3f}, mean error {metrics.mae:.4g}".replace("-", "−")
    assert found["again"] == ["area=0%2C-0.5%2C3%2C1.5"]
    low, high = min(values.min(), truth.min()), max(values.max(), truth.max())
    bins = np.floor((truth - low) / (high - low) * 6).clip(0, 5)
    assert np.abs(np.array(found["groups"][0]) - bins).max() <= 1
    assert len(set(found["groups"][1])) > 2


# ---------------------------------------------------------------- what a person sees


def app_of(task: str) -> dict[str, Any]:
    return {"models": {"m": model_of(task)}, "data": data_of(task)}


def tabs(page: Any) -> list[str]:
    return page.locator(".tabs button").all_text_contents()


def page_of(folder: Path, task: str, saved: bool) -> Any:
    """The page of a task's model with its data and a text, served or saved."""
    address, path = "text=w1+w2+w3+w4", folder / "page.html"
    if not saved:
        return browsing(f"&{address}", app=app_of(task))
    save_page(model_of(task), path, precision="float32", data=data_of(task))
    return opened(path, f"#{address}")


def shown_weights(page: Any) -> list[float]:
    titles = [each.get_attribute("title") for each in page.locator(".words button").all()]
    return [float(title.replace("−", "-")) for title in titles]


@needs_chromium
@pytest.mark.parametrize("saved", [False, True])
def test_a_person_sees_ordered_labels(tmp_path: Path, saved: bool) -> None:
    model, text = model_of("ordinal"), "w1 w2 w3 w4"
    reading = model.read(text)
    mean = float(reading.probabilities @ [1, 2, 5])
    with page_of(tmp_path, "ordinal", saved) as page:
        assert (
            page.locator(".label").inner_text()
            == f"{reading.label} {100 * reading.confidence:.1f}% · mean {mean:.2f}"
        )
        assert page.locator(".bars bdi").all_text_contents() == ["1", "2", "5"]
        assert page.locator("[data-part=colours]").inner_text() == captions.colours_line("", task="ordinal")
        sums = captions.sum_line(float(reading.decided.sum()), reading.bias, "ordinal")
        assert page.locator("[data-part=sum]").inner_text() == sums
        np.testing.assert_allclose(shown_weights(page), reading.decided, atol=0.006)
        assert tabs(page) == ["Confusion", "Classes", "Calibration", "Map"]
        page.get_by_label("Order", exact=True).select_option("high")
        first = int(np.argmax(model.predict_proba(TEXTS) @ [1, 2, 5]))
        page.wait_for_function(
            "row => document.querySelector('.item').dataset.rowNumber === row", arg=str(first)
        )
        other = next(label for label in model.labels if label != reading.label)
        page.locator(".bars button", has_text=str(other)).click()
        page.wait_for_function(
            "() => document.querySelector('[data-part=sum]').textContent.includes('alone')"
        )
        np.testing.assert_allclose(shown_weights(page), model.read(text, against=other).decided, atol=0.006)
        picture = make_picture(reading)
        assert page.locator(".median").inner_text() == picture.median
        first, second = (label for label in model.labels if label != reading.label)  # any pair of answers
        page.get_by_label("Explain").select_option(label=str(first))
        page.get_by_label("rather than").select_option(label=str(second))
        asked = make_picture(model.read(text, label=first, against=second))
        page.wait_for_function(
            "line => document.querySelector('[data-part=colours]').textContent === line",
            arg=asked.colours(asked.label),
        )
        assert page.locator("[data-part=sum]").inner_text() == asked.first.sum_line
        np.testing.assert_allclose(shown_weights(page), asked.first.weights[0], atol=0.006)
        assert page.locator(".label strong").inner_text() == str(reading.label)  # still the answer
        assert f"about={first}&against={second}" in page.url
        with page.expect_download() as saved_picture:
            page.locator("[data-part=svg]").click()
        drawn = " ".join(ET.fromstring(Path(saved_picture.value.path()).read_text("utf-8")).itertext())
        assert all(word in drawn for word in picture.median.split())
        page.reload()
        page.get_by_label("Explain").locator("option:checked", has_text=str(first)).wait_for(state="attached")
        assert page.locator("[data-part=sum]").inner_text() == asked.first.sum_line


@needs_chromium
@pytest.mark.parametrize("saved", [False, True])
def test_a_person_sees_several_labels(tmp_path: Path, saved: bool) -> None:
    model, text = model_of("multi-label"), "w1 w2 w3 w4"
    given = model.decide(model.predict_proba(TEXTS))
    with page_of(tmp_path, "multi-label", saved) as page:
        answer = model.predict([text])[0]
        assert page.locator(".label strong").inner_text() == (", ".join(answer) or "no label")
        assert page.locator(".bars .predicted bdi").all_text_contents() == list(answer)
        shares = [
            f"{100 * p:.1f}% from {t}%"
            for p, t in zip(model.read(text).probabilities, (40, 50, 60), strict=True)
        ]
        assert page.locator(".bars span").all_text_contents() == shares
        for label in model.labels:
            page.locator(".bars button", has_text=label).click()
            page.wait_for_function(
                "label => document.querySelector('[data-part=colours]').textContent.includes(label)",
                arg=f"“{label}”",
            )
            np.testing.assert_allclose(shown_weights(page), model.read(text, label=label).decided, atol=0.006)
        assert "about=tea" in page.url
        assert tabs(page) == ["Labels", "Calibration", "Map"]
        page.get_by_label("Predicted", exact=True).select_option(label="soup")
        wait_for_count(page, int(given[:, 1].sum()))
        page.get_by_label("Order", exact=True).select_option("most")
        page.get_by_role("button", name="Clear filters").click()
        page.get_by_role("button", name="Calibration").click()
        P = model.predict_proba(TEXTS)
        shown = page.locator(".bins button").all()
        assert sum(int(each.inner_text()) for each in shown) == P.size
        page.get_by_label("Label", exact=True).select_option(label="soup")
        page.wait_for_function("() => document.querySelector('.axis').textContent.includes('“soup”')")
        middle = (P[:, 1] > 0.4) & (P[:, 1] <= 0.5)
        share = np.mean([TRUE["multi-label"][row].count("soup") for row in np.flatnonzero(middle)])
        name = f"probability of “soup” 40 to 50%: {middle.sum()} texts, {share:.1%} have it"
        page.get_by_role("button", name=name).click()
        wait_for_count(page, int(middle.sum()))
        assert "label=soup&confidence=0.4-0.5" in page.url
        page.get_by_role("button", name="probability of soup 40% to 50% ×").click()
        wait_for_count(page, 60)
        page.get_by_role("button", name="Labels", exact=True).click()
        page.get_by_role("region", name="Data").get_by_role("button", name="cold").click()
        wait_for_count(page, 30)
        page.locator(".item").first.click()
        page.wait_for_function("text => document.querySelector('.words').textContent === text", arg=TEXTS[1])
        right = model.predict([TEXTS[1]])[0] == ("cold",)
        assert page.locator(".truth").inner_text() == ("✓ right" if right else "✗ wrong: the data says cold")


@needs_chromium
@pytest.mark.parametrize("saved", [False, True])
def test_a_person_sees_numbers(tmp_path: Path, saved: bool) -> None:
    model, data = model_of("regression"), data_of("regression")
    save_page(model, tmp_path / "page.html", precision="float32", data=data)
    size = {"viewport": {"width": 1400, "height": 1000}}
    page_of = opened(tmp_path / "page.html", **size) if saved else browsing(app=app_of("regression"), **size)
    with page_of as page:
        reading = model.read(TEXTS[0])
        page.wait_for_function("text => document.querySelector('.words').textContent === text", arg=TEXTS[0])
        assert float(page.locator(".label strong").inner_text().replace("−", "-")) == pytest.approx(
            float(reading.probabilities[0]), rel=1e-3
        )
        assert page.locator(".truth").inner_text() == "the data says −1.5"
        assert page.locator("[data-part=colours]").inner_text() == captions.colours_line(
            "", task="regression"
        )
        assert page.locator(".bars li").count() == 1  # the axis
        assert tabs(page) == ["Predicted and true", "Map"]
        for name in ("Result", "True", "Predicted"):
            assert page.get_by_label(name, exact=True).count() == 0
        box = page.locator(".map").bounding_box()
        page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.1 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 0.8 * box["height"], steps=5)
        page.mouse.up()
        page.wait_for_function("() => document.querySelector('.count').textContent.includes('rectangle')")
        x0, y0, x1, y1 = page.evaluate("limelight.data.filter.area")
        truth, values = data.truth, data.predicted[0]
        inside = (truth >= x0) & (truth <= x1) & (values >= y0) & (values <= y1)
        assert 0 < inside.sum() < 60
        assert count(page) == inside.sum()
        page.get_by_role("button", name="Map").click()
        assert page.locator(".legend span").count() == 6


@needs_chromium
def test_models_of_one_task_stand_side_by_side() -> None:
    ordinal, numbers = model_of("ordinal"), model_of("regression")
    models = {"a": ordinal, "b": numbers, "c": model_of("ordinal", rows=2)}
    with browsing(app={"models": models}) as page:
        page.locator("textarea").first.fill("w1 w2")
        assert page.get_by_label("Compare with").locator("option").all_text_contents() == ["no other", "c"]
        page.get_by_label("Model", exact=True).select_option(label="b")
        page.wait_for_function(
            "() => document.querySelector('[data-part=colours]').textContent.includes('value')"
        )
        value = float(model_of("regression").predict(["w1 w2"])[0])
        assert float(page.locator(".label strong").inner_text().replace("−", "-")) == pytest.approx(
            value, rel=1e-3
        )
        assert page.locator(".bars").count() == 0  # no data, no range
        for kind in ("svg", "html"):
            with page.expect_download() as saved:
                page.locator(f"[data-part={kind}]").click()
            assert "raise the value" in Path(saved.value.path()).read_text("utf-8")


LEARNT = TABLE.replace(
    "    rows: filters",
    "    learnt: [...table.measured].filter(Boolean).length, told: table.told,\n"
    '    countsOf: ["", "no"].map(learnt => table.countsOf({ ...ALL, learnt })),\n'
    "    rows: filters",
)


@needs_node
def test_the_score_is_of_the_rows_that_were_not_learnt_from(tmp_path: Path) -> None:
    model, truth = copy.copy(model_of("ordinal")), truth_of("ordinal")
    model.learnt_rows = LearntRows.of([row_hash(text) for text in TEXTS[:20]])
    known = model.learnt_rows.has(TEXTS)
    data = explore_data([model], [(text,) for text in TEXTS], truth, name="test.csv")
    (tmp_path / "data").write_bytes(data.pack(in_page=True))
    given = {
        "file": str(tmp_path / "data"), "filters": [{"learnt": "yes"}, {"learnt": "no"}],
        "addresses": ["#learnt=no", "#learnt=maybe"],
    }  # fmt: skip
    found = run_node(tmp_path, LEARNT, given)
    assert 20 <= known.sum() < len(TEXTS)
    assert found["told"] == f"{known.sum()} of these {len(TEXTS)} rows were learnt from."
    assert found["rows"] == [np.flatnonzero(known).tolist(), np.flatnonzero(~known).tolist()]
    metrics = find_task("ordinal").measure(model.predict_proba(TEXTS)[~known], truth[~known])
    assert found["score"] == f"{metrics.accuracy:.2%} right, mean error {metrics.mae:.3f}"
    assert found["learnt"] == (~known).sum()
    assert found["countsOf"] == [
        f"Counted over all rows, of which {known.sum()} were learnt from: better than on new texts.",
        "",
    ]
    assert found["again"] == ["learnt=no", ""]


def test_rows_that_a_model_does_not_know_are_no_figure() -> None:
    data = data_of("ordinal")
    assert data.seen is not None
    header, arrays = unpack(data.pack())
    assert header["told"].startswith("This model does not know which rows it learnt from;")
    assert "learnt" not in arrays
