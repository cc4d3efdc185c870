"""Aspects: lists of words and edits of them, the clauses that mention them, and sums that are exact."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.aspects.seeds import MAX_ASPECTS, Aspect, Aspects
from limelight.aspects.sums import clauses_of, estimate, own_words, sum_by_aspect
from limelight.bundled import ASPECT_LISTS
from reading.readings import make_reading
from refusing import refuses

HOTEL = Aspects.of({"rooms": ["room", "bathroom"], "service": ["staff", "front desk", "room service"]})
ODD = [
    "",
    " ",
    "room",
    "😀",
    "...",
    "room room",
    "but",
    "Room. Room, ROOM!",
    "(",
    "staff\n\nroom",
    "a.B clean.Room",
]


def read(text: str, aspects: Aspects = HOTEL, **more):
    """A reading whose word k has the share k + 1; words may have marks inside, as the tokenizer's do."""
    reading = make_reading(text, pattern=r"\w+(?:[.'-]\w+)*|[^\w\s]+", aspect_list=aspects, bias=0.25, **more)
    return replace(reading, decided=np.arange(1.0, len(reading.words) + 1))


def clauses(text: str, aspects: Aspects = HOTEL) -> dict[str, str]:
    return {found.name: found.clause for found in read(text, aspects).aspects if found.mentioned}


# ---------------------------------------------------------------- matching


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Nice ROOM, rude staff", {"rooms": "Nice ROOM", "service": "rude staff"}),
        ("The rooms were small", {"rooms": "The rooms were small"}),
        ("Good but the Front  Desks were slow", {"service": "the Front  Desks were slow"}),
        ("The front of the desk", {}),
        ("We had room service", {"service": "We had room service"}),  # in which there is no room
        (
            "Room service in the room",
            {"rooms": "Room service in the room", "service": "Room service in the room"},
        ),
        ("roommate staffed", {}),
        ("Dirty room.Staff helped", {"rooms": "Dirty room", "service": "Staff helped"}),
        ("The room\nWarm staff", {"rooms": "The room", "service": "Warm staff"}),
        ("the staff’s room (old) -- fine", {"rooms": "the staff’s room", "service": "the staff’s room"}),
        ("A room-like place", {}),
        ("😀", {}),
    ],
)
def test_clauses_that_mention_an_aspect(text, found):
    assert clauses(text) == found


def test_phrases_that_exclude_a_seed():
    aspects = Aspects.of({"location": {"seeds": ["area"], "not": ["pool area"]}, "pool": ["pool"]})
    assert clauses("The pool area is safe", aspects) == {"pool": "The pool area is safe"}
    assert clauses("The pool areas. A safe area", aspects)["location"] == "A safe area"


def test_between_two_marks_is_no_clause():
    places = [(0, 3), (4, 5), (6, 10), (11, 13), (14, 15)]
    assert list(clauses_of(HOTEL, "But , room .. .", places)) == [(2, 3, (0,))]


def test_phrases_that_begin_with_a_short_word():
    assert clauses("We ate A la carte", Aspects.of({"food": ["a la carte"], "x": ["y"]})) == {
        "food": "We ate A la carte"
    }


def test_a_seed_whose_first_letters_are_written_as_one():
    assert clauses("The ﬁsh, the ﬂoor", Aspects.of({"food": ["fish"]})) == {"food": "The ﬁsh"}


def test_an_aspect_in_another_script():
    text, aspects = "房间很干净，服务很差", Aspects.of({"房间": ["房间"], "服务": ["服务"]})
    offsets = np.array([[k, k + 1] for k in range(len(text))])
    found = sum_by_aspect(aspects, text, offsets, np.ones(len(text)), 0.0, "number")
    assert [(each.clause, each.effect) for each in found.aspects] == [("房间很干净", 5.0), ("服务很差", 4.0)]


# ---------------------------------------------------------------- sums


def test_the_words_of_a_clause_belong_to_each_of_its_aspects_by_an_equal_share():
    rooms, service = read("Big room nice staff. Bad staff").aspects
    assert rooms.weights.tolist() == [0.5, 1.0, 1.5, 2.0, 0, 0, 0]
    assert service.weights.tolist() == [0.5, 1.0, 1.5, 2.0, 0, 6.0, 7.0]
    assert (rooms.effect, service.effect) == (5.0, 18.0)
    assert (service.clause, service.span) == ("Bad staff", (21, 30))
    assert read("Big room nice staff. Bad staff").aspect_sum.rest == 5.0  # the full stop


def test_the_strongest_clause_may_be_a_negative_one():
    text = "Good room. Bad room"
    reading = make_reading(text, aspect_list=HOTEL, decided=np.array([1, 0.5, 0, -3, 0]), bias=0.0)
    assert (reading.aspects[0].clause, reading.aspects[0].effect) == ("Bad room", -1.5)


def test_of_clauses_with_equal_effects_the_first_is_the_strongest():
    decided = np.array([-2, -1, 0, 0.5, 1, 0.25, 0, 1, 2])
    found = make_reading("Bad room. A room staff, good room", aspect_list=HOTEL, decided=decided, bias=0.0)
    rooms, service = found.aspects
    assert rooms.clauses == (((0, 8), -3.0, 2), ((10, 22), 0.875, 1.5), ((24, 33), 3.0, 2))
    assert (rooms.strongest, rooms.words) == (((0, 8), -3.0, 2), 5.5)
    assert (service.strongest, service.words) == (((10, 22), 0.875, 1.5), 1.5)


def test_as_plain_values_with_or_without_every_word():
    found = read("A room", labels=(1, 2, 5), task="ordinal", probabilities=(0.2, 0.3, 0.5)).aspect_sum
    rooms, service = found.aspects
    brief = {"name": "rooms", "mentioned": True, "effect": 3.0, "estimated": rooms.estimated,
             "clause": "A room", "span": (0, 6)}  # fmt: skip
    assert rooms.to_dict() == brief
    words = {"clauses": [{"span": (0, 6), "effect": 3.0}], "weights": [1.0, 2.0]}
    assert rooms.to_dict(words=True) == brief | words
    assert service.to_dict(words=True)["weights"] is None
    assert (service.strongest, service.words) == (((0, 0), 0.0, 0.0), 0)
    numbers = {"unit": "mean", "answer": found.answer, "bias": 0.25, "rest": 0.0}
    assert found.to_dict() == {**numbers, "aspects": [rooms.to_dict(), service.to_dict()]}
    assert found.to_dict(words=True)["aspects"][0] == brief | words


def test_glued_words_share_their_weight():
    rooms, service = read("room.Staff").aspects
    assert (rooms.weights.tolist(), service.weights.tolist()) == ([0.5], [0.5])
    assert (rooms.span, service.span) == ((0, 4), (5, 10))


@examples(60)
@given(st.one_of(st.sampled_from(ODD), st.text(), st.text(alphabet="room staff.,!?\n-bu'", max_size=60)))
def test_a_text_is_the_sum_of_its_aspects_and_the_rest(text):
    reading = read(text)
    found = reading.aspect_sum
    total = found.bias + sum(each.effect for each in found.aspects) + found.rest
    assert found.answer == pytest.approx(0.25 + reading.decided.sum(), abs=1e-9)
    assert total == pytest.approx(found.answer, abs=1e-9)
    for each in found.aspects:
        assert each.mentioned == (each.clause is not None) == (each.span is not None)
        assert each.effect == pytest.approx(each.weights.sum())
        assert each.mentioned or (each.effect, each.estimated) == (0, None)
        assert each.clause is None or each.clause == text[slice(*each.span)]
    json.dumps(reading.to_dict())


def test_stars_only_of_what_is_mentioned_and_where_labels_are_numbers():
    more = {"task": "ordinal", "probabilities": (0.2, 0.3, 0.5)}
    found = read("A room", labels=(1, 2, 5), **more).aspect_sum
    rooms, service = found.aspects
    assert (rooms.estimated, service.estimated) == (estimate(found.answer, rooms.effect, [1, 2, 5]), None)
    assert read("A room", labels=("bad", "fair", "good"), **more).aspects[0].estimated is None
    number = read("A room", labels=("value",), probabilities=(3.0,), task="regression").aspect_sum
    assert (number.unit, number.aspects[0].estimated) == ("number", None)


@pytest.mark.parametrize(("effect", "stars"), [(0, 3), (1, 3.7712221), (-50, 2.2), (50, 3.8)])
def test_stars_of_an_effect(effect, stars):
    assert estimate(3.0, effect, [1, 2, 3, 4, 5]) == pytest.approx(stars)
    assert estimate(15.0, effect * 5, [5, 10, 15, 20, 25]) == pytest.approx(stars * 5)  # whatever the unit
    assert 0 <= estimate(0.5, effect, [0, 0, 1]) <= 1
    assert estimate(3.0, effect, [3, 3]) == 3


def test_what_has_no_sum_over_words():
    assert make_reading("A room").aspects == ()
    with refuses("no-prediction"):
        _ = make_reading("A room").aspect_sum
    with refuses("model-task"):
        _ = read("A room", task="multi-label").aspects


# ---------------------------------------------------------------- definitions and edits


@pytest.mark.parametrize("name", ASPECT_LISTS)
def test_the_lists_that_come_along(name):
    aspects = Aspects.of(name)
    assert 5 <= len(aspects) <= 8
    assert all(8 <= len(aspect.seeds) <= 15 for aspect in aspects)
    assert Aspects.of(aspects.to_dict()) == aspects


def test_a_file(tmp_path: Path):
    (tmp_path / "own.json").write_text('{"rooms": ["Room", "room", "bath  tub"], "x": {"seeds": ["y"]}}')
    assert Aspects.of(tmp_path / "own.json").to_dict() == {"rooms": ["room", "bath tub"], "x": ["y"]}
    with refuses("file-missing"):
        Aspects.of(tmp_path / "other.json")
    (tmp_path / "own.json").write_text("[]")
    with refuses("json"):
        Aspects.of(str(tmp_path / "own.json"))


@pytest.mark.parametrize(
    "wrong",
    [
        5, {5: ["x"]}, {"": ["x"]}, {"a=b": ["x"]}, {"a+b": ["x"]}, {"_a": ["x"]}, {"a\n": ["x"]},
        {"a" * 41: ["x"]}, {"a": None}, {"a": {}}, {"a": []}, {"a": "x"}, {"a": [5]}, {"a": [" "]},
        {"a": ["x" * 61]},
        {"a": {"seeds": ["x"], "no": 1}},
        {"a": {"seeds": ["x"], "not": "y"}},
        {"a": ["x"], "A": ["y"]}, {"a": [f"x{k}" for k in range(1001)]},
        {f"a{k}": ["x"] for k in range(MAX_ASPECTS + 1)},
    ],
)  # fmt: skip
def test_definitions_that_are_refused(wrong):
    with refuses("aspects"):
        Aspects.of(wrong)


def test_aspects_are_a_sequence():
    assert (len(HOTEL), HOTEL[0].name, list(HOTEL)[1].name) == (2, "rooms", "service")
    assert Aspects([Aspect("rooms", ("room", "bathroom")), HOTEL[1]]) == HOTEL
    assert hash(HOTEL) == hash(Aspects.of(HOTEL.to_dict()))


# ---------------------------------------------------------------- seeds and words


@pytest.mark.parametrize(("blanks", "found"), [(5, {"service": "front" + " " * 5 + "desks"}), (6, {})])
def test_a_seed_may_have_four_blanks_more(blanks, found):
    assert clauses("front" + " " * blanks + "desks", Aspects.of({"service": ["front desk"]})) == found


def test_a_seed_of_one_character_is_found_where_there_are_no_blanks():
    offsets = np.array([[0, 1], [1, 2], [2, 3]])
    found = sum_by_aspect(Aspects.of({"rooms": ["房"]}), "房很大", offsets, np.ones(3), 0.0, "number")
    assert found.aspects[0].effect == 3


def test_no_aspects_leave_all_of_the_answer_to_the_rest():
    found = sum_by_aspect(Aspects.of({}), "nice", np.array([[0, 4]]), np.array([0.5]), 1.0, "mean")
    assert (found.aspects, found.rest, found.answer) == ((), 0.5, 1.5)
    refits = np.array([[1.0, 2.0]])
    found = sum_by_aspect(
        Aspects.of({}), "nice", np.array([[0, 4]]), np.array([0.5]), 1.0, "mean", refits=refits
    )
    assert found.refits.tolist() == [[1, 2]]


def test_a_word_that_is_cut_in_two_belongs_by_half_to_what_its_half_mentions():
    own = own_words(HOTEL, "so clean,Staff smiled", np.array([[0, 2], [3, 14], [15, 21]]))
    assert own.places == [(0, 2), (3, 8), (9, 14), (15, 21)]
    assert own.by_word().tolist() == [[0, 0, 0], [0, 0.5, 1]]
    assert own.divide(np.array([1.0, 4.0, 2.0])).tolist() == [1, 2, 2, 2]
