"""Everything a report shows about one model: its predictions on the data, and measurements of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..reading.pieces import printable
from ..reading.reading import AnyReading
from ..runtime.metrics import Metrics
from ..runtime.model import Model
from ..text.labels import Label, LabelColumn
from .calibration import Calibration, measure_calibration, wilson
from .overview import Overview, overview
from .row_removal import RowEffect, remove_rows
from .trust import LONGEST, Trust, measure_readings
from .variants import count_words, read_texts

ROW_TEXTS, TRUST_TEXTS = 300, 200  # at most this many texts to remove rows on, and for the trust table
ROW_WORK = 2e11  # multiplications that removing rows may cost: a full head is large
TRUST_WORK = 2.5e11  # multiplications that the trust table may cost: about half a minute on two cores


@dataclass(frozen=True, eq=False)
class ModelReport:
    """One model on the data."""

    name: str
    model: Model
    readings: list[AnyReading]
    truth: np.ndarray  # (texts,): indices of the true classes
    metrics: Metrics
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
        """(texts,): indices of the predicted classes."""
        return np.array([int(np.argmax(each.probabilities)) for each in self.readings])

    @cached_property
    def correct(self) -> np.ndarray:
        """(texts,): whether the prediction is right."""
        return np.asarray(self.predicted == self.truth)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the accuracy."""
        return wilson(int(np.trace(self.metrics.confusion)), self.metrics.rows)

    @property
    def labels(self) -> list[str]:
        """The names of the classes."""
        return [printable(str(label)) for label in self.model.labels]


def measure_model(
    model: Model,
    name: str,
    texts: Sequence[str],
    texts2: Sequence[str] | None,
    labels: Sequence[Label],
    *,
    data: str,
    sample: np.ndarray,
    seed: int,
    progress: bool,
) -> ModelReport:
    """Read all texts; for what takes long, use the first texts of `sample`, a random order of all of them."""
    truth = LabelColumn(labels).index(model.labels, data)
    readings = read_texts(model, texts, texts2, progress=progress)
    P = np.stack([each.probabilities for each in readings])
    trust_readings = [readings[k] for k in _trust_sample(model, readings, sample)]
    some = sample[: _row_sample_size(model)]
    return ModelReport(
        name,
        model,
        readings,
        truth,
        Metrics.of(P, truth),
        measure_calibration(P.max(axis=1).astype(float), P.argmax(axis=1) == truth),
        overview(readings),
        remove_rows(model, [readings[k] for k in some], [model.labels[k] for k in truth[some]]),
        measure_readings(model, trust_readings, seed=seed, rows=False, progress=progress),
    )


def _trust_sample(model: Model, readings: Sequence[AnyReading], sample: np.ndarray) -> np.ndarray:
    """As many texts as the trust table can be measured on in good time; at least twenty if possible."""
    u, d = model.recipe.model.hidden, model.recipe.model.word_size
    words = np.array([count_words(readings[k]) for k in sample])
    sample, words = sample[words <= LONGEST], words[words <= LONGEST]
    work = np.cumsum(words.astype(float) * (words + 60) * 8 * u * (u + d))
    return sample[: int(np.clip((work <= TRUST_WORK).sum(), 20, TRUST_TEXTS))]


def _row_sample_size(model: Model) -> int:
    """On how many texts every row can be removed in good time."""
    head = sum(array.size for name, array in model.weights.items() if name.startswith(("head.", "gate.")))
    return int(np.clip(ROW_WORK / (head * model.embedding_shape[0]), 20, ROW_TEXTS))
