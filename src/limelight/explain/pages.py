"""The pages of `limelight report`: a verdict in words, then the figures behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from markupsafe import Markup

from ..reading import captions
from ..reading.html import card
from ..reading.picture import make_picture
from ..runtime.held_out import HeldOut, development_sentence
from ..text.metrics import Metrics
from ..text.tasks import find_task
from .leaks import Leak
from .lifts import Lifts
from .lifts_page import LiftsPage
from .model_report import FEW_CLASSES, ModelReport
from .render import render_page

EXAMPLE_CONFIDENCE = 0.8  # the paper shows examples that the model is at least this sure of
MAX_EXAMPLES = (3, 1)  # texts shown of each of few classes, and of many
MAX_ERRORS = 8  # texts shown
MAX_CONFUSION_CLASSES = 20  # in a matrix
MAX_TAKEN_FOR = 3  # classes that one is mistaken for, in the table of all


def render_lifts(lifts: Lifts, name: str, data: str, why_alone: str) -> str:
    """The page on the aspects of a model alone, and why there is nothing else."""
    return render_page(
        "lifts_page.html.jinja", title=_title(name, data), first=LiftsPage(lifts).given(),
        leaks=lifts.leaks, name=name, data=data,
        why_alone=why_alone,
    )  # fmt: skip


def _title(name: str, data: str) -> str:
    return f"{name}{f' on {data}' if data else ''}"


def render_report(
    report: ModelReport, data: str, rng: np.random.Generator, seen: HeldOut,
    lifts: Lifts | None = None, leaks: Sequence[Leak] = (),
) -> str:  # fmt: skip
    """The page on a model; `rng` draws the examples, `seen` says which rows it learnt from.

    `leaks` are words that may be names.
    """
    task, sides = find_task(report.model.task), report.readings[0].sides
    return render_page(
        "report.html.jinja", report=report, data=data, sure=EXAMPLE_CONFIDENCE,
        leaks=leaks, name=report.name, seen=seen,
        seen_said=seen.sentences(development_sentence(report.model.facts)),
        title=_title(report.name, data), first_page=LiftsPage(lifts).given() if lifts else None,
        methods=dict.fromkeys(captions.method(side.decided_by, task.name) for side in sides),
        is_ordinal=task.is_ordered,
        has_matrix=not task.has_several and len(report.labels) <= MAX_CONFUSION_CLASSES,
        examples=_examples(report, rng), errors=_errors(report),
        taken_for=_taken_for(report),
    )  # fmt: skip


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
    return [
        [(int(j), int(row[j])) for j in order if row[j]] for row, order in zip(wrong, orders, strict=True)
    ]
