"""Fine-tuning on the labels so far, as `limelight train` in a process of its own.

Every second text drawn at random is held out, and both the model of the page and the trained one are judged
by these: texts that were chosen say little about the others.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import LimelightError
from ...labelling.save import SEPARATOR
from ...labelling.session import LabelSession
from ...tables.cells import KeptColumns, NewColumn
from ...tables.rows import Row
from ...tables.writers import LISTS, format_of, write_table
from ...text.metrics import wilson
from ...text.tasks import MULTI_LABEL, ORDINAL

HELD_OUT = 2  # every so many texts of a class, of those drawn at random
MIN_LABELS = 20  # labels to train on
LINES = 6  # of what it says, that are shown
_TERMINAL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Training:
    """One run at a time; a second replaces its model."""

    def __init__(
        self, session: LabelSession, out: str | Path, model: str | Path, more: tuple[str, ...] = (),
        text: str = "text",
    ) -> None:  # fmt: skip
        self._session, self._out, self._model, self._more = session, Path(out), Path(model), more
        self._text = text  # the column of the output
        self._folder = tempfile.TemporaryDirectory(prefix="limelight-train-")
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._about: dict[str, Any] = {}

    def command_line(self) -> str:
        """What to type instead; the file has all labels."""
        several, lists = self._session.several, format_of(self._out) in LISTS
        columns = ["--text", self._text, "--label", "labels" if several and lists else "label"]
        joined = ["--separator", SEPARATOR] if several and not lists else []
        parts = ["limelight", "train", str(self._out), *columns, *self._flags(), *joined, "--out"]
        parts.append(str(self._model))
        return shlex.join(parts)

    def start(self) -> None:
        """Train on what is labelled now."""
        with self._lock:
            if self._running():
                raise LimelightError("a training is running already; stop it first", code="already-running")
            rows, held = self._split()
            folder = Path(self._folder.name)
            self._write(folder / "train.jsonl", rows)
            if held:
                self._write(folder / "held.jsonl", held)
            test = ["--test", str(folder / "held.jsonl")] if held else []
            self._about = {"labels": len(rows), "held": len(held), "before": self._before(rows, held)}
            command = [
                sys.executable, "-m", "limelight", "train", str(folder / "train.jsonl"), "--text", "text",
                "--label", "label", *test, "--out", str(self._model), "--overwrite", "--json",
                *self._flags(), *self._more,
            ]  # fmt: skip
            with (folder / "out").open("wb") as out, (folder / "log").open("wb") as log:
                self._process = subprocess.Popen(command, stdout=out, stderr=log, stdin=subprocess.DEVNULL)

    def stop(self) -> None:
        """End it, if it runs."""
        with self._lock:
            if self._running():
                assert self._process is not None
                self._process.terminate()
                try:
                    self._process.wait(10)
                except subprocess.TimeoutExpired:
                    self._process.kill()
                self._about["stopped"] = True

    def status(self) -> dict[str, Any]:
        """ "idle", "running", "done", "failed" or "stopped"; what it says; before and after."""
        command = self.command_line()
        if self._process is None:
            return {"status": "idle", "command": command, "lines": []}
        folder, code = Path(self._folder.name), self._process.poll()
        lines = _last_lines((folder / "log").read_text("utf-8", "replace"))
        found = {"command": command, "lines": lines, "model": str(self._model), **self._about}
        if code is None:
            return {"status": "running", **found}
        if self._about.get("stopped"):
            return {"status": "stopped", **found}
        if code:
            return {"status": "failed", **found}
        after = _measured((folder / "out").read_text("utf-8"))
        if after and "accuracy" in after:
            after |= _share(round(after["accuracy"] * self._about["held"]), self._about["held"])
        return {"status": "done", **found, "after": after}

    def _running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _flags(self) -> list[str]:
        """What `train` must know of the labels; words that were marked are learnt as reasons."""
        session = self._session
        named = MULTI_LABEL if session.several else ORDINAL if session.ordered else None
        task = ["--task", named.name] if named else []
        marked = any(session.marks(row) for row in range(len(session.texts)))
        return [*task, *(["--reasons", "marks"] if marked else [])]

    def _split(self) -> tuple[list[int], list[int]]:
        """The labelled rows to train on, and those held out, of which each class is left to train on."""
        session = self._session
        with_label = [row for row in range(len(session.texts)) if _labels(session, row)]
        if len(with_label) < MIN_LABELS:
            raise LimelightError(
                f"{len(with_label)} labels are too few to train on; give at least {MIN_LABELS}",
                code="few-labels",
            )
        drawn, seen = session.drawn_at_random, Counter[tuple[str, ...]]()
        rows: list[int] = []
        held: list[int] = []
        for row in with_label:
            own = _labels(session, row)
            seen[own] += row in drawn
            (held if row in drawn and seen[own] % HELD_OUT == 0 else rows).append(row)
        return rows, held

    def _write(self, path: Path, rows: list[int]) -> None:
        kind = "labels" if self._session.several else "label"
        kept = KeptColumns(["text"], ["text"], str(path))
        new = [NewColumn("label", kind, "text"), NewColumn("marks", "label", "text")]
        with write_table(path, "jsonl", new, kept, overwrite=True) as writer:
            for row in rows:
                text, own = self._session.texts[row], _labels(self._session, row)
                value = list(own) if self._session.several else own[0]
                marks = json.dumps(self._session.marks(row)) if self._session.marks(row) else ""
                writer.append([Row(text, cells={"text": text})], [[value], [marks]])

    def _before(self, rows: list[int], held: list[int]) -> dict[str, Any] | None:
        """How many held-out labels the page's model gets right, had they not been given."""
        from ...labelling.refit import Space, fit

        vectors, classes = self._session.vectors, self._session.classes
        rows = [row for row in rows if vectors.is_read[row]]
        held = [row for row in held if vectors.is_read[row]]
        if self._session.several or not rows or not held:
            return None
        Y = np.array([[name in _labels(self._session, row) for name in classes] for row in rows], float)
        space = Space.of(vectors.matrix[vectors.is_read])
        given = fit(vectors.matrix[rows], Y, space).probabilities(vectors.matrix[held]).argmax(axis=1)
        right = [classes[k] in _labels(self._session, row) for k, row in zip(given, held, strict=True)]
        return _share(sum(right), len(right))


def _share(right: int, of: int) -> dict[str, Any]:
    """So many right, and the 95% interval of the accuracy."""
    low, high = wilson(right / of, of)
    return {"right": right, "of": of, "low": low, "high": high}


def _labels(session: LabelSession, row: int) -> tuple[str, ...]:
    said = session.said(row)
    return said.labels if said and said.labels else ()


def _last_lines(said: str) -> list[str]:
    """The end of a log; a progress bar writes over its line, and only the last state of it counts."""
    lines = [_TERMINAL.sub("", line.rsplit("\r", 1)[-1]).strip() for line in said.splitlines()]
    return [line for line in lines if line][-LINES:]


def _measured(out: str) -> dict[str, Any] | None:
    """The figures of the held-out labels, from what `train --json` prints."""
    try:
        found = json.loads(out.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return None
    results = found.get("results") if isinstance(found, dict) else None
    test = results.get("test") if isinstance(results, dict) else None
    return test if isinstance(test, dict) else None
