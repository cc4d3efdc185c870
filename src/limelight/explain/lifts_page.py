"""What the report's first page shows of the lifts: sentences, bars, which groups and periods of many."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..aspects.seeds import plain_name
from .intervals import Difference, Mean
from .lifts import CLASS, MIN_TEXTS, GroupLift, Lift, Lifts
from .periods import MAX_PERIODS

MAX_DIFFERENCES = (20, 5)  # of groups, that are listed: certain ones, and others where there are few of these
MAX_GROUPS, MAX_DRAWN = 25, 12  # groups, and aspects, of the tables that show all of them side by side
WORDS = {"stars": "the stars", "number": "the number"}  # unit -> what is lifted; otherwise the answer
UNITS = {  # unit -> what an effect is, in words
    "stars": "in stars of the predicted mean",
    "number": "in the unit of the predicted number",
    "probability": "in percentage points of the predicted class’s probability",
}


class Bar(NamedTuple):
    """A bar from 0 with its interval; all places in percent of the width."""

    kind: str  # "up" or "down"
    zero: float
    start: float
    width: float
    low: float | None = None
    reach: float | None = None  # of the interval


class LiftsPage:
    """The lifts, ready to be drawn: numbers as text, and bars on common scales."""

    def __init__(self, lifts: Lifts) -> None:
        self.lifts, self.unit = lifts, UNITS[lifts.unit]
        self.lifted = WORDS.get(lifts.unit, "the answer")
        self.title = f"What lifts and what lowers {self.lifted}"
        self.mentioned = [each for each in lifts.aspects if each.texts]
        self.unmentioned = [plain_name(each.name) for each in lifts.aspects if not each.texts]
        self._factor = 100 if lifts.unit == "probability" else 1
        sizes = [abs(x) for each in self.mentioned for x in (each.effect.low, each.effect.high) if x]
        largest = self._factor * max(sizes, default=1.0)
        self._digits = 2 if lifts.unit == "stars" else int(np.clip(2 - np.log10(largest), 0, 6))
        self._scale = _scale([each.effect for each in self.mentioned])

    def signed(self, value: float | None) -> str:
        """An effect as text."""
        if value is None:
            return "–"
        shown = f"{abs(self._factor * value):.{self._digits}f}"
        return shown if not shown.strip("0.") else f"{'+' if value > 0 else '−'}{shown}"

    def interval(self, found: Mean | Difference | None) -> str:
        if found is None or found.low is None:
            return ""
        return f"{self.signed(found.low)} to {self.signed(found.high)}"

    def bar(self, found: Mean) -> Bar:
        return _bar(found.mean, found.low, found.high, *self._scale)

    @property
    def verdict(self) -> str:
        """What the texts speak of, which have other answers than the rest, and how much is certain."""
        if not self.mentioned:
            return "None of the texts mentions an aspect of this model."
        most = max(self.mentioned, key=lambda each: each.texts)
        name = plain_name(most.name)
        told = [f"{most.share:.0%} of the texts speak of {name}, more than of anything else."]
        if apart := [each for each in self.mentioned if each.stands_out]:
            told.append(self._beside(max(apart, key=lambda each: abs(each.gap))))
        if self.lifts.groups and not self.by_class and self.certain:
            what = f"{'difference' if self.certain == 1 else 'differences'} by {self.lifts.groups.by}"
            told.append(f"{self.certain:,} {what} {'is' if self.certain == 1 else 'are'} certain.")
        return " ".join(told)

    def _beside(self, each: Lift) -> str:
        assert each.answers is not None
        assert each.others is not None
        own, others = (self.answer(found.mean) for found in (each.answers, each.others))
        own += " stars" if self.lifts.unit == "stars" else ""
        return f"Those that speak of {plain_name(each.name)} gave {own} on average, the others {others}."

    def answer(self, found: Mean | None) -> str:
        return "–" if found is None or found.mean is None else f"{found.mean:.{self._digits}f}"

    def answer_interval(self, found: Mean) -> str:
        if found.low is None or found.high is None or found.n < MIN_TEXTS:
            return ""
        return f"{found.low:.{self._digits}f} to {found.high:.{self._digits}f}"

    @property
    def answers_are(self) -> str:
        """What answers are, as the head of a column."""
        kind = "Stars" if self.lifts.unit == "stars" else "Number"
        return f"{kind} {'given' if self.lifts.are_given else 'predicted'}"

    @property
    def drawn(self) -> list[Lift]:
        """The aspects that tables of periods and groups have: all, or the most mentioned."""
        most = sorted(self.mentioned, key=lambda each: -each.texts)[:MAX_DRAWN]
        return [each for each in self.mentioned if each in most]

    def change(self, each: Lift) -> str:
        """How far the effect has changed, in words."""
        if each.change is None:
            return "too few texts for a trend"
        sure = "" if each.changed else ": no certain change"
        return f"{self.signed(each.change.difference)} ({self.interval(each.change)}){sure}"

    @property
    def by_class(self) -> bool:
        return self.lifts.groups is not None and self.lifts.groups.by == CLASS

    @property
    def compared(self) -> list[GroupLift]:
        """Group and aspect with enough texts."""
        groups = self.lifts.groups
        return [each for each in groups.lifts if each.difference] if groups else []

    @property
    def too_few(self) -> int:
        """How many pairs of group and aspect are left out."""
        return len(self.lifts.groups.lifts) - len(self.compared) if self.lifts.groups else 0

    @property
    def certain(self) -> int:
        return sum(each.certain for each in self.compared)

    @property
    def telling(self) -> list[tuple[GroupLift, Bar]]:
        """The differences that are listed, each with its bar."""
        most, least = MAX_DIFFERENCES
        listed = self.compared[: min(most, max(self.certain, least))]
        apart = [each.difference for each in listed if each.difference]
        ends = [0.0, *(x for each in apart for x in (each.low, each.high))]
        bars = [_bar(*each[:3], min(ends), max(ends)) for each in apart]
        return list(zip(listed, bars, strict=True))

    @property
    def table(self) -> list[tuple[str, int, Mean, list[tuple[Mean, Mean]]]]:
        """The largest groups: name, texts, their answers; and of each aspect drawn the effect and answers."""
        groups = self.lifts.groups
        if groups is None:
            return []
        found = {(each.group, each.aspect): (each.effect, each.answers) for each in groups.lifts}
        first = list(zip(groups.names, groups.counts, groups.answers, strict=True))[:MAX_GROUPS]
        none = Mean(0, None), Mean(0, None)
        return [(*each, [found.get((each[0], one.name), none) for one in self.drawn]) for each in first]

    def level(self, found: Mean) -> int:
        """The colour of a mean in a table, -6 to 6; none of few texts."""
        if found.mean is None or found.n < MIN_TEXTS:
            return 0
        top = max(map(abs, self._scale)) or 1.0
        return int(np.clip(round(6 * found.mean / top), -6, 6))

    def given(self) -> dict[str, Any]:
        return {"page": self, "lifts": self.lifts, "least": MIN_TEXTS, "max_periods": MAX_PERIODS}


def _scale(found: Sequence[Mean]) -> tuple[float, float]:
    """The least and the largest number to draw, and 0.

    An interval of a few texts may be many times as wide as the others: it is cut.
    """
    enough = [each for each in found if each.n >= MIN_TEXTS] or found
    ends = [x for each in enough for x in (each.low, each.mean, each.high) if x is not None]
    ends += [each.mean for each in found if each.mean is not None]
    return min([0.0, *ends]), max([0.0, *ends])


def _bar(mean: float | None, low: float | None, high: float | None, least: float, most: float) -> Bar:
    """Where a bar and its interval are on a scale."""
    span = most - least or 1.0

    def at(x: float) -> float:
        return 100 * (min(max(x, least), most) - least) / span

    zero, end = at(0.0), at(mean or 0.0)
    bar = Bar("up" if (mean or 0) >= 0 else "down", zero, min(zero, end), abs(end - zero))
    return bar if low is None or high is None else bar._replace(low=at(low), reach=at(high) - at(low))
