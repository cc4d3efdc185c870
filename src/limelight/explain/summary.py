"""What reviews say on a page of two sheets, for people who do not know what a model is.

It has counts and means of the answers, and what `statements.py` calls certain: nothing else is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from ..aspects.seeds import plain_name
from ..errors import wrong_task
from ..reading.wrap import shorten
from ..runtime.model import Model
from ..storage.files import write_file
from ..text.labels import Label
from .intervals import Mean
from .lifts import Lift, Lifts, Quote, measure_lifts
from .periods import MAX_PERIODS
from .render import render_page
from .statements import GROUP, TREND, Statement, certain_statements

MAX_GROUPS, MAX_ASPECTS = 12, 8  # in the tables, so that two sheets of A4 hold all of it
MAX_QUOTES = 4
MAX_CELL = 4  # aspects listed of a group
MAX_NAME, MAX_TITLE = 60, 200  # characters
UNITS = {"stars": "stars", "number": ""}  # of effects that have a meaning for everybody


class GroupRow(NamedTuple):
    name: str
    texts: int
    answers: Mean
    better: list[str]  # aspects in which it certainly differs from the others
    worse: list[str]


class Period(NamedTuple):
    name: str
    answers: Mean


def save_summary(
    path: str | Path, model: Model, texts: Sequence[str], labels: Sequence[Label] | None = None, *,
    dates: Sequence[Any] | None = None, groups: Sequence[Any] | None = None, by: str = "group",
    title: str = "", overwrite: bool = True, progress: bool = False,
) -> Summary:  # fmt: skip
    """Write the page on what texts say about the aspects of a model."""
    given = {"dates": dates, "groups": groups, "by": by, "labels": labels, "progress": progress}
    summary = Summary(measure_lifts(model, texts, **given), title)  # type: ignore[arg-type]
    write_file(path, summary.html(), overwrite)
    return summary


class Summary:
    """The page."""

    def __init__(self, lifts: Lifts, title: str = "") -> None:
        if lifts.unit not in UNITS:
            wrong = "a summary is of ordered answers, such as stars, or of numbers; this model has classes"
            raise wrong_task(f"{wrong}: leave out --summary")
        self.lifts, self.unit = lifts, UNITS[lifts.unit]
        count = f"{lifts.texts:,} review{'' if lifts.texts == 1 else 's'}"
        says = "says" if lifts.texts == 1 else "say"
        self.title = " ".join(title.split())[:MAX_TITLE] or f"What {count} {says}"
        self.statements = certain_statements(lifts)

    def html(self) -> str:
        given = {"title": self.title, "page": self, "lifts": self.lifts}
        return render_page("summary.html.jinja", own_style="summary.css.jinja", **given)

    def to_dict(self) -> dict[str, Any]:
        said = {"title": self.title, "certain": [each.to_dict() for each in self.statements]}
        return {**said, "aspects": self.lifts.to_dict()}

    def of_kind(self, kind: str, sign: int, group: str | None = None) -> list[Statement]:
        """What is certain, of one kind and for the better (1) or the worse (-1)."""
        found = [each for each in self.statements if (each.kind, each.sign) == (kind, sign)]
        return [each for each in found if group in (None, each.group)]

    @property
    def of_what(self) -> str:
        """What the page is about, in a line."""
        parts = [f"{self.lifts.texts:,} review{'' if self.lifts.texts == 1 else 's'}"]
        if days := [day for day in (self.lifts.dates.days if self.lifts.dates else ()) if day]:
            first, last = (f"{day.day} {day:%B %Y}" for day in (min(days), max(days)))
            parts.append(first if first == last else f"{first} to {last}")
        if self.lifts.groups and len(self.lifts.groups.names) > 1:
            parts.append(f"{_shortened(self.lifts.groups.by)}: {len(self.lifts.groups.names):,}")
        if self.lifts.answers and self.lifts.answers.mean.mean is not None:
            parts.append(f"{self.number(self.lifts.answers.mean.mean)} {self.unit}".strip() + " on average")
        return " · ".join(parts)

    @property
    def answers_are(self) -> str:
        which = "came with the reviews" if self.lifts.are_given else "the model predicts"
        return f"{self.unit or 'numbers'} that {which}"

    @property
    def sentences(self) -> list[str]:
        """What was counted of all reviews, and what is certain by group and over time."""
        said, answers = [], self.lifts.answers
        if answers and self.unit and answers.high.mean is not None and answers.low.mean is not None:
            have = "have" if self.lifts.are_given else "have, as the model predicts,"
            than = f"more than {self.lifts.middle:g} {self.unit}"
            high, low = f"{answers.high.mean:.0%}", f"{answers.low.mean:.0%}"
            said.append(f"{high} of the reviews {have} {than}, {low} fewer.")
        if often := [f"{plain_name(each.name)} ({each.share:.0%})" for each in self.aspects[:3]]:
            said.append(f"They speak most often of {listed(often)}.")
        for lift in self.apart[:2]:
            own, others = (self.number(some and some.mean.mean) for some in (lift.answers, lift.others))
            mention = f"Reviews that mention {plain_name(lift.name)}"
            said.append(f"{mention} have {own} on average, the others {others}.")
        for sign, how in ((1, "better"), (-1, "worse")):
            for each in self.of_kind(GROUP, sign)[:1]:
                about = f"what reviews say about {plain_name(each.aspect)}"
                said.append(f"{_shortened(each.group)}: {about} is {how} than elsewhere.")
        for sign, how in ((1, "better"), (-1, "worse")):
            if names := [plain_name(each.aspect) for each in self.of_kind(TREND, sign)]:
                said.append(f"What they say about {listed(names)} has become {how} over this time.")
        return said

    @property
    def apart(self) -> list[Lift]:
        """Aspects whose mention certainly goes with other answers, the furthest first."""
        return sorted((each for each in self.aspects if each.stands_out), key=lambda each: -abs(each.gap))

    @property
    def todo(self) -> list[str]:
        """What to do with it, as far as anything was found."""
        said = []
        if low := [plain_name(each.name) for each in self.apart if each.gap < 0]:
            lower = f"they have lower {self.unit or 'numbers'} than those that do not"
            said.append(f"Read the reviews that mention {listed(low[:2])} first: {lower}.")
        for each in self.of_kind(GROUP, -1)[:3]:
            look = f"look into {plain_name(each.aspect)}, of which reviews speak worse than elsewhere"
            said.append(f"{_shortened(each.group)}: {look}.")
        for each in self.of_kind(GROUP, 1)[:2]:
            look = f"see what the others can learn about {plain_name(each.aspect)}"
            said.append(f"{_shortened(each.group)}: {look}.")
        for sign, todo in ((-1, "Find out what has become worse in"), (1, "Keep what has become better in")):
            if names := [plain_name(each.aspect) for each in self.of_kind(TREND, sign)]:
                said.append(f"{todo} {listed(names[:3])}.")
        return [*said, "Read some of the reviews before you decide: this page says where to look, not why."]

    @property
    def aspects(self) -> list[Lift]:
        found = sorted((each for each in self.lifts.aspects if each.texts), key=lambda each: -each.texts)
        return found[:MAX_ASPECTS]

    @property
    def groups(self) -> list[GroupRow]:
        """Those that certainly differ, then the largest ones; the best answers first."""
        groups = self.lifts.groups
        if groups is None or len(groups.names) < 2:
            return []
        first = list(zip(groups.names, groups.counts, groups.answers, strict=True))
        first.sort(key=lambda each: not any(self._differs(each[0])))  # stable: by size within
        first = sorted(first[:MAX_GROUPS], key=lambda each: -(each[2].mean or 0))
        return [GroupRow(_shortened(name), n, mean, *self._differs(name)) for name, n, mean in first]

    def _differs(self, group: str) -> tuple[list[str], list[str]]:
        found = [self.of_kind(GROUP, sign, group)[:MAX_CELL] for sign in (1, -1)]
        better, worse = ([plain_name(each.aspect) for each in some] for some in found)
        return better, worse

    @property
    def periods(self) -> list[Period]:
        """The last months, or other periods, that have reviews."""
        periods = self.lifts.periods
        if periods is None or len(periods.labels) < 2:
            return []
        pairs = list(zip(periods.labels, self.lifts.answers_by_period, strict=True))[-MAX_PERIODS:]
        return [Period(period_name(label, periods.unit), mean) for label, mean in pairs]

    @property
    def quotes(self) -> list[tuple[str, Quote]]:
        """Two clauses that praise and two that blame, each of another aspect and from another review."""
        found: dict[int, tuple[str, Quote]] = {}
        for side, sign, most in (("best", -1, MAX_QUOTES // 2), ("worst", 1, MAX_QUOTES)):
            told = [(quote, each.name) for each in self.aspects for quote in getattr(each, side)]
            for quote, aspect in sorted(told, key=lambda each: sign * each[0].effect):
                name = plain_name(aspect)
                is_new = quote.text not in found and name not in [other for other, _ in found.values()]
                if is_new and len(found) < most:
                    found[quote.text] = name, quote
        return list(found.values())

    def number(self, value: float | None) -> str:
        """A mean as text."""
        return "–" if value is None else f"{value:.1f}" if self.unit else f"{value:,.4g}"

    def width(self, mean: Mean) -> float:
        """How long the bar of a period is, from 0, in percent of the longest one."""
        largest = max((each.answers.mean or 0.0 for each in self.periods), default=0.0)
        return 100 * max(mean.mean or 0.0, 0.0) / largest if largest > 0 else 0.0


def listed(names: Sequence[str]) -> str:
    """Names in a sentence."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def period_name(label: str, unit: str) -> str:
    """A period as people say it."""
    if unit == "month":
        year, month = label.split("-")
        return f"{date(int(year), int(month), 1):%b} {year}"
    if unit == "week":
        day = date.fromisoformat(label)
        return f"{day.day} {day:%b %Y}"
    return " ".join(reversed(label.split()))


def _shortened(name: str) -> str:
    return shorten(" ".join(name.split()), MAX_NAME, len)
