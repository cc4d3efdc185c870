"""What a picture shows, whether in HTML, SVG or a terminal: the heat maps, their scales and their words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from ..aspects.sums import AspectShare
from ..config.recipe import DEFAULT_TASK
from ..errors import LimelightError
from ..text.labels import compose
from ..text.tasks import find_task
from ..text.word_kinds import is_function_word
from . import captions
from .captions import DECIDED, NO_ASPECT, NO_LABEL
from .colours import HeatMap
from .comparison import Comparison, Drawable
from .links import Links, make_links
from .pieces import Pieces, passages, printable, split_pieces
from .reading import Reading, Shown, strongest
from .rows import group_rows, join_names, mean_row, says_little

MAX_GROUPS_DRAWN = 8  # all rows of the preset light; in a page, the others are one click away
MOST_FOR = 2  # rows that are named where the others are folded away
MAX_CLASSES_DRAWN = 6  # with more classes the most probable are shown first
MAX_CLAUSES_DRAWN = 8  # of an aspect; of more, those with the largest effects
MAX_WORDS_WHOLE = 100  # the rows of a longer text are shown as passages
Texts = tuple[Pieces, ...]  # one; two for a pair
Sides = tuple[Reading, ...]


@dataclass(frozen=True)
class AspectMaps:
    """Each aspect that is mentioned, with its clauses, and what they add up to."""

    maps: tuple[HeatMap, ...]  # one for each aspect that is mentioned, in the model's order
    sum_line: str
    not_mentioned: str  # in a sentence; empty if all are mentioned
    in_stars: bool  # while what decided is a probability


@dataclass(frozen=True)
class Picture:
    texts: tuple[Pieces, ...]  # one; two for a pair
    overall: HeatMap  # all rows together; of a comparison, what each word does for it
    labels: tuple[str, ...] = ()
    probabilities: tuple[float, ...] = ()
    answers: tuple[int, ...] = ()  # the numbers of the predicted classes
    target: int = 0  # of the class that `decided` is about
    task: str = DEFAULT_TASK
    truth: str | None = None  # the label in the data, or several, as `answer` writes them
    decided: HeatMap | None = None  # None without a prediction
    further: tuple[tuple[str, HeatMap], ...] = ()  # other predicted labels, and what decided each
    asked: str = DEFAULT_TASK  # the task whose answer `decided` is about
    versus: str = ""  # the class that the predicted one was asked for against, if any
    joint: str = ""  # words that were read together, in a sentence
    aspects: AspectMaps | None = None  # None if the model has none
    method: str = ""  # what the weights of `decided` are, in a sentence
    groups: tuple[HeatMap, ...] = ()  # the mean of each group's rows, the group that counts most first
    rows: tuple[HeatMap, ...] = ()  # every row, in the order of the groups
    most_for: tuple[str, ...] = ()  # the rows that support the prediction most
    trust: str = ""  # how far to trust it, in a sentence; empty if it was not measured
    links: Links | None = None  # between the texts of a comparison

    @property
    def label(self) -> str:
        """The class that `decided` is about: the predicted one, or the one that was asked for."""
        return self.labels[self.target]

    @property
    def answer(self) -> str:
        if find_task(self.task).is_number:
            return f"{self.probabilities[0]:.4g}"
        return ", ".join(self.labels[k] for k in self.answers) or NO_LABEL

    @property
    def certainty(self) -> str:
        if not find_task(self.task).is_class:
            return ""
        return f"{100 * self.probabilities[self.answers[0]]:.1f}%"

    @property
    def median(self) -> str:
        """That the answer is the median, where it is: it may be less probable than another class."""
        if find_task(self.task).rule != "median":
            return ""
        share, most = max(zip(self.probabilities, self.labels, strict=True), key=lambda each: each[0])
        return captions.median_line(self.answer, most, share)

    def colours(self, label: str, signs: bool = False) -> str:
        """What the colours mean, or without colours the signs, for one of the labels."""
        return captions.colours_line(label, signs, self.asked, self.versus)

    @property
    def first(self) -> HeatMap:
        """The map of the whole text: what decided or, where nothing was decided, all rows together."""
        return self.decided or self.overall

    @property
    def true_label(self) -> str:
        """The label in the data, and whether the prediction is right; empty if it is not known."""
        if self.truth is None:
            return ""
        if find_task(self.task).is_number:
            return f"True value: {self.truth}"
        is_right = compose(self.truth) == compose(self.answer)
        return f"True label: {self.truth} ({'right' if is_right else 'wrong'})"

    @property
    def classes(self) -> list[tuple[str, float, bool]]:
        """(label, probability, is it predicted): in the model's order or, if many, most probable first."""
        if find_task(self.task).is_number:
            return []
        predicted = [place in self.answers for place in range(len(self.labels))]
        found = list(zip(self.labels, self.probabilities, predicted, strict=True))
        return found if len(found) <= MAX_CLASSES_DRAWN else sorted(found, key=lambda each: -each[1])

    def number(self, heat: HeatMap) -> Callable[[float], str]:
        """Formats a weight with enough digits to show half an even share of the longest text."""
        longest = max(len(text.spans) for text in self.texts)
        return f"{{:{'+' if heat.signed else ''}.{max(3, len(str(longest)) + 2)}f}}".format

    def strongest(self, heat: HeatMap) -> list[tuple[str, str]]:
        """The few words with the most weight, strongest first, and their weights; of a pair, of each text."""
        count, number = 5 if len(self.texts) == 1 else 3, self.number(heat)
        found = [strongest(text.words, w, count) for text, w in zip(self.texts, heat.weights, strict=True)]
        return [(word, number(weight)) for each in found for word, weight in each]

    def passages(self, heat: HeatMap, text: int, brief: bool) -> list[tuple[int, int]]:
        """The pieces to show, from first to end: all, or with `brief` the passages of a long text."""
        if heat.clauses is not None:
            return list(heat.clauses)
        if brief and self.is_long:
            return passages(heat.levels[text], most=8)
        return [(0, len(self.texts[text].words))]

    @property
    def rows_summary(self) -> str:
        """The rows in a line, for where they are folded away: below what decided they are a detail."""
        return captions.rows_summary(len(self.rows), self.most_for) if self.decided and self.rows else ""

    @property
    def shown_classes(self) -> list[tuple[str, float, bool]]:
        """The first of `classes`, where there are many."""
        found = self.classes
        return found if len(found) <= MAX_CLASSES_DRAWN else found[: MAX_CLASSES_DRAWN - 1]

    @property
    def shown_groups(self) -> tuple[HeatMap, ...]:
        """The first of `groups`, where there are many."""
        return self.groups[:MAX_GROUPS_DRAWN]

    @property
    def rows_left_out(self) -> int:
        return len(self.rows) - sum(len(group.rows) for group in self.shown_groups)

    @property
    def has_unknown_words(self) -> bool:
        return not all(known for text in self.texts if _has_words(text) for known in text.known)

    @property
    def is_long(self) -> bool:
        """Whether rows are shown as passages rather than the whole text."""
        return max(len(text.spans) for text in self.texts) > MAX_WORDS_WHOLE


def make_picture(reading: Drawable) -> Picture:
    """Make the picture of a reading or a comparison."""
    if not isinstance(reading, Shown):
        message = f"expected a reading from model.read or a comparison, not {type(reading).__name__}"
        raise LimelightError(message, code="argument-type")
    texts = tuple(split_pieces(each) for each in reading.sides)
    if isinstance(reading, Comparison):
        effects = _signed_map(Links.EFFECTS, texts, [side.effects for side in reading.sides])
        return Picture(texts, effects, links=make_links(reading, texts))
    sides, side = reading.sides, reading.sides[0]
    overall = _drawn(texts, [each.overall for each in sides])
    further = {k: [dict(each.decided_further)[k] for each in sides] for k, _ in side.decided_further}
    biases = side.bias_further or (None,) * len(further)
    groups, rows = _row_maps(texts, sides)
    labels = tuple(printable(str(label)) for label in reading.labels)
    return Picture(
        texts, HeatMap("All rows together", overall, _top(overall)), labels,
        probabilities=tuple(float(p) for p in reading.probabilities),
        answers=_answers(side), target=reading.target if labels else 0, task=side.task, truth=_truth(side),
        decided=_decided(texts, sides, [each.decided for each in sides], side.bias),
        further=tuple(
            (labels[k], heat) for (k, w), bias in zip(further.items(), biases, strict=True)
            if (heat := _decided(texts, sides, w, bias))
        ),
        asked=side.asked, versus=_versus(side),
        method=captions.method(side.decided_by, side.asked, _versus(side)),
        joint=_joint(sides), aspects=aspect_maps(side, texts[0]) if len(sides) == 1 else None,
        groups=tuple(groups), rows=tuple(rows), most_for=_most_for(texts, sides), trust=printable(side.trust),
    )  # fmt: skip


def row_ranges(rows: Sequence[int]) -> str:
    """Row numbers as people count them, from 1.

    >>> row_ranges((0, 1, 2, 6))
    '1–3, 7'
    """
    spans: list[list[int]] = []
    for row in (row + 1 for row in rows):
        if spans and row == spans[-1][-1] + 1:
            spans[-1][1:] = [row]
        else:
            spans.append([row])
    return ", ".join("–".join(map(str, span)) for span in spans)


def _answers(side: Reading) -> tuple[int, ...]:
    answers = find_task(side.task)
    if not answers.has_several:
        return (side.predicted,) if side.labels else ()
    return tuple(np.flatnonzero(answers.decide(side.probabilities[None], side.thresholds)[0]).tolist())


def _truth(side: Reading) -> str | None:
    """The label in the data; several in the order of the model's, which `Picture.answer` has too."""
    if not isinstance(side.truth, tuple | list | set | frozenset):
        return None if side.truth is None else printable(str(side.truth))
    places = {str(label): number for number, label in enumerate(side.labels)}
    found = sorted(map(str, side.truth), key=lambda label: places.get(label, len(places)))
    return printable(", ".join(found)) or NO_LABEL


def _decided(
    texts: Texts, sides: Sides, weights: Sequence[np.ndarray | None], bias: float | None
) -> HeatMap | None:
    """The signed map of these weights of the words, or None without them."""
    given = [np.asarray(each, dtype=float) for each in weights if each is not None]
    if len(given) < len(sides) or not sides[0].labels:
        return None
    expected = [(len(side.offsets),) for side in sides]
    if [each.shape for each in given] != expected or not all(np.isfinite(each).all() for each in given):
        fault = f"`decided` has the shape {' and '.join(str(each.shape) for each in given)}"
        todo = f"give one finite number per word: {' and '.join(map(str, expected))}"
        raise LimelightError(f"{fault}; {todo}", code="weights-shape")
    heat = _signed_map(DECIDED, texts, given)
    if bias is None:
        return heat
    words, side = sum(float(each.sum()) for each in given), sides[0]
    label = "" if side.target == side.predicted else printable(str(side.labels[side.target]))
    line = captions.sum_line(words, bias, side.asked, _versus(side), label)
    return replace(heat, bias=bias, sum_line=line)


def _joint(sides: Sides) -> str:
    found = []
    for side in sides:
        for each in side.joint:
            first, second = (
                printable(side.text[side.offsets[start, 0] : side.offsets[end - 1, 1]])
                for start, end in (each.first, each.second)
            )
            found.append((first, second, each))
    return captions.joint_line(found, sides[0].asked, _versus(sides[0]))


def _versus(side: Reading) -> str:
    return "" if side.versus is None else printable(str(side.versus))


def _signed_map(name: str, texts: Texts, given: Sequence[np.ndarray]) -> HeatMap:
    drawn = _drawn(texts, given)
    sizes = [float(np.abs(w).max()) for text, w in zip(texts, drawn, strict=True) if _has_words(text)]
    return HeatMap(name, drawn, max(sizes, default=0.0), signed=True)


def _drawn(texts: Texts, given: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """The weights of the pieces of every text from those of its words, the first axis of each."""
    return tuple(text.weights(each) for text, each in zip(texts, given, strict=True))


def _has_words(text: Pieces) -> bool:
    """A model reads a text without words as one unknown word of no length."""
    return any(text.words)


def _top(drawn: Sequence[np.ndarray]) -> float:
    """The weight with the strongest colour: at least three even shares, to keep even attention pale."""
    return max(max(float(w.max(initial=0.0)), min(1.0, 3 / max(len(w), 1))) for w in drawn)


# ---------------------------------------------------------------- what each row read


def _row_maps(texts: Texts, sides: Sides) -> tuple[list[HeatMap], list[HeatMap]]:
    """The maps of the groups and of the single rows, all on one scale."""
    if not any(map(_has_words, texts)):
        return [], []
    drawn = _drawn(texts, [side.attention.T for side in sides])  # (pieces, r) for every text
    top = _top(drawn)

    def mean_map(rows: tuple[int, ...]) -> HeatMap:
        name, note = _name(rows, sides[0])
        return HeatMap(name, tuple(mean_row(A.T, rows) for A in drawn), top, rows, note)

    groups = [mean_map(group.rows) for group in group_rows(tuple(side.attention for side in sides))]
    # a stable sort: within each rank, the most informative group stays first
    if (weights := _row_weights(sides)) is not None:
        groups.sort(key=lambda group: -abs(weights[list(group.rows)].sum()))
    else:
        groups.sort(key=lambda group: _rank(group, texts, sides[0].row_names))
    return groups, [mean_map((row,)) for group in groups for row in group.rows]


def _name(rows: tuple[int, ...], side: Reading) -> tuple[str, str]:
    number = f"Row {rows[0] + 1}" if len(rows) == 1 else f"Rows {row_ranges(rows)}"
    if side.max_row and rows == (len(side.attention) - 1,):
        number += ", max"
    if len(side.row_names) != len(side.attention):
        return number, ""
    return printable(join_names([side.row_names[row] for row in rows])) or NO_ASPECT, number.lower()


def _row_weights(sides: Sides) -> np.ndarray | None:
    given = [side.row_weights for side in sides if side.row_weights is not None]
    return np.sum(given, axis=0) if len(given) == len(sides) else None


def _most_for(texts: Texts, sides: Sides) -> tuple[str, ...]:
    weights = _row_weights(sides)
    if weights is None or not any(map(_has_words, texts)):
        return ()
    order = [row for row in np.argsort(-weights, kind="stable").tolist() if weights[row] > 0]
    names = sides[0].row_names if len(sides[0].row_names) == len(weights) else ("",) * len(weights)
    A = _drawn(texts, [side.attention.T for side in sides])
    found = (captions.row_in_line(row, printable(names[row]), _most_read(texts, A, row)) for row in order)
    return tuple(islice(dict.fromkeys(found), MOST_FOR))


def _most_read(texts: Texts, A: Sequence[np.ndarray], row: int) -> str:
    """The piece with the most attention of a row, A (pieces, r) for each text."""
    read = [(a[:, row], text.words) for text, a in zip(texts, A, strict=True) if len(a)]
    shares, words = max(read, key=lambda each: float(each[0].max()))
    return words[int(shares.argmax())]


def _rank(group: HeatMap, texts: Texts, names: tuple[str, ...]) -> int:
    """0 for rows that read something in particular, 1 for small words, 2 for no clear aspect."""
    if group.note:  # they have names
        named = [names[row] for row in group.rows if names[row]]
        return int(all(map(says_little, named))) if named else 2
    on_small_words = [
        float(weights[[is_function_word(word) for word in text.words]].sum())
        for text, weights in zip(texts, group.weights, strict=True)
    ]
    return int(sum(on_small_words) > len(texts) / 2)


# ---------------------------------------------------------------- aspects


def aspect_maps(reading: Reading, pieces: Pieces) -> AspectMaps | None:
    """The maps of a reading; None if its model has no aspects."""
    if not reading.has_aspect_sum:
        return None
    found = reading.aspect_sum
    unit = {"mean": "stars", "probability": "points", "number": ""}[found.unit]
    mentioned = [share for share in found.aspects if share.mentioned]
    parts = [found.bias, *(share.effect for share in mentioned), found.rest]
    bias, *effects, rest = captions.aspect_effects(parts, unit)
    names = [printable(share.name) for share in mentioned]
    weights = [pieces.weights(share.weights) for share in mentioned]
    top = max((float(np.abs(own).max(initial=0.0)) for own in weights), default=0.0)
    maps = [
        HeatMap(
            name, (own,), top, signed=True, clauses=_clauses(share, pieces),
            note=f"{effect}{captions.UNITS.get(unit, '')}",
        )
        for share, name, own, effect in zip(mentioned, names, weights, effects, strict=True)
    ]  # fmt: skip
    (answer,) = captions.aspect_effects([found.answer], unit)
    terms = [*zip(names, effects, strict=True), ("rest", rest)]
    others = [printable(share.name) for share in found.aspects if not share.mentioned]
    return AspectMaps(
        tuple(maps), captions.aspect_sum_line(bias, terms, answer, unit),
        f"Not mentioned: {', '.join(others)}." if others else "",
        in_stars=unit == "stars" and not find_task(reading.task).is_ordered,
    )  # fmt: skip


def _clauses(share: AspectShare, pieces: Pieces) -> tuple[tuple[int, int], ...]:
    """The pieces of each clause; those of the strongest clauses, if there are many."""
    strongest = sorted(share.clauses, key=lambda each: -abs(each.effect))[:MAX_CLAUSES_DRAWN]
    return tuple(_pieces_of(pieces, *span) for span in sorted(each.span for each in strongest))


def _pieces_of(pieces: Pieces, start: int, end: int) -> tuple[int, int]:
    inside = [k for k, (first, last) in enumerate(pieces.spans) if first < end and last > start]
    return (inside[0], inside[-1] + 1) if inside else (0, 0)
