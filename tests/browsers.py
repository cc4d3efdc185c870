"""One Chromium for all tests of a process: starting it takes longer than most of them."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

# The shell has no window around the page, and takes a third of the time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium-headless-shell"
)
# The suggestions below the address bar are a page of their own, which is busy even if nobody sees it.
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup"]
_STARTED: list[Any] = []  # Playwright, its browser and its loop, once they are there


@contextmanager
def new_context(**options: Any) -> Iterator[Any]:
    """A context of the browser, with cookies, storage and options of its own."""
    if not _STARTED:
        _start()
    _, browser, loop = _STARTED
    asyncio._set_running_loop(loop)
    try:
        context = browser.new_context(**options)
        try:
            yield context
        finally:
            context.close()
    finally:
        asyncio._set_running_loop(None)  # Playwright leaves it set, and then nobody else could run one


def _start() -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install playwright")
    started = playwright.sync_playwright().start()
    browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    _STARTED.extend((started, browser, asyncio._get_running_loop()))


def close() -> None:
    """At the end of the tests."""
    if _STARTED:
        started, browser, loop = _STARTED
        asyncio._set_running_loop(loop)
        browser.close()
        started.stop()
        _STARTED.clear()
