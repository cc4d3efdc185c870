"""Aspects in the explorer: what the page gets, how it filters and sorts, and what a person sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from aspects.test_facts import model_of
from limelight.reading.picture import aspect_maps
from limelight.reading.pieces import split_pieces
from limelight.runtime.model import Model
from limelight.serve import create_app
from limelight.serve.explorer.explored import ExploredData, explore_data
from limelight.serve.explorer.one_file import save_page
from serve.in_node import needs_node, run_node
from serve.test_explorer import unpack
from serve.test_explorer_page import browsing, count, wait_for_count
from serve.test_one_file import needs_chromium, opened
from trained import texts_of

NAMES = {"a b": ["w1"], "b": ["w2", "w3"], "never": ["nothing"]}
TEXTS = [f"😀 {text}, w1 w5. w2 w6" if k % 3 else (text or "w5") for k, text in enumerate(texts_of(60))]


def stars(**more: Any) -> Model:
    """Five classes that are numbers."""
    model = model_of("classification", (1, 2, 3, 4, 5), aspects=None, **more)
    return model.with_aspects(NAMES)


@pytest.fixture(scope="module")
def model() -> Model:
    return stars()


@pytest.fixture(scope="module")
def data(model: Model) -> ExploredData:
    return explore_data([model], [(text,) for text in TEXTS], name="test.csv")


def test_the_page_gets_the_effect_and_the_clause_of_each_aspect_in_each_row(model, data):
    client = TestClient(create_app({"m": model}, data=data))
    header, arrays = unpack(client.get("/explorer/data").content)
    assert header["aspects"] == {"names": ["a b", "b", "never"], "unit": "stars"}
    found = [reading.aspect_sum for reading in model.read_many(TEXTS)]
    effects = [[share.effect for share in each.aspects] for each in found]
    np.testing.assert_allclose(arrays["aspectEffects"], effects, atol=1e-6)
    np.testing.assert_allclose(arrays["aspectSums"], [(each.bias, each.rest) for each in found], atol=1e-6)
    for row, each in enumerate(found):
        for k, share in enumerate(each.aspects):
            assert tuple(arrays["clauseSpans"][row, k]) == (share.span or (0, 0))
            by_span = {clause.span: clause.effect for clause in share.clauses}
            assert arrays["clauseEffects"][row, k] == pytest.approx(by_span.get(share.span, 0), abs=1e-6)
    assert not arrays["clauseSpans"][:, 2].any()


def test_rows_are_read_as_without_aspects(model, data):
    plain = explore_data([model.with_aspects({})], [(text,) for text in TEXTS], name="test.csv")
    assert plain.aspects is None
    assert unpack(plain.pack())[0]["aspects"] is None
    np.testing.assert_array_equal(data.predicted, plain.predicted)
    for name in ("confidence", "places", "vectors"):
        np.testing.assert_allclose(getattr(data, name), getattr(plain, name), atol=1e-5)


def test_explain_has_clauses_and_weights_for_the_page(model):
    client = TestClient(create_app({"m": model}))
    answer = client.post("/explain", json={"inputs": TEXTS[1]}).json()["aspects"]
    expected = model.read(TEXTS[1]).aspects
    assert [each["clauses"] for each in answer["aspects"]] == [
        [
            {"span": list(clause.span), "effect": pytest.approx(clause.effect, abs=1e-6)}
            for clause in share.clauses
        ]
        for share in expected
    ]
    assert answer["aspects"][0]["weights"] == pytest.approx(expected[0].weights.tolist(), abs=1e-6)
    assert answer["aspects"][2]["weights"] is None


# ---------------------------------------------------------------- in JavaScript

TABLE = """
import zlib from "node:zlib"
import { aspectLines, servedAspects } from "./aspects.js"
import { ALL, Table } from "./data_table.js"
import { places } from "./edits.js"
import { filterFromAddress, filterToAddress } from "./filter_address.js"
import { parseArrays } from "./model_file.js"

async function answer({ file, filters, readings, address }) {
  const table = Table.inPage(parseArrays(new Uint8Array(zlib.gunzipSync(fs.readFileSync(file)))))
  const everything = new Uint8Array(table.rows).fill(1)
  return {
    rows: filters.map(filter => [...table.select({ ...ALL, ...filter })]),
    summary: table.aspectSummary(everything),
    lines: readings.map(each => aspectLines(servedAspects(each, each.text, places(each.text)))),
    ofRow: table.aspects.ofRow(1, (await table.texts([1]))[0][0]),
    again: String(filterToAddress(filterFromAddress(address, table), table)),
    unknown: String(filterToAddress(filterFromAddress("#aspect=x&says=blamed&sort=best", table), table)),
  }
}
"""


@needs_node
def test_the_page_filters_sorts_and_says_as_python_does(tmp_path: Path, model, data):
    (tmp_path / "data").write_bytes(data.pack(in_page=True))
    readings = [*model.read_many(TEXTS[:6]), model.read(TEXTS[1], against=model.labels[0])]
    says = ["", "praised", "blamed", "not"]
    filters = [{"aspect": 0, "says": each} for each in says] + [{"aspect": 1, "sort": "worst"}]
    given = {
        "file": str(tmp_path / "data"), "filters": filters, "address": "#aspect=a+b&says=blamed&sort=best",
        "readings": [reading.to_dict() for reading in readings],
    }  # fmt: skip
    found = run_node(tmp_path, TABLE, given)
    effects, there = data.aspects.effects, data.aspects.spans[..., 1] > 0
    masks = [there[:, 0], there[:, 0] & (effects[:, 0] > 0), there[:, 0] & (effects[:, 0] < 0), ~there[:, 0]]
    assert found["rows"][:4] == [np.flatnonzero(mask).tolist() for mask in masks]
    assert all(0 < mask.sum() < len(TEXTS) for mask in (masks[0], masks[3]))
    second = np.flatnonzero(there[:, 1])
    assert found["rows"][4] == sorted(second.tolist(), key=lambda row: (effects[row, 1], row))
    assert found["summary"][1]["mentioned"] == len(second)
    assert found["summary"][1]["mean"] == pytest.approx(float(effects[second, 1].mean()), abs=1e-6)
    assert found["summary"][2] == {"mentioned": 0, "mean": 0, "praised": 0, "blamed": 0}
    for reading, lines in zip(readings, found["lines"], strict=True):
        expected = aspect_maps(reading, split_pieces(reading))
        assert lines["sum"] == expected.sum_line
        assert (lines["missing"], lines["effects"]) == (
            expected.not_mentioned,
            [m.note for m in expected.maps],
        )
    own = found["ofRow"]
    assert own["answer"] == pytest.approx(readings[1].aspect_sum.answer, abs=1e-5)
    clause = own["aspects"][0]["clauses"][0]
    utf_16 = TEXTS[1].encode("utf-16-le")
    assert (
        utf_16[2 * clause["start"] : 2 * clause["end"]].decode("utf-16-le") == readings[1].aspects[0].clause
    )
    assert found["again"] == "sort=best&says=blamed&aspect=a+b"
    assert found["unknown"] == ""


PANES = """
globalThis.document = { addEventListener() {} }
const { Explorer } = await import("./explorer.js")

async function answer({ shown }) {
  const drawn = [], models = [{}, {}]
  const draw = (reading, truth, aspects) => drawn.push(aspects ?? null)
  const pane = model => ({ model, plans: [], read: async () => ({}), draw })
  const panes = shown.map(k => pane(models[k])), inputs = { value: [] }
  const data = { truthOf: () => "5", aspectsOf: () => "of the first model" }
  const parts = { back: {}, problem: {}, models: {} }
  const explorer = Object.create(Explorer.prototype, { inputs, writeAddress: { value() {} } })
  Object.assign(explorer, { models, panes, data, parts, started: 0 })
  await explorer.show({ texts: ["w1"], off: [] })
  return drawn
}
"""


@needs_node
def test_the_aspects_of_the_data_are_those_of_its_first_model_alone(tmp_path: Path):
    for shown in ([0, 1], [1, 0]):
        expected = [None if k else "of the first model" for k in shown]
        assert run_node(tmp_path, PANES, {"shown": shown}) == expected


# ---------------------------------------------------------------- in a browser


@needs_chromium
def test_a_person_looks_for_what_is_blamed_and_opens_a_clause(model, data):
    effects, there = data.aspects.effects, data.aspects.spans[..., 1] > 0
    text = "😀 w1 <i>w5</i>, w2 w6"
    with browsing(app={"models": {"m": model}, "data": data}) as page:
        page.locator("textarea").first.fill(text)
        expected = aspect_maps(model.read(text), split_pieces(model.read(text)))
        page.wait_for_function(
            "said => document.querySelector('[data-part=aspectsSum]').textContent === said",
            arg=expected.sum_line,
        )
        assert page.locator("[data-aspect]").count() == 2
        assert page.locator("[data-aspect='a b'] .clauses").text_content() == "😀 w1 <i>w5</i>"
        assert page.locator("[data-part=aspectsMissing]").text_content() == "Not mentioned: never."
        page.locator("[data-aspect='b'] button").press("Enter")  # its clauses in all texts
        wait_for_count(page, int(there[:, 1].sum()))
        page.get_by_label("It is", exact=True).select_option("blamed")
        wait_for_count(page, int((there[:, 1] & (effects[:, 1] < 0)).sum()))
        page.get_by_label("Order", exact=True).select_option("worst")
        worst = min(np.flatnonzero(there[:, 1]).tolist(), key=lambda row: (effects[row, 1], row))
        page.wait_for_function(
            "row => document.querySelector('.item').dataset.rowNumber === row", arg=str(worst)
        )
        assert "stars" in page.locator(".item .answers").first.text_content()
        lists = page.locator(".clause-lists section")
        clause_effects = np.where(effects[:, 1] < 0, data.aspects.clause_effects[:, 1], 0)
        first = int(clause_effects.argmin())
        start, end = data.aspects.spans[first, 1]
        button = lists.nth(1).locator("button").first
        page.wait_for_function("() => !document.querySelector('.clause-lists').textContent.includes('…')")
        assert button.text_content() == TEXTS[first][start:end]
        button.press("Enter")
        page.wait_for_function(
            "text => document.querySelector('.words').textContent === text", arg=TEXTS[first]
        )
        assert "aspect=b" in page.url
        page.reload()
        page.locator(".clause-lists button").first.wait_for()
        page.get_by_role("button", name="Clear filters").click()
        wait_for_count(page, len(TEXTS))
        assert page.locator(".clause-lists").count() == 0


@needs_chromium
def test_a_file_has_the_aspects_of_its_rows(tmp_path: Path, model, data):
    save_page(model, tmp_path / "page.html", data=data)
    with opened(tmp_path / "page.html", "#figure=aspects&aspect=a+b") as page:
        assert count(page) == int((data.aspects.spans[:, 0, 1] > 0).sum())
        row = int(page.locator(".item").first.get_attribute("data-row-number"))
        share = model.read(TEXTS[row]).aspects[0]
        page.locator("[data-aspect='a b']").wait_for()
        assert page.locator("[data-aspect='a b'] .clauses").text_content() == share.clause
        page.locator("textarea").first.fill("w1")
        page.wait_for_function(
            "() => document.querySelector('[data-part=aspectsMissing]').textContent.startsWith('This file')"
        )
