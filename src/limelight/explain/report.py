"""A report on a data set as one HTML page: how well a model works, what it reads, how far to trust that.

Two models are shown side by side, with what sets them apart. No network, no script.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from ..errors import LimelightError, bad_value
from ..reading.captions import trust_sentence
from ..reading.reading import AnyReading
from ..runtime.held_out import HeldOut
from ..runtime.model import Model
from ..storage.files import atomic_file, check_writable
from ..text.coerce import as_list, as_texts
from ..text.labels import Label
from ..text.tasks import find_task
from .calibration import Calibration, measure_calibration
from .leaks import Leak, Leaks
from .lifts import AspectTexts, Lifts
from .model_report import Baselines, ModelReport, baselines_of
from .overview import describe_rows, same_answers
from .pages import render_lifts, render_report
from .trust import MAX_WORDS, quick_trust
from .variants import ReadTexts, as_model, count_words, predict_texts, read_texts, stream_texts

MAX_READ = 2000  # texts whose words are looked at; the figures are of all
ROW_TEXTS = 500  # of these, at most this many for what each row reads
# for models without saved figures: a twentieth of the texts, and at least and at most this many
TRUST_SHARE, TRUST_TEXTS = 20, (20, 100)


def to_report(
    models: Model | Sequence[Model], texts: Sequence[str], labels: Sequence[Label] | None = None,
    texts2: Sequence[str] | None = None, **options: Any,
) -> str:  # fmt: skip
    """The report on one model, or on two side by side, as an HTML page; options as for `measure_report`.

    >>> page = to_report(model, texts, labels, names=["reviews"], data="test.csv")  # doctest: +SKIP
    """
    return measure_report(models, texts, labels, texts2, **options).html()


def measure_report(
    models: Model | Sequence[Model], texts: Sequence[str], labels: Sequence[Label] | None = None,
    texts2: Sequence[str] | None = None, *, names: Sequence[str] = ("model",), data: str = "",
    most: int = MAX_READ, train: TrainingTexts | None = None, dates: Sequence[Any] | None = None,
    groups: Sequence[Any] | None = None, by: str = "group", seed: int = 0, progress: bool = False,
) -> Report:  # fmt: skip
    """Measure what a report on one model, or on two side by side, shows.

    Figures are of the texts that no model learnt from, as far as they know, and of all if there are none;
    words and examples of at most `most` of all texts, chosen at random. With the texts
    and labels that the model was trained on, and the second texts of pairs, TF-IDF is measured too. One model
    with aspects also has these, by date and by group if these are given (`by` says what the groups are);
    without labels, and of predicted numbers, the report has nothing else.
    """
    several = isinstance(models, Iterable) and not isinstance(models, str) and not hasattr(models, "model_")
    chosen = [as_model(each) for each in (cast("Sequence[Model]", models) if several else [models])]
    texts, texts2 = as_texts(texts), None if texts2 is None else as_texts(texts2, "second texts")
    _check_names(chosen, names)
    shown = _aspect_texts(chosen, texts, labels, dates, groups, by)
    if shown and texts and (labels is None or find_task(chosen[0].task).is_number):
        if train is not None:
            message = "TF-IDF is measured beside the accuracy, for which labels are needed"
            raise LimelightError(message, code="option-conflict")
        return Report([], shown.read(progress), names[0], data)
    labels = [] if labels is None else as_list(labels, "labels")
    _check(chosen, names, texts, labels)
    if most < 1:
        raise bad_value(f"most is {most}; it must be at least 1")
    if train is not None:
        _check_training(chosen[0], train)
    seen = _rows_seen(dict(zip(names, chosen, strict=True)), texts, texts2)
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.permutation(len(texts))[:most])
    tested = TestTexts(texts, labels, texts2, data, sample, seen.measured)
    reports = [
        _measure(model, name, tested, shown, seed, progress)
        for model, name in zip(chosen, names, strict=True)
    ]
    tf_idf = None if train is None else _tf_idf(chosen[0], train, tested)
    lifts = shown.measure() if shown else None
    leaks = Leaks()
    for k, reading in zip(sample, reports[0].readings, strict=True):
        leaks.add(reading, shown.groups[k] if shown and shown.groups else "")
    of_what = f"{data or 'these texts'}{seen.of_what and f': {seen.of_what}'}"
    return Report(
        reports, lifts, names[0], data, rng, baselines_of(reports[0], of_what, tf_idf), seen, leaks.find()
    )


def _rows_seen(models: Mapping[str, Model], texts: list[str], texts2: list[str] | None) -> HeldOut:
    """Which of the texts the models learnt from."""
    learnt = {
        name: None if (known := model.learnt_rows) is None else known.has(texts, texts2)
        for name, model in models.items()
    }
    return HeldOut.of(learnt, len(texts))


def _aspect_texts(
    models: list[Model], texts: list[str], labels: Sequence[Label] | None, dates: Sequence[Any] | None,
    groups: Sequence[Any] | None, by: str,
) -> AspectTexts | None:  # fmt: skip
    """Where to note the aspects of one model that has some; None if none are shown."""
    columns = [None if each is None else as_list(each, "columns") for each in (dates, groups)]
    if len(models) > 1 and columns != [None, None]:
        message = "the aspects of one model are shown by date or group; leave out the other model"
        raise LimelightError(message, code="option-conflict")
    if columns == [None, None] and (len(models) > 1 or not models[0].aspects.enabled):
        return None
    labels = None if labels is None or len(labels) != len(texts) else as_list(labels, "labels")
    return AspectTexts(models[0], texts, columns[0], columns[1], by, labels)


class Report(NamedTuple):
    """What was measured of one model or two; of their aspects alone, if that is all."""

    models: list[ModelReport]
    lifts: Lifts | None
    name: str  # of the first model
    data: str
    rng: np.random.Generator | None = None  # draws the examples
    baselines: Baselines | None = None
    seen: HeldOut | None = None  # which rows the models learnt from
    leaks: tuple[Leak, ...] = ()  # words of the first model that may be names

    def html(self) -> str:
        """The page."""
        if self.models and self.rng:
            rng = copy.deepcopy(self.rng)  # so that the page is the same each time
            return render_report(
                self.models, self.data, rng, self.baselines, self.lifts, self.seen, self.leaks
            )
        assert self.lifts is not None
        more = "There are no labels to compare with; if a column has them, name it with --label."
        if self.lifts.unit == "number":
            more = "How good its numbers are, 'limelight evaluate' measures."
        told = f"What the model makes of {self.data or 'these texts'}. {more}"
        return render_lifts(self.lifts, self.name, self.data, told)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for `json.dumps`; of each model the figures of 'limelight evaluate'."""
        found: dict[str, Any] = {"models": {each.name: each.metrics.to_dict() for each in self.models}}
        found |= self.seen.to_dict() if self.seen else {}
        found["names"] = [each.to_dict() for each in self.leaks or (self.lifts.leaks if self.lifts else ())]
        return found | ({"aspects": self.lifts.to_dict()} if self.lifts else {})


def _check_training(model: Model, train: TrainingTexts) -> None:
    """Raise before the long work if TF-IDF cannot be measured."""
    from ..training import need_torch

    need_torch()
    if not find_task(model.task).is_class:
        raise LimelightError(f"TF-IDF is not measured for the task {model.task!r}", code="model-task")
    texts, labels, texts2 = train
    if not len(texts) or any(column is not None and len(column) != len(texts) for column in (labels, texts2)):
        message = "the training texts need as many labels, and for pairs second texts; at least one"
        raise LimelightError(message, code="length-mismatch")


def _tf_idf(model: Model, train: TrainingTexts, tested: TestTexts) -> float:
    """The accuracy of TF-IDF on the texts, as the model splits them into words."""
    from ..text.dataset import Split
    from ..training.tf_idf import fit_tf_idf, sample_rows

    def split(
        texts: Sequence[str], labels: Sequence[Label], texts2: Sequence[str] | None, where: str
    ) -> Split:
        truth = find_task(model.task).column(labels).index(model.labels, where)
        second = (None, None) if texts2 is None else model.tokenizer.encode(texts2)
        return Split(*model.tokenizer.encode(texts), truth, None, *second)

    trained, sizes = split(*train, "the training texts"), (len(model.tokenizer), len(model.labels))
    fitted = fit_tf_idf(trained, *sizes, rows=sample_rows(trained, sizes[1]), min_pairs=2)
    columns = (tested.texts, tested.labels, tested.texts2)
    texts, labels, texts2 = (
        None if each is None else [each[k] for k in np.flatnonzero(tested.measured)] for each in columns
    )
    return fitted.accuracy(split(texts, labels, texts2, "the texts"))  # type: ignore[arg-type]


def _check_names(models: list[Model], names: Sequence[str]) -> None:
    if not 1 <= len(models) == len(names) <= 2:
        counts = f"{len(models)} models and {len(names)} names"
        message = f"a report is on one model or two, each with a name; got {counts}"
        raise LimelightError(message, code="names-count")


def _check(models: list[Model], names: Sequence[str], texts: list[str], labels: list[Label]) -> None:
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
    if any(find_task(each.task).is_number for each in models):
        message = (
            "a report on predicted numbers needs aspects ('limelight aspects'); or use 'limelight evaluate'"
        )
        raise LimelightError(message, code="model-task")
    tasks = [each.task for each in models]
    if len(set(tasks)) > 1:
        raise LimelightError(f"the models have the tasks {' and '.join(tasks)}", code="models-differ")


def save_report(
    path: str | Path, models: Model | Sequence[Model], texts: Sequence[str],
    labels: Sequence[Label] | None = None, texts2: Sequence[str] | None = None, *, overwrite: bool = True,
    **options: Any,
) -> Report:  # fmt: skip
    """Write the report to a file, whole or not at all; options as for `measure_report`, which this returns.

    >>> save_report("report.html", model, texts, labels)  # doctest: +SKIP
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        name = Path(path).name
        raise LimelightError(f"a report is an HTML page: {name} must end in .html", code="file-type")
    check_writable(Path(path).parent)  # before the long work
    report = measure_report(models, texts, labels, texts2, **options)
    with atomic_file(path, overwrite) as file:
        file.write(report.html().encode(errors="replace"))  # it may hold file names that are not UTF-8
    return report


# ---------------------------------------------------------------- what it shows about one model


class TrainingTexts(NamedTuple):
    """What a model was trained on."""

    texts: Sequence[str]
    labels: Sequence[Label]
    texts2: Sequence[str] | None = None


class TestTexts(NamedTuple):
    """What a report is on."""

    texts: list[str]
    labels: list[Label]
    texts2: list[str] | None
    data: str  # its name
    sample: np.ndarray  # (read,): the numbers of the texts whose words are looked at
    measured: np.ndarray  # (texts,) bool: the texts that figures are of


def _measure(
    model: Model, name: str, tested: TestTexts, shown: AspectTexts | None, seed: int, progress: bool
) -> ModelReport:
    """Predict all texts, and read those of the sample; for aspects all."""
    labels, data, sample, new = tested.labels, tested.data, tested.sample, tested.measured
    truth = find_task(model.task).column(labels).index(model.labels, data or "the data")
    readings, P = _read_all(model, tested, shown, progress) if shown else _read(model, tested, progress)
    rows = readings[:: -(-len(readings) // ROW_TEXTS)]
    confidence = P.max(axis=1) if find_task(model.task).has_several else P[range(len(P)), model.decide(P)]
    return ModelReport(
        name, model,
        find_task(model.task).measure(P[new], truth[new], model.thresholds),  # type: ignore[arg-type]
        _calibration(model, P[new], truth[new]), same_answers(model.decide(P), truth), confidence, new,
        sample, readings, truth[sample], describe_rows(rows), _trust(model, readings, seed, progress),
    )  # fmt: skip


def _read(model: Model, tested: TestTexts, progress: bool) -> tuple[list[AnyReading], np.ndarray]:
    """The readings of the sample, and the probabilities of all texts."""
    texts, texts2, sample = tested.texts, tested.texts2, tested.sample
    some = [texts[k] for k in sample], None if texts2 is None else [texts2[k] for k in sample]
    readings = read_texts(model, *some, progress=progress)
    P = np.empty((len(texts), len(readings[0].probabilities)), readings[0].probabilities.dtype)
    P[sample] = [each.probabilities for each in readings]
    rest = np.setdiff1d(np.arange(len(texts)), sample)
    if len(rest):
        others = [texts[k] for k in rest], None if texts2 is None else [texts2[k] for k in rest]
        P[rest] = predict_texts(model, *others, progress=progress)
    return readings, P


def _read_all(
    model: Model, tested: TestTexts, shown: AspectTexts, progress: bool
) -> tuple[list[AnyReading], np.ndarray]:
    """The same where all texts are read once, for their aspects; only the sample is kept."""
    kept, sample, P = list[AnyReading](), set(tested.sample.tolist()), []
    for k, reading in enumerate(stream_texts(model, tested.texts, progress=progress)):
        shown.add(reading)
        P.append(reading.probabilities)
        if k in sample:
            kept.append(reading)
    return kept, np.stack(P)


def _calibration(model: Model, P: np.ndarray, truth: np.ndarray) -> Calibration:
    """Of the predicted class's probability; of several labels, of all their probabilities."""
    if find_task(model.task).has_several:
        return measure_calibration(P.ravel().astype(float), truth.ravel().astype(bool))
    decided = model.decide(P)
    return measure_calibration(P[np.arange(len(P)), decided].astype(float), decided == truth)


def _trust(model: Model, readings: Sequence[AnyReading], seed: int, progress: bool) -> str:
    """What was measured when the model was trained; otherwise measured here, on a few texts."""
    if saved := trust_sentence(model.facts.get("trust")):
        return saved
    rng, least = np.random.default_rng(seed), TRUST_TEXTS[0]
    short = [each for each in readings if count_words(each) <= MAX_WORDS]
    few = rng.permutation(len(short))[: int(np.clip(len(readings) // TRUST_SHARE, least, TRUST_TEXTS[1]))]
    return trust_sentence(quick_trust(ReadTexts(model, [short[k] for k in few], progress), rng))
