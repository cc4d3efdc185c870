"""What the lines of a journal add up to: the classes, what each person said about each text, and what holds.

A settlement ends a disagreement: it holds, whoever says what afterwards, until the text is settled again. It
is not what its author said of the text, so it changes nothing in how far people agree.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import LimelightError, bad_value
from .journal import Event, Journal

Labels = tuple[str, ...]
Span = tuple[int, int]


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
    """The fold of all events that were not undone. Texts are named by their keys."""

    classes: list[str] = field(default_factory=list)
    descriptions: dict[str, str] = field(default_factory=dict)
    said: dict[str, dict[str, Said]] = field(default_factory=dict)  # key -> person -> what they said last
    settled: dict[str, Said] = field(default_factory=dict)
    marks: dict[str, list[Span]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        match event["do"]:
            case "label" | "skip" | "unsure":
                self._say(event)
            case "note":
                _put(self.notes, dict.fromkeys(event["rows"], event["text"]))
            case "marks":
                for key in event["rows"]:
                    self._mark({key: event["marks"]})
            case "add_class":
                self._add(event["name"], event.get("description"))
            case "rename_class":
                self._rename(event["name"], event["to"])
            case "remove_class" if event["name"] in self.classes:
                self.classes.remove(event["name"])
                self.descriptions.pop(event["name"], None)
                self._relabel(event["name"], ())

    def latest(self, key: str) -> Said | None:
        """What holds for a text: how it was settled, or what was said last, a label before a doubt."""
        if key in self.settled or key not in self.said:
            return self.settled.get(key)
        said = list(self.said[key].values())
        labelled = [each for each in said if each.labels is not None]
        return (labelled or said)[-1]

    def holding(self) -> Iterator[tuple[str, Said]]:
        """The texts that something was said about, and what holds for each."""
        for key in self.said | self.settled:
            if said := self.latest(key):
                yield key, said

    def spans(self, key: str, text: str) -> list[Span]:
        return [span for span in self.marks.get(key, ()) if span[1] <= len(text)]

    def _say(self, event: Event) -> None:
        labels = None
        if event["do"] == "label":
            labels = as_labels(event["label"])
            for name in labels:
                self._add(name)
            self._mark(event.get("marks", {}))
        chosen = event.get("chosen", "picked")
        said = Said(labels, event["by"], event["when"], chosen, event["id"], event["do"])
        for key in event["rows"]:
            if chosen == "settled":
                self.settled[key] = said
                continue
            by = self.said.setdefault(key, {})
            by.pop(said.by, None)  # so that the last to speak stands last
            by[said.by] = said

    def _mark(self, marks: Mapping[str, Iterable[Sequence[int]]]) -> None:
        _put(self.marks, {key: [(start, end) for start, end in spans] for key, spans in marks.items()})

    def _add(self, name: str, description: str | None = None) -> None:
        if name not in self.classes:
            self.classes.append(name)
        if description:
            self.descriptions[name] = description

    def _rename(self, old: str, new: str) -> None:
        """Another name; that of another class makes one of the two."""
        if old not in self.classes or old == new:
            return
        if new in self.classes:
            self.classes.remove(old)
        else:
            self.classes[self.classes.index(old)] = new
        if description := self.descriptions.pop(old, None):
            self.descriptions.setdefault(new, description)
        self._relabel(old, (new,))

    def _relabel(self, old: str, new: Labels) -> None:
        for by in (*self.said.values(), self.settled):
            for name, said in list(by.items()):
                if said.labels is None or old not in said.labels:
                    continue
                names = (each for label in said.labels for each in (new if label == old else (label,)))
                if kept := tuple(dict.fromkeys(names)):
                    by[name] = replace(said, labels=kept)
                else:
                    del by[name]
        self.said = {key: by for key, by in self.said.items() if by}


def _put(kept: dict[str, Any], new: dict[str, Any]) -> None:
    """Keep the new values; an empty one removes what was there."""
    for key, value in new.items():
        kept.pop(key, None)
        if value:
            kept[key] = value


def as_labels(label: str | Sequence[str]) -> Labels:
    names = [label] if isinstance(label, str) or not isinstance(label, Sequence) else label
    if not all(isinstance(name, str) for name in names):
        raise bad_value(f"{label!r} cannot be a label: give the name of a class, or a list of names, as text")
    return tuple(dict.fromkeys(names))


def undone(events: Iterable[Event]) -> set[str]:
    return {event["of"] for event in events if event["do"] == "undo"}


def fold(events: Sequence[Event], classes: Sequence[str], descriptions: dict[str, str]) -> State:
    """The state after all events that were not undone, from the classes that the labelling started with."""
    state = State(list(classes), dict(descriptions))
    gone = undone(events)
    for event in events:
        if event["id"] not in gone:
            state.take(event)
    return state


def texts_gone(journal: Journal, state: State, rows: Container[str]) -> dict[str, str]:
    """The labelled texts that are not among the table's `rows`, by their keys."""
    gone = [key for key, said in state.holding() if said.labels is not None and key not in rows]
    if lost := sum(key not in journal.texts for key in gone):
        fault = f"{journal.path} has labels of {lost:,} texts that are no longer in the table"
        fault += ", and as an earlier version wrote it, not the texts themselves"
        todo = "put them back into the table, or give another --out"
        raise LimelightError(f"{fault}; {todo}", code="table-changed")
    return {key: journal.texts[key] for key in gone}


def check_fits(journal: Journal, state: State, rows: Container[str], several: bool) -> dict[str, str]:
    """Raise if the labels so far cannot be of a table with these `rows`; the labelled texts it has not."""
    labelled = {key: said.labels for key, said in state.holding() if said.labels is not None}
    if not several and any(len(labels) != 1 for labels in labelled.values()):
        fault = f"{journal.path} has texts with several labels"
        raise LimelightError(f"{fault}; start with --several (in Python: several=True)", code="label-count")
    gone = texts_gone(journal, state, rows)
    if gone and len(gone) == len(labelled):
        fault = f"{journal.path} has labels of {len(gone):,} texts, and none of them is in this table"
        todo = "give the table they came from, or another --out"
        raise LimelightError(f"{fault}; {todo}", code="table-changed")
    return gone
