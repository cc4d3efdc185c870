"""What holds for every test: its share of the cores, the examples drawn, a word on what was not tested."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest


def _take_share_of_cores() -> None:
    """Each of pytest's workers computes on cores of its own, and so does what it starts.

    On shared ones, PyTorch's threads of both wait for each other in turn: the tests take several times as
    long. It must happen before PyTorch counts the cores.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if worker and hasattr(os, "sched_setaffinity") and len(os.sched_getaffinity(0)) >= count:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[int(worker) :: count])


def _sync_nothing() -> None:
    """Nothing here outlasts a power cut: waiting for the disk took a quarter of the time.

    A bad handle is still an error, and what comes before what is seen by patching `os.fsync` (faults.py).
    """
    os.fsync = os.fstat  # type: ignore[assignment]


def _hear_ctrl_c() -> None:
    """A shell lets what it runs in the background ignore SIGINT, and so would every run that a test stops."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_take_share_of_cores()
_sync_nothing()
_hear_ctrl_c()

from hypothesis import settings  # noqa: E402 - after the cores

import browsers  # noqa: E402
import drawing  # noqa: E402, F401  registers the profiles; `--hypothesis-profile=fuzz` takes the place of this one

settings.load_profile("test")

TESTS = Path(__file__).parent
# What `--quick` leaves out: whole files of tests, by what makes them slow.
SLOW = {
    "training": [
        "training", "pretraining", "explain", "config/test_effects.py", "reading/test_languages.py",
        "runtime/test_confidence.py", "runtime/test_start.py", "test_planted.py", "test_estimators.py",
        "test_estimator_tasks.py",
    ],
    "gradients and kernels": [
        "network/test_attention_kernels.py", "network/test_encoder.py", "network/test_lstm.py",
        "network/test_network.py", "network/test_persistent.py", "network/test_triton.py",
    ],
    "every artefact and device": ["test_artefacts.py", "test_gpu.py", "runtime/test_javascript.py"],
    "commands and documents": [
        "cli", "test_readme.py", "test_notebooks.py", "experiments", "test_benchmarks.py",
    ],
    "servers, clusters and browsers": ["serve", "bulk", "search", "reading/test_browser.py"],
    "damage, failures and fuzzing": [
        "test_faults.py", "test_mutations.py", "runtime/test_damage.py", "runtime/test_fuzz.py",
        "runtime/test_replaced.py",
    ],
}  # fmt: skip

# In the reason of skipped tests, and what is said of them.
MISSING = {
    "no chromium": "{} tests of the pictures in a browser were skipped: there is no Chromium on this machine."
    " To run them, install it (on Debian and Ubuntu: apt-get install chromium-headless-shell).",
    "no mkdocs": "The links of the documents were checked, but the site was not built. `make docs` builds it,"
    " and from then on the tests do.",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    left_out = "; ".join(SLOW)
    parser.addoption("--quick", action="store_true", help=f"leave out what takes long: {left_out}")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    slow = {TESTS / name for names in SLOW.values() for name in names}
    return True if config.getoption("--quick") and collection_path in slow else None


def pytest_sessionfinish() -> None:
    browsers.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Without a browser or mkdocs a few tests are skipped: say so where it is read."""
    if config.getoption("--quick"):
        terminalreporter.write_line(f"Left out: {'; '.join(SLOW)}. `make test` runs every test.")
    skipped = terminalreporter.stats.get("skipped", [])
    for what, said in MISSING.items():
        if count := sum(what in str(report.longrepr) for report in skipped):
            terminalreporter.write_line(said.format(count))
