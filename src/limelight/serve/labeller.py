"""The labelling page behind HTTP: what it asks a `LabelSession` for, and says to it.

Whatever a person says is on the disk before the answer is sent. The table of labels is written a moment after
the last key, and when the server stops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from ..labelling.groups import distinguishing_words
from ..labelling.session import LabelSession
from .bodies import Body, share
from .bundle import policy, render_page
from .explored import Plane, spread
from .label_bodies import (
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
from .label_checks import LabelChecks
from .label_training import Training
from .limits import RequestError
from .posts import Posts, Workers
from .table_saver import TableSaver

START, BODY, SHEET = "label", "label.html", "label.css.jinja"
MAX_GROUPS, EXAMPLES, MAX_SHOWN = 200, 4, 200
MAX_AHEAD = 100  # texts that people have in hands
SAMPLE = 8  # texts to check before many are accepted


class Labeller:
    """The routes of one labelling. `saver` writes the table, `training` runs in the background."""

    def __init__(
        self, session: LabelSession, posts: Posts, saver: TableSaver, training: Training, checks: LabelChecks
    ) -> None:
        self.session, self.posts, self.saver, self.training = session, posts, saver, training
        self.checks = checks
        self._workers = Workers(1, posts.limits.waiting)  # one: keys are answered in the order they came
        self._ahead: dict[int, Future[dict[str, Any]]] = {}  # answers about texts that people look at
        self._pool = ThreadPoolExecutor(1)

    def routes(self) -> list[Route]:
        """The page, and what it asks for."""
        posts: dict[str, Callable[[Body], Any]] = {
            "about": self.about, "next": self.next, "say": self.say, "undo": self.undo, "note": self.note,
            "mark": self.mark, "answer": self.answer, "progress": self.progress, "classes": self.classes,
            "groups": self.groups, "find": self.find, "accept": self.accept, "texts": self.texts,
            "map": self.map, "select": self.select,
            "people": self.people, "settle": self.settle,
        }  # fmt: skip
        found = [Route("/", self.page)]
        found += [self._post(name, answer, self._workers) for name, answer in posts.items()]
        slow = {"train": self.train, "check": self.check, "news": self.news}  # keys need not wait for these
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
        """What the page starts with."""
        session = self.session
        session.refresh()
        return {
            "texts": len(session.texts), "by": session.by, "several": session.several, **self.saver.source,
            "ordered": session.ordered, "out": str(self.saver.out), "command": self.training.command_line(),
            "news": self.checks.has_news,
            **self._classes(),
        }  # fmt: skip

    def _classes(self) -> dict[str, Any]:
        return {"classes": list(self.session.classes), "descriptions": self.session.descriptions}

    def progress(self, body: Body) -> dict[str, Any]:
        """Estimated accuracy, how it grew, what is missing, when to stop; why the table is not written."""
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
        return [self._text(row) for row in rows]

    def _text(self, row: int) -> dict[str, Any]:
        said = self.session.said(row)
        return {
            "row": row, "text": self.session.texts[row], "marks": self.session.marks(row),
            "note": self.session.noted(row), "said": said and {"by": said.by, "labels": said.labels},
        }  # fmt: skip

    # ------------------------------------------------------------ the loop

    def next(self, body: Body) -> list[dict[str, Any]]:
        """The next texts to label."""
        how = choice_of(body, "how", ("auto", "random"))
        holding = rows_of(body, len(self.session.texts), "holding")
        count = count_of(body, "count", 1, 20)
        self.session.refresh()
        found = self.session.next(how, count, by=self._by(body), holding=holding)
        for each in found:
            self._look_ahead(each.row)
        return [{**self._text(each.row), "chosen": each.chosen} for each in found]

    def say(self, body: Body) -> dict[str, Any]:
        """Note what a person said; what the model had said before it knew, and the next text."""
        row, by = row_of(body, len(self.session.texts)), self._by(body)
        do = choice_of(body, "do", ("label", "skip", "unsure"))
        ahead = self._ahead.pop(row, None)
        before = (ahead.result() if ahead else self._answer(row)) if do == "label" else None
        if do == "label":
            self.session.label(row, labels_of(body), spans_of(body), by=by)
        else:
            (self.session.skip if do == "skip" else self.session.unsure)(row, by=by)
        self.saver.touch()
        return {"answer": before, "next": self.next({**body, "holding": None}), **self._classes()}

    def _look_ahead(self, row: int) -> None:
        """Ask the model while the person thinks: its answer, shown after their key, must not delay it."""
        self._ahead[row] = self._pool.submit(self._answer, row)
        while len(self._ahead) > MAX_AHEAD:
            del self._ahead[next(iter(self._ahead))]

    def undo(self, body: Body) -> dict[str, Any]:
        """Take back the person's last event: what it was, and the texts that it was about."""
        event = self.session.undo(by=self._by(body))
        self.saver.touch()
        rows = [] if event is None else event["rows"]
        return {
            "undone": event and event["do"], "count": len(rows),
            "texts": [self._text(row) for row in rows[:1]], **self._classes(),
        }  # fmt: skip

    def note(self, body: Body) -> dict[str, Any]:
        """Keep a note at a text."""
        row = row_of(body, len(self.session.texts))
        self.session.note(row, text_of(body, "text"), by=self._by(body))
        self.saver.touch()
        return self._text(row)

    def mark(self, body: Body) -> dict[str, Any]:
        """Mark the words that are the reason."""
        row = row_of(body, len(self.session.texts))
        self.session.mark(row, spans_of(body) or [], by=self._by(body))
        self.saver.touch()
        return self._text(row)

    def answer(self, body: Body) -> dict[str, Any]:
        """What the model says about a text."""
        return self._answer(row_of(body, len(self.session.texts)))

    def _answer(self, row: int) -> dict[str, Any]:
        found = self.session.answer(row)
        return {**found._asdict(), "words": [each._asdict() for each in found.words],
                "text": self.session.texts[row]}  # fmt: skip

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
        sample = self.session.sample(rows, SAMPLE)
        return {"words": words, "sample": [self._text(row) for row in sample]}

    def find(self, body: Body) -> dict[str, Any]:
        """The texts without a label that fit, and a sample of them to check."""
        conditions: dict[str, Any] = {
            "words": optional_text(body, "words"), "regex": optional_text(body, "regex"),
            "similar_to": self._similar_to(body), "above": share(body, "above"),
            "label": optional_text(body, "label", most=MAX_NAME),
        }  # fmt: skip
        given = {name: value for name, value in conditions.items() if value not in (None, "")}
        if not given:
            raise RequestError(422, "give words, regex, similar_to, above or label")
        rows = self.session.find(**given, limit=count_of(body, "limit", MAX_ROWS_FOUND, MAX_ROWS_FOUND))
        sample = self.session.sample(rows, SAMPLE)
        return {"rows": rows, "sample": [self._text(row) for row in sample]}

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
        return [each if each in self.session.classes else each.strip()[:MAX_NAME] for each in names]

    # ------------------------------------------------------------ people

    def people(self, body: Body) -> dict[str, Any]:
        """How far people agree, and what they do not agree on."""
        self.session.refresh()
        found = self.session.agreement()
        pairs = [
            {"people": list(people), "texts": texts, "agreed": agreed, "kappa": kappa}
            for people, (texts, agreed, kappa) in found.pairs.items()
        ]
        open_rows = self.session.disagreements()
        shown = [{**self._text(row), "by": said} for row, said in open_rows[:MAX_SHOWN]]
        return {"people": found.people, "texts": found.texts, "alpha": found.alpha, "pairs": pairs,
                "disagreements": shown, "count": len(open_rows)}  # fmt: skip

    def settle(self, body: Body) -> dict[str, Any]:
        """Give a text on which people differ the label that holds."""
        row = row_of(body, len(self.session.texts))
        self.session.label(row, labels_of(body), by=self._by(body), chosen="settled")
        self.saver.touch()
        return self.people(body)

    # ------------------------------------------------------------ the model

    def train(self, body: Body) -> dict[str, Any]:
        """Start or stop fine-tuning, or ask how far it is."""
        do = choice_of(body, "do", ("status", "start", "stop"))
        if do == "start":
            self.training.start()
        elif do == "stop":
            self.training.stop()
        return self.training.status()

    # ------------------------------------------------------------ what is wrong, what is new

    def check(self, body: Body) -> dict[str, Any]:
        """The health of the labels so far."""
        return self.checks.health()

    def news(self, body: Body) -> dict[str, Any]:
        """What is new in these texts."""
        if not self.checks.has_news:
            raise RequestError(422, "there are no texts from before; start with --seen FILE")
        return self.checks.news()

    def stop_looking(self) -> None:
        """No more answers ahead."""
        self._pool.shutdown(cancel_futures=True)

    def _by(self, body: Body) -> str | None:
        name = optional_text(body, "by", most=MAX_NAME)
        return name.strip() or None if name else None


MAX_ROWS_FOUND = 100_000


@cache
def _page() -> str:
    return render_page(START, "Limelight: label", {}, in_file=False, body=BODY, sheet=SHEET)


def close(labeller: Labeller) -> int:
    """When the server has stopped: nothing goes on in the background, and the table is written.

    The number of its rows.
    """
    labeller.training.stop()
    labeller.stop_looking()
    try:
        return labeller.saver.close()
    finally:
        labeller.session.close()


def default_model(out: str | Path) -> Path:
    """Where a model of the labels is saved.

    >>> default_model("data/labels.csv").as_posix()
    'data/labels-model'
    """
    path = Path(out)
    return path.with_name(f"{path.name.split('.')[0]}-model")
