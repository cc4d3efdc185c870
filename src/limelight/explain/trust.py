"""How far a model's pictures can be trusted, in numbers: attributions, rows removed, seeds compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from ..errors import LimelightError, warn
from ..reading.reading import AnyReading
from ..runtime.model import Model
from ..text.inputs import as_list, as_texts
from ..text.labels import Label, LabelColumn
from .attribution import NAMES, NEED_PYTORCH, attributions
from .faithfulness import SHARES, Faithfulness, faithfulness
from .variants import Words, length_of, model_of, read_texts, words_of

DRAWS = 5  # of random weights, averaged
LONGEST = 2000  # words; leaving out each one in turn reads the text that many times
RANDOM, UNIFORM = "Random", "Uniform"


@dataclass(frozen=True)
class RowEffect:
    """What removing a row of M does: its values replaced by their means over the texts."""

    row: int  # counted from 0
    changed: float  # share of the answers that change
    drop: float  # mean drop of the answer's probability
    accuracy_drop: float | None  # None where the labels are not known


@dataclass(frozen=True, eq=False)
class Trust:
    """How far to trust the pictures of a model, on some texts."""

    texts: int
    attributions: tuple[Faithfulness, ...]  # the most comprehensive first
    rows: tuple[RowEffect, ...]

    def __getitem__(self, name: str) -> Faithfulness:
        return next(each for each in self.attributions if each.name == name)

    @property
    def has_gradients(self) -> bool:
        """Whether PyTorch was there to measure attributions from gradients."""
        return any(each.name == NAMES["gradients"] for each in self.attributions)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, ready for `json.dumps`."""
        return {
            "texts": self.texts,
            "shares": list(SHARES),
            "attributions": [each.to_dict() for each in self.attributions],
            "rows": [vars(row) for row in self.rows],
        }


class Agreement(NamedTuple):
    """How alike two models read, on average over texts."""

    spearman: float  # of the words' ranks: 1 the same order, 0 none in common
    divergence: float  # Jensen-Shannon, in bits: 0 the same attention, 1 none in common


def measure_trust(
    model: Model,
    texts: Sequence[str],
    texts2: Sequence[str] | None = None,
    *,
    labels: Sequence[Label] | None = None,
    seed: int = 0,
    rows: bool = True,
    progress: bool = False,
) -> Trust:
    """Measure every attribution, every row (`rows`), uniform and random weights on these texts.

    A few hundred texts tell enough; those of more than 2,000 words are left out, as they would take too
    long. Without PyTorch, what needs gradients is left out.

    >>> model = Model.load("reviews")  # doctest: +SKIP
    >>> measure_trust(model, texts)["Overall attention"].comprehensiveness  # doctest: +SKIP
    0.31
    """
    model, texts = model_of(model), as_texts(texts)
    texts2 = None if texts2 is None else as_texts(texts2, "second texts")
    labels = None if labels is None else as_list(labels, "labels")
    if not texts:
        raise LimelightError("there are no texts to measure trust on; give at least one")
    if labels is not None and len(labels) != len(texts):
        raise LimelightError(f"got {len(texts)} texts and {len(labels)} labels; give each text its own")
    readings = read_texts(model, texts, texts2, progress=progress)
    short = [k for k, reading in enumerate(readings) if length_of(reading) <= LONGEST]
    if not short:
        raise LimelightError(f"every text has more than {LONGEST:,} words; measure trust on shorter ones")
    if len(short) < len(readings):
        what = f"left out {len(readings) - len(short):,} of {len(readings):,} texts"
        warn(f"{what}, which have more than {LONGEST:,} words")
    known = None if labels is None else [labels[k] for k in short]
    return trust_of(
        model, [readings[k] for k in short], labels=known, seed=seed, rows=rows, progress=progress
    )


def trust_of(
    model: Model,
    readings: Sequence[AnyReading],
    *,
    labels: Sequence[Label] | None = None,
    seed: int = 0,
    rows: bool = True,
    progress: bool = False,
) -> Trust:
    """The same for texts that the model has read, which may be none."""
    if not readings:
        return Trust(0, (), ())
    words = words_of(model, readings)
    weights = {NAMES[by]: attributions(model, readings, words, by, progress) for by in _measurable()}
    weights |= _controls(words, seed)
    r = len(readings[0].sides[0].attention)
    singles = [f"Row {row + 1}" for row in range(r if rows and r > 1 else 0)]
    weights |= {name: _row_weights(readings, row) for row, name in enumerate(singles)}
    measured = {each.name: each for each in faithfulness(model, readings, words, weights, progress)}
    measured[RANDOM] = _mean(RANDOM, [measured.pop(f"{RANDOM} {draw}") for draw in range(DRAWS)])
    best = _best([measured.pop(name) for name in singles])
    found = sorted([*measured.values(), *([best] if best else [])], key=lambda each: -each.comprehensiveness)
    return Trust(len(words), tuple(found), remove_rows(model, readings, labels) if rows else ())


def _measurable() -> list[str]:
    return [by for by in NAMES if by not in NEED_PYTORCH or find_spec("torch")]


def _controls(words: Sequence[Words], seed: int) -> dict[str, list[np.ndarray]]:
    """Weights that know nothing. Equal ones put the words in the order of the text."""
    rng = np.random.default_rng(seed)
    draws = {f"{RANDOM} {draw}": [rng.random(len(text)) for text in words] for draw in range(DRAWS)}
    return {UNIFORM: [np.ones(len(text)) for text in words], **draws}


def _row_weights(readings: Sequence[AnyReading], row: int) -> list[np.ndarray]:
    return [np.concatenate([side.attention[row] for side in each.sides]) for each in readings]


def _mean(name: str, measured: Sequence[Faithfulness]) -> Faithfulness:
    return Faithfulness(
        name,
        np.mean([each.needed for each in measured], axis=0),
        np.mean([each.enough for each in measured], axis=0),
    )


def _best(singles: Sequence[Faithfulness]) -> Faithfulness | None:
    """The most comprehensive row. It is chosen on the texts it is measured on: a little too good."""
    best = max(singles, key=lambda each: each.comprehensiveness, default=None)
    return best and replace(best, name=f"Best single row ({best.name.removeprefix('Row ')})")


# ---------------------------------------------------------------- rows removed


def remove_rows(
    model: Model, readings: Sequence[AnyReading], labels: Sequence[Label] | None = None
) -> tuple[RowEffect, ...]:
    """What each row of M does for the answers: its values are replaced by their means over the texts.

    The mean, because it takes away what the row says about this text and leaves what the classifier is
    used to; zeros would be values it has never met. In a pair the row goes from both texts.
    """
    sides = zip(*(each.sides for each in readings), strict=True)
    M = [np.stack([reading.embedding for reading in side]) for side in sides]
    before = np.stack([each.probabilities for each in readings])
    return tuple(_without(model, M, before, labels, row) for row in range(M[0].shape[1]))


def _without(
    model: Model, M: list[np.ndarray], before: np.ndarray, labels: Sequence[Label] | None, row: int
) -> RowEffect:
    less = [m.copy() for m in M]
    for m in less:
        m[:, row] = m[:, row].mean(axis=0)
    after = model._runner.classify(*less)
    answer, texts = before.argmax(axis=1), np.arange(len(before))
    drop = float((before[texts, answer] - after[texts, answer]).mean())
    changed = float((after.argmax(axis=1) != answer).mean())
    return RowEffect(row, changed, drop, _accuracy_drop(model, answer, after.argmax(axis=1), labels))


def _accuracy_drop(
    model: Model, before: np.ndarray, after: np.ndarray, labels: Sequence[Label] | None
) -> float | None:
    if labels is None:
        return None
    right = LabelColumn(labels).index(model.labels, "the data")
    return float((before == right).mean() - (after == right).mean())


# ---------------------------------------------------------------- seeds compared


def agreement(first: Sequence[AnyReading], second: Sequence[AnyReading]) -> Agreement:
    """How alike two models read the same texts: the overall attention of each, compared word by word.

    >>> from limelight.reading.reading import Reading
    >>> reading = Reading(
    ...     text="Good soup", offsets=np.array([[0, 4], [5, 9]]), known=np.ones(2, bool),
    ...     attention=np.array([[0.9, 0.1]]), embedding=np.zeros((1, 4)),
    ...     labels=("bad", "good"), probabilities=np.array([0.2, 0.8]))
    >>> agreement([reading], [reading])
    Agreement(spearman=1.0, divergence=0.0)
    """
    if len(first) != len(second):
        raise LimelightError(f"got {len(first)} and {len(second)} readings; compare those of the same texts")
    pairs = [
        (a, b)
        for one, other in zip(first, second, strict=True)
        for a, b in zip(one.sides, other.sides, strict=True)
    ]
    for a, b in pairs:
        if a.text != b.text or a.offsets.shape != b.offsets.shape:
            raise LimelightError("the two models split a text differently; compare models of one recipe")
    spearmans = [spearman(a.overall, b.overall) for a, b in pairs if len(a.offsets) > 1]
    divergences = [jensen_shannon(a.overall, b.overall) for a, b in pairs]
    return Agreement(float(np.mean(spearmans or [1.0])), float(np.mean(divergences)))


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """The correlation of two rankings, from -1 to 1; equal values share their mean rank.

    >>> round(spearman(np.array([0.1, 0.2, 0.7]), np.array([1.0, 3.0, 2.0])), 6)
    0.5
    """
    x, y = (_ranks(each) - (len(a) - 1) / 2 for each in (a, b))
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / scale if scale else 0.0


def _ranks(values: np.ndarray) -> np.ndarray:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts + 1) / 2)[place])


def jensen_shannon(p: np.ndarray, q: np.ndarray) -> float:
    """The divergence of two distributions in bits: 0 for the same, 1 when they share nothing.

    >>> jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    1.0
    """
    middle = (p + q) / 2

    def bits(x: np.ndarray) -> float:
        return float((x[x > 0] * np.log2(x[x > 0] / middle[x > 0])).sum())

    return (bits(p) + bits(q)) / 2
