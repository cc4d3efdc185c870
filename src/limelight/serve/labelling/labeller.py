"""The labelling page behind HTTP: what it asks a `LabelSession` for, and says to it.

What a person says is checked, and then on the disk before anything else is done with it. The table of labels
is written a moment after the last key, and when the server stops.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from ...labelling.groups import distinguishing_words
from ...labelling.session import LabelSession
from ...labelling.views import Answer
from ..http.bodies import Body, share
from ..http.limits import RequestError
from ..http.metrics import log
from ..http.posts import Posts, Workers
from ..page.bundle import policy, render_page
from ..page.plane import Plane, spread
from .bodies import (
    MAX_NAME,
    choice_of,
    count_of,
    labels_of,
    optional_text,
    row_of,
    rows_of,
    spans_of,
    text_of,
)
from .checks import check_labels
from .table_saver import TableSaver

START, BODY, SHEET = "label", "label.html", "label.css.jinja"
MAX_GROUPS, EXAMPLES, MAX_SHOWN = 200, 4, 200
MAX_AHEAD = 100  # texts that are before people
SAMPLE = 8  # texts to check before many are accepted
SEARCH_SECONDS = 5.0  # that a search takes at most


class Labeller:
    """The routes of one labelling; `saver` writes the table."""

    def __init__(self, session: LabelSession, posts: Posts, saver: TableSaver) -> None:
        self.session, self.posts, self.saver = session, posts, saver
        self._workers = Workers(1, posts.limits.waiting)  # one: keys are answered in the order they came
        self._ahead: dict[int, Future[Answer]] = {}  # answers about texts that people look at
        self._pool = ThreadPoolExecutor(1)

    def routes(self) -> list[Route]:
        """The page, and what it asks for."""
        posts: dict[str, Callable[[Body], Any]] = {
            "about": self.about, "next": self.next, "say": self.say, "undo": self.undo, "note": self.note,
            "mark": self.mark, "answer": self.answer, "progress": self.progress, "classes": self.classes,
            "accept": self.accept, "texts": self.texts, "people": self.people, "settle": self.settle,
        }  # fmt: skip
        found = [Route("/", self.page)]
        found += [self._post(name, answer, self._workers) for name, answer in posts.items()]
        slow: dict[str, Callable[[Body], Any]] = {  # keys need not wait for these
            "groups": self.groups, "map": self.map, "select": self.select, "find": self.find,
            "check": self.check,
        }  # fmt: skip
        found += [self._post(name, answer, self.posts.workers) for name, answer in slow.items()]
        return found

    def _post(self, name: str, answer: Callable[[Body], Any], workers: Workers) -> Route:
        return self.posts.route(f"/label/{name}", lambda _, body: workers.run(answer, body))

    async def page(self, request: Request) -> Response:
        """The page itself, which has nothing of the texts in it."""
        allowed = f"{policy(START, served=True, sheet=SHEET)}; frame-ancestors 'none'"
        return HTMLResponse(_page(), headers={"content-security-policy": allowed})

    # ------------------------------------------------------------ what there is

    def about(self, body: Body) -> dict[str, Any]:
        session = self.session
        session.refresh()
        return {
            "texts": len(session.texts), "by": session.by, "several": session.several, **self.saver.source,
            "ordered": session.ordered, "out": str(self.saver.out), "command": self.saver.train_command(),
            "carried_over": session.carried_over,
            **self._classes(),
        }  # fmt: skip

    def _classes(self) -> dict[str, Any]:
        session = self.session
        return {
            "classes": session.classes,
            "descriptions": session.descriptions,
            "by_class": session.by_class,
        }

    def progress(self, body: Body) -> dict[str, Any]:
        """Estimated accuracy, how it grew, what is missing; why the table is not written."""
        self.session.refresh()
        found = self.session.progress()
        return {
            **found._asdict(),
            "history": [each._asdict() for each in found.history],
            "needs": [each._asdict() for each in found.needs],
            "fault": self.saver.fault,
        }

    def texts(self, body: Body) -> list[dict[str, Any]]:
        """Some texts, with what was said about them."""
        rows = rows_of(body, len(self.session.texts))
        if len(rows) > MAX_SHOWN:
            raise RequestError(413, f"{len(rows):,} rows; at most {MAX_SHOWN} are allowed")
        by = self._by(body)
        if len(rows) == 1:  # a person went to it
            self._look_ahead(rows[0])
        return [self._text(row, by) for row in rows]

    def _text(self, row: int, by: str) -> dict[str, Any]:
        """A text with what holds for it; `last` is the event in which the person spoke last about it."""
        said, own = self.session.said(row), self.session.said(row, by=by)
        return {
            "row": row, "text": self.session.texts[row], "marks": self.session.marks(row),
            "note": self.session.noted(row), "said": said and {"by": said.by, "labels": said.labels},
            "last": own and own.event,
        }  # fmt: skip

    # ------------------------------------------------------------ the loop

    def next(self, body: Body) -> list[dict[str, Any]]:
        return self._next(self._wanted(body), rows_of(body, len(self.session.texts), "holding"))

    def _wanted(self, body: Body) -> dict[str, Any]:
        """Which texts come next, and for whom."""
        return {
            "how": choice_of(body, "how", ("auto", "random")), "count": count_of(body, "count", 1, 20),
            "by": self._by(body), "tab": optional_text(body, "tab", most=MAX_NAME) or "",
        }  # fmt: skip

    def _next(self, wanted: dict[str, Any], holding: Sequence[int] = ()) -> list[dict[str, Any]]:
        self.session.refresh()
        found = self.session.next(**wanted, holding=holding)
        for each in found:
            self._look_ahead(each.row)
        return [{**self._text(each.row, wanted["by"]), "chosen": each.chosen} for each in found]

    def say(self, body: Body) -> dict[str, Any]:
        """Note what a person said; what the model had said before it knew, and the next text."""
        row, by = row_of(body, len(self.session.texts)), self._by(body)
        do = choice_of(body, "do", ("label", "skip", "unsure"))
        label, marks = (labels_of(body), spans_of(body)) if do == "label" else ("", None)
        wanted = self._wanted(body)
        self._check_last(body, row, by)
        if do == "label":
            self.session.label(row, label, marks, by=by)
        else:
            (self.session.skip if do == "skip" else self.session.unsure)(row, by=by)
        self.saver.touch()
        before, holds = self._before(row) if do == "label" else None, self.session.said(row)
        settled = (
            holds.labels if holds and holds.chosen == "settled" else None
        )  # which stays, whatever is said
        return {"answer": before, "settled": settled, "next": self._next(wanted), **self._classes()}

    def _check_last(self, body: Body, row: int, by: str) -> None:
        """Raise if the person spoke about the text after their page was given it: in another tab."""
        if "last" not in body:
            return
        self.session.refresh()
        own = self.session.said(row, by=by)
        if body["last"] != (own and own.event):
            did = (
                "took back what you had said"
                if own is None
                else f"said {', '.join(own.labels or [own.status])!r}"
            )
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
        by = self._by(body)
        event = self.session.undo(by=by)
        self.saver.touch()
        rows = [] if event is None else event["rows"]
        for row in rows[:1]:
            self._look_ahead(row)
        return {
            "undone": event and event["do"], "count": len(rows),
            "texts": [self._text(row, by) for row in rows[:1]], **self._classes(),
        }  # fmt: skip

    def note(self, body: Body) -> dict[str, Any]:
        row, by = row_of(body, len(self.session.texts)), self._by(body)
        self.session.note(row, text_of(body, "text"), by=by)
        self.saver.touch()
        return self._text(row, by)

    def mark(self, body: Body) -> dict[str, Any]:
        """Mark the words that are the reason."""
        row, by = row_of(body, len(self.session.texts)), self._by(body)
        self.session.mark(row, spans_of(body) or [], by=by)
        self.saver.touch()
        return self._text(row, by)

    def answer(self, body: Body) -> dict[str, Any]:
        return self._plain(self.session.answer(row_of(body, len(self.session.texts))))

    def _plain(self, found: Answer) -> dict[str, Any]:
        return {**found._asdict(), "words": [each._asdict() for each in found.words],
                "text": self.session.texts[found.row]}  # fmt: skip

    # ------------------------------------------------------------ classes

    def classes(self, body: Body) -> dict[str, Any]:
        """Add, rename, merge or remove a class."""
        do, by = choice_of(body, "do", ("add", "rename", "merge", "remove")), self._by(body)
        name = text_of(body, "name", most=MAX_NAME).strip()
        if do == "add":
            self.session.add_class(name, optional_text(body, "description"), by=by)
        elif do == "remove":
            self.session.remove_class(name, by=by)
        else:
            to = text_of(body, "to", most=MAX_NAME).strip()
            (self.session.rename_class if do == "rename" else self.session.merge)(name, to, by=by)
        self.saver.touch()
        return self._classes()

    # ------------------------------------------------------------ many at once

    def groups(self, body: Body) -> dict[str, Any]:
        """Groups of texts that are alike; of those read so far."""
        count = count_of(body, "count", 0, MAX_GROUPS) or None
        found = self.session.groups(count)
        shown = [
            {"number": each.number, "name": each.name, "words": each.words, "rows": each.rows,
             "labelled": each.labelled, "examples": [self.session.texts[row] for row in each.examples]}
            for each in found
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
        rows = rows_of(body, len(self.session.texts))
        own = np.zeros(len(self.session.texts), int)
        own[rows] = 1
        words = distinguishing_words(self.session.texts, own, 2)[1]
        return {"words": words, "sample": self._sample(rows, body)}

    def _sample(self, rows: Sequence[int], body: Body) -> list[dict[str, Any]]:
        by = self._by(body)
        return [self._text(row, by) for row in self.session.sample(rows, SAMPLE)]

    def find(self, body: Body) -> dict[str, Any]:
        """The texts without a label that fit, of those looked at in time, and a sample of them to check."""
        conditions: dict[str, Any] = {
            "words": optional_text(body, "words"), "phrase": optional_text(body, "phrase"),
            "similar_to": self._similar_to(body), "above": share(body, "above"),
            "label": optional_text(body, "label", most=MAX_NAME),
        }  # fmt: skip
        given = {name: value for name, value in conditions.items() if value not in (None, "")}
        if not given:
            raise RequestError(422, "give words, phrase, similar_to, above or label")
        limit = count_of(body, "limit", MAX_ROWS_FOUND, MAX_ROWS_FOUND)
        found = self.session.find(**given, limit=limit, until=time.monotonic() + SEARCH_SECONDS)
        return {**found._asdict(), "sample": self._sample(found.rows, body)}

    def _similar_to(self, body: Body) -> int | str | None:
        if isinstance(body.get("similar_to"), str | None):
            return optional_text(body, "similar_to")
        return row_of(body, len(self.session.texts), "similar_to")

    def accept(self, body: Body) -> dict[str, Any]:
        """Give many texts a label at once; a class that is not there yet is added."""
        rows, by = rows_of(body, len(self.session.texts)), self._by(body)
        if not rows:
            raise RequestError(422, "rows must have at least one row")
        chosen = choice_of(body, "chosen", ("group", "search", "confident"))
        checked = rows_of(body, len(self.session.texts), "checked")
        label = self._named(labels_of(body))
        self.session.accept(rows, label, chosen=chosen, sample_checked=checked, by=by)
        self.saver.touch()
        return {"count": len(rows), **self._classes()}

    def _named(self, label: str | Sequence[str]) -> list[str]:
        """The names of classes; new ones are short and tidy."""
        names = [label] if isinstance(label, str) else label
        return [each if each in self.session.classes else each.strip()[:MAX_NAME].strip() for each in names]

    # ------------------------------------------------------------ people

    def people(self, body: Body) -> dict[str, Any]:
        """How far people agree, and what they do not agree on."""
        self.session.refresh()
        found = self.session.agreement()
        pairs = [
            {"people": list(people), "texts": texts, "agreed": agreed, "kappa": kappa}
            for people, (texts, agreed, kappa) in found.pairs.items()
        ]
        open_rows, by = self.session.disagreements(), self._by(body)
        shown = [{**self._text(row, by), "by": said} for row, said in open_rows[:MAX_SHOWN]]
        return {"people": found.people, "texts": found.texts, "alpha": found.alpha, "pairs": pairs,
                "disagreements": shown, "count": len(open_rows)}  # fmt: skip

    def settle(self, body: Body) -> dict[str, Any]:
        """Give a text on which people differ the label that holds."""
        row = row_of(body, len(self.session.texts))
        self.session.settle(row, labels_of(body), by=self._by(body))
        self.saver.touch()
        return self.people(body)

    def check(self, body: Body) -> dict[str, Any]:
        return check_labels(self.session)

    def stop_looking(self) -> None:
        """No more answers ahead."""
        self._pool.shutdown(cancel_futures=True)

    def _by(self, body: Body) -> str:
        name = optional_text(body, "by", most=MAX_NAME) or ""
        return name.strip() or self.session.by


MAX_ROWS_FOUND = 100_000


@cache
def _page() -> str:
    return render_page(START, "Limelight: label", {}, in_file=False, body=BODY, sheet=SHEET)


def close(labeller: Labeller) -> int:
    """When the server has stopped: nothing goes on in the background, and the table is written.

    The number of its rows.
    """
    labeller.stop_looking()
    try:
        return labeller.saver.close()
    finally:
        labeller.session.close()
