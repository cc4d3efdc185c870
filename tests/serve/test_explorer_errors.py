"""The explorer's page when answers are late, do not come, or come from another model than before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from browsers import needs_chromium
from limelight.runtime.model import Model
from limelight.serve import create_app
from serve.in_node import needs_node, run_node
from serve.live import in_thread
from serve.test_explorer import lively
from serve.test_explorer_page import TEXTS, app_of, browsing
from serve.test_page_model import model_of

SLOW = """() => {
    const { model } = limelight, { read } = model
    model.read = async (...given) => {
        await new Promise(done => setTimeout(done, 300))
        return read.apply(model, given)
    }
}"""
FAIL = "Promise.reject(new Error('out of order'))"


def words(page: Any, expected: str) -> None:
    page.wait_for_function("text => document.querySelector('.words').textContent === text", arg=expected)


def problem(page: Any) -> str:
    page.locator("[data-part=problem]").wait_for()
    return page.locator("[data-part=problem]").text_content()


@needs_chromium
def test_changes_made_before_the_answer_add_up_and_typing_keeps_the_focus():
    with browsing("&text=w1+w2+w3", app={"models": {"m": model_of({"rows": 4})}}) as page:
        page.locator(".fold summary").click()
        page.evaluate(SLOW)
        page.locator("[data-row='1'] input").uncheck()
        page.locator("[data-row='2'] input").uncheck()
        page.locator("[data-row='2'].off").wait_for()
        assert page.locator("[data-row='1'].off").count() == 1
        page.locator(".words button").first.press("Delete")
        page.locator("textarea").first.press_sequentially(" w4")
        words(page, "w1 w2 w3 w4")
        assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"


@needs_chromium
def test_a_server_that_fails_is_said_and_the_page_goes_on():
    app, _ = app_of(lively({}, TEXTS), near=True)
    with browsing(f"&text={TEXTS[5].replace(' ', '+')}&near=1", app=app) as page:
        page.evaluate(f"() => {{ limelight.model.nearest = () => {FAIL} }}")
        page.locator(".words button").first.click()
        page.locator(".chips", has_text="out of order").wait_for()
        page.keyboard.press("Escape")
        page.evaluate(f"() => {{ limelight.data.table.find = () => {FAIL} }}")
        page.get_by_label("Words in the text").fill("w7")
        assert problem(page) == "out of order"
        page.evaluate(f"() => {{ limelight.complain(''); limelight.data.table.fetchTexts = () => {FAIL} }}")
        page.evaluate("() => { limelight.data.table.known.delete(7); limelight.data.open(7) }")
        assert problem(page) == "out of order"
        page.evaluate(f"() => {{ limelight.complain(''); limelight.model.read = () => {FAIL} }}")
        page.locator(".fold summary").click()
        row = page.locator(".rows input").first
        row.click()
        assert problem(page) == "out of order"
        assert row.is_checked()


@needs_chromium
def test_what_comes_late_does_not_replace_what_came_since():
    app, _ = app_of(lively({}, TEXTS), near=True)
    late = """() => {
        const { table } = limelight.data, { source } = limelight.near
        const { fetchTexts } = table, { find } = source
        table.known.clear()
        table.fetchTexts = async rows => {
            await new Promise(done => setTimeout(done, rows[0] === 7 ? 400 : 0))
            return fetchTexts(rows)
        }
        limelight.near.details.open = true
        source.find = async texts => {
            if (texts[0] !== 'w1') return find(texts)
            await new Promise(done => setTimeout(done, 400))
            throw new Error("out of order")
        }
    }"""
    with browsing(app=app) as page:
        page.evaluate(late)
        page.evaluate("limelight.data.open(7); limelight.data.open(9)")
        words(page, TEXTS[9])
        page.evaluate("limelight.near.show(['w1']); limelight.near.show(['w2'])")
        page.wait_for_timeout(600)
        assert page.locator(".words").first.text_content() == TEXTS[9]
        assert page.locator(".near-list li").count() > 0


@needs_chromium
def test_a_new_token_in_the_address_is_taken():
    with browsing(app={"models": {"m": model_of({})}}, token="wrong") as page:
        page.get_by_label("Token").wait_for()
        page.evaluate("location.hash = '#token=t'")
        page.locator(".bars li").first.wait_for()
        assert "token" not in page.url


@needs_chromium
def test_a_text_with_control_characters_is_saved_as_a_picture():
    with browsing("&text=w1+%01+w2", app={"models": {"m": model_of({})}}) as page:
        with page.expect_download() as saved:
            page.locator("[data-part=png]").click()
        assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG")


@needs_node
def test_a_model_with_other_classes_is_not_taken_for_the_old_one(tmp_path: Path):
    model = model_of({})
    renamed = Model.from_parts(
        weights=model.weights,
        recipe=model.recipe,
        tokenizer=model.tokenizer,
        labels=("x", "y", "z"),
        precision="float32",
        threads=1,
    )
    old = TestClient(create_app({"m": model})).get("/explorer/about").json()["models"][0]
    script = """
    import { ServedModel } from "./served_model.js"

    function answer({ about, port }) {
      globalThis.localStorage = { getItem: () => null }
      const { fetch } = globalThis
      globalThis.fetch = (path, how) => fetch(`http://127.0.0.1:${port}${path}`, how)
      return new ServedModel(about).read(["w1"]).then(() => "read", error => error.message)
    }
    """
    for served, expected in ((model, "read"), (renamed, "reload the page")):
        with in_thread(create_app({"m": served})) as port:
            assert expected in run_node(tmp_path, script, {"about": old, "port": port})
