"""The pictures in a real browser, where one is installed."""

import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

from limelight.reading import to_page, to_svg
from limelight.reading.reading import PairReading
from reading.readings import SOUP, make_reading

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium"
)


def browse(file: Path, *options: str) -> str:
    command = [
        str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
        f"--user-data-dir={file.parent / 'profile'}", *options, file.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, check=True, timeout=60).stdout.decode("utf-8")


def test_the_browser_finds_the_texts_and_weights_as_they_were(tmp_path: Path):
    texts = [SOUP, '<b>"x"</b> & 👩‍🍳\r\n  שלום', "One"]
    pair = PairReading(make_reading(texts[0]), make_reading(texts[1]))
    page = tmp_path / "page.html"
    page.write_bytes(to_page([*map(make_reading, texts), pair]).encode())
    seen = browse(page, "--dump-dom")
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
    shots = []
    for scheme in (0, 1):  # dark, light
        shot = tmp_path / f"{scheme}.png"
        browse(file, f"--blink-settings=preferredColorScheme={scheme}", f"--screenshot={shot}")
        shots.append(shot.read_bytes())
    assert all(len(shot) > 10_000 for shot in shots)  # a blank one is a few hundred bytes
    assert shots[0] != shots[1]


def test_a_person_can_click_and_point_without_an_error(tmp_path: Path):
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install playwright")
    page_file = tmp_path / "page.html"
    page_file.write_bytes(to_page([make_reading(SOUP)]).encode())
    complaints: list[str] = []
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", lambda request: complaints.append(request.url))
        page.goto(page_file.as_uri())
        word = page.locator("p[dir=auto] b").first
        word.hover()
        weight = float(word.get_attribute("title"))
        rows = page.locator("details").first
        assert not rows.evaluate("d => d.open")
        rows.locator("summary").first.click()
        assert rows.evaluate("d => d.open")
        shot = page.screenshot()
        browser.close()
    assert 0 < weight <= 1
    assert complaints == []
    assert len(shot) > 10_000
