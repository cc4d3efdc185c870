"""A labelling: texts, what people said about them, the model that is refitted after every label.

All methods may be called from several threads. What a person says is on the disk before anything else is
done with it (journal.py).

How a text was chosen is noted with its label: "auto" (the most useful next), "random" (drawn evenly from the
whole table: by these the accuracy is estimated), "group", "search" and "confident" (accepted
with others), "picked" (the person went to it), "settled" (it ends a disagreement).
"""

import math
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import LimelightError, bad_value, check_at_least, check_choice, warn
from .answers import Answer, Answers
from .groups import Group
from .journal import CHOSEN, Event, Journal, text_keys
from .learner import Learner, Progress
from .people import Agreement, Assigned, Shown, measure_agreement
from .save import SEPARATOR, Labelled, save_labels
from .state import Said, Span, as_labels, check_fits, fold, texts_gone, undone
from .text_search import Found, matching_rows
from .vectors import TextVectors, reading_order

HOW = ("auto", "random")


class LabelSession:
    """Label texts with a model that learns as you label.

    >>> session = LabelSession(["good soup", "bad soup", "good room"], classes=["good", "bad"], reader=None)
    >>> (first,) = session.next()
    >>> _ = session.label(first.row, "good" if "good" in first.text else "bad")
    >>> session.progress().labelled
    1
    """

    def __init__(
        self,
        texts: Sequence[str],
        *,
        reader: Any = "reader",
        classes: Sequence[str] = (),
        descriptions: Mapping[str, str] | None = None,
        model: Any = None,
        by: str = "me",
        journal: str | Path | None = None,
        cache: str | Path | None = None,
        several: bool = False,
        ordered: bool = False,
        seed: int = 0,
        background: bool = True,
    ) -> None:
        """`reader` is a Reader, the name of its folder, or None: texts in random order, nothing learnt.

        `descriptions` has a sentence for some classes, for a first guess; `model` is a trained model to start
        from. `cache` is a file for the vectors of texts, so that they are read once. With `several`, a text
        has any number of labels; with `ordered`, the classes have the order in which they are given. Texts
        are read in a thread of their own, unless `background` is off.
        """
        if several and ordered:
            raise bad_value("several and ordered cannot both be on: choose one")
        self.texts, self.by, self.several, self.ordered, self.seed = list(texts), by, several, ordered, seed
        self.keys = text_keys(self.texts)
        self._rows = {key: row for row, key in enumerate(self.keys)}
        self._order = reading_order(self.keys, seed)
        self._lock = threading.RLock()
        self._assigned = Assigned()
        self._journal = Journal(journal)
        names = list(classes) or [str(label) for label in (model.labels if model is not None else ())]
        self._start = list(as_labels(names)), dict(descriptions or {})
        self._state = fold(self._journal.events, *self._start)
        self._seen = len(self._journal.events)
        if gone := check_fits(self._journal, self._state, self._rows, several):
            todo = "they keep their labels, and are written below its rows"
            warn(f"{len(gone):,} labelled texts are no longer in the table: {todo}")
        spoken = (self.keys[row] for row, _ in self._holding())
        self._unrecorded = [key for key in spoken if key not in self._journal.texts]
        self.vectors = TextVectors(self.texts, self._order, reader, cache, background=background)
        self._learner = Learner(self.vectors, self.keys, several, ordered, model)

    def close(self) -> None:
        """Stop reading in the background."""
        self.vectors.close()

    # ------------------------------------------------------------ what was said

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes, in the order in which they were added."""
        with self._lock:
            return tuple(self._state.classes)

    @property
    def every_class(self) -> set[str]:
        """The classes, and those that were renamed or removed."""
        with self._lock:
            return {*self.classes, *(event["name"] for event in self._journal.events if "name" in event)}

    @property
    def descriptions(self) -> dict[str, str]:
        """The sentences that describe classes."""
        with self._lock:
            return dict(self._state.descriptions)

    @property
    def by_class(self) -> dict[str, int]:
        """How many texts have each class."""
        with self._lock:
            self._refit()
            return dict(self._learner.by_class)

    def said(self, row: int, *, by: str | None = None) -> Said | None:
        """What holds for a text, or what a person said last about it; None if nothing was said."""
        with self._lock:
            key = self._key(row)
            return self._state.latest(key) if by is None else self._state.said.get(key, {}).get(by)

    def marks(self, row: int) -> list[Span]:
        """The spans of characters that were marked as the reason of the label."""
        with self._lock:
            return self._state.spans(self._key(row), self.texts[row])

    def noted(self, row: int) -> str:
        """The note at a text, or an empty string."""
        with self._lock:
            return self._state.notes.get(self._key(row), "")

    def refresh(self) -> int:
        """Take in what other processes have appended to the journal; the number of their events."""
        with self._lock:
            self._journal.reread()
            return self._take_new()

    # ------------------------------------------------------------ the loop

    def next(self, how: str = "auto", count: int = 1, *, by: str | None = None, tab: str = "") -> list[Shown]:
        """The next texts to label, at most `count`; none if all are done.

        Texts that are before other people, or in another `tab` of the same person, are left to them as long
        as there are others.
        """
        check_choice("how", how, HOW)
        check_at_least("count", count, 1)
        with self._lock:
            own, is_open = (by or self.by, tab), self._is_open()
            free = is_open.copy()
            free[self._assigned.to_others(own, self._seen)] = False
            found = self._learner.choose(free if free.any() else is_open, how, count)
            if not found:  # what was skipped comes again
                skipped = [row for row, said in self._holding() if said.status == "skip"]
                found = [(row, "picked") for row in skipped[:count]]
            self._assigned.give(own, found, self._seen)
            return [Shown(row, self.texts[row], chosen) for row, chosen in found]

    def label(
        self,
        row: int,
        label: str | Sequence[str],
        marks: Sequence[Span] | None = None,
        *,
        by: str | None = None,
        chosen: str | None = None,
    ) -> Event:
        """Give a text its label, or with `several` its labels, and mark the words that are the reason.

        `by` is the person, if not the session's; `chosen` is how the text was chosen, if not by `next`.
        """
        with self._lock:
            key, labels = self._key(row), self._check_labels(label)
            more = {"marks": {key: self._check_spans(row, marks)}} if marks is not None else {}
            chosen = chosen or self._assigned.how_chosen(row, by or self.by)
            check_choice("chosen", chosen, CHOSEN)
            return self._append("label", by, rows=[key], label=labels, chosen=chosen, **more)

    def settle(self, row: int, label: str | Sequence[str], *, by: str | None = None) -> Event:
        """End a disagreement: this label holds, whatever is said of the text, until it is settled again."""
        return self.label(row, label, by=by, chosen="settled")

    def undo(self, *, by: str | None = None) -> Event | None:
        """Take back the person's last event, whatever it was; None if there is nothing to take back.

        What is returned is the event that was taken back, with its `rows` as row numbers.
        """
        with self._lock:
            self.refresh()
            gone, person = undone(self._journal.events), by or self.by
            for event in reversed(self._journal.events):
                if event["by"] == person and event["do"] != "undo" and event["id"] not in gone:
                    self._append("undo", by, of=event["id"])
                    return {**event, "rows": self._numbers(event.get("rows", ()))}
            return None

    def skip(self, row: int, *, by: str | None = None) -> Event:
        """Leave a text out for now: it comes again when no other is left."""
        return self._append("skip", by, rows=[self._key(row)])

    def unsure(self, row: int, *, by: str | None = None) -> Event:
        """Note that the person cannot say; the text does not come again."""
        return self._append("unsure", by, rows=[self._key(row)])

    def note(self, row: int, text: str, *, by: str | None = None) -> Event:
        """Keep a note at a text; an empty one removes it."""
        return self._append("note", by, rows=[self._key(row)], text=text)

    def mark(self, row: int, spans: Sequence[Span], *, by: str | None = None) -> Event:
        """Mark the characters that are the reason of the label; an empty list removes the marks."""
        key, marks = self._key(row), self._check_spans(row, spans)
        return self._append("marks", by, rows=[key], marks=marks)

    # ------------------------------------------------------------ classes

    def add_class(self, name: str, description: str | None = None, *, by: str | None = None) -> Event:
        """Add a class, or describe one; a sentence about it gives a first guess."""
        self._check_name(name)
        return self._append("add_class", by, name=name, description=description)

    def rename_class(self, name: str, to: str, *, by: str | None = None) -> Event:
        """Give a class another name."""
        with self._lock:
            self._check_class(name)
            self._check_name(to)
            if to in self.classes and to != name:
                raise LimelightError(f"there is a class {to!r} already: merge the two", code="class-exists")
            return self._append("rename_class", by, name=name, to=to)

    def merge(self, name: str, into: str, *, by: str | None = None) -> Event:
        """Make one class of two: the texts of `name` get the label `into`."""
        with self._lock:
            self._check_class(name)
            self._check_class(into)
            return self._append("rename_class", by, name=name, to=into)

    def remove_class(self, name: str, *, by: str | None = None) -> Event:
        """Remove a class; its texts are without a label again."""
        with self._lock:
            self._check_class(name)
            return self._append("remove_class", by, name=name)

    # ------------------------------------------------------------ many texts at once

    def groups(self, count: int | None = None) -> list[Group]:
        """Texts that are alike, the largest group first; the same groups in every run.

        They are made of the texts read so far; `count` is their number, by default chosen by the size.
        """
        grouping = self._learner.grouping(self.texts, count)
        with self._lock:
            is_open, holding = self._is_open(), self._holding()
            labels = {row: said.labels for row, said in holding if said.labels is not None}
        return grouping.with_labels(labels, is_open)

    def find(
        self,
        *,
        words: str | None = None,
        phrase: str | None = None,
        similar_to: int | str | None = None,
        above: float | None = None,
        label: str | None = None,
        limit: int | None = None,
        until: float = math.inf,
    ) -> Found:
        """The rows without a label so far that fit all conditions.

        All of the `words`, in any form; a `phrase`, in any case; the most similar first to a row or to a
        text; those whose answer (of the class `label`, if given) is at least `above` probable, the surest
        first. Texts are looked at until the moment `until` of `time.monotonic`; labels may come meanwhile.
        """
        with self._lock:
            if label is not None:
                self._check_class(label)
            if isinstance(similar_to, int):
                self._key(similar_to)
            rows = np.flatnonzero(self._is_open()).tolist()
            answers = self.answers()
        searched = total = len(rows)
        if words is not None or phrase is not None:
            rows, searched = matching_rows(self.texts, rows, words, phrase, until)
        if above is not None or label is not None:
            rows = answers.confident(rows, above or 0.0, label)
        if similar_to is not None:
            rows = answers.similar(rows, similar_to)
        return Found(rows[:limit], searched, total)

    def accept(
        self,
        rows: Sequence[int],
        label: str | Sequence[str],
        *,
        chosen: str = "group",
        sample_checked: Sequence[int] = (),
        by: str | None = None,
    ) -> Event:
        """Label many texts at once, as one event that is undone at once, with a class that it added.

        `chosen` is "group", "search" or "confident"; `sample_checked` has the rows a person looked at.
        """
        check_choice("chosen", chosen, CHOSEN)
        with self._lock:
            labels, keys = self._check_labels(label, new=True), [self._key(row) for row in rows]
            checked = [self._key(row) for row in sample_checked]
            return self._append("label", by, rows=keys, label=labels, chosen=chosen, checked=checked)

    # ------------------------------------------------------------ what is learnt

    def answers(self) -> Answers:
        """What the model says with the labels so far; later ones do not change it."""
        with self._lock:
            self._refit()
            return self._learner.answers()

    def answer(self, row: int) -> Answer:
        """What the model says about a text, and the words that decided; a few milliseconds."""
        said = self.said(row)
        return self.answers().answer(row, self.texts[row], said.labels if said else None)

    def progress(self) -> Progress:
        """How far the labelling is: estimated accuracy, how it grew, what is missing."""
        with self._lock:
            self._refit()
            return self._learner.progress()

    def agreement(self) -> Agreement:
        """How far people agree on the texts that several of them labelled, with chance removed."""
        with self._lock:
            return measure_agreement(self._state.said, self.ordered, self.classes)

    def disagreements(self) -> list[tuple[int, dict[str, tuple[str, ...]]]]:
        """Rows on which people differ and that nobody has settled, with what each said."""
        with self._lock:
            found = []
            for key, by in self._state.said.items():
                labels = {person: said.labels for person, said in by.items() if said.labels is not None}
                differ = len({tuple(sorted(each)) for each in labels.values()}) > 1
                if differ and key in self._rows and key not in self._state.settled:
                    found.append((self._rows[key], labels))
            return sorted(found)

    def save(self, path: str | Path, table: str | Path | None = None, *, text: str | None = None) -> int:
        """Write label, by, when, marks, note and chosen beside the columns of the table; count the rows.

        `table` is where the texts came from, and `text` their column; without it there is a column `text`.
        Only rows with a label; then the labelled texts that the table no longer has. By the name: .csv, .tsv,
        .jsonl, .parquet or .xlsx.
        """
        with self._lock:
            self.refresh()
            state, gone = self._state, texts_gone(self._journal, self._state, self._rows)
            texts = gone | dict(zip(self.keys, self.texts, strict=True))
            marks = {key: state.spans(key, texts[key]) for key in state.marks if key in texts}
            said, notes = dict(state.holding()), dict(state.notes)
            labelled = Labelled(self.texts, self.keys, gone, said, marks, notes, self.several)
        return save_labels(labelled, path, table, text)  # meanwhile people go on

    # ------------------------------------------------------------ inner parts

    def _append(self, do: str, by: str | None, **about: Any) -> Event:
        with self._lock:
            rows = about.get("rows", [])
            texts = {key: self.texts[self._rows[key]] for key in (*rows, *self._unrecorded)}
            event = self._journal.append(do, by=by or self.by, texts=texts, **about)
            self._unrecorded = []
            self._take_new()
            self._assigned.take_back(self._numbers(rows))
            return event

    def _take_new(self) -> int:
        """Fold in the events that are new; an undo means to start again."""
        new = self._journal.events[self._seen :]
        self._seen += len(new)
        if any(event["do"] == "undo" for event in new):
            self._state = fold(self._journal.events, *self._start)
        else:
            for event in new:
                self._state.take(event)
        if new:
            self._learner.is_stale = True
        return len(new)

    def _refit(self) -> None:
        self._learner.refit(self._state, self._rows, self.texts)

    def _holding(self) -> Iterator[tuple[int, Said]]:
        """The rows about which something was said, and what holds."""
        return ((self._rows[key], said) for key, said in self._state.holding() if key in self._rows)

    def _is_open(self) -> np.ndarray:
        """(texts,): True where nobody has said anything."""
        self._refit()
        return ~self._learner.spoken

    def _numbers(self, keys: Iterable[str]) -> list[int]:
        return [self._rows[key] for key in keys if key in self._rows]

    def _key(self, row: int) -> str:
        if not 0 <= row < len(self.keys):
            raise bad_value(f"row is {row}; it must be from 0 to {len(self.keys) - 1}")
        return self.keys[row]

    def _check_class(self, name: str) -> None:
        if name not in self.classes:
            known = ", ".join(self.classes) or "none so far"
            raise LimelightError(f"there is no class {name!r}; classes: {known}", code="class-unknown")

    def _check_labels(self, label: str | Sequence[str], new: bool = False) -> list[str]:
        labels = as_labels(label)
        for name in labels:
            (self._check_name if new and name not in self.classes else self._check_class)(name)
        if len(labels) != 1 and not self.several:
            raise LimelightError("give one label, or start with several=True", code="label-count")
        return list(labels)

    def _check_name(self, name: str) -> None:
        """A table must give the name back as it is."""
        if not name.strip() or name != name.strip():
            raise bad_value(f"{name!r} cannot be a class: it needs a name without spaces around it")
        if self.several and SEPARATOR in name:
            fault = f"{name!r} cannot be a class"
            raise bad_value(f"{fault}: {SEPARATOR} stands between several labels of a text")

    def _check_spans(self, row: int, spans: Sequence[Span]) -> list[list[int]]:
        length = len(self.texts[row])
        if not all(0 <= start < end <= length for start, end in spans):
            raise bad_value(f"marks must be [start, end) within the {length} characters of the text")
        return [[int(start), int(end)] for start, end in spans]
