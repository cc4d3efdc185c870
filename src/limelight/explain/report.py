"""A report on a data set as one HTML page: how well a model works, what it reads, how far to trust that.

Two models are shown side by side, with what sets them apart. No network, no script.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..errors import LimelightError
from ..reading.answers import answers_of
from ..reading.captions import NO_LABEL
from ..reading.pieces import printable
from ..reading.reading import AnyReading
from ..runtime.confidence import Answered, answered
from ..runtime.metrics import LabelMetrics, Metrics, measure
from ..runtime.model import Model
from ..storage.files import atomic_file, check_writable
from ..text.coerce import as_list, as_texts
from ..text.labels import Label
from ..text.tasks import find_task
from .calibration import Calibration, measure_calibration, wilson
from .overview import Overview, RowEffect, overview, remove_rows, same_answers
from .pages import render_report
from .trust import MAX_WORDS, Trust, measure_readings
from .variants import ReadTexts, as_model, count_words, read_texts

THRESHOLDS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99)  # of confidence, that a model may abstain below
ROW_TEXTS, TRUST_TEXTS = 300, 200  # at most this many texts to remove rows on, and for the trust table
ROW_WORK = 2e11  # multiplications that removing rows may cost: a full head is large
TRUST_WORK = 2.5e11  # multiplications that the trust table may cost: about half a minute on two cores


def to_report(
    models: Model | Sequence[Model], texts: Sequence[str], labels: Sequence[Label],
    texts2: Sequence[str] | None = None, *, names: Sequence[str] = ("model",), data: str = "", seed: int = 0,
    progress: bool = False,
) -> str:  # fmt: skip
    """The report on one model, or on two side by side, as an HTML page.

    >>> page = to_report(model, texts, labels, names=["reviews"], data="test.csv")  # doctest: +SKIP
    """
    several = isinstance(models, Iterable) and not isinstance(models, str) and not hasattr(models, "model_")
    chosen = [as_model(each) for each in (cast("Sequence[Model]", models) if several else [models])]
    texts, labels = as_texts(texts), as_list(labels, "labels")
    texts2 = None if texts2 is None else as_texts(texts2, "second texts")
    _check(chosen, names, texts, labels)
    rng = np.random.default_rng(seed)
    sample = rng.permutation(len(texts))
    reports = [
        _measure(model, name, texts, texts2, labels, data or "the data", sample, seed, progress)
        for model, name in zip(chosen, names, strict=True)
    ]
    return render_report(reports, data, rng)


def _check(models: list[Model], names: Sequence[str], texts: list[str], labels: list[Label]) -> None:
    if not 1 <= len(models) == len(names) <= 2:
        counts = f"{len(models)} models and {len(names)} names"
        message = f"a report is on one model or two, each with a name; got {counts}"
        raise LimelightError(message, code="names-count")
    if not texts or len(texts) != len(labels):
        message = f"a report needs labelled texts; got {len(texts)} texts and {len(labels)} labels"
        raise LimelightError(message, code="length-mismatch")
    check_task(models)
    if len({each.pair for each in models}) > 1:
        pairs, single = names if models[0].pair else reversed(names)
        message = f"{pairs} reads pairs and {single} single texts; compare models of one task"
        raise LimelightError(message, code="models-differ")
    if any(set(each.labels) != set(models[0].labels) for each in models):
        message = f"{' and '.join(names)} have different classes; compare models of one task"
        raise LimelightError(message, code="models-differ")


def check_task(models: Sequence[Model]) -> None:
    """Raise unless all models have the same task, and one that a report shows."""
    if any(answers_of(each.task).is_number for each in models):
        message = "a report is on classifiers; for predicted numbers use 'limelight evaluate'"
        raise LimelightError(message, code="model-task")
    tasks = [each.task for each in models]
    if len(set(tasks)) > 1:
        raise LimelightError(f"the models have the tasks {' and '.join(tasks)}", code="models-differ")


def save_report(
    path: str | Path, models: Model | Sequence[Model], texts: Sequence[str], labels: Sequence[Label],
    texts2: Sequence[str] | None = None, *, overwrite: bool = True, **options: Any,
) -> None:  # fmt: skip
    """Write the report to a file, whole or not at all; options as for `to_report`.

    >>> save_report("report.html", model, texts, labels)  # doctest: +SKIP
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        name = Path(path).name
        raise LimelightError(f"a report is an HTML page: {name} must end in .html", code="file-type")
    check_writable(Path(path).parent)  # before the long work
    content = to_report(models, texts, labels, texts2, **options)
    with atomic_file(path, overwrite) as file:
        file.write(content.encode(errors="replace"))  # it may hold file names that are not UTF-8


# ---------------------------------------------------------------- what it shows about one model


@dataclass(frozen=True, eq=False)
class ModelReport:
    """One model on the data."""

    name: str
    model: Model
    readings: list[AnyReading]
    truth: np.ndarray  # (texts,): indices of the true classes; of several labels (texts, labels)
    correct: np.ndarray  # (texts,): whether the prediction is right, all labels of it
    metrics: Metrics | LabelMetrics
    calibration: Calibration
    overview: Overview
    removed: tuple[RowEffect, ...]
    trust: Trust

    @property
    def has_max_row(self) -> bool:
        """Whether the last row is the max-pooled one."""
        return self.model.recipe.model.has_max_row

    @cached_property
    def predicted(self) -> np.ndarray:
        """(texts,): indices of the predicted classes; of several labels, of the surest."""
        return np.array([each.target for each in self.readings])

    @property
    def several(self) -> bool:
        """Whether a text may have several labels."""
        return answers_of(self.model.task).has_several

    @property
    def accuracy(self) -> float:
        """The share of texts whose prediction is right."""
        return float(self.correct.mean())

    @property
    def answered(self) -> list[Answered]:
        """What the model answers if it abstains below some thresholds."""
        confidence = np.array([each.confidence for each in self.readings])
        return [answered(confidence, self.correct, each) for each in THRESHOLDS]

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the accuracy."""
        return wilson(int(self.correct.sum()), self.metrics.rows)

    def true_label(self, text: int) -> str:
        """The label of a text in the data, or all of them."""
        if not self.several:
            return self.labels[int(self.truth[text])]
        return ", ".join(self.labels[k] for k in np.flatnonzero(self.truth[text])) or NO_LABEL

    @property
    def labels(self) -> list[str]:
        """The names of the classes."""
        return [printable(str(label)) for label in self.model.labels]


def _measure(
    model: Model, name: str, texts: Sequence[str], texts2: Sequence[str] | None, labels: Sequence[Label],
    data: str, sample: np.ndarray, seed: int, progress: bool,
) -> ModelReport:  # fmt: skip
    """Read all texts; for what takes long, use the first texts of `sample`, a random order of all of them."""
    truth = find_task(model.task)(labels).index(model.labels, data)
    readings = read_texts(model, texts, texts2, progress=progress)
    P = np.stack([each.probabilities for each in readings])
    trust_readings = [readings[k] for k in _trust_sample(model, readings, sample)]
    some = sample[: _row_sample_size(model)]
    return ModelReport(
        name, model, readings, truth, same_answers(model.decide(P), truth),
        measure(model.task, P, truth, model.thresholds),  # type: ignore[arg-type]
        _calibration(model, P, truth),
        overview(readings),
        remove_rows(model, [readings[k] for k in some], [labels[k] for k in some]),
        measure_readings(ReadTexts(model, trust_readings, progress), seed=seed, rows=False),
    )  # fmt: skip


def _calibration(model: Model, P: np.ndarray, truth: np.ndarray) -> Calibration:
    """Of the predicted class's probability; of several labels, of all their probabilities."""
    if answers_of(model.task).has_several:
        return measure_calibration(P.ravel().astype(float), truth.ravel().astype(bool))
    decided = model.decide(P)
    return measure_calibration(P[np.arange(len(P)), decided].astype(float), decided == truth)


def _trust_sample(model: Model, readings: Sequence[AnyReading], sample: np.ndarray) -> np.ndarray:
    """As many texts as the trust table can be measured on in good time; at least twenty if possible."""
    u, d = model.recipe.model.hidden, model.recipe.model.word_size
    words = np.array([count_words(readings[k]) for k in sample])
    sample, words = sample[words <= MAX_WORDS], words[words <= MAX_WORDS]
    work = np.cumsum(words.astype(float) * (words + 60) * 8 * u * (u + d))
    return sample[: int(np.clip((work <= TRUST_WORK).sum(), 20, TRUST_TEXTS))]


def _row_sample_size(model: Model) -> int:
    """On how many texts every row can be removed in good time."""
    head = sum(array.size for name, array in model.weights.items() if name.startswith(("head.", "gate.")))
    return int(np.clip(ROW_WORK / (head * model.embedding_shape[0]), 20, ROW_TEXTS))
