"""The journal of a labelling: every key that a person pressed, one line of JSON each, never changed.

A line is on the disk before `append` returns, so that a process killed at any moment loses at most what was
being written. Such a torn last line is dropped by whoever writes next. Several processes may append to one
file: each holds the lock while it writes, and reads first what others have added.

    {"id":"9f3a61c2d01b77e4","do":"label","rows":["5d41402abc4b2a76.0"],"label":["rooms"],"chosen":"auto",
     "texts":{"5d41402abc4b2a76.0":"hello"},"by":"ann","when":"2026-11-18T09:30:00+00:00","sum":"1f0e3dad"}

A text is named by the hash of its characters and by how often it occurred before, so that the lines still
hold when the table is sorted, or grows. The first line about a text has the text itself: its label outlives
the table. Each line ends with the checksum of what stands before it, and is read only if that fits; lines of
older versions have no checksum and no texts.

What was read stays in memory: a journal that is deleted or put back from a backup while it is open is
completed with the next line.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from ..errors import LimelightError, bad_value, tidy_os_errors, wrong_file
from ..storage.files import fsync, write_at
from ..storage.json_file import parse_object
from ..storage.locks import waiting_lock

_SUM = re.compile(rb',"sum":"([0-9a-f]{8})"}')
_START = b'{"id":"'
_LAST = 64  # bytes before the unread part, by which it is seen that the file is still the same
Event = dict[str, Any]
Fields = dict[str, Callable[[Any], bool]]
CHOSEN = ("auto", "random", "group", "search", "confident", "picked", "settled")
_ID = re.compile(r"[0-9a-f]{8,16}")
_KEY = re.compile(r"[0-9a-f]{16}\.\d{1,9}", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", re.ASCII)


def text_keys(texts: Iterable[str]) -> list[str]:
    """A name for each text that stays when a table is sorted: its hash, and its number among equal texts."""
    seen: Counter[str] = Counter()
    found = []
    for text in texts:
        name = _hash(text)
        found.append(f"{name}.{seen[name]}")
        seen[name] += 1
    return found


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def find_fault(event: Event) -> str:
    """What is wrong with an event; an empty string if nothing is."""
    do = event.get("do")
    kind = _KINDS.get(do) if isinstance(do, str) else None
    if kind is None:
        return f"{_shorten(do)} is not a kind of event"
    for name in (*_ALWAYS.required, *kind.required):
        if name not in event:
            return f'it has no "{name}"'
    checks = _ALWAYS.required | _ALWAYS.optional | kind.required | kind.optional
    for name, value in event.items():
        if name not in checks:
            return f"it has a field {_shorten(name)}"
        if not checks[name](value):
            return f'its "{name}" cannot be {_shorten(value)}'
    return ""


def _shorten(value: Any) -> str:
    return ascii(value)[:60]


# ---------------------------------------------------------------- what a field may hold


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _fits(pattern: re.Pattern[str]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_list_of(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _is_by_key(value: Any, fits: Callable[[str, Any], bool]) -> bool:
    return isinstance(value, dict) and all(_is_key(key) and fits(key, each) for key, each in value.items())


def _is_text_of(key: str, text: Any) -> bool:
    return isinstance(text, str) and key.startswith(f"{_hash(text)}.")


class _Kind(NamedTuple):
    required: Fields
    optional: Fields


_is_key = _fits(_KEY)
_are_keys = _is_list_of(_is_key)
_are_spans = _is_list_of(
    lambda value: isinstance(value, list) and [*map(type, value)] == [int, int] and 0 <= value[0] < value[1]
)
_ROWS: Fields = {"rows": _are_keys}
_NAME: Fields = {"name": _is_text}
_ALWAYS = _Kind(
    {"id": _fits(_ID), "do": _is_text, "by": _is_text, "when": _fits(_TIME)},
    {"texts": lambda value: _is_by_key(value, _is_text_of)},
)
_KINDS = {
    "label": _Kind(
        _ROWS | {"label": lambda value: _is_text(value) or _is_list_of(_is_text)(value)},
        {
            "chosen": lambda value: _is_text(value) and value in CHOSEN,
            "checked": _are_keys,
            "marks": lambda value: _is_by_key(value, lambda _, spans: _are_spans(spans)),
        },
    ),
    "skip": _Kind(_ROWS, {}),
    "unsure": _Kind(_ROWS, {}),
    "note": _Kind(_ROWS | {"text": _is_text}, {}),
    "marks": _Kind(_ROWS | {"marks": _are_spans}, {}),
    "undo": _Kind({"of": _fits(_ID)}, {}),
    "add_class": _Kind(_NAME, {"description": lambda value: value is None or _is_text(value)}),
    "rename_class": _Kind(_NAME | {"to": _is_text}, {}),
    "remove_class": _Kind(_NAME, {}),
}


def journal_of(out: str | Path) -> Path:
    return Path(f"{out}.journal")


class Journal:
    """An append-only file of events; without a path, a list in memory."""

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self.events: list[Event] = []  # only grows
        self.texts: dict[str, str] = {}  # by their keys, of all events, even those undone
        self._read = _Place()
        self._missing: list[Event] = []  # in memory, but no longer in the file
        self._lock = threading.RLock()
        self.reread()

    def append(self, do: str, *, by: str, texts: Mapping[str, str] | None = None, **about: Any) -> Event:
        """Write an event to the disk, with the texts that no line has yet, below what others wrote."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        event = {"id": secrets.token_hex(8), "do": do, **about, "by": by, "when": now}
        with self._lock:
            if self.path is None:
                self._take([self._checked(event, texts)])
                return event
            with tidy_os_errors(f"cannot write {self.path}"), waiting_lock(self.path) as file:
                self._catch_up(file)
                self._write(file, [*self._missing, self._checked(event, texts)])
                self._take([event])
            return event

    def reread(self) -> int:
        """Read what others have appended; the number of new events."""
        if self.path is None:
            return 0
        before = len(self.events)
        with self._lock, tidy_os_errors(f"cannot read {self.path}"):
            try:  # a pipe that nobody writes to must not keep its reader waiting
                handle = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            except FileNotFoundError:
                self._missing = list(self.events)
            else:
                try:
                    self._catch_up(handle)
                finally:
                    os.close(handle)
            if self._missing:
                with waiting_lock(self.path) as file:
                    self._catch_up(file)
                    self._write(file, self._missing)
        return len(self.events) - before

    def _checked(self, event: Event, texts: Mapping[str, str] | None) -> Event:
        if new := {key: text for key, text in (texts or {}).items() if key not in self.texts}:
            event["texts"] = new
        if fault := find_fault(event):
            raise bad_value(f"this cannot be noted: {fault}")
        return event

    def _take(self, events: list[Event]) -> None:
        self.events += events
        for event in events:
            self.texts |= event.get("texts", {})

    # ------------------------------------------------------------ the file

    def _catch_up(self, handle: int) -> None:
        """Take in whole lines from where the last reading ended; all of them, if the file is another now."""
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise wrong_file(f"{self.path} is not a regular file; give another --out")
        new = _read_from(handle, self._read.end - len(self._read.last))
        if new.startswith(self._read.last):
            found, self._read = self._parse(new[len(self._read.last) :], self._read)
            self._take(found)
            return
        found, self._read = self._parse(_read_from(handle, 0), _Place())
        known, held = {event["id"] for event in self.events}, {event["id"] for event in found}
        self._missing = [event for event in self.events if event["id"] not in held]
        self._take([event for event in found if event["id"] not in known])

    def _parse(self, content: bytes, place: _Place) -> tuple[list[Event], _Place]:
        """The events of what follows a place, and the place after them."""
        *lines, tail = content.split(b"\n")
        found = []
        for number, line in enumerate(lines, place.lines + 1):
            event = _to_event(line) if line.strip() else None
            if isinstance(event, str):
                raise self._damaged(number, event)
            found += [event] if event else []
        number, end = place.lines + len(lines), place.end + len(content) - len(tail)
        event = _to_event(tail) if tail.strip(b"\0 \r\t") else None
        if isinstance(event, dict):  # an editor removed the last line's end
            found, end, tail = [*found, event], end + len(tail), b""
        elif isinstance(event, str) and not _is_torn(tail):
            raise self._damaged(number + 1, event)
        last = (place.last + content[: len(content) - len(tail)])[-_LAST:]
        return found, _Place(end, number, last)

    def _damaged(self, number: int, fault: str) -> LimelightError:
        todo = "put the file back from a backup, or delete this line to go on without what it says"
        return LimelightError(f"{self.path}, line {number}: {fault}; {todo}", code="journal-broken")

    def _write(self, handle: int, events: list[Event]) -> None:
        """Write after the last whole line: a killed process may have left a part of one."""
        lines = b"".join(map(_to_line, events))
        if self._read.last and not self._read.last.endswith(b"\n"):
            lines = b"\n" + lines
        write_at(handle, lines, self._read.end)
        os.fsync(handle)
        if not self._read.end:
            fsync(self.path.parent)  # type: ignore[union-attr]  # so that a new file is found after a power cut
        end, last = self._read.end + len(lines), (self._read.last + lines)[-_LAST:]
        self._read, self._missing = _Place(end, self._read.lines + lines.count(b"\n"), last), []


class _Place(NamedTuple):
    """How far a file was read."""

    end: int = 0  # bytes
    lines: int = 0
    last: bytes = b""  # what stands before the end


def _to_line(event: Event) -> bytes:
    body = json.dumps(event, separators=(",", ":"))[:-1].encode()
    return body + b',"sum":"%08x"}\n' % crc32(body)


def _to_event(line: bytes) -> Event | str:
    """The event of a line, or what is wrong with the line."""
    line = line.rstrip()
    ending = _SUM.fullmatch(line[-18:])
    if ending and int(ending[1], 16) != crc32(line[:-18]):
        return "its checksum does not fit: the line was changed or damaged"
    try:
        event = parse_object((line[:-18] + b"}" if ending else line).decode("ascii"), "it")
    except (LimelightError, UnicodeDecodeError):
        return "not an event of a journal"
    fault = find_fault(event)
    return f"not an event of a journal: {fault}" if fault else event


def _is_torn(tail: bytes) -> bool:
    """Whether a last line without an end is the beginning of one of ours, and not a whole one with more."""
    if not tail.startswith(_START[: len(tail)]):
        return False
    try:
        json.JSONDecoder().raw_decode(tail.decode("latin-1"))
    except (ValueError, RecursionError) as error:
        return isinstance(error, ValueError)
    return False


def _read_from(handle: int, place: int) -> bytes:
    with open(handle, "rb", closefd=False) as file:
        file.seek(place)
        return file.read()
