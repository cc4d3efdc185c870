"""Aspects in pictures: each that is mentioned, its clauses, and a sum that adds up as it is shown."""

from __future__ import annotations

import re

import numpy as np
import pytest

from limelight.aspects.seeds import Aspects
from limelight.reading import to_html, to_svg, to_terminal
from limelight.reading.captions import aspect_effects
from limelight.reading.picture import MAX_CLAUSES_DRAWN, make_picture
from reading.readings import make_reading

HOTEL = Aspects.of({"rooms": ["room"], "service": ["staff"], "value": ["price"]})
TEXT = "Nice room, rude <staff> here. We left"
# Nice room , rude < staff > here . We left
WEIGHTS = np.array([0.5, 0.1, 0, -0.75, 0, 0, 0, 0, 0, 0.11, 0])


def star_reading(text: str = TEXT, weights: np.ndarray = WEIGHTS, aspects: Aspects = HOTEL, **more):
    """Five classes that are stars; what decided is a probability, the aspects are in stars."""
    given = {"labels": (1, 2, 3, 4, 5), "probabilities": (0.1, 0.1, 0.2, 0.5, 0.1)} | more
    return make_reading(
        text, aspect_list=aspects, decided=weights / 10, bias=0.2, in_mean=(weights, 3.5), **given
    )


def test_each_mentioned_aspect_is_a_map_of_its_clauses():
    found = make_picture(star_reading()).aspects
    assert [(each.name, each.note, each.clauses) for each in found.maps] == [
        ("rooms", "+0.60 stars", ((0, 2),)),
        ("service", "−0.75 stars", ((3, 8),)),
    ]
    assert {each.top for each in found.maps} == {0.75}
    assert found.maps[0].levels[0].tolist() == [6, 1, *[0] * 9]
    assert found.sum_line == "3.50 without a word + 0.60 rooms − 0.75 service + 0.11 rest = 3.46 stars"
    assert found.not_mentioned == "Not mentioned: value."


@pytest.mark.parametrize("unit", ["stars", "points", ""])
def test_the_parts_add_up_as_they_are_shown(unit):
    parts = np.random.default_rng(0).normal(size=(200, 7))
    parts[:, 3] = 0
    for row in parts.tolist():
        shown = [each.replace("−", "-") for each in aspect_effects(row, unit)]
        (total,) = aspect_effects([sum(row)], unit)
        assert sum(map(float, shown)) == pytest.approx(float(total.replace("−", "-")), abs=1e-9)
        assert shown[3].strip("0.") == ""  # what is not there gets no share of the rounding
        scale = 100 if unit == "points" else 1
        assert np.allclose(
            [float(each) for each in shown], np.array(row) * scale, atol=0.1 if scale > 1 else 0.01
        )


def test_html_has_a_line_for_each_aspect_with_its_words_escaped():
    html = to_html(star_reading())
    part = html[html.index('<figure class="aspects">') :]
    part = part[: part.index("</figure>")]
    assert part.count('<div class="row">') == 2
    assert "<bdi>service</bdi><small>−0.75 stars</small>" in part
    assert '<b class="c9" title="-0.7500">rude</b> <span title=+0.0000>&lt;</span>' in part
    assert "<b class=h6 title=+0.5000>Nice</b> <b class=h1 title=+0.1000>room</b></p>" in part
    assert "Orange words raise the stars" in part
    assert re.search(r'<p class="note">3\.50 without a word .* = 3\.46 stars</p>', part)
    assert '<p class="note">Not mentioned: value.</p>' in part
    assert (
        html.index("What decided<") < html.index("What decided, by aspect") < html.index("What each row read")
    )


def test_svg_and_terminal_have_the_same():
    svg, plain = to_svg(star_reading()), to_terminal(star_reading(), colour=False, width=80)
    for written in (
        ">rooms</text>",
        ">−0.75 stars</text>",
        ">Not mentioned: value.</text>",
        "= 3.46 stars</text>",
    ):
        assert written in svg
    assert svg.count(">Nice<") == 2  # what decided, and the clause
    lines = plain.splitlines()
    at = lines.index("What decided, by aspect")
    assert lines[at + 2] == "  service  −0.75 stars  rude <staff> here"
    assert lines[at + 3].startswith("3.50 without a word + 0.60 rooms − 0.75 service")
    assert lines[at + 4] == "Not mentioned: value."
    painted = to_terminal(star_reading(), colour=True, width=80)
    assert "Orange words raise the stars, blue words lower them." in painted
    assert "\x1b[" in painted


def test_a_narrow_terminal_has_the_clauses_below():
    lines = to_terminal(star_reading(), colour=False, width=30).splitlines()
    at = lines.index("What decided, by aspect")
    assert lines[at + 1 : at + 3] == ["  rooms    +0.60 stars", "    Nice room"]


def test_a_class_that_is_no_number_is_told_in_points():
    reading = make_reading(TEXT, aspect_list=HOTEL, decided=WEIGHTS / 10, bias=0.8 - WEIGHTS.sum() / 10)
    found = make_picture(reading).aspects
    assert [each.note for each in found.maps][1] == "−7.5 points"
    assert found.sum_line.startswith("80.4% without a word")
    assert found.sum_line.endswith("= 80.0%")
    assert "raise the stars" not in to_html(reading)


def test_a_text_that_mentions_nothing_says_so():
    reading = star_reading("We left", np.array([0.25, -0.5]))
    found = make_picture(reading).aspects
    assert (found.maps, found.sum_line) == ((), "3.50 without a word − 0.25 rest = 3.25 stars")
    assert found.not_mentioned == "Not mentioned: rooms, service, value."
    for drawn in (to_html(reading), to_svg(reading), to_terminal(reading, colour=False)):
        assert found.not_mentioned in drawn


def test_of_many_clauses_the_strongest_are_drawn_in_the_order_of_the_text():
    text = " ".join(f"room{' dirty' * (k % 2)}," for k in range(2 * MAX_CLAUSES_DRAWN))
    words = re.findall(r"\w+|[^\w\s]", text)
    weights = np.array([-1.0 if word == "dirty" else 0.0 for word in words])
    (rooms,) = make_picture(star_reading(text, weights)).aspects.maps
    assert len(rooms.clauses) == MAX_CLAUSES_DRAWN
    assert list(rooms.clauses) == sorted(rooms.clauses)
    assert all("dirty" in words[first:end] for first, end in rooms.clauses)
    assert rooms.note == f"−{MAX_CLAUSES_DRAWN}.00 stars"


@pytest.mark.parametrize("more", [{"aspect_list": Aspects()}, {"bias": None}])
def test_without_aspects_or_a_sum_nothing_changes(more):
    plain = make_reading(TEXT, decided=WEIGHTS, bias=0.25)
    reading = make_reading(TEXT, decided=WEIGHTS, **{"bias": 0.25, "aspect_list": HOTEL} | more)
    assert make_picture(reading).aspects is None
    assert "aspects" not in reading.to_dict()
    if reading.bias is not None:
        assert to_html(reading) == to_html(plain)
        assert to_svg(reading) == to_svg(plain)


def test_json_has_the_clauses_and_the_weights_of_words():
    rooms, _, value = star_reading().to_dict()["aspects"]["aspects"]
    assert rooms["clauses"] == [{"span": (0, 9), "effect": pytest.approx(0.6)}]
    assert rooms["weights"] == [0.5, 0.1, *[0] * 9]
    assert (value["clauses"], value["weights"]) == ([], None)
