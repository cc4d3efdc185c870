"""The pages of `limelight report`: a verdict in words, then the figures behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from ..errors import LimelightError
from ..reading import captions
from ..reading.html import card
from ..reading.picture import make_picture
from ..reading.row_names import says_little
from ..runtime.held_out import HeldOut, development_sentence
from ..text.metrics import Metrics
from ..text.tasks import find_task
from . import plots
from .calibration import mcnemar
from .leaks import Leak
from .lifts import CLASS, Lifts
from .lifts_page import LiftsPage
from .model_agreement import Agreement, agreement
from .model_report import FEW_CLASSES, Baselines, ModelReport
from .overview import RowOverview
from .render import render_page

EXAMPLE_CONFIDENCE = 0.8  # the paper shows examples that the model is at least this sure of
MAX_EXAMPLES = (3, 1)  # texts shown of each of few classes, and of many
MAX_ERRORS, MAX_DIFFERENCES = 8, 6  # texts shown of one model, and of two
MAX_CONFUSED_PAIRS, MAX_TAKEN_FOR = 30, 3  # of classes; and of one class, in the table of all
CURVES = {  # title -> line -> key in the training history
    "Accuracy": {"training": "accuracy", "dev": "dev_accuracy", "weighted dev": "dev_weighted_accuracy"},
    "F1": {"training": "f1", "dev": "dev_f1", "weighted dev": "dev_weighted_f1"},
    "Loss": {"training": "loss", "dev": "dev_loss", "weighted dev": "dev_weighted_loss"},
}


def render_lifts(lifts: Lifts, name: str, data: str, why_alone: str) -> str:
    """The page on the aspects of a model alone, and why there is nothing else."""
    return render_page(
        "lifts_page.html.jinja", title=_title([name], data), first=LiftsPage(lifts).given(),
        leaks=lifts.leaks, of_group=_of_group(lifts.leaks, lifts), name=name, data=data,
        why_alone=why_alone,
    )  # fmt: skip


def _title(names: Sequence[str], data: str) -> str:
    return f"{' and '.join(names)}{f' on {data}' if data else ''}"


def render_report(
    reports: list[ModelReport], data: str, rng: np.random.Generator, baselines: Baselines | None = None,
    lifts: Lifts | None = None, seen: HeldOut | None = None, leaks: Sequence[Leak] = (),
) -> str:  # fmt: skip
    """The page on one model or two; `rng` draws the examples, `seen` says which rows they learnt from.

    `leaks` are words of the first model that may be names.
    """
    first, single = reports[0], len(reports) == 1
    before = development_sentence(first.model.facts) if single else ""
    return render_page(
        "report.html.jinja", reports=reports, data=data, sure=EXAMPLE_CONFIDENCE, baselines=baselines,
        leaks=leaks, of_group=_of_group(leaks, lifts), name=first.name, seen=seen,
        seen_said=seen.sentences(before) if seen else "",
        title=_title([each.name for each in reports], data),
        first_page=LiftsPage(lifts).given() if lifts else None,
        methods=dict.fromkeys(
            captions.method(side.decided_by, first.model.task) for side in first.readings[0].sides
        ),
        is_ordinal=find_task(first.model.task).is_ordered,
        rows=[_sorted_rows(each) for each in reports],
        confusions=[_confusion(each) for each in reports],
        reliabilities=[plots.reliability_plot(each.calibration) for each in reports],
        curves=[_learning_curves(each.model.facts) for each in reports],
        examples=_examples(first, rng) if single else [[] for _ in first.labels],
        errors=_errors(first) if single else [],
        confused=[_most_confused(each) for each in reports],
        taken_for=[_taken_for(each) for each in reports],
        differences=[] if single else _differences(*reports),
        comparison=None if single else _compare(*reports),
    )  # fmt: skip


def _of_group(leaks: Sequence[Leak], lifts: Lifts | None) -> str:
    """The column of groups whose values can be forbidden, if any of the words tells one."""
    by = lifts.groups.by if lifts and lifts.groups else ""
    return by if by != CLASS and any(each.group for each in leaks) else ""


def _learning_curves(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The curves of the training history, if the model has one."""
    training = facts.get("training")
    history = training.get("history") if isinstance(training, dict) else None
    if not isinstance(history, list) or len(history) < 2:
        return []
    found = {}
    for title, keys in CURVES.items():
        lines = {label: [record.get(key) for record in history] for label, key in keys.items()}
        found[title] = {k: line for k, line in lines.items() if all(isinstance(x, int | float) for x in line)}
    return [(title, plots.curves_plot(title, lines)) for title, lines in found.items() if lines]


def _confusion(report: ModelReport) -> str:
    """The matrix; none of many classes, or where a text may have several labels."""
    if len(report.labels) > plots.MAX_CONFUSION_CLASSES or not isinstance(report.metrics, Metrics):
        return ""
    return plots.confusion_plot(report.metrics.confusion, report.labels)


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
    """The most confident wrong predictions."""
    return [_small_card(report, k) for k in _surest(~report.correct_read, MAX_ERRORS, report)]


def _surest(chosen: np.ndarray, most: int, *reports: ModelReport) -> list[int]:
    """Of the texts that are `chosen` (texts,), the numbers of those that any of the models is surest of."""
    texts = np.flatnonzero(chosen)
    confidence = np.array([max(each.readings[k].confidence for each in reports) for k in texts])
    return texts[np.argsort(-confidence, kind="stable")[:most]].tolist()  # type: ignore[no-any-return]


def _small_card(report: ModelReport, text: int, name: str = "") -> Markup:
    """A picture of what decided alone."""
    picture = make_picture(report.readings[text])
    only = replace(picture, truth=report.true_label(text), groups=(), rows=())
    return card(only, name, explained=False)


def _sorted_rows(report: ModelReport) -> list[RowOverview]:
    """The rows that read something in particular, then those of small words."""
    return sorted((row for row in report.rows if row.name), key=lambda row: says_little(row.name))


def _most_confused(report: ModelReport) -> list[tuple[str, str, int, int]]:
    """(true class, given class, texts, of how many): the most frequent errors, where no matrix is drawn."""
    if len(report.labels) <= plots.MAX_CONFUSION_CLASSES or not isinstance(report.metrics, Metrics):
        return []
    wrong, totals = _wrong(report.metrics), report.metrics.counts[2]
    most = np.argsort(-wrong, axis=None, kind="stable")[:MAX_CONFUSED_PAIRS]
    pairs, names = [divmod(int(k), len(wrong)) for k in most], report.labels
    return [(names[i], names[j], int(wrong[i, j]), int(totals[i])) for i, j in pairs if wrong[i, j]]


def _taken_for(report: ModelReport) -> list[list[tuple[int, int]]]:
    """For each class the classes that its texts are given instead, the most frequent first, and how often."""
    if not isinstance(report.metrics, Metrics):
        return []
    wrong = _wrong(report.metrics)
    orders = np.argsort(-wrong, axis=1, kind="stable")[:, :MAX_TAKEN_FOR]
    return [
        [(int(j), int(row[j])) for j in order if row[j]] for row, order in zip(wrong, orders, strict=True)
    ]


def _wrong(metrics: Metrics) -> np.ndarray:
    """The confusion matrix without what is right."""
    return np.asarray(metrics.confusion * (1 - np.eye(len(metrics.confusion), dtype=int)))


class Comparison(NamedTuple):
    """What sets two models apart."""

    first_only: int  # texts that only the first gets right
    second_only: int
    chance: float  # the probability that equally good models differ this much
    agreement: Agreement | None  # None where they split texts differently


def _compare(first: ModelReport, second: ModelReport) -> Comparison:
    new = first.measured
    first_only = int((first.correct & ~second.correct)[new].sum())
    second_only = int((second.correct & ~first.correct)[new].sum())
    try:
        alike = agreement(first.readings, second.readings)
    except LimelightError:
        alike = None
    return Comparison(first_only, second_only, mcnemar(first_only, second_only), alike)


def _differences(first: ModelReport, second: ModelReport) -> list[tuple[Markup, Markup]]:
    """Texts that only one of the two gets right, the most confident first."""
    chosen = _surest(first.correct_read != second.correct_read, MAX_DIFFERENCES, first, second)
    return [(_small_card(first, k, first.name), _small_card(second, k, second.name)) for k in chosen]
