"""The journal of a labelling: every key that a person pressed, one line of JSON each, never changed.

A line is on the disk before `append` returns, so that a process killed at any moment loses at most what was
being written. Such a torn last line is dropped by whoever writes next. Several processes may append to one
file: each holds the lock while it writes, and reads first what others have added.

    {"id": "9f3a61c2", "do": "label", "rows": ["5d41402abc4b2a76.0"], "label": "rooms", "by": "ann", ...}

A text is named by the hash of its characters and by how often it occurred before, so that the lines still
hold when the table is sorted, or grows.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import threading
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import LimelightError, tidy_os_errors
from ..storage.locks import waiting_lock

Event = dict[str, Any]
DOES = ("label", "undo", "skip", "unsure", "note", "marks", "add_class", "rename_class", "remove_class")


def text_keys(texts: Iterable[str]) -> list[str]:
    """A name for each text that stays when the table is sorted: its hash, and its number among equal texts.

    >>> keys = text_keys(["good", "bad", "good"])
    >>> keys == [text_keys(["good"])[0], text_keys(["bad"])[0], keys[0][:-1] + "1"]
    True
    """
    seen: Counter[str] = Counter()
    found = []
    for text in texts:
        name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        found.append(f"{name}.{seen[name]}")
        seen[name] += 1
    return found


def journal_of(out: str | Path) -> Path:
    """The journal beside an output.

    >>> journal_of("labels.csv").name
    'labels.csv.journal'
    """
    return Path(f"{out}.journal")


class Journal:
    """An append-only file of events; without a path, a list in memory.

    >>> journal = Journal(None)
    >>> journal.append("label", by="ann", rows=["5d41402abc4b2a76.0"], label="good")["do"]
    'label'
    >>> [event["label"] for event in journal.events]
    ['good']
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self.events: list[Event] = []
        self._end = 0  # bytes that have been read
        self._lock = threading.RLock()
        self.reread()

    def append(self, do: str, **about: Any) -> Event:
        """Write an event to the disk; what others wrote before it is read first."""
        event = {"id": secrets.token_hex(4), "do": do, **about, "when": _now()}
        with self._lock:
            if self.path is None:
                self.events.append(event)
                return event
            line = json.dumps(event, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
            with tidy_os_errors(f"cannot write {self.path}"), waiting_lock(self.path) as file:
                self._read(file)
                os.ftruncate(file, self._end)  # of a line that a killed process left unfinished
                _write_whole(file, line, self._end)
                os.fsync(file)
                self._end += len(line)
                self.events.append(event)
            return event

    def reread(self) -> int:
        """Read what others have appended; the number of new events."""
        if self.path is None or not self.path.exists():
            return 0
        with self._lock, tidy_os_errors(f"cannot read {self.path}"):
            handle = os.open(self.path, os.O_RDONLY)
            try:
                return self._read(handle)
            finally:
                os.close(handle)

    def _read(self, handle: int) -> int:
        """Take in whole lines from where the last reading ended."""
        os.lseek(handle, self._end, os.SEEK_SET)
        new = b""
        while piece := os.read(handle, 1 << 20):
            new += piece
        whole = new[: new.rfind(b"\n") + 1]
        found = [self._parse(line) for line in whole.splitlines() if line.strip()]
        self.events += found
        self._end += len(whole)
        return len(found)

    def _parse(self, line: bytes) -> Event:
        try:
            event = json.loads(line)
            if event["do"] in DOES and isinstance(event["id"], str) and isinstance(event["by"], str):
                return event  # type: ignore[no-any-return]
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        number = len(self.events) + 1
        raise LimelightError(f"{self.path}, line {number}: not an event of a journal", code="journal-broken")


def _write_whole(handle: int, line: bytes, place: int) -> None:
    """One write; the system may take less of it only where a disk is full or a signal comes."""
    os.lseek(handle, place, os.SEEK_SET)
    view = memoryview(line)
    while view:
        view = view[os.write(handle, view) :]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
