"""The labelling of a soak: two people at one page, which is killed and opened again; no label may be lost."""

from __future__ import annotations

import csv
import http.client
import json
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

CLASSES = ["good", "bad", "neither"]
PEOPLE = ["ann", "ben"]
PATIENCE = 60.0  # seconds for an answer


class LabelPage:
    """`limelight label` in a process of its own, and what it is asked."""

    def __init__(self, table: Path, out: Path) -> None:
        argv = [sys.executable, "-m", "limelight", "label", table, "--out", out, "--text", "text"]
        argv += ["--classes", *CLASSES, "--no-browser"]
        self.process = subprocess.Popen(
            [*map(str, argv)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/#token=(\S+)", said)
        if found is None:
            raise RuntimeError(f"limelight label: {said}{self.process.stdout.read()}")
        self.port, self.token = int(found[1]), found[2]

    def ask(self, name: str, **body: Any) -> Any:
        """The answer, or None where the process was killed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        try:
            connection.request("POST", f"/label/{name}", json.dumps(body), headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()
        if answer.status != 200:
            raise RuntimeError(f"/label/{name} answered {answer.status}: {content[:200]!r}")
        return json.loads(content)

    def end(self, how: signal.Signals) -> str:
        """Kill it, or end it as Ctrl-C does; what it printed last."""
        self.process.send_signal(how)
        return self.process.communicate(timeout=PATIENCE)[0]


class Person(threading.Thread):
    """Labels one text after another, and undoes now and then; `given` is what the page has confirmed."""

    def __init__(self, page: LabelPage, by: str, seed: int) -> None:
        super().__init__()
        self.page, self.by, self.random = page, by, random.Random(seed)
        self.given: list[tuple[float, int, str | None]] = []  # when, which row, its label or None: taken back
        self.in_flight: int | None = None  # a row whose label was not confirmed when the page was killed
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            self._label()
        except Exception as error:
            self.failure = error

    def _label(self) -> None:
        shown = self.page.ask("next", by=self.by)
        while shown:
            row, label = shown[0]["row"], self.random.choice(CLASSES)
            self.in_flight = row
            answer = self.page.ask("say", by=self.by, row=row, do="label", label=label)
            if answer is None:
                return
            self.given.append((time.monotonic(), row, label))
            if self.random.random() < 0.1:
                if self.page.ask("undo", by=self.by) is None:
                    return
                self.given.append((time.monotonic(), row, None))
            self.in_flight, shown = None, answer["next"]


def label(soak: Any) -> None:
    """Two people label; the page is killed; all that it confirmed is there when it opens again."""
    texts = list(dict.fromkeys(soak.texts))
    table, number = soak.folder / "unlabelled.csv", 0
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text in texts)])
    while soak.goes_on:
        out, said = soak.folder / f"labels-{number}.csv", dict[int, str | None]()
        while soak.goes_on and len(said) < len(texts) // 2:
            _label_until_killed(soak, table, out, said)
            _check(soak, texts, table, out, said)
        number += 1


def _label_until_killed(soak: Any, table: Path, out: Path, said: dict[int, str | None]) -> None:
    """What the page has confirmed goes into `said`; of a key that the kill cut off, nothing is known."""
    page = LabelPage(table, out)
    people = [Person(page, by, soak.random.randrange(10**6)) for by in PEOPLE]
    for person in people:
        person.start()
    time.sleep(soak.random.uniform(1, 6))
    page.end(signal.SIGKILL)
    for person in people:
        person.join()
        soak.check(person.failure is None, f"label: {person.failure}")
    given = sorted(each for person in people for each in person.given)
    said.update({row: name for _, row, name in given})
    for person in people:
        said.pop(person.in_flight, None)
    soak.count["label: keys confirmed"] += len(given)
    soak.count["label: pages killed and opened again"] += 1


def _check(soak: Any, texts: list[str], table: Path, out: Path, said: dict[int, str | None]) -> None:
    """The page, opened again, and the table that it writes when it ends have every confirmed label."""
    page, rows = LabelPage(table, out), sorted(said)
    for begin in range(0, len(rows), 200):
        for shown in page.ask("texts", rows=rows[begin : begin + 200]):
            given, expected = shown["said"] and shown["said"]["labels"], said[shown["row"]]
            right = given == (expected and [expected])
            soak.check(right, f"label: row {shown['row']} has {given}, not {expected}")
    printed = page.end(signal.SIGINT)
    soak.check(page.process.returncode == 0, f"label ended with {page.process.returncode}: {printed}")
    with out.open(newline="") as file:
        written = {row["text"]: row["label"] for row in csv.DictReader(file)}
    lost = [row for row in rows if written.get(texts[row]) != said[row]]
    soak.check(not lost, f"label: {out.name} has lost {lost[:3]}")
    soak.count["label: labels checked after a kill"] += len(rows)
