"""A Reading: what a model computed for a text. Everything that draws, explains or serves takes one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..aspects.seeds import Aspects
from ..aspects.sums import AspectShare, AspectSum, sum_by_aspect
from ..config.recipe import DEFAULT_TASK
from ..errors import LimelightError, bad_value, wrong_task
from ..tables.formats import join_names, shorten
from ..text.labels import Label
from ..text.questions import Between, are_numbers, class_values
from ..text.tasks import Task, find_task
from .pieces import split_pieces

LISTED_FROM = 0.02  # of the strongest word's weight; weaker words are not listed
_REPR_CHARACTERS = 60  # of the text


@dataclass(frozen=True, eq=False)
class Scores:
    """What the words of a text do to the logits of some classes: enough to ask for one against another."""

    classes: tuple[int, ...]  # all, or of many the most probable
    words: np.ndarray  # (n, len(classes)): what a word adds to the logit; in a pair, what it loses without it
    rows: np.ndarray  # (r, len(classes)): the same for each row
    logits: np.ndarray  # (all classes,)
    no_words: np.ndarray | None  # (all classes,): the logits that no word gives; None in a pair

    def between(self, k: int, other: int) -> tuple[np.ndarray, np.ndarray, float | None]:
        """The shares of the words (n,) and the rows (r,) in the answer "k rather than other"; the bias."""
        asked, columns = Between(0, 1), [self.classes.index(k), self.classes.index(other)]
        words, rows = self.words[:, columns], self.rows[:, columns]
        z = self.logits[[k, other]].astype(float)
        if self.no_words is None:
            return asked.lost(z, words), asked.lost(z, rows) / 2, None
        direction = asked.direction(self.no_words[[k, other]].astype(float), z)
        shares = words @ direction
        return shares, rows @ direction, float(asked.value(z) - shares.sum())


class JointWords(NamedTuple):
    """Two words, or contractions, that a model reads together: "not good"."""

    first: tuple[int, int]  # numbers of words, from the first to the end
    second: tuple[int, int]
    without_first: float  # how far the answer falls without it
    without_second: float
    without_both: float

    @property
    def together(self) -> float:
        """What is left of the fall without both when those without one are taken away."""
        return self.without_both - self.without_first - self.without_second


class Shown:
    """What a notebook shows as its picture. The drawing functions are those that the package offers."""

    def _repr_html_(self) -> str:
        from . import to_html

        return to_html(self)  # type: ignore[arg-type]


class _Predicted(Shown):
    """What a text or a pair has of its prediction, which the readings of both texts of a pair share."""

    sides: tuple[Reading, ...]

    @property
    def label(self) -> Label:
        """The predicted class; of several labels the surest, or the one that was asked for."""
        return self.sides[0].labels[self.predicted]

    @property
    def confidence(self) -> float:
        """The probability of `label`."""
        return float(self.sides[0].probabilities[self.predicted])

    @property
    def predicted(self) -> int:
        """The number of `label`."""
        side, answers = self.sides[0], self._answers()
        if side.about is not None and answers.has_several:
            return side.about
        return answers.explained(side.probabilities, side.thresholds)[0]

    @property
    def target(self) -> int:
        """The number of the class that `decided` is about: the predicted one, or the one asked for."""
        about = self.sides[0].about
        return self.predicted if about is None else about

    @property
    def answer(self) -> Any:
        """What `Model.predict` gives: a label, a tuple of labels where there may be several, or a number."""
        answers, side = self._answers(), self.sides[0]
        return answers.to_labels(answers.decide(side.probabilities[None], side.thresholds), side.labels)[0]

    def against(self, other: Any, label: Any = None) -> Any:
        """The same reading with what speaks for the predicted class, or for `label`, rather than the `other`.

        A word adds to the scores of both classes; its weight is its part in their difference, as a
        probability: the weights add up, with the bias, to that of the first class if only these two are
        possible. A reading from `model.read` can be asked for the most probable classes, up to eight; for
        others, and in `read_many`, give them when reading: `label=2, against=4`.

        >>> reading = model.read("Nice room, rude staff")  # doctest: +SKIP
        >>> reading.label, reading.against(5).top_words(2)  # doctest: +SKIP
        (3, [('rude', 0.31), ('Nice', -0.12)])
        >>> reading.against(4, label=2).top_words(1)  # why 2, and not 4?  # doctest: +SKIP
        [('rude', 0.42)]
        """
        if not self._answers().is_class:
            raise wrong_task("only a class can be asked for rather than another")
        labels = self.sides[0].labels
        about = None if label is None else find_class(labels, label)
        return self.against_class(find_class(labels, other), about)

    def against_class(self, other: int, about: int | None = None) -> Any:
        """The same, with the numbers of the classes."""
        side, k = self.sides[0], self.target if about is None else about
        if other == k:
            raise same_class(side.labels[k])
        if side.scores is None or not {k, other} <= set(side.scores.classes):
            asked = f"label={side.labels[k]!r}, against={side.labels[other]!r}"
            message = f"this reading does not hold both classes; read the text again with {asked}"
            raise LimelightError(message, code="class-not-held")
        sides = [each._against(k, other, about) for each in self.sides]
        return PairReading(*sides) if len(sides) == 2 else sides[0]

    def _answers(self) -> Task:
        if not self.sides[0].labels:
            none = "this reading has no label: the bundled reader predicts none"
            raise LimelightError(none, code="no-prediction")
        return find_task(self.sides[0].task)

    def _format_label(self) -> str:
        answers = self._answers()
        if answers.is_class:
            return f"label={self.label!r} ({self.confidence:.3f})"
        return f"{answers.in_repr}={self.answer!r}"


@dataclass(frozen=True, eq=False)
class Reading(_Predicted):
    """One text as the model read it.

    >>> reading = Reading(
    ...     text="Good soup", offsets=np.array([[0, 4], [5, 9]]), known=np.array([True, True]),
    ...     attention=np.array([[0.9, 0.1], [0.5, 0.5]]), embedding=np.zeros((2, 4)),
    ...     labels=("bad", "good"), probabilities=np.array([0.2, 0.8]))
    >>> reading
    Reading('Good soup', label='good' (0.800), attention=(2, 2), embedding=(2, 4))
    >>> reading.words, reading.label, reading.confidence
    (('Good', 'soup'), 'good', 0.8)
    >>> reading.overall.round(3).tolist()
    [0.7, 0.3]
    """

    text: str
    offsets: np.ndarray  # (n, 2): where each word starts and ends in `text`
    known: np.ndarray  # (n,): False where the word is outside the vocabulary
    attention: np.ndarray  # (r, n): A; every row sums to 1
    embedding: np.ndarray  # (r, 2u): M
    labels: tuple[Label, ...]  # the classes, in the order of `probabilities`; none from the bundled reader
    probabilities: np.ndarray  # (classes,); in regression the number
    max_row: bool = False  # whether the last row of A and M is the max-pooled one
    # (n,): the words' shares in the prediction, or a mean; below 0: against it
    decided: np.ndarray | None = None
    decided_by: str = ""  # how that was found: a key of captions.METHODS
    row_names: tuple[str, ...] = ()  # what each row reads, "" where nothing in particular; empty if not known
    trust: str = ""  # how far to trust the pictures, in a sentence
    truth: Any = None  # the label in the data, if it is known; a tuple where there may be several
    row_weights: np.ndarray | None = None  # (r,): how much each row supports the prediction
    task: str = DEFAULT_TASK
    thresholds: np.ndarray | None = None  # (classes,): of several labels, what each probability must reach
    decided_further: tuple[tuple[int, np.ndarray], ...] = ()  # other predicted labels, and for each `decided`
    # what the answer would be without a word: with the sum of `decided` it is the probability of `label`, the
    # mean of ordered classes or the number; None in a pair
    bias: float | None = None
    bias_further: tuple[float, ...] = ()  # the same for each of `decided_further`
    versus: Label | None = None  # the class that the predicted one was asked for against, if any
    scores: Scores | None = None  # for `against`
    # (n,): of ordered classes, each word's share in the probability of `label`
    support: np.ndarray | None = None
    joint: tuple[JointWords, ...] = ()  # words that are read together, where it was looked for them
    # (n,): of a model with aspects whose classes are numbers, each word's share in their mean; and the bias
    in_mean: tuple[np.ndarray, float] | None = None
    aspect_list: Aspects = field(default_factory=Aspects)  # of the model
    refits: np.ndarray | None = None  # (n, refits): each word's share by heads refitted to resampled texts
    about: int | None = None  # the class that `decided` was asked for, rather than the predicted one

    def __repr__(self) -> str:
        label = f"{self._format_label()}, " if self.labels else ""
        shapes = f"attention={self.attention.shape}, embedding={self.embedding.shape}"
        return f"Reading({shorten_text(self.text)}, {label}{shapes})"

    @property
    def sides(self) -> tuple[Reading, ...]:  # type: ignore[override]
        """The texts that were read: this one, or both texts of a pair."""
        return (self,)

    @property
    def words(self) -> tuple[str, ...]:
        """The words exactly as written in the text."""
        return tuple(self.text[start:end] for start, end in self.offsets)

    @property
    def overall(self) -> np.ndarray:
        """(n,): the attention of all rows, summed and normalised to 1: the paper's second visualisation.

        A max-pooled row beside rows of attention is left out, because it is not attention.
        """
        A = self.attention[:-1] if self.max_row and len(self.attention) > 1 else self.attention
        return np.asarray(A.sum(axis=0) / A.sum())

    def top_words(self, count: int = 5) -> list[tuple[str, float]]:
        """The words that decided most, with how much they support the prediction, or below 0 oppose it.

        Words with less than a fiftieth of the strongest one's weight are left out, and a contraction
        ("can't") counts as one.

        >>> GOOD_SOUP.top_words()
        [('Good', 0.7), ('soup', -0.2)]
        """
        if self.decided is None:
            none = "this reading has no prediction, and so no words that decided it"
            raise LimelightError(none, code="no-prediction")
        pieces = split_pieces(self)
        return strongest(pieces.words, pieces.weights(self.decided), count)

    def _against(self, k: int, other: int, about: int | None) -> Reading:
        assert self.scores is not None
        words, rows, bias = self.scores.between(k, other)
        return replace(
            self, decided=words, row_weights=rows, bias=bias, versus=self.labels[other], decided_further=(),
            bias_further=(), joint=(), in_mean=None, about=self.about if about is None else about,
        )  # fmt: skip

    @property
    def asked(self) -> str:
        """The task whose answer `decided` is about: of ordered classes, their mean or one that was asked for.

        Other ways than the usual one explain a class.
        """
        is_mean = self.about is None and self.versus is None and self.decided_by != "leave-one-out"
        return DEFAULT_TASK if find_task(self.task).is_ordered and not is_mean else self.task

    @property
    def supporting(self) -> np.ndarray | None:
        """(n,): how much each word supports the predicted class, where `decided` may be about a mean."""
        return self.decided if self.support is None else self.support

    @property
    def aspects(self) -> tuple[AspectShare, ...]:
        """What the text says about each aspect of the model, and what that adds to the answer.

        >>> for found in model.read("Nice room, rude staff").aspects:  # doctest: +SKIP
        ...     print(found.name, round(found.effect, 2), found.clause)
        rooms 0.41 Nice room
        service -0.83 rude staff
        """
        return self.aspect_sum.aspects if self.aspect_list else ()

    @property
    def has_aspect_sum(self) -> bool:
        """Whether the model has aspects, and what decided is a sum: that of other ways is none."""
        return bool(self.aspect_list) and self.decided is not None and self.bias is not None

    @cached_property
    def aspect_sum(self) -> AspectSum:
        """The answer as a sum of a bias, the effects of the aspects and the rest.

        Of classes that are numbers, such as stars, it is their mean, in regression the number, otherwise the
        probability of the predicted class.
        """
        if self.decided is None or self.bias is None:
            none = "only the answer for a single text is a sum over its words"
            raise LimelightError(none, code="no-prediction")
        if self._answers().has_several:
            raise wrong_task("aspects are for one answer, not for several labels")
        weights, bias = self.decided, self.bias
        unit = find_task(self.asked).unit
        if self.in_mean is not None:
            unit, (weights, bias) = "mean", self.in_mean
        values = class_values(self.labels) if unit == "mean" and are_numbers(self.labels) else None
        how = unit, values, None if unit == "probability" else self.refits
        return sum_by_aspect(self.aspect_list, self.text, self.offsets, weights, bias, *how)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, ready for `json.dumps`."""
        return {
            "text": self.text,
            "label": self.answer if self.labels else None,
            "label_is": find_task(self.task).rule if self.labels else None,
            "probabilities": dict(zip(map(str, self.labels), map(float, self.probabilities), strict=True)),
            "words": list(self.words),
            "offsets": self.offsets.tolist(),
            "known": self.known.tolist(),
            "decided": _as_list(self.decided),
            "decided_by": self.decided_by,
            "bias": self.bias,
            "about": None if self.about is None else self.labels[self.about],
            "versus": self.versus,
            "joint": [each._asdict() for each in self.joint],
            "row_names": list(self.row_names),
            "row_weights": _as_list(self.row_weights),
            "overall": self.overall.tolist(),
            "attention": self.attention.tolist(),
            **({"aspects": self.aspect_sum.to_dict(words=True)} if self.has_aspect_sum else {}),
        }


@dataclass(frozen=True, eq=False)
class PairReading(_Predicted):
    """A pair of sentences as the model read them: two Readings that share one prediction."""

    first: Reading
    second: Reading

    def __repr__(self) -> str:
        texts = ", ".join(shorten_text(side.text) for side in self.sides)
        attention = " and ".join(str(side.attention.shape) for side in self.sides)
        shapes = f"attention={attention}, embedding={self.first.embedding.shape} each"
        return f"PairReading({texts}, {self._format_label()}, {shapes})"

    @property
    def sides(self) -> tuple[Reading, ...]:  # type: ignore[override]
        """Both texts."""
        return self.first, self.second

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes, in the order of `probabilities`."""
        return self.first.labels

    @property
    def probabilities(self) -> np.ndarray:
        """(classes,): of the pair."""
        return self.first.probabilities

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, ready for `json.dumps`."""
        return {"first": self.first.to_dict(), "second": self.second.to_dict()}


AnyReading = Reading | PairReading
# for the examples in docstrings
GOOD_SOUP = Reading(
    "Good soup", np.array([[0, 4], [5, 9]]), np.ones(2, bool), np.array([[0.9, 0.1], [0.5, 0.5]]),
    np.zeros((2, 4)), ("bad", "good"), np.array([0.2, 0.8]), decided=np.array([0.7, -0.2]),
)  # fmt: skip


def find_class(labels: Sequence[Label], label: Any) -> int:
    """The number of a class, given as the label itself or as it is written.

    >>> find_class([1, 5], "5"), find_class(["bad", "good"], "good")
    (1, 1)
    """
    written = [str(each) for each in labels]
    if str(label) in written:
        return written.index(str(label))
    what = f"{shorten(repr(label))} is not a class of this model"
    raise LimelightError(f"{what}; its classes are {join_names(written)}", code="label-unknown")


def same_class(label: Label) -> LimelightError:
    """That a class cannot be asked for rather than itself."""
    return bad_value(f"{label!r} is the class asked for; ask against another")


def _as_list(weights: np.ndarray | None) -> list[float] | None:
    return None if weights is None else np.asarray(weights, dtype=float).tolist()  # type: ignore[no-any-return]


def shorten_text(text: str) -> str:
    """A text as `repr` shows it."""
    return repr(text if len(text) <= _REPR_CHARACTERS else f"{text[: _REPR_CHARACTERS - 1]}…")


def strongest(words: Sequence[str], weights: np.ndarray, count: int) -> list[tuple[str, float]]:
    """The words with the largest weights, by size; those that hardly count are left out."""
    size = np.abs(weights)
    order = np.argsort(-size, kind="stable")[:count]
    return [(words[k], float(weights[k])) for k in order if words[k] and size[k] >= LISTED_FROM * size.max()]
