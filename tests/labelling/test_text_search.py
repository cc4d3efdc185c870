"""A search by words and characters finds what reading every text finds, and stops in time."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from limelight.labelling import text_search
from limelight.labelling.text_search import BLOCK, matching_rows
from limelight.search.words import find_words

WORDS = [
    "study",
    "studies",
    "Glass",
    "cards",
    "CARD",
    "straße",
    "STRASSE",
    "bus",
    "İs",
    "y",
    "ies",
    "食べ",
    "a_b",
]
TEXTS = st.lists(st.sampled_from([*WORDS, " ", " ", "-", "."]), max_size=8).map("".join)


@given(st.lists(TEXTS, max_size=6), st.sampled_from(WORDS), st.sampled_from(["", *WORDS, "S S", "rd-"]))
def test_it_finds_what_reading_every_text_finds(texts, words, phrase):
    def forms(text):
        return {form for _, _, form in find_words(text)}

    expected = [
        row
        for row, text in enumerate(texts)
        if forms(words) <= forms(text) and phrase.casefold() in text.casefold()
    ]
    assert matching_rows(texts, range(len(texts)), words, phrase) == (expected, len(texts))


def test_a_word_is_found_in_any_form_in_either_direction():
    texts = ["two studies", "a Study", "studied"]
    for words in ("study", "STUDIES"):
        assert matching_rows(texts, range(3), words, None) == ([0, 1], 3)


def test_what_is_no_pattern_any_more_is_looked_for_as_it_is():
    texts = ["a" * 40 + "!", "(a+)+$ and more"]
    assert matching_rows(texts, range(2), None, "(A+)+$") == ([1], 2)
    assert matching_rows(texts, range(2), "!!", None) == ([], 2)  # no word at all


def test_it_stops_in_time_and_says_how_far_it_came(monkeypatch):
    texts = ["soup"] * (3 * BLOCK)
    seconds = iter(range(100))
    monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
    found, searched = matching_rows(texts, range(len(texts)), "soup", None, until=0.5)
    assert (len(found), searched) == (2 * BLOCK, 2 * BLOCK)
    assert text_search.time is time
