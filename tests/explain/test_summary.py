"""The page for people who do not know models: what it says, odd input, a phone, and two sheets of paper."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browsers import needs_chromium
from limelight.explain.intervals import Difference, Mean
from limelight.explain.lifts import Answers, GroupLift, Groups, Lift, Lifts, Quote
from limelight.explain.periods import Dates, Periods
from limelight.explain.summary import Summary, listed, period_name, plain_name
from reading.test_browser import PHONE, opened
from refusing import refuses

WORSE, BETTER = Difference(-0.2, -0.3, -0.1, 1e-6), Difference(0.2, 0.1, 0.3, 1e-6)


def mean(value: float, n: int = 100, reach: float = 0.05) -> Mean:
    return Mean(n, value, value - reach, value + reach)


def answers(value: float, n: int = 100) -> Answers:
    return Answers(mean(value, n), mean(0.7), mean(0.1))


def lift(name: str, share: float, own: float, others: float, number: int, **more: Any) -> Lift:
    best = Quote(number, "", f"lovely {name}", "", 0.5 - number / 100)
    worst = Quote(number + 50, "", f"awful {name}", "", -0.5 + number / 100)
    apart = Difference(own - others, own - others - 0.1, own - others + 0.1, 1e-9)
    return Lift(
        name, int(100 * share), share, mean(0.1), (best,), (worst,), answers(own), answers(others),
        apart, own != others, **more,
    )  # fmt: skip


def lifts_of(
    groups: int = 0, months: int = 0, aspects: int = 3, name: str = "Hotel {}", by: str = "hotel",
    changed: bool = False, texts: int = 100,
) -> Lifts:  # fmt: skip
    names = ["sleep_quality", "rooms", "food", *(f"aspect_{k}" for k in range(aspects))][:aspects]
    change: dict[str, Any] = {"change": BETTER, "changed": True} if changed else {}
    change |= {"periods": (mean(0.1),) * months, "answers_by_period": (mean(4),) * months}
    found = [lift(each, 0.8 - k / 20, 3.5 + k / 2, 4.0, k, **change) for k, each in enumerate(names)]
    labels = tuple(f"20{10 + k // 12}-{k % 12 + 1:02}" for k in range(months))
    periods = Periods("month", labels, np.zeros(texts, int)) if months else None
    days = (date(2010, 1, 1), date(2012, 4, 29))
    called = tuple(name.format(k) for k in range(groups))
    differ = [
        GroupLift(each, aspect, mean(0), mean(4), apart, k < 2, None)
        for k, each in enumerate(called)
        for aspect, apart in (("sleep_quality", WORSE), ("rooms", BETTER))
    ]
    stars = tuple(mean(3 + k % 3) for k in range(groups))
    grouped = Groups(by, called, (10,) * groups, stars, 0, tuple(differ))
    return Lifts(
        "stars", texts, 0, tuple(found), Dates(days, 0, 0, "", "", "week") if months else None, periods,
        grouped if groups else None, answers(4.0), 3.0,
        tuple(mean(3.9, 10 + k) for k in range(months)), True, True,
    )  # fmt: skip


def visible(page: str) -> str:
    return " ".join(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL).split())


def test_it_says_counts_means_and_what_is_certain():
    summary = Summary(lifts_of(groups=3, months=3, changed=True), "What our guests say")
    text = visible(summary.html())
    assert "What our guests say 100 reviews · 1 January 2010 to 29 April 2012 · hotel: 3" in text
    assert summary.sentences == [
        "70% of the reviews have more than 3 stars, 10% fewer.",
        "They speak most often of sleep quality (80%), rooms (75%) and food (70%).",
        "Reviews that mention sleep quality have 3.5 on average, the others 4.0.",
        "Reviews that mention food have 4.5 on average, the others 4.0.",
        "Hotel 0: what reviews say about rooms is better than elsewhere.",
        "Hotel 0: what reviews say about sleep quality is worse than elsewhere.",
        "What they say about sleep quality, rooms and food has become better over this time.",
    ]
    rows = {row.name: (row.better, row.worse) for row in summary.groups}
    assert rows["Hotel 1"] == (["rooms"], ["sleep quality"])
    assert rows["Hotel 2"] == ([], [])  # not certain
    assert [row.name for row in summary.groups] == ["Hotel 2", "Hotel 1", "Hotel 0"]  # the highest mean first
    assert [each.name for each in summary.periods] == ["Jan 2010", "Feb 2010", "Mar 2010"]
    assert [quote.clause for _, quote in summary.quotes] == [
        "lovely sleep_quality", "lovely rooms", "awful food",
    ]  # fmt: skip
    assert "F1" not in text
    assert "sleep_quality has" not in text
    assert summary.to_dict()["title"] == "What our guests say"


def test_without_groups_dates_or_anything_certain_it_says_less():
    summary = Summary(lifts_of(aspects=0))
    assert summary.title == "What 100 reviews say"
    assert summary.sentences == ["70% of the reviews have more than 3 stars, 10% fewer."]
    assert [each[:26] for each in summary.todo] == ["Read some of the reviews b"]
    text = visible(summary.html())
    assert "By hotel" not in text
    assert "In their words" not in text
    one = visible(Summary(Lifts("stars", 1, 1, ())).html())
    assert "What 1 review says" in one


def test_names_from_outside_are_escaped_and_cut():
    name = "<script>alert(1)</script> 😀 " + "long " * 200
    lifts = lifts_of(groups=2, name=name + "{}", by="<b>by</b>")
    page = Summary(lifts, "<i>title</i> " + "x" * 10_000).html()
    assert "<script" not in page
    assert "<i>title" not in page
    assert "<b>by" not in page
    assert "😀" in page
    assert "long " * 20 not in page
    assert "x" * 201 not in page


def test_classes_have_no_summary():
    with refuses("model-task"):
        Summary(Lifts("probability", 0, 0, ()))


def test_lists_and_names():
    assert (plain_name("front_desk"), listed(["a", "b"])) == ("front desk", "a and b")
    assert period_name("2012-05", "month") == "May 2012"
    assert period_name("2012 Q2", "quarter") == "Q2 2012"
    assert period_name("2012-05-28", "week") == "28 May 2012"


@needs_chromium
@pytest.mark.parametrize(("groups", "months", "aspects"), [(0, 0, 1), (40, 24, 20)])
def test_it_fits_a_phone_and_two_sheets(tmp_path: Path, groups: int, months: int, aspects: int):
    file = tmp_path / "page.html"
    lifts = lifts_of(groups, months, aspects, name="A hotel with quite a long name, number {}", changed=True)
    file.write_text(Summary(lifts, "What our guests say").html(), "utf-8")
    with opened(file, **PHONE) as page:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.get_by_text("How this was measured").click()
        assert page.locator("details p").first.evaluate("e => e.checkVisibility()")
    with opened(file) as page:
        pdf = page.pdf(prefer_css_page_size=True)
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 2
