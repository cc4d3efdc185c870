"""Which texts are before whom: two people are not given the same text, nor are two tabs of one person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

MAX_ROWS = 20  # texts that are before one tab
RELEASED = 50  # events after which they are given to others, too: the page may have been closed


class Tab(NamedTuple):
    """A person, and one of their pages."""

    by: str
    tab: str


class Assigned:
    """The rows that each tab was given, how each was chosen, and after how many events.

    >>> assigned = Assigned()
    >>> assigned.give(Tab("ann", "1"), [(7, "auto")], events=0)
    >>> assigned.to_others(Tab("ann", "2"), events=9), assigned.to_others(Tab("ann", "1"), events=9)
    ([7], [])
    >>> assigned.how_chosen(7, "ann"), assigned.how_chosen(8, "ann")
    ('auto', 'picked')
    """

    def __init__(self) -> None:
        self._rows: dict[Tab, dict[int, tuple[str, int]]] = {}

    def give(self, tab: Tab, found: Iterable[tuple[int, str]], events: int) -> None:
        rows = self._rows.setdefault(tab, {})
        for row, chosen in found:
            rows[row] = chosen, events
        for row in list(rows)[:-MAX_ROWS]:
            del rows[row]

    def to_others(self, tab: Tab, events: int) -> list[int]:
        """What other tabs have, of any person."""
        others = (rows for own, rows in self._rows.items() if own != tab)
        return [row for rows in others for row, (_, at) in rows.items() if events - at < RELEASED]

    def how_chosen(self, row: int, by: str) -> str:
        """How a text was chosen that a person labels."""
        own = (rows for tab, rows in self._rows.items() if tab.by == by)
        return next((rows[row][0] for rows in own if row in rows), "picked")

    def take_back(self, rows: Iterable[int]) -> None:
        """Something was said about these texts."""
        for row in rows:
            for own in self._rows.values():
                own.pop(row, None)
