"""The labelling page behind HTTP: what it asks a `LabelSession` for, and says to it.

The table of labels is written a moment after the last key, and when the server stops.
"""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...errors import LimelightError, tidy_os_errors
from ...labelling.answers import Answer
from ...labelling.groups import distinguishing_words
from ...labelling.health import check
from ...labelling.journal import journal_of
from ...labelling.save import SEPARATOR
from ...labelling.session import LabelSession
from ...tables.writers import LISTS, format_of
from ...text.tasks import MULTI_LABEL, ORDINAL
from ..http.bodies import Body
from ..http.fields import SHARE, TEXT, Fields, Schema, list_of, one_of, text, whole
from ..http.limits import RequestError
from ..http.metrics import log
from ..http.posts import Posts, Workers
from ..page.bundle import page_answer
from ..page.plane import Plane, spread

MAX_SHOWN = 200
MAX_AHEAD = 100  # texts that are before people
SAMPLE = 8  # texts to check before many are accepted
SEARCH_SECONDS = 5.0  # that a search takes at most
MAX_ROWS, MAX_ROWS_FOUND, MAX_MARKS = 1_000_000, 100_000, 1000
NAME = text(100)  # of a person or a class
WORDS = text(1000)  # a note, or what is looked for
LABELS = {**WORDS, "type": ["string", "array"], "items": TEXT, "description": "a label or a list of labels"}
# What a person says that cannot be: the page is told, and nothing is written.
FAULTS = dict.fromkeys(("class-unknown", "class-exists", "label-count", "option-value"), 422)
SHOWN = 100  # findings of each kind
PAUSE = 3.0  # seconds without a key
_FOR_CSV = ("cell-unusable", "sheet-full")  # what only Excel cannot hold


class Labeller:
    """The routes of one labelling; `saver` writes the table."""

    def __init__(self, session: LabelSession, posts: Posts, saver: TableSaver) -> None:
        self.session, self.posts, self.saver = session, posts, saver
        self._workers = Workers(1, posts.limits.waiting)  # one: keys are answered in the order they came
        self._ahead: dict[int, Future[Answer]] = {}  # answers about texts that people look at
        self._pool = ThreadPoolExecutor(1)

    def routes(self) -> list[Route]:
        last = len(self.session.texts) - 1
        row, rows = whole(0, last), list_of(whole(0, last), f"integers from 0 to {last}", MAX_ROWS)
        span = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
        marks = list_of(span, "pairs [start, end]", MAX_MARKS)
        wanted = {"how": one_of("auto", "random")}
        said = {"do": one_of("label", "skip", "unsure"), "label": LABELS, "marks": marks, "last": TEXT}
        found = {
            "words": WORDS, "phrase": WORDS, "above": SHARE, "label": NAME,
            "similar_to": {**WORDS, **row, "type": ["integer", "string"], "description": "a text or its row"},
        }  # fmt: skip
        return [
            Route("/", self.page),
            *(self._post(answer, self._workers, *fields) for answer, *fields in (
                (self.about,), (self.progress,), (self.undo,), (self.people,),
                (self.next, {}, wanted),
                (self.say, {"row": row}, {**said, **wanted}),
                (self.note, {"row": row, "text": WORDS}),
                (self.answer, {"row": row}),
                (self.classes, {"name": NAME},
                 {"do": one_of("add", "rename", "merge", "remove"), "description": WORDS, "to": NAME}),
                (self.accept, {"rows": rows, "label": LABELS},
                 {"chosen": one_of("group", "search", "confident"), "checked": rows}),
                (self.texts, {"rows": {**rows, "maxItems": MAX_SHOWN}}),
                (self.settle, {"row": row, "label": LABELS}),
            )),
            *(self._post(answer, self.posts.workers, *fields) for answer, *fields in (  # keys need not wait
                (self.groups,), (self.map,), (self.check,),
                (self.select, {"rows": rows}),
                (self.find, {}, found),
            )),
        ]  # fmt: skip

    def _post(self, answer: Callable[[Body], Any], workers: Workers, *more: dict[str, Schema]) -> Route:
        fields = Fields(*more)
        fields = fields._replace(optional={**fields.optional, "by": NAME, "tab": NAME})

        def run(request: Request, body: Body) -> Awaitable[Any]:
            return workers.run(answer, {**body, "by": body.get("by", "").strip() or self.session.by})

        return self.posts.route(f"/label/{answer.__name__}", run, fields, FAULTS)

    async def page(self, request: Request) -> Response:
        return page_answer("label", "Limelight: label", "label.html", "label.css.jinja")

    # ------------------------------------------------------------ what there is

    def about(self, body: Body) -> dict[str, Any]:
        session = self.session
        session.refresh()
        found = {name: getattr(session, name) for name in ("by", "several", "ordered")}
        found |= {"table": str(self.saver.table or ""), "text": self.saver.text or ""}  # empty for a list
        found |= {"out": str(self.saver.out), "command": self.saver.train_command()}
        return {"texts": len(session.texts), **found, **self._classes()}

    def _classes(self) -> dict[str, Any]:
        return {name: getattr(self.session, name) for name in ("classes", "descriptions", "by_class")}

    def progress(self, body: Body) -> dict[str, Any]:
        """Estimated accuracy, how it grew, what is missing; why the table is not written."""
        self.session.refresh()
        found = self.session.progress()
        lists = {name: [each._asdict() for each in getattr(found, name)] for name in ("history", "needs")}
        return {**found._asdict(), **lists, "fault": self.saver.fault}

    def texts(self, body: Body) -> list[dict[str, Any]]:
        rows, by = body["rows"], body["by"]
        if len(rows) == 1:  # a person went to it
            self._look_ahead(rows[0])
        return [self._text(row, by) for row in rows]

    def _text(self, row: int, by: str) -> dict[str, Any]:
        """A text with what holds for it; `last` is the event in which the person spoke last about it."""
        said, own = self.session.said(row), self.session.said(row, by=by)
        return {
            "row": row, "text": self.session.texts[row], "marks": self.session.marks(row),
            "note": self.session.noted(row), "said": said and {"by": said.by, "labels": said.labels},
            "last": own.event if own else "",
        }  # fmt: skip

    # ------------------------------------------------------------ the loop

    def next(self, body: Body) -> list[dict[str, Any]]:
        self.session.refresh()
        wanted = {name: body[name] for name in ("how", "by", "tab") if name in body}
        found = self.session.next(**wanted)
        for each in found:
            self._look_ahead(each.row)
        return [{**self._text(each.row, body["by"]), "chosen": each.chosen} for each in found]

    def say(self, body: Body) -> dict[str, Any]:
        """Note what a person said; what the model had said before it knew, and the next text."""
        row, by, do = body["row"], body["by"], body.get("do", "label")
        self._check_last(body, row, by)
        if do == "label":
            if "label" not in body:
                raise RequestError(422, "label must be a label or a list of labels")
            self.session.label(row, body["label"], body.get("marks"), by=by)
        else:
            (self.session.skip if do == "skip" else self.session.unsure)(row, by=by)
        self.saver.touch()
        holds, found = self.session.said(row), self._classes()
        found["answer"] = self._before(row) if do == "label" else None
        found["settled"] = holds.labels if holds and holds.chosen == "settled" else None  # whatever is said
        return {**found, "next": self.next(body)}

    def _check_last(self, body: Body, row: int, by: str) -> None:
        """Raise if the person spoke about the text after their page was given it: in another tab."""
        if "last" not in body:
            return
        self.session.refresh()
        own = self.session.said(row, by=by)
        if body["last"] != (own.event if own else ""):
            did = f"said {', '.join(own.labels or [own.status])!r}" if own else "took back what you had said"
            fault = f"you {did} about this text in another tab; go to it again to change that"
            raise RequestError(409, fault, code="said-meanwhile")

    def _look_ahead(self, row: int) -> None:
        """Ask the model while the person thinks: its answer, shown after their key, must not delay it."""
        said, text = self.session.said(row), self.session.texts[row]
        answers = self.session.answers()  # of the model that does not know what the person will say
        self._ahead[row] = self._pool.submit(answers.answer, row, text, said.labels if said else None)
        while len(self._ahead) > MAX_AHEAD:
            del self._ahead[next(iter(self._ahead))]

    def _before(self, row: int) -> dict[str, Any] | None:
        """What the model said about a text before the person did; whatever fails, their label is written."""
        if row not in self._ahead:
            return None
        try:
            return self._plain(self._ahead[row].result())
        except Exception as error:
            log(f"there is no answer: {type(error).__name__}")
            return None

    def undo(self, body: Body) -> dict[str, Any]:
        """Take back the person's last event: what it was, and the texts that it was about."""
        event = self.session.undo(by=body["by"])
        self.saver.touch()
        rows = [] if event is None else event["rows"]
        shown = self.texts({**body, "rows": rows[:1]})
        return {"undone": event and event["do"], "count": len(rows), "texts": shown, **self._classes()}

    def note(self, body: Body) -> dict[str, Any]:
        self.session.note(body["row"], body["text"], by=body["by"])
        self.saver.touch()
        return self._text(body["row"], body["by"])

    def answer(self, body: Body) -> dict[str, Any]:
        return self._plain(self.session.answer(body["row"]))

    def _plain(self, found: Answer) -> dict[str, Any]:
        return {**found._asdict(), "words": [each._asdict() for each in found.words],
                "text": self.session.texts[found.row]}  # fmt: skip

    def classes(self, body: Body) -> dict[str, Any]:
        do, name, by = body.get("do", "add"), body["name"].strip(), body["by"]
        if do == "add":
            self.session.add_class(name, body.get("description"), by=by)
        elif do == "remove":
            self.session.remove_class(name, by=by)
        else:
            change = self.session.rename_class if do == "rename" else self.session.merge
            change(name, body.get("to", "").strip(), by=by)
        self.saver.touch()
        return self._classes()

    # ------------------------------------------------------------ many at once

    def groups(self, body: Body) -> dict[str, Any]:
        """Groups of texts that are alike; of those read so far."""
        shown = [
            {"number": each.number, "name": each.name, "words": each.words, "rows": each.rows,
             "labelled": each.labelled, "examples": [self.session.texts[row] for row in each.examples]}
            for each in self.session.groups()
        ]  # fmt: skip
        return {"groups": shown, "read": self.session.vectors.ready, "of": len(self.session.texts)}

    def map(self, body: Body) -> dict[str, Any]:
        """Where the texts that were read are on a map, and their labels."""
        vectors = self.session.vectors
        rows = np.flatnonzero(vectors.is_read)
        if not len(rows):
            return {"rows": [], "places": [], "labels": []}
        places = np.zeros((len(rows), 2))
        found = Plane.fit(vectors.matrix[rows[spread(len(rows))]]).project(vectors.matrix[rows])[:, :2]
        places[:, : found.shape[1]] = found
        said = [self.session.said(row) for row in rows.tolist()]
        labels = [each.labels[0] if each and each.labels else None for each in said]
        return {"rows": rows.tolist(), "places": places.round(3).tolist(), "labels": labels}

    def select(self, body: Body) -> dict[str, Any]:
        """A sample of some texts, and the words that distinguish them from the others."""
        rows, own = body["rows"], np.zeros(len(self.session.texts), int)
        own[rows] = 1
        words = distinguishing_words(self.session.texts, own, 2)[1]
        return {"words": words, "sample": self._sample(rows, body)}

    def _sample(self, rows: Sequence[int], body: Body) -> list[dict[str, Any]]:
        return [self._text(row, body["by"]) for row in self.session.answers().sample(rows, SAMPLE)]

    def find(self, body: Body) -> dict[str, Any]:
        """The texts without a label that fit, of those looked at in time, and a sample of them to check."""
        names = ("words", "phrase", "similar_to", "above", "label")
        given = {name: body[name] for name in names if body.get(name, "") != ""}
        if not given:
            raise RequestError(422, "give words, phrase, similar_to, above or label")
        until = time.monotonic() + SEARCH_SECONDS
        found = self.session.find(**given, limit=MAX_ROWS_FOUND, until=until)
        return {**found._asdict(), "sample": self._sample(found.rows, body)}

    def accept(self, body: Body) -> dict[str, Any]:
        """Give many texts a label at once; a class that is not there yet is added."""
        rows, label = list(dict.fromkeys(body["rows"])), self._named(body["label"])
        if not rows:
            raise RequestError(422, "rows must have at least one row")
        how = {"chosen": body.get("chosen", "group"), "sample_checked": body.get("checked", ())}
        self.session.accept(rows, label, by=body["by"], **how)
        self.saver.touch()
        return {"count": len(rows), **self._classes()}

    def _named(self, label: str | Sequence[str]) -> list[str]:
        """The names of classes; new ones are short and tidy."""
        known, most = self.session.classes, NAME["maxLength"]
        names = [label] if isinstance(label, str) else label
        return [each if each in known else each.strip()[:most].strip() for each in names]

    # ------------------------------------------------------------ people

    def people(self, body: Body) -> dict[str, Any]:
        self.session.refresh()
        found = self.session.agreement()
        names = ("texts", "agreed", "alpha")
        pairs = [{"people": list(two), **dict(zip(names, x, strict=True))} for two, x in found.pairs.items()]
        open_rows, by = self.session.disagreements(), body["by"]
        shown = [{**self._text(row, by), "by": said} for row, said in open_rows[:MAX_SHOWN]]
        return {"people": found.people, "texts": found.texts, "alpha": found.alpha, "pairs": pairs,
                "disagreements": shown, "count": len(open_rows)}  # fmt: skip

    def settle(self, body: Body) -> dict[str, Any]:
        """Give a text on which people differ the label that holds."""
        self.session.settle(body["row"], body["label"], by=body["by"])
        self.saver.touch()
        return self.people(body)

    def check(self, body: Body) -> dict[str, Any]:
        """Suspected labels, duplicates with different labels and confused classes, of the labels so far."""
        session = self.session
        said = {row: session.said(row) for row in np.flatnonzero(session.vectors.is_read).tolist()}
        rows = [row for row, each in said.items() if each and each.labels and len(each.labels) == 1]
        labels = [said[row].labels[0] for row in rows]  # type: ignore[union-attr,index]
        texts, vectors = [session.texts[row] for row in rows], session.vectors
        found = check(texts, labels, reader=vectors.reader, vectors=vectors.matrix[rows])
        suspects = [
            {**each._asdict(), "row": rows[each.row], "text": texts[each.row]}
            for each in found.suspects[:SHOWN]
        ]
        duplicates = [
            {**each._asdict(), "row": rows[each.row], "row2": rows[each.row2],
             "text": texts[each.row], "text2": texts[each.row2]}
            for each in found.duplicates[:SHOWN]
        ]  # fmt: skip
        return {
            "checked": len(rows), "suspects": suspects, "duplicates": duplicates,
            "confused": [each._asdict() for each in found.confused],
            "count": len(found.suspects), "about": found.about_suspects, "remarks": found.remarks,
        }  # fmt: skip


def close(labeller: Labeller) -> int:
    """When the server has stopped: nothing goes on in the background. The rows of the table, now written."""
    labeller._pool.shutdown(cancel_futures=True)
    try:
        return labeller.saver.close()
    finally:
        labeller.session.close()


class TableSaver:
    """`table` is where the texts came from and `text` their column; without it there is a column `text`."""

    def __init__(
        self, session: LabelSession, out: str | Path, table: str | Path | None, text: str | None
    ) -> None:
        self.out, self._session, self.table, self.text = Path(out), session, table, text
        self._lock, self._saving = threading.Lock(), threading.Lock()
        self._timer: threading.Timer | None = None
        self.fault = ""  # why the table could not be written when it was tried last

    def train_command(self) -> str:
        """What to type to train on the table; words that were marked are learnt as reasons."""
        session, lists = self._session, format_of(self.out) in LISTS
        parts = ["limelight", "train", str(self.out), "--text", self.text or "text"]
        parts += ["--label", "labels" if session.several and lists else "label"]
        if session.several or session.ordered:
            parts += ["--task", (MULTI_LABEL if session.several else ORDINAL).name]
        if any(session.marks(row) for row in range(len(session.texts))):
            parts += ["--reasons", "marks"]
        if session.several and not lists:
            parts += ["--separator", SEPARATOR]
        model = self.out.with_name(f"{self.out.name.split('.')[0]}-model")
        return shlex.join([*parts, "--out", str(model)])

    def touch(self) -> None:
        """Something was said: write it soon."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(PAUSE, self._save_soon)
            self._timer.daemon = True
            self._timer.start()

    def save(self) -> int:
        try:
            with self._saving, tidy_os_errors(f"cannot write {self.out}"):  # an older state never comes last
                rows = self._session.save(self.out, self.table, text=self.text)
        except LimelightError as error:
            self.fault = f"{error}; {self._way_out(error.code)}"
            raise LimelightError(self.fault, code=error.code) from error
        self.fault = ""
        return rows

    def close(self) -> int:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
        return self.save()

    def _save_soon(self) -> None:
        try:
            self.save()
        except LimelightError as error:  # such as a full disk: the page says it, too
            log(f"the table is not written: {error}")

    def _way_out(self, code: str) -> str:
        journal = journal_of(self.out)
        if code not in _FOR_CSV:
            return f"all labels are in {journal}"
        ends = chain([""], (f"-{k}" for k in count(2)))
        names = (self.out.with_name(f"{self.out.stem}{end}.csv") for end in ends)
        other = next(name for name in names if not name.exists() and not journal_of(name).exists())
        return f"all labels are in {journal}: rename it to {journal_of(other).name} and give --out {other}"
