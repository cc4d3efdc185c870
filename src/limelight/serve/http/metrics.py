"""Counters as Prometheus reads them, and the log: lines of text, or with LIMELIGHT_LOG=json, of JSON."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...errors import bad_value

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
WAITING = "waiting_requests"
LOG, LOG_FORMATS = "LIMELIGHT_LOG", ("text", "json")  # an environment variable: workers inherit it
FAMILIES = {  # name -> type and meaning
    "requests_total": "counter: requests by route and status",
    "request_seconds": "histogram: time from a request's headers to the end of its answer",
    "batches_total": "counter: batches computed, by model",
    "texts_total": "counter: texts, or pairs of texts, computed, by model",
    "searches_total": "counter: queries answered, by index",
    "index_texts": "gauge: texts of an index",
    "index_shards": "gauge: shards of an index",
    "reloads_total": "counter: replaced folders that were loaded",
    "reload_errors_total": "counter: replaced folders that did not load",
    WAITING: "gauge: requests that wait for a model, by model",
}


class Metrics:
    """Numbers by name and labels; with a `folder`, each worker saves its own, and one adds them up."""

    def __init__(self, folder: str | Path | None = None) -> None:
        self._folder, self._lock = Path(folder) if folder else None, threading.Lock()
        self._counts = {"reloads_total": 0.0, "reload_errors_total": 0.0}
        self._gauges: dict[str, Callable[[], float]] = {}

    def add(self, name: str, amount: float = 1) -> None:
        """Add to a number; `name` has its labels, if any."""
        with self._lock:
            self._counts[name] = self._counts.get(name, 0) + amount

    def show(self, name: str, value: Callable[[], float]) -> None:
        """Show a number as it is when it is asked for, the same in every worker."""
        self._gauges[name] = value

    def count_request(self, route: str, status: int, seconds: float) -> None:
        self.add(f'requests_total{{route="{route}",status="{status}"}}')
        for bound in BUCKETS:  # cumulative, as Prometheus has them
            self.add(f'request_seconds_bucket{{route="{route}",le="{bound}"}}', seconds <= bound)
        self.add(f'request_seconds_bucket{{route="{route}",le="+Inf"}}')
        self.add(f'request_seconds_count{{route="{route}"}}')
        self.add(f'request_seconds_sum{{route="{route}"}}', seconds)

    def save(self) -> None:
        """Write these numbers where the other workers find them, also after this one was killed."""
        if self._folder:
            draft = self._folder / f"{os.getpid()}.draft"
            draft.write_text(json.dumps(self._copy()))
            draft.replace(self._folder / str(os.getpid()))

    def text(self) -> str:
        counts = self._copy()
        for file in self._folder.iterdir() if self._folder else ():
            if file.name.isdecimal() and int(file.name) != os.getpid():
                for name, value in json.loads(file.read_text()).items():
                    if not name.startswith(WAITING) or _is_running(int(file.name)):
                        counts[name] = counts.get(name, 0) + value
        counts |= {name: value() for name, value in self._gauges.items()}
        lines = []
        for family, about in FAMILIES.items():
            kind, meaning = about.split(": ")
            lines += [f"# HELP limelight_{family} {meaning}", f"# TYPE limelight_{family} {kind}"]
            found = ((name, value) for name, value in counts.items() if name.startswith(family))
            lines += [f"limelight_{name} {value:.12g}" for name, value in found]
        return "\n".join(lines) + "\n"

    def _copy(self) -> dict[str, float]:
        with self._lock:
            return dict(self._counts)


def labelled(name: str, **labels: str) -> str:
    return f"{name}{{{','.join(f'{key}={json.dumps(value)}' for key, value in labels.items())}}}"


def check_log_format() -> None:
    if (given := os.environ.get(LOG, "text")) not in LOG_FORMATS:
        raise bad_value(f"{LOG} is {given!r}; use one of: {', '.join(LOG_FORMATS)}")


def log(line: str, **fields: Any) -> None:
    """Write a line with the time on standard error: one for each request and each event, never with a text
    or anything else from a body. A closed or full stream is no reason to stop serving.

    `fields` are what a line of JSON has beside it, or in its place.
    """
    if not line.isprintable():  # such as an error that quotes a name from someone's folder
        line = "".join(each if each.isprintable() else " " for each in line)
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    if os.environ.get(LOG) == "json":
        level = next((each for each in ("error", "warning") if line.startswith(f"{each}: ")), "info")
        about = fields or {"message": line.removeprefix(f"{level}: ")}
        line = json.dumps({"time": moment, "level": level, **about})
    else:
        line = f"{moment} {line}"
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def _is_running(process: int) -> bool:
    with suppress(OSError):
        os.kill(process, 0)
        return True
    return False
