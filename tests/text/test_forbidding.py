"""Forbidden words, however they are written: with characters that nobody sees, with accents, decomposed."""

from __future__ import annotations

import sys
from unicodedata import category, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.text import numbering
from limelight.text.forbidding import is_forbidden
from limelight.text.numbering import number_words
from limelight.text.tokenizer import Tokenizer

WORDS = ("hilton", "größe", "coca-cola", "josé", "отель", "σπίτι", "호텔", "חילטון", "w3")
TOKENIZER = Tokenizer.from_words(["nice", "room"]).forbid(WORDS)
# Unicode's Default_Ignorable_Code_Point, but for most of those that are not assigned.
HIDDEN = "".join(
    chr(code)
    for first, last in (
        (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
        (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F),
        (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A),
        (0xE0000, 0xE0080), (0xE0100, 0xE01EF),
    )
    for code in range(first, last + 1)
)  # fmt: skip
CONTROLS = "\x01\x08\x0e\x1b\x1c\x7f\x80\x9f"
MARKS = "".join(filter(lambda character: category(character)[0] == "M", map(chr, range(sys.maxunicode))))


def remaining(text: str) -> list[list[str]]:
    """The words that are left of a text, by each of the ways to them."""
    found = [TOKENIZER.vocabulary[k] for k in TOKENIZER.encode([text])[0].tolist()]
    numbered = number_words([text], True, True, WORDS).words
    blanked = Tokenizer.from_words([]).split(TOKENIZER.blank_forbidden(text))
    return [TOKENIZER.split(text), TOKENIZER.words(text), blanked, found, numbered]


def test_a_hidden_character_anywhere_hides_nothing():
    for character in HIDDEN + CONTROLS:
        texts = [f"{w[:k]}{character}{w[k:]}" for w in ("hilton", "w3") for k in range(len(w) + 1)]
        for found in remaining(f"nice {' '.join(texts)} room"):
            assert found == ["nice", "room"], hex(ord(character))


def test_no_mark_on_a_latin_letter_hides_anything():
    for mark in MARKS:
        spellings = [f"{'hilton'[:k]}{mark}{'hilton'[k:]}" for k in range(7)]
        assert all(is_forbidden(each, TOKENIZER.forbidden) for each in spellings), hex(ord(mark))


@given(
    st.sampled_from(WORDS),
    st.lists(st.tuples(st.integers(1, 9), st.sampled_from([*HIDDEN, *"\u0301\u0308\u0323\u0336\u20dd"]))),
    st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]),
    st.sampled_from([str, str.upper, str.title]),
)
@examples(200)
def test_every_way_to_write_a_word_is_forbidden(word, inserted, form, case):
    text = case(word)
    for place, character in inserted:
        text = text[:place] + character + text[place:]
    for found in remaining(f"nice {normalize(form, text)} room"):
        assert found == ["nice", "room"]


@pytest.mark.parametrize("compiled", [numbering.compiled, None])
def test_with_and_without_the_compiled_part(compiled, monkeypatch):
    monkeypatch.setattr(numbering, "compiled", compiled)
    texts = ["nice hil\u200bton room", "nice h\u0301ilton!", "hil\x01ton nice", "größe gro\u0308ße"]
    found = number_words(texts, True, True, frozenset({"hilton", "grösse"}))
    assert found.words == ["nice", "room", "!", ""]


@pytest.mark.parametrize(
    ("forbidden", "word"),
    [
        ("größe", "große"), ("größe", "grosse"), ("josé", "jose"), ("hilton", "hiltons"),
        ("ホテル", "ボテル"), ("पल", "पुल"), ("hilton", "hi-lton"), ("hilton", "h ilton"),
    ],
)  # fmt: skip
def test_another_word_is_read(forbidden, word):
    assert not is_forbidden(word, frozenset({forbidden.casefold()}))


@pytest.mark.parametrize("word", ["ｈｉｌｔｏｎ", "Ⓗⓘⓛⓣⓞⓝ", "hílton", "𝐡𝐢𝐥𝐭𝐨𝐧", "coca\u2010cola", "ᾳ"])
def test_other_forms_of_the_same_letters(word):
    assert is_forbidden(word, frozenset({"hilton", "coca\u2010cola", "αι"}))


@given(st.lists(st.sampled_from(["nice", "👨\u200d👩", "❤\ufe0f", "co\u00adop", "a\u200bb"]), max_size=8))
@examples(50)
def test_texts_without_one_are_split_as_ever(words):
    text = " ".join(words)
    assert TOKENIZER.split(text) == Tokenizer.from_words([]).split(text)
