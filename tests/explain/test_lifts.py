"""The report's first page: its figures by hand from the readings, its words, how it looks in a browser."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from browsers import needs_chromium
from explain.models import to_report
from limelight.aspects.refits import refits_to_json
from limelight.explain import measure_lifts
from limelight.explain.intervals import Difference, mean_of, share_of
from limelight.explain.lifts import QUOTED, SPREAD, AspectTexts, Lift, Lifts, _mark, _quote
from limelight.explain.lifts_page import MAX_DIFFERENCES, MAX_GROUPS, LiftsPage
from limelight.explain.report import Report
from limelight.explain.statements import certain_statements
from limelight.network.parts import state_size
from limelight.runtime.model import Model
from reading.test_browser import PHONE, opened
from refusing import refuses
from trained import LABELS, network_of, recipe_of, tokenizer, weights_of

ASPECTS = {"even": ["w0", "w10", "w12"], "odd": ["w1", "w3"], "rare": ["w39"], "never": ["nothing"]}


def model_of(labels: Any = (1, 3, 5), task: str = "classification", aspects: Any = ASPECTS) -> Model:
    recipe = recipe_of({"rows": 2, "task": task})
    parts = {
        "weights": weights_of(network_of(recipe, classes=len(labels))),
        "recipe": recipe,
        "labels": list(labels),
    }
    W = np.random.default_rng(0).normal(0, 0.05, (4, state_size(recipe.model)))
    facts = {"refits": refits_to_json(W)}
    return Model.from_parts(**parts, tokenizer=tokenizer(), facts=facts, threads=1).with_aspects(aspects)


def some_texts(n: int = 120) -> list[str]:
    rng = np.random.default_rng(3)
    words = [f"w{k}" for k in rng.integers(0, 30, 12 * n)]
    return [
        f"{' '.join(words[k : k + 5])}, {' '.join(words[k + 5 : k + 9])}. {' '.join(words[k + 9 : k + 12])}"
        for k in range(0, 12 * n, 12)
    ]


TEXTS = some_texts()
DATES = [f"2012-{1 + k // 30:02}-{1 + k % 28:02}" for k in range(len(TEXTS))]
GROUPS = ["<b>A</b>", "B", "C", ""] * (len(TEXTS) // 4)


def visible(html: str) -> str:
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", html, flags=re.DOTALL)).split())


def effects_by_hand(model: Model) -> list[dict[str, float]]:
    """Of every text, the effect of each aspect mentioned: less what as many average words add."""
    readings = list(model.read_many(TEXTS))
    shares = sum(each.aspect_sum.answer - each.aspect_sum.bias for each in readings)
    average = shares / sum(len(each.words) for each in readings)
    found = []
    for reading in readings:
        said = [clause.span for share in reading.aspects for clause in share.clauses]
        inside = {
            span: sum(span[0] <= start and end <= span[1] for start, end in reading.offsets) for span in said
        }
        found.append(
            {
                share.name: share.effect
                - average * sum(inside[each.span] / said.count(each.span) for each in share.clauses)
                for share in reading.aspects
                if share.mentioned
            }
        )
    return found


def test_effects_are_against_the_average_review():
    """Where the model's zero is does not matter: a constant in every word's share changes no effect."""
    model = model_of()
    before, moved = (AspectTexts(model, TEXTS) for _ in range(2))
    for reading in model.read_many(TEXTS):
        before.add(reading)
        found = reading.aspect_sum
        shares = [
            replace(
                share, effect=share.effect + 0.7 * share.words,
                clauses=tuple(each._replace(effect=each.effect + 0.7 * each.words) for each in share.clauses),
            )
            for share in found.aspects
        ]  # fmt: skip
        bias = found.bias - 0.7 * len(reading.words)
        other = SimpleNamespace(
            aspect_sum=replace(found, bias=bias, aspects=tuple(shares)),
            words=reading.words,
            label=reading.label,
        )
        moved.add(other)
    for one, other in zip(before.measure().aspects, moved.measure().aspects, strict=True):
        assert one.name == other.name
        assert one.effect == pytest.approx(other.effect, abs=1e-9)
        assert [each.clause for each in one.best] == [each.clause for each in other.best]


def test_the_figures_by_hand():
    model = model_of()
    effects = effects_by_hand(model)
    lifts = measure_lifts(model, TEXTS, dates=DATES, groups=GROUPS, by="hotel")
    shares = [{each.name: each for each in reading.aspects} for reading in model.read_many(TEXTS)]
    assert lifts.silent == sum(not any(each.mentioned for each in one.values()) for one in shares)
    order = [each.effect.mean for each in lifts.aspects if each.texts]
    assert order == sorted(order, reverse=True)
    for each in lifts.aspects:
        own = [one[each.name] for one in shares if one[each.name].mentioned]
        assert (each.texts, each.share) == (len(own), len(own) / len(TEXTS))
        if own:
            by_hand = np.array([one[each.name] for one in effects if each.name in one])
            of_texts = mean_of(by_hand)
            assert each.effect.mean == pytest.approx(of_texts.mean)
            assert each.effect.n < 2 or each.effect.low < of_texts.low < of_texts.high < each.effect.high
            assert sum(period.n for period in each.periods) == len(own)
    assert lifts.periods.labels == ("2012-01", "2012-02", "2012-03", "2012-04")
    (even,) = (each for each in lifts.aspects if each.name == "even")
    march = [one for one, day in zip(effects, DATES, strict=True) if day.startswith("2012-03")]
    assert even.periods[2].mean == pytest.approx(np.mean([one["even"] for one in march if "even" in one]))


def test_differences_between_groups_by_hand():
    model = model_of()
    groups = measure_lifts(model, TEXTS, groups=GROUPS, by="hotel").groups
    assert (groups.names, groups.counts, groups.missing) == (("<b>A</b>", "B", "C"), (30, 30, 30), 30)
    effects = effects_by_hand(model)
    for each in groups.lifts:
        mentions = [(e[each.aspect], g) for e, g in zip(effects, GROUPS, strict=True) if each.aspect in e]
        own, rest = ([e for e, g in mentions if (g == each.group) == same] for same in (True, False))
        assert each.effect.n == len(own)
        assert (each.difference is None) == (min(len(own), len(rest)) < 10)
        if each.difference:
            assert each.difference.difference == pytest.approx(np.mean(own) - np.mean(rest))


def test_gaps_of_pandas_are_no_groups_and_no_dates():
    days = pd.Series(["2012-05-31", None, "2012-06-01"], dtype="string")
    lifts = measure_lifts(model_of(), ["w0"] * 3, dates=days, groups=pd.to_datetime(days))
    assert (lifts.dates.missing, lifts.groups.missing, len(lifts.groups.names)) == (1, 1, 2)
    groups = measure_lifts(model_of(), ["w0"] * 3, groups=pd.Series([7, None, 7], dtype="Int64")).groups
    assert (groups.names, groups.missing) == (("7",), 1)


def test_quotes_are_of_texts_that_praise_or_blame_and_the_model_agrees_with_them_alone():
    model = model_of(aspects={"even": ["w12"]})
    texts = [*TEXTS, *(text.upper() for text in TEXTS[:9]), *TEXTS]
    stars = [(1, 5)[k % 3 == 0] for k in range(len(texts))]
    (even,) = measure_lifts(model, texts, labels=stars).aspects
    mean = np.mean([each.aspect_sum.answer for each in model.read_many(texts)])
    assert even.best + even.worst
    for quotes, sign in ((even.best, 1), (even.worst, -1)):
        assert len({each.text for each in quotes}) == len({each.clause.lower() for each in quotes})
        strengths = [sign * each.effect for each in quotes]
        assert strengths == sorted(strengths, reverse=True)
        for each in quotes:
            (share,) = model.read(texts[each.text]).aspects
            assert each.clause == share.clause == texts[each.text][slice(*share.span)]
            assert f"{each.before.strip('…')}{each.clause}" in texts[each.text]
            assert each.effect * sign > 0
            assert stars[each.text] == (5 if sign > 0 else 1)
            assert (model.read(each.clause).aspect_sum.answer - mean) * sign > 0
            assert (model.read(each.clause).aspect_sum.answer - 3) * sign > 0


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("Nice w0", "Nice w0"), ("Can't fault w0", ""), ("w0 is not bad", ""), ("w0", ""),
        ("w0" + " w7" * 15, ""), ("w0 and w1", ""),
    ],
)  # fmt: skip
def test_quotes_are_short_and_about_one_aspect_without_a_negation(text: str, quoted: str):
    found = AspectTexts(model_of(), [text, "w5"], labels=[5, 1])
    for reading in found.model.read_many([text, "w5"]):
        found.add(reading)
    found.clause_effect[0] = np.where(found.mentioned[0], 1.0, np.nan)
    found._agree = lambda quotes, sign: [True] * len(quotes)  # type: ignore[method-assign]
    (even, *_) = (each for each in found.measure().aspects if each.name == "even")
    assert [each.clause[:11] for each in even.best] == ([quoted[:11]] if quoted else [])


def with_effects(effects: np.ndarray, groups: list[str], names: tuple[str, ...] = ("rooms",)) -> Lifts:
    """Lifts of made-up effects (texts, aspects), of which nan is no mention."""
    texts = ["the room"] * len(effects)
    found = AspectTexts(
        model_of(aspects={name: ["room"] for name in names}), texts, groups=groups, by="hotel"
    )
    found.effect, found.mentioned = effects, ~np.isnan(effects)
    found.clause_effect = np.nan_to_num(effects)
    found.spans[:], found.answers = (0, 8), 3 + np.nan_to_num(effects[:, 0])
    found.refits, found.alone[:] = np.repeat(effects[:, :, None], 4, axis=2), True
    found._agree = lambda quotes, sign: [True] * len(quotes)  # type: ignore[method-assign]
    return found.measure()


def test_the_surest_of_a_thousand_groups_come_first_and_the_page_stays_short():
    rng = np.random.default_rng(0)
    effects, groups = rng.normal(0, 0.3, (15_000, 1)), [f"hotel {k % 1000}" for k in range(15_000)]
    effects[7::1000] += 1.0
    effects[9::1000] -= 2.0
    groups[11::1000] = ["tiny"] * 5 + [""] * 10
    lifts = with_effects(effects, groups)
    assert [each.group for each in lifts.groups.lifts[:2]] == ["hotel 9", "hotel 7"]
    assert [each.certain for each in lifts.groups.lifts[:3]] == [True, True, False]
    assert lifts.groups.lifts[-1].group == "tiny"
    assert lifts.groups.lifts[-1].difference is None
    page = LiftsPage(lifts)
    assert (page.certain, page.too_few, len(page.table)) == (2, 1, MAX_GROUPS)
    assert len(page.telling) == MAX_DIFFERENCES[1]
    html = Report(None, lifts, "m", "d").html()
    text = visible(html)
    assert "Of 999 compared, 2 are certain" in text
    assert "1 more with fewer than 10 texts" in text
    assert "25 largest of 1,000 groups" in text
    assert len(html) < 100_000
    assert len(lifts.to_dict()["groups"]["aspects"]) == 1000


def test_each_group_quotes_its_own_strongest_clause():
    rng = np.random.default_rng(1)
    effects = rng.integers(-3, 4, (600, 2)) / 2.0  # many are equal: the first text counts
    effects[rng.random((600, 2)) < 0.3] = np.nan
    groups = [f"hotel {k}" if k else "" for k in rng.integers(0, 25, 600)]
    found = with_effects(effects, groups, ("rooms", "staff")).groups
    compared = [each for each in found.lifts if each.difference]
    answers = np.nan_to_num(effects[:, 0])
    assert len(compared) > 40
    quoted = max(QUOTED, sum(each.certain for each in compared))
    assert all(each.quote is None for each in compared[quoted:])
    for each in compared[:quoted]:
        own = effects[:, ("rooms", "staff").index(each.aspect)].copy()
        own[np.array(groups) != each.group] = np.nan
        sign = -1 if each.difference.difference < 0 else 1
        own[(answers > 0) != (sign > 0)] = np.nan  # a text that says the opposite is not quoted
        if np.isnan(own).all() or sign * np.nanmax(sign * own) * sign <= 0:
            assert each.quote is None
        else:
            strongest = np.nanargmax(sign * own)
            assert (each.quote.text, each.quote.effect) == (strongest, own[strongest])


@pytest.mark.parametrize(
    ("labels", "task", "unit", "title"),
    [
        ((1, 3, 5), "classification", "stars", "the stars"), ((1, 3, 5), "ordinal", "stars", "the stars"),
        (LABELS, "classification", "probability", "the answer"),
        (("value",), "regression", "number", "the number"),
    ],
)  # fmt: skip
def test_every_task(labels: Any, task: str, unit: str, title: str):
    model = model_of(labels, task)
    page = to_report(model, TEXTS, dates=DATES)
    assert f"What lifts and what lowers {title}" in page
    assert ("Stars predicted" in page) == (unit == "stars")
    assert ("By predicted class" in page) == (unit == "probability")
    assert "Accuracy" not in page


def test_given_answers_are_numbers_however_they_are_written():
    lifts = measure_lifts(model_of(), TEXTS, labels=["5", "1"] * 60)
    assert (lifts.are_given, lifts.answers.mean.mean, lifts.answers.high.mean) == (True, 3.0, 0.5)
    numbers = measure_lifts(model_of(("value",), "regression"), TEXTS, labels=[2.5, 3.5] * 60)
    assert (numbers.unit, numbers.answers.mean.mean) == ("number", 3.0)
    assert measure_lifts(model_of(LABELS), TEXTS, labels=[LABELS[0]] * 120).answers is None


def test_it_is_the_first_section_of_a_report():
    truth = [(1, 3, 5)[k % 3] for k in range(len(TEXTS))]
    page = to_report(model_of(), TEXTS, truth, dates=DATES, groups=GROUPS, by="hotel", most=20)
    assert re.findall(r'<section id="(\w+)', page)[:3] == ["aspects", "summary", "words"]
    assert "From 20 of the texts" in page
    assert f"Of {len(TEXTS)} texts" in page
    assert "<b>A</b>" not in page
    assert "By hotel" in page
    assert "Over time, by month" in page
    plain = model_of(aspects={})
    assert 'id="aspects"' not in to_report(plain, TEXTS, truth)


def test_an_aspect_is_named_as_people_say_it():
    named = {"bed_quality": ASPECTS["even"], "sea_view": ["w3"], "no_such_thing": ["nothing"]}
    page = to_report(model_of(aspects=named), TEXTS, dates=DATES, groups=GROUPS, by="hotel")
    assert "<bdi>bed quality</bdi>" in page
    assert "Not mentioned in any text: no such thing." in page
    assert not {"bed_quality", "sea_view", "no_such_thing"} & set(re.findall(r"\w+", page))


def test_the_figures_of_a_report_do_not_depend_on_aspects():
    truth = [(1, 3, 5)[k % 3] for k in range(len(TEXTS))]
    pages = [to_report(model_of(aspects=each), TEXTS, truth, most=20) for each in (ASPECTS, {})]
    # the examples' pictures, which come last, have their aspects too
    with_aspects, without = (visible(page[page.index("<dl") :]).split("What decided")[0] for page in pages)
    assert with_aspects == without


def test_a_change_is_certain_among_all_aspects():
    one = Lift("a", 9, 0.5, mean_of(np.arange(9.0)), (), (), change=Difference(0.4, 0.1, 0.7, 0.04))
    assert [each.changed for each in _mark([one], "change", "changed")] == [True]
    none = one._replace(change=None)
    assert not any(
        each.changed
        for each in _mark(
            [one._replace(change=one.change._replace(chance=0.3)), one, none], "change", "changed"
        )
    )


def test_refusals():
    model, truth = model_of(), [1] * len(TEXTS)
    with refuses("length-mismatch"):
        to_report(model, TEXTS, truth, dates=DATES[1:])
    with refuses("date-format"):
        to_report(model, TEXTS, truth, dates=["soon"] * len(TEXTS))
    with refuses("length-mismatch"):
        measure_lifts(model, TEXTS, labels=truth[1:])
    with refuses("label-unknown"):
        measure_lifts(model, TEXTS, labels=["five", *truth[1:]])
    with refuses("no-aspects"):
        to_report(model_of(aspects={}), TEXTS, truth, groups=GROUPS)
    with refuses("length-mismatch"):
        to_report(model_of(aspects={}), TEXTS)
    with refuses("length-mismatch"):
        to_report(model, [], [])


def test_a_row_no_mention_one_group_one_week():
    model = model_of()
    one = visible(to_report(model, ["w0 w5"], dates=["2012-05-31"], groups=["B"]))
    assert "one text: no interval" in one
    assert "All dates are in one week, 2012-05-28" in one
    assert "All texts are of one group, “B”" in one
    none = to_report(model, ["w5", "w6"], dates=["2012-05-31"] * 2, groups=[None, "B"])
    assert "None of the texts mentions an aspect" in none
    assert "No text has a value here" in visible(to_report(model, ["w0", "w12"], groups=["", None]))
    json.dumps(measure_lifts(model, ["w5"], dates=["2012"], groups=["B"]).to_dict(), allow_nan=False)


def test_dates_that_cannot_be_read_are_told():
    dates = ["9999-12-31", "", *DATES[2:]]
    with pytest.warns(UserWarning, match="1 of 120 dates"):
        page = visible(to_report(model_of(), TEXTS, dates=dates))
    far = "its date cannot be read or is far from the others, such as “9999-12-31”."
    assert f"1 text left out: {far} 1 text left out: it has no date." in page


def test_the_verdict_says_what_texts_speak_of_and_what_stars_they_gave():
    rng, texts = np.random.default_rng(0), ["the room"] * 200
    found = AspectTexts(model_of(aspects={"rooms": ["room"], "staff": ["staff"]}), texts, labels=[3] * 200)
    found.mentioned[:80, 0] = found.mentioned[::4, 1] = True
    found.effect = np.where(found.mentioned, rng.normal(0, 0.1, (200, 2)), np.nan)
    found.given = np.where(np.arange(200) < 80, 2.0, 4.0) + np.tile([0.0, 1.0, 0.0, -1.0], 50)
    lifts = found.measure()
    said = "40% of the texts speak of rooms, more than of anything else. "
    assert (
        LiftsPage(lifts).verdict
        == f"{said}Those that speak of rooms gave 2.00 stars on average, the others 4.00."
    )
    (rooms,) = (each for each in lifts.aspects if each.name == "rooms")
    assert (rooms.answers.mean.mean, rooms.others.mean.mean, lifts.answers.mean.mean) == pytest.approx(
        (2, 4, 3.2)
    )
    assert (rooms.answers.high, rooms.answers.low) == (share_of(0, 80), share_of(60, 80))
    assert [each.stands_out for each in lifts.aspects if each.name == "staff"] == [False]


def test_intervals_contain_what_the_refitted_heads_disagree_about():
    effects = np.random.default_rng(0).normal(0.5, 0.1, (60, 1))
    groups = ["A"] * 30 + ["B"] * 30
    effects[:30] += 1.0
    first = with_effects(effects, groups)
    texts = ["the room"] * 60
    wide = AspectTexts(model_of(aspects={"rooms": ["room"]}), texts, groups=groups, by="hotel")
    wide.effect, wide.mentioned = effects.copy(), ~np.isnan(effects)
    by_head = np.array([-1.0, 1.0, 2.0, 4.0])  # what each head makes of the same difference
    wide.refits = effects[:, :, None] * by_head
    lifts = wide.measure()
    assert [each.certain for each in first.groups.lifts] == [True, True]
    assert [each.certain for each in lifts.groups.lifts] == [False, False]
    (one, *_), (other, *_) = lifts.groups.lifts, first.groups.lifts
    error = SPREAD * abs(one.difference.difference) * by_head.std(ddof=1)
    half = np.hypot((other.difference.high - other.difference.low) / 2, 1.959964 * error)
    assert (one.difference.high - one.difference.low) / 2 == pytest.approx(half)
    assert certain_statements(lifts) == []
    assert [(each.kind, each.group, each.sign) for each in certain_statements(first)] == [
        ("group", "A", 1), ("group", "B", -1)
    ]  # fmt: skip


def test_an_older_model_calls_nothing_certain():
    model = model_of(aspects={"rooms": ["room"]})
    model.refits = None
    found = AspectTexts(model, ["the room"] * 60, groups=["A"] * 30 + ["B"] * 30)
    found.effect, found.mentioned[:] = np.random.default_rng(0).normal(0, 0.1, (60, 1)), True
    found.effect[:30] += 1.0
    lifts = found.measure()
    assert lifts.groups.lifts[0].difference.chance < 1e-6
    assert certain_statements(lifts) == []
    assert lifts.to_dict()["intervals"] == "texts"
    assert "this model cannot say how sure it is" in visible(Report(None, lifts, "m", "d").html())


def test_long_clauses_and_markup_are_tamed():
    assert len(_quote(0, "long " * 100, 0, 499, 0.5).clause) <= 160
    page = to_report(model_of(), ["<script>w9</script> " * 5 + "w0 " * 100 + ". w8 " + "w7 " * 40])
    assert "<script" not in page


@needs_chromium
def test_nothing_is_wider_than_a_phone_or_a_sheet_of_paper(tmp_path: Path):
    file = tmp_path / "report.html"
    names = [f"A hotel with a rather long name {k}" for k in range(6)] * 20
    file.write_text(to_report(model_of(), TEXTS, dates=DATES, groups=names, by="hotel"))
    wide = "[...document.querySelectorAll('table')].filter(t => t.offsetWidth > innerWidth).length"
    with opened(file, **PHONE) as page:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        stacked = "[...document.querySelectorAll('.stacked')].every(t => t.scrollWidth <= t.clientWidth)"
        assert page.evaluate(stacked)
        page.set_viewport_size({"width": 718, "height": 1000})  # A4 without its margins
        page.emulate_media(media="print")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate(wide) == 0


def test_effects_as_text():
    page = LiftsPage(Lifts("stars", 0, 0, ()))
    assert [page.signed(x) for x in (0.254, -0.1, 0.001, None)] == ["+0.25", "−0.10", "0.00", "–"]
