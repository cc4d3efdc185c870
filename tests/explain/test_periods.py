"""Dates in the forms that tables have them, and the periods that they are counted by."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

from limelight.explain.periods import count_periods, read_dates
from refusing import refuses

DAY = date(2012, 5, 31)


@pytest.mark.parametrize(
    "written",
    [
        "2012-05-31", "2012-5-31", "2012/05/31", "2012.05.31", "2012-05-31T23:59:00+02:00",
        "2012-05-31 08:15", "20120531", 20120531, "31.05.2012", "31.5.2012 12:00", "5/31/2012", "31/5/2012",
        "31-05-2012", "May 31, 2012", "31 May 2012", "31st of May 2012", "may 31st, 2012", "31-May-2012",
        " 2012-05-31 ", "2012-W22-4", 1338422400, "1338422400", 1338422400.0,
        "1338422400000", DAY, datetime(2012, 5, 31, 23, tzinfo=UTC),
        np.datetime64("2012-05-31T10"), pd.Timestamp("2012-05-31"),
    ],
)  # fmt: skip
def test_one_day_in_many_forms(written: Any):
    found = read_dates([written])
    assert found == ((DAY,), 0, 0, "", "", "week")


@pytest.mark.parametrize(
    "written",
    ["soon", "2012-13-01", "2012-02-30", "31/31/2012", "12-05-31", "Maybe 2012", "5", "99999999", "1" * 40],
)  # fmt: skip
def test_what_is_no_date_is_counted(written: str):
    found = read_dates(["2012-05-31", written, " ", None, float("nan"), pd.NaT, pd.NA, np.datetime64("NaT")])
    assert (found.days[1:], found.missing, found.unread) == ((None,) * 7, 6, 1)
    assert found.example == written[:40]
    with refuses("date-format"):
        read_dates([written])


def test_no_dates_at_all():
    assert read_dates(["9999-12-31", "9999-12-31", "2024-05-31"]).unread == 2  # however many
    for column in (["", None], ["9999-12-31", "0001-01-01"]):
        with refuses("date-format"):
            read_dates(column)


@pytest.mark.parametrize("far", ["9999-12-31", "0001-01-01", "1900-01-01", "1970-01-01", date(2099, 12, 31)])
def test_a_day_that_stands_for_no_date_is_left_out(far: Any):
    found = read_dates([far, *days(date(2024, 1, 2), 300, 59)])
    assert (found.days[0], found.missing, found.unread, found.example) == (None, 0, 1, str(far))
    assert len(count_periods(found).labels) < 12


def test_dates_of_two_centuries_are_all_kept():
    assert read_dates(days(date(1801, 1, 1), 80_000, 900)).unread == 0
    assert read_dates(["1975-01-01", *["2024-05-31"] * 99]).unread == 0


def test_whether_the_day_or_the_month_comes_first():
    both = read_dates(["03/05/2012", "13/05/2012"])
    assert (both.days[0], both.guessed) == (date(2012, 5, 3), "")
    both = read_dates(["03/05/2012", "03/13/2012", "13/05/2012", "05/14/2012"])
    assert (both.days[0], both.days[2], both.unread) == (date(2012, 3, 5), None, 1)
    open_ = read_dates(["03/05/2012", "04/05/2012"])
    assert (open_.days[0], open_.guessed) == (date(2012, 3, 5), "month/day/year")


def days(first: date, span: int, count: int) -> list[date]:
    return [first + timedelta(days=k * span // (count - 1)) for k in range(count)]


@pytest.mark.parametrize(
    ("span", "count", "unit", "periods", "first"),
    [
        (60, 900, "week", 9, "2012-01-02"), (60, 30, "month", 3, "2012-01"),
        (400, 900, "month", 14, "2012-01"), (400, 30, "quarter", 5, "2012 Q1"),
        (1500, 900, "quarter", 17, "2012 Q1"), (4000, 900, "year", 11, "2012"),
        (20_000, 900, "year", 55, "2012"), (3, 5, "week", 1, "2012-01-02"),
    ],
)  # fmt: skip
def test_the_span_and_the_number_choose_the_unit(span: int, count: int, unit: str, periods: int, first: str):
    dates = read_dates(days(date(2012, 1, 3), span, count))
    found = count_periods(dates)
    assert (found.unit, len(found.labels), found.labels[0]) == (unit, periods, first)
    assert found.codes[0] == 0
    assert found.codes[-1] == periods - 1


def test_dates_without_days_are_not_counted_by_weeks():
    months = count_periods(read_dates(["March 2012", "2012-04", "Apr 2012", None]))
    assert (months.unit, months.labels, months.codes.tolist()) == (
        "month",
        ("2012-03", "2012-04"),
        [0, 1, 1, -1],
    )
    assert count_periods(read_dates(["2012", 2013, 2013.0])).labels == ("2012", "2013")


def test_empty_periods_are_kept():
    found = count_periods(read_dates(["2012", "2015"]))
    assert found.labels == ("2012", "2013", "2014", "2015")
