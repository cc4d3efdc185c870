"""One Chromium for all tests of a process: starting it takes longer than most of them."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium"
)
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
    arguments = ["--no-sandbox", "--disable-gpu"]
    browser = started.chromium.launch(executable_path=CHROMIUM, args=arguments)
    _STARTED.extend((started, browser, asyncio._get_running_loop()))


def close() -> None:
    """At the end of the tests."""
    if _STARTED:
        started, browser, loop = _STARTED
        asyncio._set_running_loop(loop)
        browser.close()
        started.stop()
        _STARTED.clear()
