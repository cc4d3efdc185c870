"""Several people: which texts are before whom, and how far they agree, with chance removed."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from .state import Labels, Said

MAX_ROWS = 20  # texts that are before one tab
RELEASED = 50  # events after which they are given to others, too: the page may have been closed


Tab = tuple[str, str]  # a person, and one of their pages


class Shown(NamedTuple):
    """A text to label: its row in the table, and how it was chosen."""

    row: int
    text: str
    chosen: str  # "auto" or "random"


class Assigned:
    """The rows that each tab was given, how each was chosen, and after how many events."""

    def __init__(self) -> None:
        self._rows: dict[Tab, dict[int, tuple[str, int]]] = {}

    def give(self, tab: Tab, found: Iterable[tuple[int, str]], events: int) -> None:
        rows = self._rows.setdefault(tab, {})
        for row, chosen in found:
            rows[row] = chosen, events
        for row in list(rows)[:-MAX_ROWS]:
            del rows[row]

    def to_others(self, tab: Tab, events: int) -> list[int]:
        others = (rows for own, rows in self._rows.items() if own != tab)
        return [row for rows in others for row, (_, at) in rows.items() if events - at < RELEASED]

    def how_chosen(self, row: int, by: str) -> str:
        own = (rows for tab, rows in self._rows.items() if tab[0] == by)
        return next((rows[row][0] for rows in own if row in rows), "picked")

    def take_back(self, rows: Iterable[int]) -> None:
        """Something was said about these texts."""
        for row in rows:
            for own in self._rows.values():
                own.pop(row, None)


class Agreement(NamedTuple):
    """How far people agree on the texts that several of them labelled."""

    people: tuple[str, ...]
    texts: int
    alpha: float | None  # Krippendorff's: 1 is full agreement, 0 what chance would give
    pairs: dict[tuple[str, str], tuple[int, float, float | None]]  # texts, share agreed, alpha


def measure_agreement(
    said: Mapping[str, Mapping[str, Said]], ordered: bool, classes: Sequence[str]
) -> Agreement:
    """Krippendorff's alpha over all people, and of every two, on the texts they share."""
    units: list[dict[str, Labels]] = []
    for by in said.values():
        labels = ((person, each.labels) for person, each in by.items())
        units.append({person: tuple(sorted(names)) for person, names in labels if names is not None})
    units = [unit for unit in units if len(unit) > 1]
    people = tuple(sorted({person for unit in units for person in unit}))
    order: dict[Labels, int] | None = {(name,): k for k, name in enumerate(classes)} if ordered else None
    pairs = {}
    for pair in combinations(people, 2):
        both = [(unit[pair[0]], unit[pair[1]]) for unit in units if pair[0] in unit and pair[1] in unit]
        if both:
            same = sum(a == b for a, b in both)
            pairs[pair] = len(both), same / len(both), alpha(both, order)
    return Agreement(people, len(units), alpha([list(unit.values()) for unit in units], order), pairs)


def alpha(units: Sequence[Sequence[Labels]], order: Mapping[Labels, int] | None = None) -> float | None:
    """Krippendorff's alpha; with the `order` of classes, that for ranks. None where none are apart."""
    units = [[tuple(sorted(each)) for each in unit] for unit in units]
    values = Counter(each for unit in units for each in unit)
    n = sum(values.values())
    if n < 2:
        return None
    apart = _rank_distance(values, order) if order is not None else lambda a, b: float(a != b)
    observed = sum(2 * apart(a, b) / (len(unit) - 1) for unit in units for a, b in combinations(unit, 2))
    expected = sum(2 * values[a] * values[b] * apart(a, b) for a, b in combinations(values, 2)) / (n - 1)
    return None if expected == 0 else 1 - observed / expected


def _rank_distance(values: Counter[Labels], order: Mapping[Labels, int]) -> Callable[[Labels, Labels], float]:
    """The ordinal distance of Krippendorff: the square of the ratings between two ranks."""
    ranked = sorted(values, key=lambda each: order.get(each, len(order)))
    before, total = {}, 0.0
    for each in ranked:
        before[each] = total + values[each] / 2
        total += values[each]
    return lambda a, b: (before[a] - before[b]) ** 2
