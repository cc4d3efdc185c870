"""How far people agree, with what chance would give removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from .state import Labels, Said
from .views import Agreement


def measure_agreement(
    said: Mapping[str, Mapping[str, Said]], ordered: bool, classes: Sequence[str]
) -> Agreement:
    """Krippendorff's alpha over all people, and of every two, on the texts they share."""
    units = [
        {person: each.labels for person, each in by.items() if each.labels is not None}
        for by in said.values()
    ]
    units = [unit for unit in units if len(unit) > 1]
    people = tuple(sorted({person for unit in units for person in unit}))
    order: dict[Labels, int] | None = {(name,): k for k, name in enumerate(classes)} if ordered else None
    pairs = {}
    for pair in combinations(people, 2):
        both = [(unit[pair[0]], unit[pair[1]]) for unit in units if pair[0] in unit and pair[1] in unit]
        if both:
            same = sum(_normal(a) == _normal(b) for a, b in both)
            pairs[pair] = len(both), same / len(both), alpha(both, order)
    return Agreement(people, len(units), alpha([list(unit.values()) for unit in units], order), pairs)


def alpha(units: Sequence[Sequence[Labels]], order: Mapping[Labels, int] | None = None) -> float | None:
    """Krippendorff's alpha; with the `order` of classes, that for ranks. None without a difference to expect.

    >>> units = [[("a",), ("a",)], [("b",), ("b",)], [("a",), ("b",)], [("b",), ("b",)]]
    >>> round(alpha(units), 4)
    0.5333
    """
    values: Counter[Labels] = Counter(_normal(each) for unit in units for each in unit)
    n = sum(values.values())
    if n < 2:
        return None
    apart = _rank_distance(values, order) if order is not None else lambda a, b: float(a != b)
    observed = sum(
        2 * apart(_normal(a), _normal(b)) / (len(unit) - 1)
        for unit in units
        for a, b in combinations(unit, 2)
    )
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


def _normal(labels: Labels) -> Labels:
    return tuple(sorted(labels))
