"""Known words that stand in for unknown ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.text.vectors import Spelling

KNOWN = Spelling(
    [
        "umbrella",
        "dark",
        "haired",
        "trash",
        "can",
        "sleeve",
        "long",
        "snowboard",
        "arena",
        "shirt",
        "t",
        "people",
    ]
)


@pytest.mark.parametrize(
    ("word", "alike"),
    [
        ("umbrellas", ["umbrella"]),  # another form
        ("snowboarder", ["snowboard"]),
        ("dark-haired", ["dark", "haired"]),  # pieces
        ("t-shirt", ["shirt"]),
        ("long-sleeved", ["long", "sleeve"]),  # of which one is another form
        ("trashcan", ["trash", "can"]),  # a compound
        ("sleet", []),  # shares too little
        ("darkness", []),  # half of it is an ending
        ("2024", []),
        ("1990s", []),  # its letter says nothing
        ("\u00bd-dark", ["dark"]),  # a half is neither letter nor digit
        ("...", []),
        ("", []),
    ],
)
def test_words_like_a_word(word: str, alike: list[str]) -> None:
    assert KNOWN.similar(word) == alike


def test_a_longer_word_does_not_hide_the_nearest_form() -> None:
    assert Spelling(["umbrella", "umbrellalike"]).similar("umbrellas") == ["umbrella"]


def test_a_word_without_end() -> None:
    assert KNOWN.similar("a" * 10_000_000) == []
    assert KNOWN.similar("dark-" + "a" * 10_000_000) == ["dark"]


def test_nothing_is_like_anything_where_nothing_is_known() -> None:
    assert Spelling([]).similar("umbrella") == []


@examples(200)
@given(
    st.lists(st.text(alphabet="abcd-.1", min_size=1, max_size=9), max_size=12),
    st.text(alphabet="abcd-.1", max_size=14) | st.text(max_size=9),
)
def test_only_known_words_are_named(known: list[str], word: str) -> None:
    assert set(Spelling(known).similar(word)) <= set(known)
