"""The pictures in a real browser, where one is installed."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from browsers import needs_chromium, new_context
from limelight.reading import to_page, to_svg
from limelight.reading.reading import PairReading
from reading.readings import SOUP, make_comparison, make_reading

pytestmark = needs_chromium


@contextmanager
def opened(file: Path, **options: Any) -> Iterator[Any]:
    """The file in a page of a browser that can be used."""
    with new_context(**options) as context:
        page = context.new_page()
        page.goto(file.as_uri())
        yield page


def test_the_browser_finds_the_texts_and_weights_as_they_were(tmp_path: Path):
    texts = [SOUP, '<b>"x"</b> & 👩‍🍳\r\n  שלום', "One"]
    pair = PairReading(make_reading(texts[0]), make_reading(texts[1]))
    page = tmp_path / "page.html"
    page.write_bytes(to_page([*map(make_reading, texts), pair]).encode())
    with opened(page) as shown:
        seen = shown.content()
    found = [
        unescape(re.sub("<[^>]+>", "", p)) for p in re.findall(r'<p dir="auto">(.*?)</p>', seen, re.DOTALL)
    ]
    assert set(found) == set(texts)
    assert '<b class="h9" title="1.000">One</b>' in seen


@pytest.mark.parametrize("kind", ["html", "svg"])
def test_light_and_dark_screens_get_different_pictures(tmp_path: Path, kind: str):
    file = tmp_path / f"picture.{kind}"
    reading = make_reading(SOUP)
    file.write_bytes((to_page([reading]) if kind == "html" else to_svg(reading)).encode())
    dark, light = photograph(file)
    assert min(len(dark), len(light)) > 10_000  # a blank one is a few hundred bytes
    assert dark != light


def photograph(file: Path) -> list[bytes]:
    """On a dark screen and on a light one."""
    shots = []
    for scheme in ("dark", "light"):
        with opened(file, color_scheme=scheme) as page:
            shots.append(page.screenshot())
    return shots


def test_a_person_can_click_and_point_without_an_error(tmp_path: Path):
    page_file = tmp_path / "page.html"
    page_file.write_bytes(to_page([make_reading(SOUP)]).encode())
    complaints: list[str] = []
    with opened(page_file) as page:
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", lambda request: complaints.append(request.url))
        page.reload()
        word = page.locator("p[dir=auto] b").first
        word.hover()
        weight = float(word.get_attribute("title"))
        rows = page.locator("details").first
        assert not rows.evaluate("d => d.open")
        rows.locator("summary").first.click()
        assert rows.evaluate("d => d.open")
        shot = page.screenshot()
    assert 0 < weight <= 1
    assert complaints == []
    assert len(shot) > 10_000


PHONE = {"viewport": {"width": 390, "height": 844}}


def test_a_wide_table_on_a_phone_scrolls_in_its_box_and_shows_it(tmp_path: Path):
    file = tmp_path / "page.html"
    file.write_bytes(to_page([make_reading(SOUP, r=12)]).encode())
    with opened(file, **PHONE) as page:
        page.get_by_text("Weights as a table").click()
        check_scrolling(page, page.get_by_role("region", name="Weights as a table"))


def check_scrolling(page: Any, box: Any) -> None:
    """The page itself is no wider than the screen; the box scrolls by keyboard, its edge says that it can."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert box.evaluate("b => b.scrollWidth > b.clientWidth + 20")
    box.focus()
    assert box.evaluate("b => b === document.activeElement")
    start = box.screenshot()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("b => b.scrollLeft > 0", arg=box.element_handle())
    box.evaluate("b => { b.scrollLeft = b.scrollWidth }")
    shaded, end = edge_darkness(page, start), edge_darkness(page, box.screenshot())
    assert shaded > 10 > end, (shaded, end)


def edge_darkness(page: Any, shot: bytes) -> float:
    """How much darker than white the lightest pixel is at the right edge of a screenshot's lower half."""
    return page.evaluate(
        """async bytes => {
            const image = await createImageBitmap(new Blob([new Uint8Array(bytes)], {type: "image/png"}))
            const canvas = new OffscreenCanvas(image.width, image.height), c = canvas.getContext("2d")
            c.drawImage(image, 0, 0)
            const top = Math.floor(image.height / 2)
            const p = c.getImageData(image.width - 6, top, 4, top - 4).data
            let least = 255
            for (let k = 0; k < p.length; k += 4)
                least = Math.min(least, 255 - Math.max(p[k], p[k + 1], p[k + 2]))
            return least
        }""",
        list(shot),
    )


def test_a_comparison_is_complete_without_a_network_and_fits_a_phone(tmp_path: Path):
    file = tmp_path / "page.html"
    comparison = make_comparison("The soup was cold & <b>wet</b>", "Chilly broth, " * 6, seed=3)
    comparison = replace(comparison, together=abs(comparison.matrix))  # words that keep the texts apart, too
    file.write_bytes(to_page([comparison]).encode())
    complaints: list[str] = []
    with opened(file, **PHONE) as page:
        page.on("console", lambda message: complaints.append(message.text))
        page.on("request", lambda request: complaints.append(request.url))
        assert page.locator("svg path.binds").count() > 0
        assert page.locator("svg path.apart").count() > 0
        drawing = page.locator("svg").bounding_box()
        assert 0 <= drawing["x"] < drawing["x"] + drawing["width"] <= 390
        for word in page.locator("svg text").all():  # a word keeps to its box, whatever the font
            box = word.bounding_box()
            assert drawing["x"] - 1 <= box["x"]
            assert box["x"] + box["width"] <= drawing["x"] + drawing["width"] + 1
        page.get_by_text("Pairs as a table").click()
        assert page.locator("td").count() == comparison.matrix.size
        table = page.get_by_role("region", name="Pairs as a table")
        assert table.evaluate("b => b.scrollWidth > b.clientWidth")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert complaints == []


@pytest.mark.parametrize("kind", ["html", "svg"])
def test_a_comparison_follows_light_and_dark(tmp_path: Path, kind: str):
    file = tmp_path / f"picture.{kind}"
    comparison = make_comparison("The soup was cold", "Chilly broth!", seed=1)
    file.write_bytes((to_page([comparison]) if kind == "html" else to_svg(comparison)).encode())
    colours = set()
    for scheme in ("light", "dark"):
        with opened(file, color_scheme=scheme) as page:
            line = page.locator("path.binds").first
            colours.add(line.evaluate("p => getComputedStyle(p).stroke"))
    assert len(colours) == 2
