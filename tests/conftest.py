"""What holds for every test: the examples drawn, and a word on what was not tested."""

from __future__ import annotations

import pytest
from hypothesis import settings

import drawing  # noqa: F401  registers the profiles; `--hypothesis-profile=fuzz` takes the place of this one

settings.load_profile("test")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Without a browser a few tests are skipped: say so where it is read."""
    skipped = terminalreporter.stats.get("skipped", [])
    count = sum("no chromium" in str(report.longrepr) for report in skipped)
    if count:
        terminalreporter.write_line(
            f"{count} tests of the pictures in a browser were skipped: there is no Chromium on this machine. "
            "To run them, install it (on Debian and Ubuntu: apt-get install chromium)."
        )
