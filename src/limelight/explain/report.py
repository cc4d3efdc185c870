"""A report on a data set as one HTML page: how good a model is, what it reads, and how far to trust that.

Two models are set side by side, with what tells them apart. No network, no script.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from markupsafe import Markup

from ..errors import LimelightError
from ..reading.colours import DARK, LIGHT
from ..reading.html import card, style, templates, theme_vars
from ..reading.picture import picture_of
from ..reading.pieces import printable
from ..reading.reading import AnyReading
from ..runtime.metrics import Results
from ..runtime.model import Model
from ..storage.files import atomic_file, check_writable
from ..text.inputs import as_list, as_texts
from ..text.labels import Label, LabelColumn
from .attribution import NAMES, leave_one_out
from .calibration import Calibration, calibration, mcnemar, wilson
from .overview import Overview, overview
from .plots import MOST_CONFUSED, confusion_plot, curves_plot, overlap_plot, reliability_plot
from .trust import LONGEST as TRUST_LONGEST
from .trust import Agreement, RowEffect, Trust, agreement, remove_rows, trust_of
from .variants import length_of, model_of, read_texts, words_of

SURE = 0.8  # the paper shows examples that the model is at least this sure of
PER_CLASS, ERRORS, DIFFERENCES = 3, 8, 6
MOST_CLASSES = 12  # with more classes, examples of the most frequent ones
LONGEST = 400  # words; leaving each word of a longer text out would take too long
ROW_TEXTS, TRUST_TEXTS = 300, 200  # at most so many texts to remove rows on, and for the trust table
ROW_WORK = 2e11  # multiplications that removing rows may cost: a full head is large
TRUST_WORK = 2.5e11  # multiplications that the trust table may cost: about half a minute on two cores


@dataclass(frozen=True, eq=False)
class Part:
    """One model on the data: everything its side of the report shows."""

    name: str
    model: Model
    readings: list[AnyReading]
    truth: np.ndarray  # (texts,): numbers of the true classes
    results: Results
    calibration: Calibration
    overview: Overview
    removed: tuple[RowEffect, ...]
    trust: Trust

    @property
    def max_row(self) -> bool:
        """Whether the last row is the max-pooled one."""
        return self.model.recipe.model.has_max_row

    @property
    def answers(self) -> np.ndarray:
        """(texts,): numbers of the predicted classes."""
        return np.array([int(np.argmax(each.probabilities)) for each in self.readings])

    @property
    def interval(self) -> tuple[float, float]:
        """Where the accuracy lies with 95 % confidence."""
        return wilson(int(np.trace(self.results.confusion)), self.results.rows)

    @property
    def labels(self) -> list[str]:
        """The classes' names."""
        return [printable(str(label)) for label in self.model.labels]


def to_report(
    models: Model | Sequence[Model],
    texts: Sequence[str],
    labels: Sequence[Label],
    texts2: Sequence[str] | None = None,
    *,
    names: Sequence[str] = ("model",),
    data: str = "",
    seed: int = 0,
    progress: bool = False,
) -> str:
    """The report on one model, or on two side by side, as an HTML page.

    >>> page = to_report(model, texts, labels, names=["reviews"], data="test.csv")  # doctest: +SKIP
    """
    several = isinstance(models, Iterable) and not isinstance(models, str) and not hasattr(models, "model_")
    chosen = [model_of(each) for each in (cast("Sequence[Model]", models) if several else [models])]
    texts, labels = as_texts(texts), as_list(labels, "labels")
    texts2 = None if texts2 is None else as_texts(texts2, "second texts")
    if not 1 <= len(chosen) == len(names) <= 2:
        raise LimelightError(f"a report is on one model or two, each with a name; got {len(chosen)} models")
    if not texts or len(texts) != len(labels):
        raise LimelightError(
            f"a report needs labelled texts; got {len(texts)} texts and {len(labels)} labels"
        )
    if len({each.pair for each in chosen}) > 1:
        pairs, single = names if chosen[0].pair else reversed(names)
        raise LimelightError(f"{pairs} reads pairs and {single} single texts; compare models of one task")
    if any(set(each.labels) != set(chosen[0].labels) for each in chosen):
        raise LimelightError(f"{' and '.join(names)} have different classes; compare models of one task")
    rng = np.random.default_rng(seed)
    sample = rng.permutation(len(texts))
    parts = [
        _part(model, name, texts, texts2, labels, data or "the data", sample, seed, progress)
        for model, name in zip(chosen, names, strict=True)
    ]
    return _render(parts, data, rng)


def save_report(
    path: str | Path, models: Model | Sequence[Model], texts: Sequence[str], labels: Sequence[Label],
    texts2: Sequence[str] | None = None, **options: Any,
) -> None:  # fmt: skip
    """Write the report into a file, whole or not at all; options as for `to_report`."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise LimelightError(f"a report is a page: {Path(path).name} should end in .html")
    check_writable(Path(path).parent)  # before the long work
    content = to_report(models, texts, labels, texts2, **options)
    with atomic_file(path) as file:
        file.write(content.encode(errors="replace"))  # file names need not be UTF-8


# ---------------------------------------------------------------- one model on the data


def _part(
    model: Model, name: str, texts: Sequence[str], texts2: Sequence[str] | None, labels: Sequence[Label],
    where: str, sample: np.ndarray, seed: int, progress: bool,
) -> Part:  # fmt: skip
    truth = LabelColumn(labels).index(model.labels, where)
    readings = read_texts(model, texts, texts2, progress=progress)
    P = np.stack([each.probabilities for each in readings])
    trusted = [readings[k] for k in _affordable(model, readings, sample)]
    some = sample[: _removable(model)]
    return Part(
        name,
        model,
        readings,
        truth,
        Results.of(P, truth),
        calibration(P.max(axis=1).astype(float), P.argmax(axis=1) == truth),
        overview(readings),
        remove_rows(model, [readings[k] for k in some], [model.labels[k] for k in truth[some]]),
        trust_of(model, trusted, seed=seed, rows=False, progress=progress),
    )


def _affordable(model: Model, readings: Sequence[AnyReading], sample: np.ndarray) -> np.ndarray:
    """As many texts as the trust table can be measured on in good time; at least twenty if there are."""
    u, d = model.recipe.model.hidden, model.recipe.model.word_size
    words = np.array([length_of(readings[k]) for k in sample])
    sample, words = sample[words <= TRUST_LONGEST], words[words <= TRUST_LONGEST]
    work = np.cumsum(words.astype(float) * (words + 60) * 8 * u * (u + d))
    return sample[: int(np.clip((work <= TRUST_WORK).sum(), 20, TRUST_TEXTS))]


def _removable(model: Model) -> int:
    """On how many texts every row can be removed in good time."""
    head = sum(array.size for name, array in model.weights.items() if name.startswith(("head.", "gate.")))
    return int(np.clip(ROW_WORK / (head * model.recipe.model.rows), 20, ROW_TEXTS))


# ---------------------------------------------------------------- the page


def _render(parts: list[Part], data: str, rng: np.random.Generator) -> str:
    first = parts[0]
    sections = {
        "most_confused": MOST_CONFUSED,
        "confusions": [confusion_plot(part.results.confusion, part.labels) for part in parts],
        "reliabilities": [reliability_plot(part.calibration) for part in parts],
        "overlaps": [overlap_plot(part.overview.overlap) for part in parts],
        "curves": [_curves(part.model.facts) for part in parts],
        "examples": _examples(first, rng) if len(parts) == 1 else [],
        "errors": _errors(first) if len(parts) == 1 else [],
        "differences": _differences(parts) if len(parts) == 2 else [],
        "comparison": _comparison(parts) if len(parts) == 2 else None,
    }
    return templates(__package__).get_template("report.html.jinja").render(
        parts=parts, data=data, sure=SURE, longest=LONGEST, trust_longest=TRUST_LONGEST,
        style=style(), report_style=_style(),
        title=f"{' and '.join(part.name for part in parts)}{f' on {data}' if data else ''}", **sections,
    )  # fmt: skip


def _style() -> Markup:
    sheet = (
        templates(__package__)
        .get_template("report.css.jinja")
        .render(light=LIGHT, dark=DARK, vars=theme_vars)
    )
    return Markup("".join(line.strip() for line in sheet.splitlines()))


def _curves(facts: dict[str, Any]) -> list[tuple[str, Markup]]:
    """Learning curves, if the model remembers how it was trained."""
    training = facts.get("training")
    history = training.get("history") if isinstance(training, dict) else None
    if not isinstance(history, list) or len(history) < 2:
        return []
    found = []
    for title, keys in CURVES.items():
        lines = {label: [record.get(key) for record in history] for label, key in keys.items()}
        whole = {name: line for name, line in lines.items() if all(isinstance(x, int | float) for x in line)}
        if whole:
            found.append((title, curves_plot(title, whole)))
    return found


CURVES = {
    "Accuracy": {"training": "accuracy", "dev": "dev_accuracy", "weighted dev": "dev_weighted_accuracy"},
    "Loss": {"training": "loss", "dev": "dev_loss", "weighted dev": "dev_weighted_loss"},
    "Penalty": {"training": "penalty"},
}


def _examples(part: Part, rng: np.random.Generator) -> list[tuple[str, int, list[Markup]]]:
    """The paper's selection: random texts of each predicted class that the model is sure of."""
    sure = np.array([each.confidence > SURE for each in part.readings])
    counts = np.bincount(part.answers, minlength=len(part.labels))
    found = []
    for k in sorted(np.argsort(-counts, kind="stable")[:MOST_CLASSES].tolist()):
        those = np.flatnonzero(sure & (part.answers == k))
        chosen = rng.choice(those, size=min(PER_CLASS, len(those)), replace=False)
        found.append((part.labels[k], len(those), [_brief(part, int(place)) for place in chosen]))
    return found


def _errors(part: Part) -> list[Markup]:
    """The wrong answers that the model was surest of, with the words that each rests on."""
    wrong = np.flatnonzero(part.answers != part.truth)
    sureness = np.array([part.readings[k].confidence for k in wrong])
    chosen = wrong[np.argsort(-sureness, kind="stable")[:ERRORS]]
    readings = [part.readings[k] for k in chosen]
    words = words_of(part.model, readings)
    weights: list[np.ndarray | None] = [None] * len(words)
    short = [k for k, text in enumerate(words) if len(text) <= LONGEST]
    found = leave_one_out(part.model, [readings[k] for k in short], [words[k] for k in short])
    for k, each in zip(short, found, strict=True):
        weights[k] = each
    return [_brief(part, int(place), weights=each) for place, each in zip(chosen, weights, strict=True)]


def _brief(part: Part, place: int, name: str = "", weights: np.ndarray | None = None) -> Markup:
    """A picture of the overall attention alone, or of other weights (n + m,) in its place."""
    reading = part.readings[place]
    whole = picture_of(reading)
    if weights is not None:
        split = words_of(part.model, [reading])[0].split(weights)
        whole = picture_of(reading, {NAMES["leave-one-out"]: split if part.model.pair else split[0]})
    truth = part.labels[int(part.truth[place])]
    right = part.answers[place] == part.truth[place]
    told = f"labelled {truth}" if right else f"labelled {truth}, not {part.labels[part.answers[place]]}"
    only = replace(whole, main=whole.main[:1], groups=(), rows=())
    return card(only, f"{name}: {told}" if name else told)


# ---------------------------------------------------------------- two models


@dataclass(frozen=True)
class Comparison:
    """What tells two models apart."""

    first_only: int  # texts that only the first answers rightly
    second_only: int
    chance: float  # how likely equally good models differ so much
    agreement: Agreement | None  # None where they split texts differently


def _comparison(parts: list[Part]) -> Comparison:
    right = [part.answers == part.truth for part in parts]
    first_only, second_only = int((right[0] & ~right[1]).sum()), int((right[1] & ~right[0]).sum())
    try:
        alike = agreement(parts[0].readings, parts[1].readings)
    except LimelightError:
        alike = None
    return Comparison(first_only, second_only, mcnemar(first_only, second_only), alike)


def _differences(parts: list[Part]) -> list[tuple[Markup, Markup]]:
    """Texts that only one of the two answers rightly, the surest first."""
    first, second = parts
    differ = np.flatnonzero((first.answers == first.truth) != (second.answers == second.truth))
    sureness = [max(part.readings[k].confidence for part in parts) for k in differ]
    chosen = differ[np.argsort(-np.array(sureness), kind="stable")[:DIFFERENCES]]
    return [(_brief(first, int(k), first.name), _brief(second, int(k), second.name)) for k in chosen]
