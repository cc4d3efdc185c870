"""What lifts and what lowers the answers for many texts: the effects of a model's aspects, with intervals.

An answer is what the model says without a word plus a share of every word; an aspect's part of it is the sum
over its words (aspects/sums.py). What a model says without a word is its own affair: another preset or
seed puts that elsewhere, and all shares with it. So an effect here is measured against the average review:
the sum less what as many average words of these texts add. Over all words of all texts that is 0. Here are
its means over the texts that mention an aspect, by period and by group, and the clauses that did most.

An interval is of the texts and of the model: another seed or other training texts give other effects, by
about SPREAD times as much as the heads of aspects/refits.py differ among themselves. Beside the effects are
the stars that the texts were given, or what the model predicts where there are none.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..aspects.facts import require_aspects
from ..aspects.seeds import normalise
from ..errors import LimelightError, warn
from ..reading.reading import Reading
from ..runtime.model import Model
from ..tables.cells import as_text
from ..tables.rows import is_missing
from ..text.labels import Label
from ..text.questions import are_numbers, class_values
from ..text.tasks import find_task
from .intervals import (
    Difference,
    Mean,
    certain,
    differences,
    mean_of,
    means,
    share_of,
    trend,
    widened,
    widened_mean,
)
from .joint import negates
from .leaks import Leak, Leaks
from .periods import Dates, Periods, count_periods, read_dates

MIN_TEXTS = 10  # that a group's mean is compared from, and that a period must have to be drawn as others
MAX_QUOTES = 3  # best and worst clauses of an aspect
MAX_QUOTED_WORDS = 15  # a longer clause often speaks of something else as well
AT_ONCE, MAX_READ_ALONE = 8, 64  # clauses that are read alone for them
QUOTED = 5  # differences of groups that have a quote even if they are not certain
SPREAD = 3.5  # how much more models differ than their refitted heads do: docs/log/2026-11-18-truth.md
_DENYING = {"nobody", "none", "deny", "fault"}  # beside the negations of joint.py
MAX_CLAUSE, AROUND = 160, 40  # characters of a clause, and of the text on each side
CLASS = "predicted class"  # what texts are grouped by where an effect is on the probability of it


class Quote(NamedTuple):
    text: int  # its number, from 0
    before: str
    clause: str
    after: str
    effect: float  # of the clause alone

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the row is counted from 1, without those that were skipped."""
        return {"row": self.text + 1, "clause": self.clause, "effect": self.effect}


class Answers(NamedTuple):
    """What some texts were given, or are predicted to be given, in stars or another number."""

    mean: Mean
    high: Mean  # the share above the middle of the scale, such as of 4 and 5 stars
    low: Mean  # the share below it


class Lift(NamedTuple):
    """One aspect over all texts."""

    name: str
    texts: int  # that mention it
    share: float  # of all texts
    effect: Mean  # over the texts that mention it
    best: tuple[Quote, ...]
    worst: tuple[Quote, ...]
    answers: Answers | None = None  # of the texts that mention it; None where answers are no numbers
    others: Answers | None = None  # of those that do not
    apart: Difference | None = None  # of the means of both, if the answers are given: no model is in it
    stands_out: bool = False  # whether that is beyond chance, of all aspects
    periods: tuple[Mean, ...] = ()  # the effect in each
    change: Difference | None = None  # of the effect, from the first day to the last
    changed: bool = False  # whether that is beyond chance, of all aspects
    answers_by_period: tuple[Mean, ...] = ()  # of the texts that mention it in each

    @property
    def gap(self) -> float:
        """How much higher answers are where it is mentioned than where it is not."""
        return self.apart.difference if self.apart else 0.0

    def to_dict(self, labels: Sequence[str]) -> dict[str, Any]:
        names = ("name", "texts", "share", "effect", "best", "worst")
        found = {name: plain(getattr(self, name)) for name in names}
        if self.answers and self.others:
            found |= {"answers": plain(self.answers), "answers_of_others": plain(self.others)}
        if labels:
            listed = zip(labels, self.periods, strict=True)
            found["periods"] = [{"period": label, **mean._asdict()} for label, mean in listed]
            found["answers_by_period"] = plain(self.answers_by_period)
            found["change"] = self.change and {**self.change._asdict(), "certain": self.changed}
        return found


class GroupLift(NamedTuple):
    group: str
    aspect: str
    effect: Mean
    answers: Mean  # of the texts of the group that mention it
    difference: Difference | None  # from all other texts; None if too few mention it
    certain: bool  # whether that is beyond chance, of all that were compared
    quote: Quote | None  # the clause that did most in that direction


class Groups(NamedTuple):
    """The texts of a table by one of its columns."""

    by: str  # what they are grouped by
    names: tuple[str, ...]  # in the order of the number of their texts
    counts: tuple[int, ...]  # texts of each
    answers: tuple[Mean, ...]  # of all texts of each
    missing: int  # texts of none
    lifts: tuple[GroupLift, ...]  # of all aspects mentioned: the surest and largest differences first

    def to_dict(self) -> dict[str, Any]:
        texts = dict(zip(self.names, self.counts, strict=True))
        answers = {name: each._asdict() for name, each in zip(self.names, self.answers, strict=True)}
        return {"by": self.by, "texts": texts, "missing": self.missing, "answers": answers,
                "aspects": plain(self.lifts)}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Lifts:
    """All aspects over all texts, what lifts most first."""

    unit: str  # of effects: "stars", "number" or "probability"
    texts: int
    silent: int  # texts that mention no aspect
    aspects: tuple[Lift, ...]
    dates: Dates | None = None
    periods: Periods | None = None
    groups: Groups | None = None
    answers: Answers | None = None  # of all texts; None where they are no numbers
    middle: float = 0.0  # of the scale of answers
    answers_by_period: tuple[Mean, ...] = ()  # of all texts in each
    are_given: bool = False  # whether answers are those that the texts were given, not predicted ones
    knows_itself: bool = True  # whether intervals are of the model, too; if not, nothing is certain
    leaks: tuple[Leak, ...] = ()  # words that may be names, where nothing else is measured

    def to_dict(self) -> dict[str, Any]:
        labels = self.periods.labels if self.periods else ()
        found = {"unit": self.unit, "texts": self.texts, "without_mention": self.silent}
        if self.answers:
            are = "given" if self.are_given else "predicted"
            found["answers"] = {"are": are, "middle": self.middle, **plain(self.answers)}
        found["intervals"] = "texts and model" if self.knows_itself else "texts"
        found["aspects"] = [each.to_dict(labels) for each in self.aspects]
        if self.dates and self.periods:
            without = {"missing": self.dates.missing, "unread": self.dates.unread}
            found["dates"] = {"by": self.periods.unit, **without}
            found["answers_by_period"] = plain(self.answers_by_period)
        return {**found, **({"groups": self.groups.to_dict()} if self.groups else {})}


def plain(value: Any) -> Any:
    """Named tuples, and tuples of them, as `json.dumps` takes them."""
    if hasattr(value, "_asdict"):
        own = value.to_dict() if hasattr(value, "to_dict") else value._asdict()
        return {name: plain(each) for name, each in own.items()}
    return [plain(each) for each in value] if isinstance(value, tuple) else value


def measure_lifts(
    model: Model, texts: Sequence[str], *, dates: Sequence[Any] | None = None,
    groups: Sequence[Any] | None = None, by: str = "group", labels: Sequence[Label] | None = None,
    progress: bool = False,
) -> Lifts:  # fmt: skip
    """What lifts and what lowers the answers of a model with aspects; by date and by group if given.

    With `labels`, such as stars, answers are these; otherwise what the model predicts.

    >>> lifts = measure_lifts(model, texts, groups=hotels, by="hotel")  # doctest: +SKIP
    >>> [(each.name, round(each.effect.mean, 2)) for each in lifts.aspects]  # doctest: +SKIP
    [('service', 0.31), ('rooms', 0.12), ('value', -0.05)]
    """
    return AspectTexts(model, texts, dates, groups, by, labels).read(progress)


Marked = TypeVar("Marked", Lift, GroupLift)


def _mark(found: list[Marked], difference: str, flag: str) -> list[Marked]:
    """With the differences that are certain flagged: of many, some are chance."""
    apart: list[Difference | None] = [getattr(each, difference) for each in found]
    sure = iter(certain([each.chance for each in apart if each]))
    both = zip(found, apart, strict=True)
    return [each._replace(**{flag: next(sure)}) if one else each for each, one in both]  # type: ignore[arg-type]


class AspectTexts:
    """The effects of all aspects in texts that are read one after the other; dates and groups as given."""

    def __init__(
        self, model: Model, texts: Sequence[str], dates: Sequence[Any] | None = None,
        groups: Sequence[Any] | None = None, by: str = "group", labels: Sequence[Label] | None = None,
    ) -> None:  # fmt: skip
        for name, column in (("dates", dates), ("groups", groups), ("labels", labels)):
            if column is not None and len(column) != len(texts):
                message = f"there are {len(texts):,} texts and {len(column):,} {name}; give each text one"
                raise LimelightError(message, code="length-mismatch")
        self.names = [aspect.name for aspect in require_aspects(model.aspects)]
        self.model, self.unit, self.texts, self.by = model, unit_of(model), texts, by or "group"
        self.dates = None if dates is None else read_dates(dates, "the column of dates")
        if self.dates and self.dates.unread:
            count, left_out = self.dates.unread, "their texts are left out of the change over time"
            unread = f"{count:,} of {len(texts):,} dates cannot be read or are far from the others"
            warn(f"{unread}, such as {self.dates.example!r}; {left_out}")
        self.groups = None if groups is None else [_group_name(each) for each in groups]
        shape = len(texts), len(self.names)
        self.mentioned, self.count = np.zeros(shape, bool), 0
        self.effect, self.clause_effect = (np.full(shape, np.nan) for _ in range(2))
        self.words, self.clause_words = np.zeros((2, *shape))
        self.answers, self.spans = np.zeros(len(texts)), np.zeros((*shape, 2), np.int64)
        self.total = np.zeros(2)  # shares of all words of all texts, and their number
        self.alone = np.zeros(shape, bool)  # whether the strongest clause is of no other aspect
        # (texts, aspects, refits), (refits,): effects and all words by the refitted heads, if there are any
        W = None if self.unit == "probability" else model.refits
        self.refits = None if W is None else np.full((*shape, len(W)), np.nan, np.float32)
        self.refit_total = np.zeros(0 if W is None else len(W))
        self.given = None if labels is None else _numbers(labels, model, self.unit)
        self.classes: list[str] = []

    def read(self, progress: bool = False) -> Lifts:
        leaks = Leaks()
        readings: Any = self.model.read_stream(self.texts, progress=progress)
        for k, reading in enumerate(readings):
            self.add(reading)
            leaks.add(reading, self.groups[k] if self.groups else "")
        return replace(self.measure(), leaks=leaks.find())

    def add(self, reading: Reading) -> None:
        k, self.count = self.count, self.count + 1
        self.classes.append(str(reading.label) if self.unit == "probability" else "")
        found = reading.aspect_sum
        self.answers[k] = found.answer
        self.total += found.answer - found.bias, len(reading.words)
        if self.refits is not None and found.refits is not None:
            self.refits[k] = found.refits[:-1]
            self.refit_total = self.refit_total + found.refits[-1]
        spans = Counter(clause.span for share in found.aspects for clause in share.clauses)
        for a, share in enumerate(found.aspects):
            if share.span is not None:
                self.alone[k, a] = spans[share.span] == 1
                self.mentioned[k, a], self.spans[k, a] = True, share.span
                self.effect[k, a], self.words[k, a] = share.effect, share.words
                strongest = share.strongest
                self.clause_effect[k, a], self.clause_words[k, a] = strongest.effect, strongest.words

    def measure(self) -> Lifts:
        """The figures of all texts, once: effects are less what as many average words add."""
        average, refitted = self.total[0] / max(self.total[1], 1), self.refit_total / max(self.total[1], 1)
        self.effect -= average * self.words
        self.clause_effect -= average * self.clause_words
        if self.refits is not None:
            self.refits -= self.words[:, :, None] * refitted
        periods = None if self.dates is None else count_periods(self.dates)
        found = _mark([self._lift(a, periods) for a in range(len(self.names))], "apart", "stands_out")
        found = found if self.refits is None else _mark(found, "change", "changed")
        found.sort(key=lambda each: -np.inf if each.effect.mean is None else each.effect.mean, reverse=True)
        silent = int((~self.mentioned.any(axis=1)).sum())
        groups, by = self.groups, self.by
        if groups is None and self.unit == "probability":
            groups, by = self.classes, CLASS
        grouped = None if groups is None else self._by_group(groups, by)
        by_period = () if periods is None else means(self._values, periods.codes, len(periods.labels))
        return Lifts(
            self.unit, len(self.texts), silent, tuple(found), self.dates, periods, grouped,
            self._answers_of(np.ones(len(self.texts), bool)), self._middle, tuple(by_period),
            self.given is not None, self.refits is not None,
        )  # fmt: skip

    def _lift(self, a: int, periods: Periods | None) -> Lift:
        here = np.flatnonzero(self.mentioned[:, a])
        effect = self.effect[here, a]
        best, worst = (tuple(self._quotes(a, here, sign, MAX_QUOTES)) for sign in (1, -1))
        own, others = (self._answers_of(some) for some in (self.mentioned[:, a], ~self.mentioned[:, a]))
        apart = None
        if self.given is not None:
            (apart,) = differences(self.given, np.where(self.mentioned[:, a], 0, -1), 1, MIN_TEXTS)
        mean = widened_mean(mean_of(effect), self._error(self._by_refits(a, here).mean(axis=0)))
        share = len(here) / max(len(self.texts), 1)
        lift = Lift(self.names[a], len(here), share, mean, best, worst, own, others, apart)
        if periods is None:
            return lift
        codes, dated = periods.codes[here], periods.codes[here] >= 0
        change = trend(self._ordinals[here][dated], effect[dated])
        if change:
            each = (trend(self._ordinals[here][dated], some[dated]) for some in self._by_refits(a, here).T)
            change = widened(change, self._error(np.array([one.difference for one in each if one])))
        count = len(periods.labels)
        effects, answers = (tuple(means(x, codes, count)) for x in (effect, self._values[here]))
        return lift._replace(periods=effects, change=change, answers_by_period=answers)

    def _by_refits(self, a: int, here: np.ndarray) -> np.ndarray:
        """(texts, refits): the effects of an aspect by the refitted heads; of none, no columns."""
        if self.refits is None or not len(here):
            return np.zeros((max(len(here), 1), 0))
        return np.asarray(self.refits[here, a])

    @staticmethod
    def _error(by_refits: np.ndarray) -> float:
        """The model's own error, from what each of its refitted heads (refits,) has found."""
        return SPREAD * float(by_refits.std(ddof=1)) if len(by_refits) > 1 else 0.0

    @cached_property
    def _values(self) -> np.ndarray:
        return self.answers if self.given is None else self.given

    def _answers_of(self, here: np.ndarray) -> Answers | None:
        if self.unit == "probability":
            return None
        values = self._values[here]
        above, below = (int(some.sum()) for some in (values > self._middle, values < self._middle))
        return Answers(mean_of(values), share_of(above, len(values)), share_of(below, len(values)))

    @cached_property
    def _middle(self) -> float:
        """The middle of the scale; of numbers, which have none, their mean."""
        if self.unit == "stars":
            values = class_values(self.model.labels)
            return (min(values) + max(values)) / 2
        return float(self._values.mean()) if len(self._values) else 0.0

    @cached_property
    def _ordinals(self) -> np.ndarray:
        assert self.dates is not None
        return np.array([0 if day is None else day.toordinal() for day in self.dates.days], float)

    def _quotes(self, a: int, here: np.ndarray, sign: int, most: int) -> Iterator[Quote]:
        """The clauses that lift most, or lower most, no two alike; one of a text.

        From texts that praise or blame as a whole, above the middle of the scale or not; about no other
        aspect, short, without a negation, and read alone on the same side of both: there a clause is
        seldom meant otherwise.
        """
        seen: set[str] = set()
        here = here[((self._values[here] > self._middle) == (sign > 0)) & self.alone[here, a]]
        here = here[sign * self.clause_effect[here, a] > 0]
        here = here[np.argsort(-sign * self.clause_effect[here, a], kind="stable")]
        for some in np.split(here[:MAX_READ_ALONE], range(AT_ONCE, MAX_READ_ALONE, AT_ONCE)):
            effects = self.clause_effect[some, a].tolist()
            places = zip(some.tolist(), self.spans[some, a].tolist(), effects, strict=True)
            found = (_quote(k, self.texts[k], start, end, x) for k, (start, end), x in places)
            quotes = [each for each in found if is_plain(each.clause)]
            for quote, agrees in zip(quotes, self._agree(quotes, sign), strict=True):
                if len(seen) < most and agrees and normalise(quote.clause) not in seen:
                    seen.add(normalise(quote.clause))
                    yield quote
            if len(seen) == most:
                return

    def _agree(self, quotes: list[Quote], sign: int) -> list[bool]:
        """Whether each clause, read alone, has an answer on this side of the mean and of the middle."""
        if self.unit == "probability" or not quotes:
            return [True] * len(quotes)
        P = self.model.predict_proba([each.clause for each in quotes]).astype(float)
        numbers = P[:, 0] if self.unit == "number" else P @ class_values(self.model.labels)
        zeros = self.answers.mean(), self._middle
        return [all(sign * (x - zero) > 0 for zero in zeros) for x in numbers.tolist()]

    def _by_group(self, groups: Sequence[str], by: str) -> Groups:
        counts = Counter(sorted(name for name in groups if name))
        names, numbers = zip(*counts.most_common(), strict=True) if counts else ((), ())
        places = {name: k for k, name in enumerate(names)}
        codes = np.array([places.get(name, -1) for name in groups], int)
        of_all, missing = tuple(means(self._values, codes, len(names))), len(groups) - sum(numbers)
        found: list[GroupLift] = []
        for a, aspect in enumerate(self.names):
            here = np.flatnonzero(self.mentioned[:, a])
            effect, own = self.effect[here, a], codes[here]
            compared = self._differences(a, here, own, len(names))
            answers = means(self._values[here], own, len(names))
            for k, mean in enumerate(means(effect, own, len(names))):
                if mean.n:
                    found.append(GroupLift(names[k], aspect, mean, answers[k], compared[k], False, None))
        found = found if self.refits is None else _mark(found, "difference", "certain")
        marked = sorted(found, key=_telling)
        some = max(sum(each.certain for each in marked), QUOTED)
        quoted = *(self._quoted(each, names, codes) for each in marked[:some]), *marked[some:]
        return Groups(by, names, numbers, of_all, missing, quoted)

    def _differences(self, a: int, here: np.ndarray, own: np.ndarray, groups: int) -> list[Difference | None]:
        """Of each group from all other texts, with the model's own error."""
        found = differences(self.effect[here, a], own, groups, MIN_TEXTS)
        by_refits = self._by_refits(a, here)
        if not by_refits.shape[1]:
            return found
        n = np.bincount(own[own >= 0], minlength=groups)[:, None]
        sums = np.stack([np.bincount(own[own >= 0], each[own >= 0], groups) for each in by_refits.T], axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = sums / n - (by_refits.sum(axis=0) - sums) / (len(here) - n)  # (groups, refits)
        return [each and widened(each, self._error(apart[k])) for k, each in enumerate(found)]

    def _quoted(self, each: GroupLift, names: Sequence[str], codes: np.ndarray) -> GroupLift:
        """With the clause of the group that says most of what sets it apart."""
        if each.difference is None:
            return each
        a = self.names.index(each.aspect)
        here = np.flatnonzero(self.mentioned[:, a] & (codes == names.index(each.group)))
        sign = -1 if each.difference.difference < 0 else 1
        return each._replace(quote=next(self._quotes(a, here, sign, 1), None))


def _telling(each: GroupLift) -> tuple[bool, bool, float, int]:
    """Certain differences first, the largest at their head; then the others that are compared."""
    if each.difference is None:
        return True, True, 0.0, -each.effect.n
    apart = each.difference
    nearest = max(apart.low, -apart.high)  # what it is at least; below 0 if it may be none
    return not each.certain, False, -nearest, -each.effect.n


def unit_of(model: Model) -> str:
    if find_task(model.task).is_number:
        return "number"
    return "stars" if are_numbers(model.labels) else "probability"


def _numbers(labels: Sequence[Label], model: Model, unit: str) -> np.ndarray | None:
    """(texts,): the labels, if the answers are numbers."""
    if unit == "probability":
        return None
    found = find_task(model.task).column(list(labels)).index(model.labels, "the labels")
    return np.array(found, float) if unit == "number" else np.array(class_values(model.labels))[found]


def is_plain(clause: str) -> bool:
    """Whether it is short and has no negation: what is denied is often meant the other way."""
    words = normalise(clause).split()
    return 1 < len(words) <= MAX_QUOTED_WORDS and not any(negates(each) or each in _DENYING for each in words)


def _group_name(value: Any) -> str:
    if is_missing(value):
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # of a column with gaps
    return as_text(value).strip()


def _quote(k: int, text: str, start: int, end: int, effect: float) -> Quote:
    """A clause with some words around it; a long one is cut."""
    before, clause, after = text[:start], text[start:end], text[end : end + AROUND]
    if start > AROUND:
        before = "…" + "".join(before[-AROUND:].split(None, 1)[1:])
    if len(clause) > MAX_CLAUSE:
        return Quote(k, before, clause[: MAX_CLAUSE - 1].rsplit(None, 1)[0] + "…", "", effect)
    if end + AROUND < len(text):
        after = after.rsplit(None, 1)[0].rstrip(" .,;:") + "…" if len(after.split()) > 1 else "…"
    return Quote(k, before, clause, after, effect)
