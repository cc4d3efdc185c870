"""Dates as tables have them, and the weeks, months, quarters or years that they are counted by."""

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from statistics import median_low
from typing import Any, NamedTuple

import numpy as np

from ..errors import LimelightError
from ..tables.rows import is_missing

UNITS, PER_YEAR = ("week", "month", "quarter", "year"), {"month": 12, "quarter": 4, "year": 1}
MAX_PERIODS, MAX_WEEKS = 24, 14
YEARS = range(1800, 2200)  # of texts
FAR_YEARS, FAR_SPREADS = 50, 3  # from the median year: so many, and so many times the median distance from it
ENOUGH_TEXTS, ENOUGH_PERIODS = 20, 3  # in a period on average, where a coarser unit leaves as many periods
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
_YEAR_FIRST = re.compile(r"(\d{4})(?:([-/.])(\d{1,2})(?:\2(\d{1,2}))?)?(?:[t ].*)?", re.DOTALL)
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})(?:[t, ].*)?", re.DOTALL)
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_NAMED = re.compile(rf"(?:{_DAY}(?: of)?[ .-]+)?([a-z]+)[ .,-]+(?:{_DAY}[ ,]+)?(\d{{4}})")
_WEEK_DATE = re.compile(r"\d{4}-?W\d{2}(?:-?\d)?")


class Dates(NamedTuple):
    """A column of dates, as far as it could be read."""

    days: tuple[date | None, ...]
    missing: int  # empty cells
    unread: int  # that are no dates, or far from all others
    example: str  # one of these
    guessed: str  # "month/day/year" if nothing says whether the month or the day comes first
    coarse: str  # the least unit that they can be counted by: month if none has a day


class Periods(NamedTuple):
    """Dates counted by a unit, from the first to the last without a gap."""

    unit: str
    labels: tuple[str, ...]
    codes: np.ndarray  # (texts,): the period of each text, -1 without a date


class _Parts(NamedTuple):
    """A date as written: which of two numbers is the month may be open."""

    year: int
    month: int | None = None
    day: int | None = None
    is_open: bool = False


def read_dates(values: Sequence[Any], name: str = "dates") -> Dates:
    """Read a column of dates; those that are none, or far off, are counted. An error if no cell is a date."""
    stripped = [value.strip() if isinstance(value, str) else value for value in values]
    cells = [None if is_missing(value) else value for value in stripped]
    parts = [None if cell is None else _parse(cell) for cell in cells]
    open_ones = [each for each in parts if each and each.is_open]  # such as 03/05/2012: others may tell
    day_first, month_first = (sum((each[k] or 0) > 12 for each in open_ones) for k in (2, 1))
    guessed = "month/day/year" if open_ones and day_first == month_first else ""
    days = _drop_far([_day(each, day_first > month_first) for each in parts])
    unread = [cell for cell, day in zip(cells, days, strict=True) if cell is not None and day is None]
    read = [each for each, day in zip(parts, days, strict=True) if each and day]
    if not read:
        such = f", such as {str(unread[0])[:40]!r}" if unread else ""
        message = f"{name} has no date that can be read{such}; write dates as 2024-05-31"
        raise LimelightError(message, code="date-format")
    coarse = "week" if any(each.day for each in read) else "month" if any(e.month for e in read) else "year"
    example = str(unread[0])[:40] if unread else ""
    return Dates(tuple(days), cells.count(None), len(unread), example, guessed, coarse)


def _parse(value: Any) -> _Parts | None:
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[D]").item()
    if isinstance(value, date):  # a datetime is one
        return _Parts(value.year, value.month, value.day)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    text = str(int(value)) if isinstance(value, int | float | np.number) else str(value).strip().lower()
    if found := _YEAR_FIRST.fullmatch(text):
        year, _, month, day = found.groups()
        return _Parts(int(year), int(month) if month else None, int(day) if day else None)
    if found := _YEAR_LAST.fullmatch(text):
        first, mark, second, year = found.groups()
        return _Parts(int(year), int(second), int(first), mark != ".")
    if found := _NAMED.fullmatch(text):
        before, name, after, year = found.groups()
        month = [k for k, each in enumerate(_MONTHS, 1) if len(name) >= 3 and each.startswith(name)]
        day = before or after
        return _Parts(int(year), month[0], int(day) if day else None) if month else None
    return _parse_digits(text.upper())


def _parse_digits(text: str) -> _Parts | None:
    """20120531, 2012-W22, or seconds or milliseconds since 1970."""
    try:
        if _WEEK_DATE.fullmatch(text) or re.fullmatch(r"\d{8}", text):
            day = date.fromisoformat(text)
        elif re.fullmatch(r"\d{9,10}|\d{12,13}", text):
            day = datetime.fromtimestamp(int(text) / (1000 if len(text) > 10 else 1), UTC).date()
        else:
            return None
    except ValueError:
        return None
    return _Parts(day.year, day.month, day.day)


def _day(parts: _Parts | None, day_first: bool) -> date | None:
    if parts is None:
        return None
    month, day = parts.month or 1, parts.day or 1
    if parts.is_open and not day_first:
        month, day = day, month
    try:
        return date(parts.year, month, day)
    except ValueError:
        return None


def _drop_far(days: list[date | None]) -> list[date | None]:
    """None for days that stand for no date, such as 9999-12-31, 1970-01-01 or a slip: far from the others."""
    years = [day.year for day in days if day and day.year in YEARS]
    if not years:
        return [None] * len(days)
    middle = median_low(years)
    reach = FAR_YEARS + FAR_SPREADS * median_low(abs(year - middle) for year in years)
    return [day if day and day.year in YEARS and abs(day.year - middle) <= reach else None for day in days]


def count_periods(dates: Dates) -> Periods:
    """Count dates by a unit that their span and their number choose."""
    known = [day for day in dates.days if day is not None]
    unit = _unit(min(known), max(known), len(known), dates.coarse)
    numbers = [None if day is None else _number(day, unit) for day in dates.days]
    first, last = (_number(day, unit) for day in (min(known), max(known)))
    codes = np.array([-1 if number is None else number - first for number in numbers])
    return Periods(unit, tuple(_label(k, unit) for k in range(first, last + 1)), codes)


def _unit(first: date, last: date, texts: int, coarse: str) -> str:
    """The finest unit that gives few periods of many texts."""
    periods = {unit: _number(last, unit) - _number(first, unit) + 1 for unit in UNITS}
    most = {unit: MAX_WEEKS if unit == "week" else MAX_PERIODS for unit in UNITS}
    fits = [unit for unit in UNITS[UNITS.index(coarse) :] if periods[unit] <= most[unit]] or ["year"]
    full = [unit for unit in fits if texts >= ENOUGH_TEXTS * periods[unit]]
    several = [unit for unit in fits if periods[unit] >= ENOUGH_PERIODS]
    if full and (full[0] in several or not several):
        return full[0]
    return several[-1] if several else fits[0]


def _number(day: date, unit: str) -> int:
    if unit == "week":
        return (day.toordinal() - 1) // 7  # the first day of all was a Monday
    return day.year * PER_YEAR[unit] + (day.month - 1) * PER_YEAR[unit] // 12


def _label(number: int, unit: str) -> str:
    if unit == "week":
        return date.fromordinal(7 * number + 1).isoformat()
    year, part = divmod(number, PER_YEAR[unit])
    return {"month": f"{year}-{part + 1:02}", "quarter": f"{year} Q{part + 1}", "year": f"{year}"}[unit]
