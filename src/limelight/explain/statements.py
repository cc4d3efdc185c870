"""What a report calls certain, one statement after the other: a page renders these, and a check reads them.

Two kinds: a group differs from the other texts in an aspect; an aspect has changed from the first day to the
last. That one lifts or lowers the answer of all texts is not called certain: stars alone do not tell how well
one aspect is rated beside another (docs/aspects.md).
"""

from typing import Any, NamedTuple

from .lifts import Lifts, Quote, plain

GROUP, TREND = "group", "trend"


class Statement(NamedTuple):
    kind: str  # GROUP or TREND
    aspect: str
    group: str  # of the kind GROUP, otherwise ""
    amount: float  # how much better, in the unit of the effects
    low: float  # its 95% interval, all of it on one side of 0
    high: float
    texts: int  # that mention the aspect: all, or those of the group
    quotes: tuple[Quote, ...]  # clauses that say so

    @property
    def sign(self) -> int:
        return 1 if self.amount > 0 else -1

    def to_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "quotes": plain(self.quotes)}


def certain_statements(lifts: Lifts) -> list[Statement]:
    """All that is certain: by group, then over time; within each what is largest at least comes first."""
    found = list[Statement]()
    for each in lifts.groups.lifts if lifts.groups else ():
        if each.difference and each.certain:
            figures, quotes = (*each.difference[:3], each.effect.n), (each.quote,) if each.quote else ()
            found.append(Statement(GROUP, each.aspect, each.group, *figures, quotes))
    for lift in lifts.aspects:
        if lift.change and lift.changed:
            found.append(Statement(TREND, lift.name, "", *lift.change[:3], lift.texts, ()))
    return sorted(found, key=lambda each: (each.kind, min(-each.low, each.high)))
