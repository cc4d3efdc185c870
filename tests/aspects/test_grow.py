"""Aspects that grow: nouns near in meaning, used in the same clauses, and each for one aspect alone."""

from __future__ import annotations

from functools import cache

import pytest

from limelight import grow_aspects
from limelight.aspects import review_words
from limelight.aspects.seeds import Aspects
from refusing import refuses

FOOD = {"food": ["soup", "bread"], "staff": ["waiter", "waitress"]}
SAID = ["the soup and the cake were good.", "the bread and the pasta were bad!", "the waiter was here."] * 3


@pytest.fixture(autouse=True)
def _one_reader(monkeypatch):
    """Opened once for all tests."""
    monkeypatch.setitem(grow_aspects.__globals__, "reader_vectors", _reader)


_reader = cache(review_words.reader_vectors)


def grown(aspects, texts) -> dict:
    return grow_aspects(aspects, texts).to_dict()


def test_nouns_near_in_meaning_become_seeds_the_nearest_first():
    assert grown(FOOD, SAID) == {"food": ["soup", "bread", "pasta", "cake"], "staff": ["waiter", "waitress"]}
    assert grown(FOOD, SAID[:3]) == FOOD  # once is too rare


def test_plurals_are_folded_and_seeds_stay_once():
    texts = [text.replace("cake", "cakes") + " the soups and the cake." for text in SAID]
    assert grown(FOOD, texts)["food"] == ["soup", "bread", "pasta", "cake"]


@pytest.mark.parametrize(
    "texts",
    [
        ["the soup was good, the cake and the waiter were here."] * 3,  # it is not said with the soup
        ["we cake the soup."] * 3,  # not a noun
        ["this cake and the soup were good."] * 8 + ["the cake and the soup."],  # what is reviewed
    ],
)
def test_words_that_are_not_taken(texts):
    assert grown(FOOD, texts)["food"] == ["soup", "bread"]


def test_a_word_belongs_to_its_nearest_aspect_alone():
    both = {"meals": ["soup", "bread"], "dishes": ["soup", "bread"]}
    assert grown(both, SAID) == {"meals": ["soup", "bread", "pasta", "cake"], "dishes": ["soup", "bread"]}
    assert grow_aspects(both).to_dict() == both  # of all words, only those that are clearly nearer


def test_words_of_other_aspects_and_excluded_ones_are_not_taken():
    aspects = Aspects.of(
        {"food": {"seeds": ["soup", "bread"], "not": ["cake"]}, "off": {"seeds": ["pasta"], "enabled": False}}
    )
    assert grow_aspects(aspects, SAID) == aspects


def test_the_number_of_new_words_is_limited(monkeypatch):
    monkeypatch.setitem(grow_aspects.__globals__, "MAX_NEW", 1)
    assert len(grown(FOOD, SAID)["food"]) == 3


def test_without_texts_only_the_nearest_of_all_words_are_taken():
    food = grow_aspects(FOOD).find("food").seeds
    assert "dough" in food
    assert "hammer" not in food
    assert 3 < len(food) <= 62


def test_seeds_that_the_reader_does_not_know_and_no_aspects():
    unknown = {"odd": ["xqzzt", "front desk"]}
    assert grown(unknown, SAID) == grown(unknown, []) == unknown
    with refuses("no-aspects"):
        grow_aspects({}, SAID)
