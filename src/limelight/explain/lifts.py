"""What lifts and what lowers the answers for many texts: the effects of a model's aspects, with intervals.

An answer is what the model says without a word plus a share of every word; an aspect's part of it is the sum
over its words (reading/aspect_sum.py). What a model says without a word is its own affair: another preset or
seed puts that elsewhere, and all shares with it. So an effect here is measured against the average review:
the sum less what as many average words of these texts add. Over all words of all texts that is 0. Here are
its means over the texts that mention an aspect, by period and by group, and the clauses that did most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..errors import LimelightError, warn
from ..reading.aspects import normalise
from ..reading.reading import Reading
from ..runtime.model import Model
from ..runtime.model_aspects import require_aspects
from ..tables.cells import as_text
from ..tables.rows import is_missing
from ..text.questions import are_numbers
from ..text.tasks import find_task
from .intervals import Difference, Mean, certain, differences, mean_of, means, trend
from .periods import Dates, Periods, count_periods, read_dates
from .variants import stream_texts

MIN_TEXTS = 10  # that a group's mean is compared from, and that a period must have to be drawn as others
MAX_QUOTES = 3  # best and worst clauses of an aspect
MAX_CLAUSE, AROUND = 160, 40  # characters of a clause, and of the text on each side
CLASS = "predicted class"  # what texts are grouped by where an effect is on the probability of it


class Quote(NamedTuple):
    """A clause in its text."""

    text: int  # its number, from 0
    before: str
    clause: str
    after: str
    effect: float  # of the clause alone

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the row is counted from 1, without those that were skipped."""
        return {"row": self.text + 1, "clause": self.clause, "effect": self.effect}


class Lift(NamedTuple):
    """One aspect over all texts."""

    name: str
    texts: int  # that mention it
    share: float  # of all texts
    effect: Mean  # over the texts that mention it
    stars: Mean | None  # estimated, where the labels are numbers
    best: tuple[Quote, ...]
    worst: tuple[Quote, ...]
    periods: tuple[Mean, ...] = ()  # the effect in each
    change: Difference | None = None  # of the effect, from the first day to the last
    changed: bool = False  # whether that is beyond chance, of all aspects

    def to_dict(self, labels: Sequence[str]) -> dict[str, Any]:
        """Plain values, with the names of the periods."""
        found: dict[str, Any] = {"name": self.name, "texts": self.texts, "share": self.share}
        found["effect"] = self.effect._asdict()
        if self.stars is not None:
            found["stars"] = self.stars._asdict()
        found |= {side: [each.to_dict() for each in getattr(self, side)] for side in ("best", "worst")}
        if labels:
            listed = zip(labels, self.periods, strict=True)
            found["periods"] = [{"period": label, **mean._asdict()} for label, mean in listed]
            found["change"] = self.change and {**self.change._asdict(), "certain": self.changed}
        return found


class GroupLift(NamedTuple):
    """One aspect in one group."""

    group: str
    aspect: str
    effect: Mean
    difference: Difference | None  # from all other texts; None if too few mention it
    certain: bool  # whether that is beyond chance, of all that were compared
    quote: Quote | None  # the clause that did most in that direction

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        found = {"group": self.group, "aspect": self.aspect, "effect": self.effect._asdict()}
        apart = {"difference": self.difference and self.difference._asdict(), "certain": self.certain}
        return {**found, **apart, "quote": self.quote and self.quote.to_dict()}


class Groups(NamedTuple):
    """The texts of a table by one of its columns."""

    by: str  # what they are grouped by
    names: tuple[str, ...]  # in the order of the number of their texts
    counts: tuple[int, ...]  # texts of each
    missing: int  # texts of none
    lifts: tuple[
        GroupLift, ...
    ]  # of all groups and aspects mentioned: the surest and largest differences first

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        texts = dict(zip(self.names, self.counts, strict=True))
        found = {"by": self.by, "texts": texts, "missing": self.missing}
        return {**found, "aspects": [each.to_dict() for each in self.lifts]}


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

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for `json.dumps`."""
        labels = self.periods.labels if self.periods else ()
        found = {"unit": self.unit, "texts": self.texts, "without_mention": self.silent}
        found["aspects"] = [each.to_dict(labels) for each in self.aspects]
        if self.dates and self.periods:
            without = {"missing": self.dates.missing, "unread": self.dates.unread}
            found["dates"] = {"by": self.periods.unit, **without}
        return {**found, **({"groups": self.groups.to_dict()} if self.groups else {})}


def measure_lifts(
    model: Model, texts: Sequence[str], *, dates: Sequence[Any] | None = None,
    groups: Sequence[Any] | None = None, by: str = "group", progress: bool = False,
) -> Lifts:  # fmt: skip
    """What lifts and what lowers the answers of a model with aspects; by date and by group if given.

    >>> lifts = measure_lifts(model, texts, groups=hotels, by="hotel")  # doctest: +SKIP
    >>> [(each.name, round(each.effect.mean, 2)) for each in lifts.aspects]  # doctest: +SKIP
    [('service', 0.31), ('rooms', 0.12), ('value', -0.05)]
    """
    return AspectTexts(model, texts, dates, groups, by).read(progress)


def _marked(lifts: list[Lift]) -> list[Lift]:
    """With the changes that are certain marked: of many aspects, some change by chance."""
    sure = iter(certain([each.change.chance for each in lifts if each.change]))
    return [each._replace(changed=next(sure)) if each.change else each for each in lifts]


class AspectTexts:
    """The effects of all aspects in texts that are read one after the other; dates and groups as given."""

    def __init__(
        self, model: Model, texts: Sequence[str], dates: Sequence[Any] | None = None,
        groups: Sequence[Any] | None = None, by: str = "group",
    ) -> None:  # fmt: skip
        for name, column in (("dates", dates), ("groups", groups)):
            if column is not None and len(column) != len(texts):
                message = f"there are {len(texts):,} texts and {len(column):,} {name}; give each text one"
                raise LimelightError(message, code="length-mismatch")
        self.names = [aspect.name for aspect in require_aspects(model.aspects).enabled]
        self.model, self.unit, self.texts, self.by = model, unit_of(model), texts, by or "group"
        self.dates = None if dates is None else read_dates(dates, "the column of dates")
        if self.dates and self.dates.unread:
            count, left_out = self.dates.unread, "their texts are left out of the change over time"
            unread = f"{count:,} of {len(texts):,} dates cannot be read or are far from the others"
            warn(f"{unread}, such as {self.dates.example!r}; {left_out}")
        self.groups = None if groups is None else [_group_name(each) for each in groups]
        shape = len(texts), len(self.names)
        self.mentioned, self.count = np.zeros(shape, bool), 0
        self.effect, self.stars, self.clause_effect = (np.full(shape, np.nan) for _ in range(3))
        self.words, self.clause_words = np.zeros((2, *shape))
        self.answers, self.spans = np.zeros(len(texts)), np.zeros((*shape, 2), np.int64)
        self.total = np.zeros(2)  # shares of all words of all texts, and their number
        self.classes: list[str] = []

    def read(self, progress: bool = False) -> Lifts:
        """Read all texts for their aspects alone."""
        for reading in stream_texts(self.model, self.texts, progress=progress):
            self.add(reading)
        return self.measure()

    def add(self, reading: Reading) -> None:
        """The next text."""
        k, self.count = self.count, self.count + 1
        self.classes.append(str(reading.label) if self.unit == "probability" else "")
        found = reading.aspect_sum
        self.answers[k] = found.answer
        self.total += found.answer - found.bias, len(reading.words)
        for a, share in enumerate(found.aspects):
            if share.span is not None:
                self.mentioned[k, a], self.spans[k, a] = True, share.span
                self.effect[k, a], self.words[k, a] = share.effect, share.words
                self.clause_effect[k, a], self.clause_words[k, a] = (
                    share.strongest.effect,
                    share.strongest.words,
                )
                self.stars[k, a] = np.nan if share.estimated is None else share.estimated

    def _centre(self) -> None:
        """Effects less what as many average words add."""
        average = self.total[0] / max(self.total[1], 1)
        self.effect -= average * self.words
        self.clause_effect -= average * self.clause_words

    def measure(self) -> Lifts:
        """The figures of all texts, once."""
        self._centre()
        periods = None if self.dates is None else count_periods(self.dates)
        found = _marked([self._lift(a, periods) for a in range(len(self.names))])
        found.sort(key=lambda each: -np.inf if each.effect.mean is None else each.effect.mean, reverse=True)
        silent = int((~self.mentioned.any(axis=1)).sum())
        groups, by = self.groups, self.by
        if groups is None and self.unit == "probability":
            groups, by = self.classes, CLASS
        grouped = None if groups is None else self._by_group(groups, by)
        return Lifts(self.unit, len(self.texts), silent, tuple(found), self.dates, periods, grouped)

    def _lift(self, a: int, periods: Periods | None) -> Lift:
        here = np.flatnonzero(self.mentioned[:, a])
        effect, stars = self.effect[here, a], self.stars[here, a]
        best, worst = (tuple(self._quotes(a, here, sign, MAX_QUOTES)) for sign in (1, -1))
        lift = Lift(
            self.names[a], len(here), len(here) / max(len(self.texts), 1), mean_of(effect),
            None if np.isnan(stars).all() else mean_of(stars), best, worst,
        )  # fmt: skip
        if periods is None:
            return lift
        codes, dated = periods.codes[here], periods.codes[here] >= 0
        change = trend(self._ordinals[here][dated], effect[dated])
        return lift._replace(periods=tuple(means(effect, codes, len(periods.labels))), change=change)

    @cached_property
    def _ordinals(self) -> np.ndarray:
        assert self.dates is not None
        return np.array([0 if day is None else day.toordinal() for day in self.dates.days], float)

    def _quotes(self, a: int, here: np.ndarray, sign: int, most: int) -> Iterator[Quote]:
        """The clauses that lift most, or lower most, no two alike; one of a text.

        From texts whose answer is on the same side of the mean: there a clause is seldom meant otherwise.
        """
        seen: set[str] = set()
        here = here[sign * (self.answers[here] - self.answers.mean()) >= 0]
        for k in here[np.argsort(-sign * self.clause_effect[here, a], kind="stable")]:
            effect = float(self.clause_effect[k, a])
            if len(seen) == most or effect * sign <= 0:
                return
            start, end = self.spans[k, a].tolist()
            quote = _quote(int(k), self.texts[k], start, end, effect)
            if normalise(quote.clause) not in seen:
                seen.add(normalise(quote.clause))
                yield quote

    def _by_group(self, groups: Sequence[str], by: str) -> Groups:
        counts = Counter(name for name in groups if name)
        names = tuple(sorted(counts, key=lambda name: (-counts[name], name)))
        places = {name: k for k, name in enumerate(names)}
        codes = np.array([places.get(name, -1) for name in groups], int)
        missing = len(groups) - counts.total()
        return Groups(by, names, tuple(counts[name] for name in names), missing, self._compare(names, codes))

    def _compare(self, names: Sequence[str], codes: np.ndarray) -> tuple[GroupLift, ...]:
        found: list[GroupLift] = []
        for a, aspect in enumerate(self.names):
            here = np.flatnonzero(self.mentioned[:, a])
            effect, own = self.effect[here, a], codes[here]
            compared = differences(effect, own, len(names), MIN_TEXTS)
            order = np.argsort(own, kind="stable")  # the texts group after group, each in their order
            ends = np.searchsorted(own[order], np.arange(len(names) + 1))
            for k, mean in enumerate(means(effect, own, len(names))):
                if mean.n:
                    texts = here[order[ends[k] : ends[k + 1]]]
                    quote = self._typical(a, texts, compared[k]) if compared[k] else None
                    found.append(GroupLift(names[k], aspect, mean, compared[k], False, quote))
        sure = iter(certain([each.difference.chance for each in found if each.difference]))
        marked = [each._replace(certain=next(sure)) if each.difference else each for each in found]
        return tuple(sorted(marked, key=_telling))

    def _typical(self, a: int, here: np.ndarray, difference: Difference | None) -> Quote | None:
        """The clause of a group that says most of what sets it apart."""
        sign = -1 if difference and difference.difference < 0 else 1
        return next(self._quotes(a, here, sign, 1), None)


def _telling(each: GroupLift) -> tuple[bool, bool, float, int]:
    """Certain differences first, the largest at their head; then the others that are compared."""
    if each.difference is None:
        return True, True, 0.0, -each.effect.n
    apart = each.difference
    nearest = max(apart.low, -apart.high)  # what it is at least; below 0 if it may be none
    return not each.certain, False, -nearest, -each.effect.n


def unit_of(model: Model) -> str:
    """What effects are counted in."""
    if find_task(model.task).is_number:
        return "number"
    return "stars" if are_numbers(model.labels) else "probability"


def _group_name(value: Any) -> str:
    if is_missing(value):
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # of a column with gaps
    return as_text(value).strip()


def _quote(k: int, text: str, start: int, end: int, effect: float) -> Quote:
    """A clause with some words around it; a long one is cut.

    >>> _quote(0, "We liked it. Nice room, rude staff", 24, 34, -0.5)
    Quote(text=0, before='We liked it. Nice room, ', clause='rude staff', after='', effect=-0.5)
    """
    clause, after = text[start:end], text[end : end + AROUND]
    if len(clause) > MAX_CLAUSE:
        return Quote(k, _before(text, start), clause[: MAX_CLAUSE - 1].rsplit(None, 1)[0] + "…", "", effect)
    if end + AROUND < len(text):
        after = after.rsplit(None, 1)[0].rstrip(" .,;:") + "…" if len(after.split()) > 1 else "…"
    return Quote(k, _before(text, start), clause, after, effect)


def _before(text: str, start: int) -> str:
    if start <= AROUND:
        return text[:start]
    words = text[start - AROUND : start].split(None, 1)
    return "…" + words[1] if len(words) > 1 else "…"
