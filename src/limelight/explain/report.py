"""A report on a data set as one HTML page: how well a model works, what it reads, how far to trust that.

No network, no script.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from ..errors import LimelightError, bad_value, wrong_file, wrong_task
from ..reading import captions
from ..reading.captions import trust_sentence
from ..reading.html import card
from ..reading.picture import make_picture
from ..reading.reading import AnyReading
from ..runtime.held_out import HeldOut, development_sentence
from ..runtime.model import Model
from ..storage.files import check_writable, write_file
from ..text.coerce import as_list, as_texts
from ..text.labels import Label
from ..text.metrics import Metrics
from ..text.tasks import find_task
from .attribution import ReadTexts, as_model, count_words
from .leaks import Leak, Leaks
from .lifts import AspectTexts, Lifts
from .lifts_page import LiftsPage
from .model_report import FEW_CLASSES, ModelReport, measure_calibration
from .render import render_page
from .trust import MAX_WORDS, quick_trust

MAX_READ = 2000  # texts whose words are looked at; the figures are of all
# for models without saved figures: a twentieth of the texts, and at least and at most this many
TRUST_SHARE, TRUST_TEXTS = 20, (20, 100)
EXAMPLE_CONFIDENCE = 0.8  # the paper shows examples that the model is at least this sure of
MAX_EXAMPLES = (3, 1)  # texts shown of each of few classes, and of many
MAX_ERRORS = 8  # texts shown
MAX_CONFUSION_CLASSES = 20  # in a matrix
MAX_TAKEN_FOR = 3  # classes that one is mistaken for, in the table of all


def measure_report(
    model: Model, texts: Sequence[str], labels: Sequence[Label] | None = None,
    texts2: Sequence[str] | None = None, *, name: str = "model", data: str = "", most: int = MAX_READ,
    dates: Sequence[Any] | None = None, groups: Sequence[Any] | None = None, by: str = "group", seed: int = 0,
    progress: bool = False,
) -> Report:  # fmt: skip
    """Measure what a report on a model shows.

    Figures are of the texts that the model did not learn from, as far as it knows, and of all if there are
    none; words and examples of at most `most` of all texts, chosen at random. Of a model with aspects also
    these, by date and by group if these are given (`by` says what the groups are); without labels, and of
    predicted numbers, the report has nothing else.
    """
    model, texts = as_model(model), as_texts(texts)
    texts2 = None if texts2 is None else as_texts(texts2, "second texts")
    shown = _aspect_texts(model, texts, labels, dates, groups, by)
    if shown and texts and (labels is None or find_task(model.task).is_number):
        return Report(None, shown.read(progress), name, data)
    labels = [] if labels is None else as_list(labels, "labels")
    if not texts or len(texts) != len(labels):
        message = f"a report needs labelled texts; got {len(texts)} texts and {len(labels)} labels"
        raise LimelightError(message, code="length-mismatch")
    check_task(model)
    if most < 1:
        raise bad_value(f"most is {most}; it must be at least 1")
    known = model.learnt_rows
    seen = HeldOut.of({name: None if known is None else known.has(texts, texts2)}, len(texts))
    sample = np.sort(np.random.default_rng(seed).permutation(len(texts))[:most])
    truth = find_task(model.task).column(labels).index(model.labels, data or "the data")
    readings, P = _read(model, texts, texts2, sample, shown, progress)
    leaks, new = Leaks(), seen.measured
    for k, reading in zip(sample, readings, strict=True):
        leaks.add(reading, shown.groups[k] if shown and shown.groups else "")
    answers, several = model.decide(P), find_task(model.task).has_several
    correct = (answers == truth).reshape(len(P), -1).all(axis=1)
    confidence = P.max(axis=1) if several else P[range(len(P)), answers]
    # of several labels, all their probabilities
    binned = (P[new].ravel(), truth[new].ravel()) if several else (confidence[new], correct[new])
    report = ModelReport(
        name, model,
        find_task(model.task).measure(P[new], truth[new], model.thresholds),  # type: ignore[arg-type]
        measure_calibration(*binned), correct, confidence, new,
        sample, readings, truth[sample], _trust(model, readings, seed, progress),
    )  # fmt: skip
    return Report(report, shown.measure() if shown else None, name, data, seed, seen, leaks.find())


def _aspect_texts(
    model: Model, texts: list[str], labels: Sequence[Label] | None, dates: Sequence[Any] | None,
    groups: Sequence[Any] | None, by: str,
) -> AspectTexts | None:  # fmt: skip
    """Where to note the aspects of a model that has some; None if none are shown."""
    dates, groups = (None if each is None else as_list(each, "columns") for each in (dates, groups))
    if dates is groups is None and not model.aspects:
        return None
    labels = None if labels is None or len(labels) != len(texts) else as_list(labels, "labels")
    return AspectTexts(model, texts, dates, groups, by, labels)


class Report(NamedTuple):
    """What was measured of a model; of its aspects alone, if that is all."""

    model: ModelReport | None
    lifts: Lifts | None
    name: str
    data: str
    seed: int = 0  # draws the examples
    seen: HeldOut | None = None  # which rows the model learnt from
    leaks: tuple[Leak, ...] = ()  # words that may be names

    def html(self) -> str:
        """The page: a verdict in words, then the figures behind it."""
        first = LiftsPage(self.lifts).given() if self.lifts else None
        title = f"{self.name}{f' on {self.data}' if self.data else ''}"
        given = dict[str, Any](name=self.name, data=self.data, title=title, first=first)
        if self.model and self.seen:
            given |= _of_model(self.model, self.seen, np.random.default_rng(self.seed))
            return render_page("report.html.jinja", leaks=self.leaks, **given)
        assert self.lifts is not None
        more = "There are no labels to compare with; if a column has them, name it with --label."
        if self.lifts.unit == "number":
            more = "How good its numbers are, 'limelight evaluate' measures."
        told = f"What the model makes of {self.data or 'these texts'}. {more}"
        return render_page("lifts_page.html.jinja", leaks=self.lifts.leaks, why_alone=told, **given)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for `json.dumps`; the model's figures are those of 'limelight evaluate'."""
        found: dict[str, Any] = {"models": {self.name: self.model.metrics.to_dict()} if self.model else {}}
        found |= self.seen.to_dict() if self.seen else {}
        found["names"] = [each._asdict() for each in self.leaks or (self.lifts.leaks if self.lifts else ())]
        return found | ({"aspects": self.lifts.to_dict()} if self.lifts else {})


def check_task(model: Model) -> None:
    """Raise unless a report shows the model's task."""
    if find_task(model.task).is_number:
        fault = "a report on predicted numbers needs aspects ('limelight aspects')"
        raise wrong_task(f"{fault}; or use 'limelight evaluate'")


def save_report(
    path: str | Path, model: Model, texts: Sequence[str], labels: Sequence[Label] | None = None,
    texts2: Sequence[str] | None = None, *, overwrite: bool = True, **options: Any,
) -> Report:  # fmt: skip
    """Write the report to a file, whole or not at all; options as for `measure_report`, which this returns.

    >>> save_report("report.html", model, texts, labels)  # doctest: +SKIP
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        name = Path(path).name
        raise wrong_file(f"a report is an HTML page: {name} must end in .html")
    check_writable(Path(path).parent)  # before the long work
    report = measure_report(model, texts, labels, texts2, **options)
    write_file(path, report.html(), overwrite)  # it may hold file names that are not UTF-8
    return report


def _read(
    model: Model, texts: list[str], texts2: list[str] | None, sample: np.ndarray, shown: AspectTexts | None,
    progress: bool,
) -> tuple[list[AnyReading], np.ndarray]:  # fmt: skip
    """The readings of the sample, and the probabilities of all texts: all are read if aspects are `shown`."""

    def columns(rows: np.ndarray) -> Any:
        return [each and [each[k] for k in rows] for each in (texts, texts2)]

    every, kept = np.arange(len(texts)), list[AnyReading]()
    rows = every if shown else sample
    P, chosen = np.empty((len(texts), len(model.labels)), np.float32), set(sample.tolist())
    readings: Any = model.read_stream(*columns(rows), progress=progress)
    for k, reading in zip(rows.tolist(), readings, strict=True):
        P[k] = reading.probabilities
        if shown:
            shown.add(reading)
        if k in chosen:
            kept.append(reading)
    rest = np.setdiff1d(every, rows)
    if len(rest):
        P[rest] = model.predict_proba(*columns(rest), progress=progress)
    return kept, P


def _trust(model: Model, readings: Sequence[AnyReading], seed: int, progress: bool) -> str:
    """What was measured when the model was trained; otherwise measured here, on a few texts."""
    if saved := trust_sentence(model.facts.get("trust")):
        return saved
    rng, least = np.random.default_rng(seed), TRUST_TEXTS[0]
    short = [each for each in readings if count_words(each) <= MAX_WORDS]
    few = rng.permutation(len(short))[: int(np.clip(len(readings) // TRUST_SHARE, least, TRUST_TEXTS[1]))]
    return trust_sentence(quick_trust(ReadTexts(model, [short[k] for k in few], progress), rng))


def _of_model(report: ModelReport, seen: HeldOut, rng: np.random.Generator) -> dict[str, Any]:
    """What the page says of a model; `rng` draws the examples."""
    task, sides = find_task(report.model.task), report.readings[0].sides
    return {
        "report": report, "sure": EXAMPLE_CONFIDENCE, "seen": seen, "is_ordinal": task.is_ordered,
        "seen_said": seen.sentences(development_sentence(report.model.facts)),
        "methods": dict.fromkeys(captions.method(side.decided_by, task.name) for side in sides),
        "has_matrix": not task.has_several and len(report.labels) <= MAX_CONFUSION_CLASSES,
        "examples": _examples(report, rng), "errors": _errors(report), "taken_for": _taken_for(report),
    }  # fmt: skip


def _examples(report: ModelReport, rng: np.random.Generator) -> list[list[Markup]]:
    """The paper's selection: for each class, random texts given it that the model is sure of."""
    sure = np.array([each.confidence > EXAMPLE_CONFIDENCE for each in report.readings])
    most = MAX_EXAMPLES[len(report.labels) > FEW_CLASSES]
    examples = []
    for k in range(len(report.labels)):
        candidates = np.flatnonzero(sure & (report.predicted == k))
        drawn = rng.choice(candidates, size=min(most, len(candidates)), replace=False)
        examples.append([_small_card(report, int(text)) for text in drawn])
    return examples


def _errors(report: ModelReport) -> list[Markup]:
    wrong = np.flatnonzero(~report.correct[report.sample])
    confidence = np.array([report.readings[k].confidence for k in wrong])
    surest = wrong[np.argsort(-confidence, kind="stable")[:MAX_ERRORS]]
    return [_small_card(report, k) for k in surest.tolist()]


def _small_card(report: ModelReport, text: int) -> Markup:
    picture = make_picture(report.readings[text])
    return card(replace(picture, truth=report.true_label(text), groups=(), rows=()), explained=False)


def _taken_for(report: ModelReport) -> list[list[tuple[int, int]]]:
    """For each class the classes that its texts are given instead, the most frequent first, and how often."""
    if not isinstance(report.metrics, Metrics):
        return []
    confusion = report.metrics.confusion
    wrong = confusion * (1 - np.eye(len(confusion), dtype=int))
    orders = np.argsort(-wrong, axis=1, kind="stable")[:, :MAX_TAKEN_FOR]
    pairs = zip(wrong.tolist(), orders.tolist(), strict=True)
    return [[(j, row[j]) for j in order if row[j]] for row, order in pairs]
