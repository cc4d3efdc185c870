"""The page with the model inside: what is in the file, and that it works in a browser without a network."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browsers import needs_chromium, new_context
from limelight.cli import main
from limelight.reading.colours import DARK, LEVELS, LIGHT
from limelight.runtime.model import Model
from limelight.serve.explorer import one_file
from limelight.serve.explorer.one_file import build_page, explore_page, save_page
from refusing import refuses
from serve.test_page_model import model_of
from trained import save


def test_the_policy_allows_this_script_and_style_and_nothing_else() -> None:
    page, _ = build_page(model_of({}), words=20)
    policy = re.search('Content-Security-Policy" content="([^"]*)"', page)[1]
    script = re.search('<script type="module">(.*?)</script>', page, re.DOTALL)[1]
    style = re.search("<style>(.*?)</style>", page, re.DOTALL)[1]
    for content in (script, style):
        assert base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe-inline" not in policy
    assert page.count("<script") == page.count("</script>") == 2
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)


def test_names_from_a_model_are_text() -> None:
    model = model_of({})
    named = Model.from_parts(
        weights=model.weights,
        recipe=model.recipe,
        tokenizer=model.tokenizer,
        labels=("</script><b>", "b", "c"),
        facts={"name": "</title><script>alert(1)</script>"},
        precision="float32",
        threads=1,
    )
    page, _ = build_page(named)
    assert page.count("<script") == 2
    assert "&lt;/title&gt;&lt;script&gt;" in page


def test_the_colours_are_those_of_the_pictures() -> None:
    page, _ = build_page(model_of({}), words=20)
    for theme in (LIGHT, DARK):
        assert f"--h{LEVELS}:{theme.warm[LEVELS]};" in page
        assert f"--c1:{theme.cold[1]};" in page
        assert f"--ink:{theme.ink};" in page
    assert page.count(f".c{LEVELS} {{ background: var(--c{LEVELS})") == 1


def test_the_command_saves_a_page_and_refuses_what_it_should(tmp_path: Path, capsys) -> None:
    model, page = str(save(tmp_path / "model")), tmp_path / "page.html"
    assert main(["explore", model, "--save", str(page), "--words", "7"]) == 0
    assert "7 words; the other 33 are read as similar ones" in capsys.readouterr().out
    assert main(["explore", model, "--save", str(page)]) == 2
    assert main(["explore", model, "--save", str(tmp_path / "page.txt")]) == 2
    assert main(["explore", "reader", "--save", str(tmp_path / "reader.html")]) == 2
    assert capsys.readouterr().err.count("\n") == 3
    with refuses("exists"):
        save_page(Model.load(model), page)


def test_a_file_that_appears_while_the_page_is_made_stays(tmp_path: Path, monkeypatch) -> None:
    def appear(*given: Any, **how: Any) -> tuple[str, int]:
        (tmp_path / "page.html").write_text("mine")
        return "a page", 1

    monkeypatch.setattr(one_file, "build_page", appear)
    with refuses("exists"):
        save_page(model_of({}), tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == "mine"
    save_page(model_of({}), tmp_path / "page.html", overwrite=True)
    assert (tmp_path / "page.html").read_text() == "a page"


# ---------------------------------------------------------------- in a browser


@contextmanager
def opened(file: Path, address: str = "", frame: bool = False, **options: Any) -> Iterator[Any]:
    """The page in a browser without a network; it must not complain, nor ask for anything but itself."""
    complaints: list[str] = []
    with new_context(offline=True, **options) as context:
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.extend({request.url} - {file.as_uri(), "about:srcdoc"}))
        page.goto(file.as_uri() + address)
        shown = page.frame_locator("iframe") if frame else page
        shown.locator(".label strong").first.wait_for(state="attached")
        yield shown
    assert [each for each in complaints if not each.startswith((file.as_uri(), "blob:"))] == []


def shown(page: Any) -> tuple[str, list[float]]:
    """The predicted label, and the probabilities in percent."""
    shares = page.locator(".bars span").all_text_contents()
    return page.locator(".label strong").text_content(), [float(share[:-1]) for share in shares]


def wait_for(page: Any, model: Model, *texts: str) -> None:
    """Until the page shows what Python says of these texts."""
    expected = [f"{100 * p:.1f}%" for p in model.read(*texts).probabilities]
    page.wait_for_function(
        "expected => { const bars = [...document.querySelectorAll('.bars span')];"
        " return bars.length === expected.length && bars.every((bar, k) =>"
        " Math.abs(parseFloat(bar.textContent) - parseFloat(expected[k])) < 0.15) }",
        arg=expected, timeout=10_000,
    )  # fmt: skip


def ask_against(page: Any, reading: Any, text: str, click: bool = True) -> None:
    """Ask why not the class that a reading was asked against; the page then shows its weights."""
    versus = str(reading.versus)
    if click:
        page.locator(".bars button", has_text=versus).click()
    page.locator(".bars [aria-pressed=true]", has_text=versus).wait_for()
    line = page.locator("[data-part=colours]").text_content()
    assert (
        line == f"Orange words speak for “{reading.label}” rather than “{versus}”, blue words for “{versus}”."
    )
    assert f"beside “{versus}” alone" in page.locator("[data-part=sum]").text_content()
    titles = [each.get_attribute("title") for each in page.locator(".words button").all()]
    found = [float(title.replace("−", "-")) for title in titles]
    np.testing.assert_allclose(found, reading.decided, atol=0.006)
    assert page.locator(".words").first.text_content() == text


@needs_chromium
def test_a_person_types_leaves_out_replaces_and_switches_off(tmp_path: Path) -> None:
    model, file = model_of({"rows": 4}), tmp_path / "page.html"
    save_page(model, file, precision="float32")
    with opened(file) as page:
        page.locator("textarea").first.fill("w1 w2 <b>w3</b> w4")
        wait_for(page, model, "w1 w2 <b>w3</b> w4")
        assert page.locator(".words").first.text_content() == "w1 w2 <b>w3</b> w4"
        page.locator(".words button", has_text="w2").click()
        page.get_by_role("button", name="Leave out").click()
        wait_for(page, model, "w1  <b>w3</b> w4")
        link = page.url
        page.locator(".words button", has_text="w4").press("Enter")
        page.get_by_label("Another word").fill("w9")
        page.keyboard.press("Enter")
        wait_for(page, model, "w1  <b>w3</b> w9")
        page.get_by_role("button", name="Undo all changes").click()
        wait_for(page, model, "w1 w2 <b>w3</b> w4")
        page.locator(".words button").first.press("Delete")
        wait_for(page, model, " w2 <b>w3</b> w4")
        page.locator("[data-part=back]").click()
        page.locator(".fold summary").click()
        page.locator("[data-row='1'] input").uncheck()
        M = model.embed(["w1 w2 <b>w3</b> w4"])
        M[:, 1] = 0
        page.wait_for_selector("[data-row='1'].off")
        np.testing.assert_allclose(shown(page)[1], 100 * model.classify(M)[0], atol=0.06)
    with opened(file, link[len(file.as_uri()) :]) as page:  # a link shows the same view
        wait_for(page, model, "w1  <b>w3</b> w4")
        assert page.locator(".words del").all_text_contents() == ["w2"]


@needs_chromium
def test_words_that_are_not_kept_say_how_they_are_read_and_that_the_answer_may_differ(tmp_path: Path) -> None:
    model, file = model_of({}), tmp_path / "page.html"
    save_page(model, file, words=5)
    with opened(file, "#text=w1+w30+unheard") as page:
        marked = page.locator(".words .unknown")
        assert marked.all_text_contents() == ["w30", "unheard"]
        kept = model.tokenizer.vocabulary[2:7]
        assert any(f"read as “{word}”" in marked.first.get_attribute("title") for word in kept)
        assert "“w30” as “" in page.locator("[data-part=differs]").text_content()
        with page.expect_download() as saved:
            page.locator("[data-part=svg]").click()
        picture = Path(saved.value.path()).read_text("utf-8")
        assert "The full model may answer differently." in picture
        assert page.locator("[data-part=sum]").text_content() in picture
        marked.nth(1).hover()
        assert page.locator("[data-part=readers]").text_content() == "Read as an unknown word"
        page.locator(".fold summary").click()
        marked.nth(1).hover()
        assert page.locator("[data-part=readers]").text_content().startswith("Read as an unknown word by ")


@needs_chromium
def test_a_click_on_a_class_asks_why_not_this_one(tmp_path: Path) -> None:
    model, file, text = model_of({"head": "linear"}), tmp_path / "page.html", "w1 w2 w3 w4"
    save_page(model, file, precision="float32")
    label = model.read(text).label
    with opened(file, "#text=w1+w2+w3+w4") as page:
        for other in (each for each in model.labels if each != label):
            ask_against(page, model.read(text, against=other), text)
        link = page.url
        with page.expect_download() as saved:
            page.locator("[data-part=svg]").click()
        assert f"rather than “{other}”" in Path(saved.value.path()).read_text("utf-8")
    with opened(file, link[len(file.as_uri()) :]) as page:
        ask_against(page, model.read(text, against=other), text, click=False)


def test_a_prompt_prints_a_line_and_a_notebook_keeps_the_page_once() -> None:
    shown = explore_page(model_of({}), words=20)
    assert len(repr(shown)) < 100
    assert len(shown._repr_html_()) > len(shown.page)


@needs_chromium
def test_a_notebook_shows_the_page_in_a_frame(tmp_path: Path) -> None:
    model, file = model_of({}), tmp_path / "notebook.html"
    file.write_text(f"<!doctype html><p>{explore_page(model)._repr_html_()}", "utf-8")
    with opened(file, frame=True) as page:
        page.locator("textarea").first.fill("w1 w2")
        page.locator(".words button", has_text="w1").click()
        page.get_by_role("button", name="Leave out").click()
        page.locator(".words del").wait_for()
        assert page.locator(".bars li").count() == 3


@needs_chromium
@pytest.mark.parametrize("pair", ["gated", "concat"])
def test_a_pair_on_a_phone(tmp_path: Path, pair: str) -> None:
    model, file = model_of({"head": "pruned"}, pair), tmp_path / "page.html"
    save_page(model, file, precision="float32")
    phone = {"width": 390, "height": 844}
    with opened(file, "#text=w1+w2+w3&text=w4", viewport=phone, color_scheme="dark") as page:
        wait_for(page, model, "w1 w2 w3", "w4")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.locator(".fold summary").click()
        page.locator(".rows li").first.hover()
        assert "row" in page.locator("[data-part=colours]").text_content()
        weights = page.get_by_text("Weights as a table")
        weights.click()
        page.wait_for_selector("table >> nth=1")
        assert page.locator("table").last.locator("td").count() == 1 + 3  # one word: decided, three rows
        weights.click()
        for kind, start in (("svg", b"<svg "), ("png", b"\x89PNG"), ("html", b"<!doctype html>")):
            with page.expect_download() as saved:
                page.locator(f"[data-part={kind}]").click()
            content = Path(saved.value.path()).read_bytes()
            assert content.startswith(start)
        assert content.count(b"<table") == 2  # of the page, with its table and without its script
        assert b"<script" not in content
