"""What the lines of a journal add up to: the classes, and what each person said about each text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .journal import Event

Labels = tuple[str, ...]


@dataclass(frozen=True)
class Said:
    """What one person said about one text; `labels` is None where they skipped it or were unsure."""

    labels: Labels | None
    by: str
    when: str
    chosen: str = "picked"  # how the text came to them: see session.py
    event: str = ""  # the id of the line
    status: str = "label"  # or "skip", "unsure"


@dataclass
class State:
    """The fold of all events that were not undone. Texts are named by their keys.

    >>> state = State(["good"])
    >>> state.take({"id": "1", "do": "label", "by": "ann", "when": "", "rows": ["a.0"], "label": ["good"]})
    >>> state.take({"id": "2", "do": "rename_class", "by": "ann", "when": "", "name": "good", "to": "fine"})
    >>> state.classes, state.latest("a.0").labels
    (['fine'], ('fine',))
    """

    classes: list[str] = field(default_factory=list)
    descriptions: dict[str, str] = field(default_factory=dict)
    said: dict[str, dict[str, Said]] = field(default_factory=dict)  # key -> person -> what they said last
    marks: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        """Fold in one event."""
        _TAKE[event["do"]](self, event)

    def latest(self, key: str) -> Said | None:
        """What was said last about a text, whoever said it; a label before a skip or a doubt."""
        by = self.said.get(key)
        if not by:
            return None
        return [*by.values()][-1] if len(by) == 1 else _settled(list(by.values()))

    def _label(self, event: Event) -> None:
        labels = as_labels(event["label"])
        for name in labels:
            self._add(name)
        for key in event["rows"]:
            self._say(key, event, labels)
        for key, spans in event.get("marks", {}).items():
            self._mark(key, spans)

    def _pass(self, event: Event) -> None:
        for key in event["rows"]:
            self._say(key, event, None)

    def _say(self, key: str, event: Event, labels: Labels | None) -> None:
        by = self.said.setdefault(key, {})
        by.pop(event["by"], None)  # so that the last to speak stands last
        chosen = event.get("chosen", "picked")
        by[event["by"]] = Said(labels, event["by"], event["when"], chosen, event["id"], event["do"])

    def _mark(self, key: str, spans: Iterable[Sequence[int]]) -> None:
        self.marks.pop(key, None)
        if found := [(int(start), int(end)) for start, end in spans]:
            self.marks[key] = found

    def _marks(self, event: Event) -> None:
        for key in event["rows"]:
            self._mark(key, event["marks"])

    def _note(self, event: Event) -> None:
        for key in event["rows"]:
            self.notes.pop(key, None)
            if event["text"]:
                self.notes[key] = event["text"]

    def _add(self, name: str, description: str | None = None) -> None:
        if name not in self.classes:
            self.classes.append(name)
        if description:
            self.descriptions[name] = description

    def _add_class(self, event: Event) -> None:
        self._add(event["name"], event.get("description"))

    def _rename_class(self, event: Event) -> None:
        """Another name; that of another class makes one of the two."""
        old, new = event["name"], event["to"]
        if old not in self.classes or old == new:
            return
        if new in self.classes:
            self.classes.remove(old)
        else:
            self.classes[self.classes.index(old)] = new
        description = self.descriptions.pop(old, None)
        if description:
            self.descriptions.setdefault(new, description)
        self._relabel(old, (new,))

    def _remove_class(self, event: Event) -> None:
        """Its texts are without a label again."""
        if event["name"] in self.classes:
            self.classes.remove(event["name"])
            self.descriptions.pop(event["name"], None)
            self._relabel(event["name"], ())

    def _relabel(self, old: str, new: Labels) -> None:
        for key, by in list(self.said.items()):
            for person, said in list(by.items()):
                if said.labels is None or old not in said.labels:
                    continue
                kept = tuple(
                    dict.fromkeys(each for name in said.labels for each in (new if name == old else (name,)))
                )
                if kept:
                    by[person] = replace(said, labels=kept)
                else:
                    del by[person]
            if not by:
                del self.said[key]


_TAKE: dict[str, Any] = {
    "label": State._label,
    "skip": State._pass,
    "unsure": State._pass,
    "note": State._note,
    "marks": State._marks,
    "add_class": State._add_class,
    "rename_class": State._rename_class,
    "remove_class": State._remove_class,
    "undo": lambda state, event: None,
}


def _settled(said: list[Said]) -> Said:
    labelled = [each for each in said if each.labels is not None]
    return (labelled or said)[-1]


def as_labels(label: str | Sequence[str]) -> Labels:
    """One label or several, as a tuple.

    >>> as_labels("rooms"), as_labels(["rooms", "staff"])
    (('rooms',), ('rooms', 'staff'))
    """
    return (label,) if isinstance(label, str) else tuple(dict.fromkeys(label))


def undone(events: Iterable[Event]) -> set[str]:
    """The ids of the events that an undo took back."""
    return {event["of"] for event in events if event["do"] == "undo"}


def fold(events: Sequence[Event], classes: Sequence[str], descriptions: dict[str, str]) -> State:
    """The state after all events that were not undone, from the classes that the labelling started with."""
    state = State(list(classes), dict(descriptions))
    gone = undone(events)
    for event in events:
        if event["id"] not in gone:
            state.take(event)
    return state
