"""What a labelling hands out: a text to label, an answer, a group, how far it is."""

from __future__ import annotations

from typing import NamedTuple

from .state import Labels

Span = tuple[int, int]


class Shown(NamedTuple):
    """A text to label: its row in the table, and how it was chosen."""

    row: int
    text: str
    chosen: str  # "auto" or "random"


class Word(NamedTuple):
    """A word of an answer: where it stands in the text, and how much it adds to the probability."""

    text: str
    start: int
    end: int
    weight: float


class Answer(NamedTuple):
    """What the model says about a text. Show it after the person has chosen, unless they ask."""

    row: int
    label: str | None  # the most probable class; None before there is anything to go by
    labels: Labels  # with several labels a text, all that are more likely than not; else the one
    probabilities: dict[str, float]  # the most probable first
    words: list[Word]  # in the order of the text
    told: Labels | None  # what the person said


class Group(NamedTuple):
    """Texts that are alike: `rows` has those nearest to the centre first."""

    number: int
    name: str  # the words that distinguish it, such as "card, arrive, waiting"
    words: tuple[str, ...]
    rows: list[int]  # without a label so far
    labelled: dict[str, int]  # how many of its texts have each label
    examples: list[int]  # rows to show: those nearest to the centre, with or without a label
    core: list[int]  # the first of `rows`, which are more alike than all: accept these rather than all


class Found(NamedTuple):
    """What a search found; it may have stopped before all texts were looked at."""

    rows: list[int]
    searched: int  # texts that were looked at
    of: int  # texts to look at


class Need(NamedTuple):
    """A class that needs more labels, and why."""

    name: str
    labels: int
    drawn: int  # of its texts, drawn at random
    right: int  # of these, for the model that was fitted without each
    confused_with: str | None


class Point(NamedTuple):
    """The estimated accuracy after so many labels."""

    labels: int
    accuracy: float | None
    low: float
    high: float


class Progress(NamedTuple):
    """How far the labelling is. Of few texts drawn at random there is a range, and `accuracy` is None."""

    labelled: int
    skipped: int
    unsure: int
    total: int
    read: int  # texts that the reader has read so far
    by_class: dict[str, int]
    accuracy: float | None
    low: float | None  # a 95% interval
    high: float | None
    drawn: int  # labels of randomly drawn texts, on which the estimate rests
    history: list[Point]
    needs: list[Need]  # the neediest first
    advice: str  # one sentence
    near: float | None = None  # of ordered classes: answers that are at most one class away
    estimate: str = "accuracy: too few texts drawn at random yet"  # the figures above, in words


class Agreement(NamedTuple):
    """How far people agree on the texts that several of them labelled."""

    people: tuple[str, ...]
    texts: int
    alpha: float | None  # Krippendorff's: 1 is full agreement, 0 what chance would give
    pairs: dict[tuple[str, str], tuple[int, float, float | None]]  # texts, share agreed, alpha
