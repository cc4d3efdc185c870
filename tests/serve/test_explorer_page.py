"""The explorer in a browser, with models behind HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browsers import needs_chromium, new_context
from explain.models import negation_spotter
from limelight.runtime.model import Model
from limelight.serve import create_app
from limelight.serve.explorer.explored import ExploredData, ModelNeighbours, explore_data
from limelight.serve.explorer.one_file import save_page
from serve.live import in_thread
from serve.test_explorer import lively
from serve.test_one_file import ask_against, opened, shown, wait_for
from serve.test_page_model import model_of
from trained import LABELS, texts_of

pytestmark = needs_chromium
TEXTS = [text or "w1" for text in texts_of(300)]
TRUTH = np.arange(300) % 3


@contextmanager
def browsing(
    address: str = "", *, app: dict[str, Any], token: str | None = "t", **options: Any
) -> Iterator[Any]:
    """The page of a server in a browser; it must not complain, nor ask anyone else for anything."""
    complaints: list[str] = []
    with in_thread(create_app(**app, token="t")) as port, new_context(**options) as context:
        root = f"http://127.0.0.1:{port}/"
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith((root, "blob:")) else complaints.append(request.url)
            ),
        )
        page.goto(f"{root}{'' if token is None else f'#token={token}'}{address}")
        if token == "t":
            page.locator(".label strong").first.wait_for(state="attached")
        yield page
    ours = ("Failed to load resource: the server responded with a status of 401",)
    assert [each for each in complaints if not each.startswith(ours)] == []


def app_of(*models: Model, truth: bool = True, near: bool = False) -> tuple[dict[str, Any], ExploredData]:
    data = explore_data(models, [(text,) for text in TEXTS], TRUTH if truth else None, name="test.csv")
    named = dict(zip(("a", "b"), models, strict=False))
    return {"models": named, "data": data, "near": ModelNeighbours(models[0], data) if near else None}, data


def count(page: Any) -> int:
    """How many texts the list says it has."""
    return int(page.locator(".count").inner_text().split(" of ")[0].replace(",", ""))


def wait_for_count(page: Any, expected: int) -> None:
    page.wait_for_function(
        "n => document.querySelector('.count').textContent.startsWith(n + ' of ')", arg=f"{expected:,}"
    )


def test_a_person_types_changes_words_and_switches_rows_off_live():
    model = model_of({"rows": 4})
    with browsing(app={"models": {"m": model}}) as page:
        assert "token" not in page.url
        page.locator("textarea").first.fill("w1 😀 w2 <b>w3</b> w4")
        wait_for(page, model, "w1 😀 w2 <b>w3</b> w4")
        assert page.locator(".words").first.text_content() == "w1 😀 w2 <b>w3</b> w4"
        page.locator(".words button", has_text="w2").click()
        page.locator(".chips button").first.wait_for()
        page.get_by_role("button", name="Leave out").click()
        wait_for(page, model, "w1 😀  <b>w3</b> w4")
        page.get_by_role("button", name="Undo all changes").click()
        wait_for(page, model, "w1 😀 w2 <b>w3</b> w4")
        assert page.locator("[data-row='1']").is_hidden()
        page.locator(".fold summary").click()
        page.locator("[data-row='1'] input").uncheck()
        page.wait_for_selector("[data-row='1'].off")
        M = model.embed(["w1 😀 w2 <b>w3</b> w4"])
        M[:, 1] = 0
        np.testing.assert_allclose(shown(page)[1], 100 * model.classify(M)[0], atol=0.06)
        link = page.url
        page.locator("textarea").first.fill("w9")
        page.wait_for_function("() => document.querySelector('.words').textContent === 'w9'")
        page.goto(link)  # only the part after # differs: the page goes back to that view
        text = "w1 😀 w2 <b>w3</b> w4"
        page.wait_for_function("text => document.querySelector('.words').textContent === text", arg=text)
        assert page.locator("[data-row='1'].off").count() == 1


def test_a_click_on_a_class_asks_why_not_this_one():
    model, text = model_of({"head": "linear"}), "w1 w2 w3 w4"
    reading = model.read(text)
    others = [label for label in model.labels if label != reading.label]
    with browsing("&text=w1+w2+w3+w4", app={"models": {"m": model}}) as page:
        ask_against(page, model.read(text, against=others[0]), text)
        assert f"against={others[0]}" in page.url
        page.reload()  # the address has it
        ask_against(page, model.read(text, against=others[0]), text, click=False)
        ask_against(page, model.read(text, against=others[1]), text)
        page.locator(".bars button", has_text=others[1]).click()  # and back
        page.wait_for_function(
            "() => document.querySelector('[data-part=colours]').textContent.includes('support')"
        )
        assert page.locator(".bars [aria-pressed=true]").count() == 0
        assert "against" not in page.url


def test_words_that_are_read_together_are_told():
    with browsing("&text=The+soup+was+not+good,+it+can't", app={"models": {"m": negation_spotter()}}) as page:
        said = "Read together: “not good” (without both −76 points; without “not” −76, without “good” −76)."
        assert page.locator("[data-part=joint]").text_content() == said
        assert page.locator(".words button").all_text_contents()[-1] == "can't"
        page.locator(".words button", has_text="can't").press("Delete")
        page.wait_for_function("() => document.querySelector('.words del')?.textContent === \"can't\"")
        page.locator("textarea").first.fill("soup")
        page.locator("[data-part=joint]").wait_for(state="hidden")


def test_an_answer_that_comes_late_leaves_what_was_typed_meanwhile():
    slow = """() => {
        const { model } = limelight, { read } = model
        model.read = async (...given) => {
            await new Promise(done => setTimeout(done, 500))
            return read.apply(model, given)
        }
    }"""
    with browsing(app={"models": {"m": model_of({})}}) as page:
        page.evaluate(slow)
        page.locator("textarea").first.fill("w1")
        page.wait_for_timeout(300)  # the model is reading
        page.locator("textarea").first.press_sequentially(" w2 w3", delay=50)
        page.wait_for_function("() => document.querySelector('.words').textContent === 'w1 w2 w3'")
        assert page.locator("textarea").first.input_value() == "w1 w2 w3"


def test_a_page_without_the_token_asks_for_it():
    with browsing(app={"models": {"m": model_of({})}}, token="wrong") as page:
        page.get_by_label("Token").fill("t")
        page.get_by_role("button", name="Open").click()
        page.locator(".bars li").first.wait_for()


def test_data_is_filtered_by_cells_classes_confidence_and_words():
    app, data = app_of(lively({}, TEXTS))
    predicted, confidence = data.predicted[0], data.confidence[0]
    with browsing(app=app) as page:
        assert count(page) == 300
        assert page.locator("[data-part=aspectsCard]").is_hidden()  # a model without aspects has none of them
        assert page.get_by_role("button", name="Aspects").count() == 0
        assert page.get_by_label("Aspect", exact=True).count() == 0
        truth, guess = 2, int(np.bincount(predicted[TRUTH == 2]).argmax())
        cell = page.locator(f"[data-truth='{truth}'][data-predicted='{guess}']")
        expected = int(((truth == TRUTH) & (predicted == guess)).sum())
        assert cell.text_content() == str(expected)
        cell.click()
        wait_for_count(page, expected)
        first = int(np.flatnonzero((truth == TRUTH) & (predicted == guess))[0])
        page.locator(".item .text", has_text=TEXTS[first][:20]).first.click()
        page.wait_for_function(
            "text => document.querySelector('.words').textContent === text", arg=TEXTS[first]
        )
        says = page.locator(".truth").text_content()
        assert says.startswith("✓") if truth == guess else LABELS[truth] in says
        link = page.url
        page.get_by_role("button", name="Clear filters").click()
        wait_for_count(page, 300)
        page.goto(link)
        wait_for_count(page, expected)
        page.get_by_role("button", name="Clear filters").click()
        page.get_by_role("button", name="Calibration").click()
        k = int(np.clip(np.ceil(confidence * 10) - 1, 0, 9).astype(int)[0])
        page.locator(f"[data-bin='{k}']").click()
        wait_for_count(page, int(((confidence > k / 10) & (confidence <= (k + 1) / 10)).sum()))
        page.locator(".count button", has_text="confidence").click()
        page.get_by_role("button", name="Classes").click()
        page.get_by_role("region", name="Data").get_by_role("button", name="fair").click()
        wait_for_count(page, 100)
        page.get_by_role("button", name="Clear filters").click()
        page.get_by_label("Words in the text").fill("W7")
        found = sum("w7" in text for text in TEXTS)
        wait_for_count(page, found)
        page.get_by_label("Result", exact=True).select_option("wrong")
        wrong = [k for k, text in enumerate(TEXTS) if "w7" in text and predicted[k] != TRUTH[k]]
        wait_for_count(page, len(wrong))
        page.get_by_label("Order", exact=True).select_option("least")
        least = min(wrong, key=lambda k: (confidence[k], k))
        page.wait_for_function(
            "row => document.querySelector('.item').dataset.rowNumber === row", arg=str(least)
        )


def test_the_keyboard_browses_the_list():
    app, _ = app_of(lively({}, TEXTS), truth=False)
    with browsing(app=app) as page:
        page.locator(".list").focus()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowDown")
        page.wait_for_function("text => document.querySelector('.words').textContent === text", arg=TEXTS[1])
        page.keyboard.press("End")
        page.wait_for_function(
            "text => document.querySelector('.words').textContent === text", arg=TEXTS[299]
        )
        assert page.locator(".item[aria-selected=true]").get_attribute("aria-posinset") == "300"
        assert "row=299" in page.url
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.dataset.word") == "0"
        assert page.locator(".truth").count() == 0  # no labels
        assert page.get_by_role("button", name="Confusion").count() == 0


def test_two_models_side_by_side_and_where_they_differ():
    first, second = lively({}, TEXTS), lively({"rows": 2}, TEXTS)
    app, data = app_of(first, second)
    with browsing(app=app) as page:
        assert page.locator(".pane").count() == 2
        assert page.locator(".model-name").all_text_contents() == ["a", "b"]
        page.get_by_label("Models", exact=True).select_option("differ")
        differ = np.flatnonzero(data.predicted[0] != data.predicted[1])
        wait_for_count(page, len(differ))
        page.locator(".item").first.click()
        text = TEXTS[int(differ[0])]
        page.wait_for_function("text => document.querySelector('.words').textContent === text", arg=text)
        for pane, model in zip(page.locator(".pane").all(), (first, second), strict=True):
            assert pane.locator(".label strong").text_content() == model.predict([text])[0]
        page.get_by_label("Models", exact=True).select_option("second")
        only = (data.predicted[1] == TRUTH) & (data.predicted[0] != TRUTH)
        wait_for_count(page, int(only.sum()))
        page.locator(".pane").nth(1).locator(".fold summary").click()
        page.locator(".pane").nth(1).locator("[data-row='0'] input").uncheck()
        page.locator(".pane").nth(1).locator("[data-row='0'].off").wait_for()
        assert page.locator(".pane").first.locator(".off").count() == 0
        assert "off2=0" in page.url


def test_a_rectangle_on_the_map_filters():
    app, data = app_of(lively({}, TEXTS))
    with browsing("&figure=map", app=app, viewport={"width": 1400, "height": 1000}) as page:
        page.locator(".map").wait_for()
        box = page.locator(".map").bounding_box()
        corners = [(0.1, 0.2), (0.6, 0.9)]
        points = [(box["x"] + a * box["width"], box["y"] + b * box["height"]) for a, b in corners]
        page.mouse.move(*points[0])
        page.mouse.down()
        page.mouse.move(*points[1], steps=5)
        page.mouse.up()
        page.wait_for_function("() => document.querySelector('.count').textContent.includes('rectangle')")
        x0, y0, x1, y1 = map(float, re.search(r"box=([^&]*)", page.url)[1].replace("%2C", ",").split(","))
        x, y = data.places.T
        inside = (x >= x0) & (x <= x1) & (y >= y0) & (y <= y1)
        assert 0 < inside.sum() < 300
        assert abs(count(page) - int(inside.sum())) <= 1  # the address has four digits
        page.locator(".map").focus()
        page.keyboard.press("Escape")
        wait_for_count(page, 300)
        page.keyboard.press("Enter")
        page.wait_for_function("() => !document.querySelector('.brush').hidden")
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("ArrowDown")
        assert page.url.count("box=") == 1


def test_nearest_texts_open_in_the_view():
    model = lively({}, TEXTS)
    app, _ = app_of(model, near=True)
    near = app["near"].find((TEXTS[5],))
    with browsing(f"&text={TEXTS[5].replace(' ', '+')}&near=1", app=app) as page:
        page.locator(".near-list li").first.wait_for()
        assert page.locator(".near-list .hit").first.text_content() == near[0]["texts"][0]
        assert page.locator(".near-list .number").first.text_content() == f"{near[0]['similarity']:.2f}"
        page.locator(".near-list button").first.click()
        page.wait_for_function(
            "text => document.querySelector('.words').textContent === text", arg=near[0]["texts"][0]
        )


@pytest.mark.parametrize("width", [390, 2000])
def test_it_fits_any_width_and_saves_what_it_shows(width):
    app, _ = app_of(lively({}), lively({"rows": 2}), near=True)
    with browsing(app=app, viewport={"width": width, "height": 900}, color_scheme="dark") as page:
        for figure in ("Classes", "Calibration", "Map", "Confusion"):
            page.get_by_role("button", name=figure).click()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        for kind, start in (("svg", b"<svg "), ("png", b"\x89PNG"), ("html", b"<!doctype html>")):
            with page.expect_download() as saved:
                page.locator(f"[data-part={kind}]").click()
            content = Path(saved.value.path()).read_bytes()
            assert content.startswith(start)
        assert content.count(b'class="pane"') == 2
        assert b"<script" not in content


def test_a_hundred_thousand_rows_keep_few_elements_in_the_page():
    model = model_of({})
    rng, n = np.random.default_rng(0), 100_000
    small = explore_data([model], [(text,) for text in TEXTS], TRUTH)
    data = ExploredData(
        "large", [(f"w{k % 40} number {k}",) for k in range(n)], small.labels,
        rng.integers(0, 3, n).astype(np.int32), rng.integers(0, 3, (1, n)).astype(np.int32),
        rng.random((1, n)), rng.normal(size=(n, 2)), small.directions, np.zeros((n, 8), np.float32), n,
    )  # fmt: skip
    with browsing(app={"models": {"m": model}, "data": data}) as page:
        assert count(page) == n
        page.locator(".list").focus()
        page.keyboard.press("End")
        page.wait_for_function("() => document.querySelector('.words').textContent.endsWith('number 99999')")
        assert page.locator(".item").count() < 60
        page.get_by_label("Words in the text").fill("number 1234")
        wait_for_count(page, sum("number 1234" in text for (text,) in data.items))


def test_a_saved_page_has_rows_of_data(tmp_path: Path):
    model, file = lively({}, TEXTS), tmp_path / "page.html"
    data = explore_data([model], [(text,) for text in TEXTS], TRUTH, name="<b>test</b>", of_rows=5000)
    save_page(model, file, precision="float32", data=data)
    with opened(file) as page:
        assert "300 of 5,000 texts" in page.locator(".data h2").text_content()
        page.get_by_label("Result", exact=True).select_option("right")
        wait_for_count(page, int((data.predicted[0] == TRUTH).sum()))
        page.get_by_label("Words in the text").fill("w7")
        right = [k for k in range(300) if data.predicted[0][k] == TRUTH[k] and "w7" in TEXTS[k]]
        wait_for_count(page, len(right))
        page.locator(".item").first.click()
        page.wait_for_function(
            "text => document.querySelector('.words').textContent === text", arg=TEXTS[right[0]]
        )
        wait_for(page, model, TEXTS[right[0]])
        near = ModelNeighbours(model, data).find((TEXTS[right[0]],))
        page.get_by_text("Nearest texts").click()
        page.locator(".near-list li").first.wait_for()
        assert page.locator(".near-list .hit").first.text_content() == near[0]["texts"][0]
        assert page.locator(".near-list .number").first.text_content() == f"{near[0]['similarity']:.2f}"
        page.get_by_role("button", name="Map").click()
        assert page.locator(".legend span").count() == 3


def test_a_server_of_several_models_lets_one_choose():
    single, other, pairs = lively({}), lively({"rows": 2}), model_of({}, "gated")
    with browsing(app={"models": {"a": single, "b": other, "c": pairs}}) as page:
        page.locator("textarea").first.fill("w1 w2")
        page.get_by_label("Compare with").select_option(label="b")
        page.wait_for_function(
            "() => [...document.querySelectorAll('.words')].map(p => p.textContent).join() === 'w1 w2,w1 w2'"
        )
        for pane, model in zip(page.locator(".pane").all(), (single, other), strict=True):
            assert pane.locator(".label strong").text_content() == model.predict(["w1 w2"])[0]
        link = page.url
        page.get_by_label("Model", exact=True).select_option(label="c")
        page.locator("textarea").nth(1).wait_for()
        page.locator("textarea").first.fill("w1 w2")
        page.locator("textarea").nth(1).fill("w3")
        wait_for(page, pairs, "w1 w2", "w3")
        assert page.locator(".pane").count() == 1
        page.goto(link)
        page.locator(".pane").nth(1).locator(".bars li").first.wait_for()
        assert page.locator(".model-name").all_text_contents() == ["a", "b"]


def test_two_models_name_their_classes_in_one_order():
    one, other = lively({}), lively({"rows": 2})
    last = {name: other.weights[name][::-1].copy() for name in ("head.W_o", "head.b_o")}
    labels = other.labels[::-1]
    turned = Model.from_parts(
        weights={**other.weights, **last},
        recipe=other.recipe,
        tokenizer=other.tokenizer,
        labels=labels,
        precision="float32",
        threads=1,
    )
    with browsing(app={"models": {"a": one, "b": turned}}) as page:
        page.locator("textarea").first.fill("w1 w2")
        page.get_by_label("Compare with").select_option(label="b")
        page.locator(".pane").nth(1).locator(".bars li").first.wait_for()
        for pane, model in zip(page.locator(".pane").all(), (one, other), strict=True):
            bars = pane.locator(".bars li").all_text_contents()
            assert all(label in bar for label, bar in zip(one.labels, bars, strict=True))
            assert pane.locator(".label strong").text_content() == model.predict(["w1 w2"])[0]
