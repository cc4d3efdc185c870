import unicodedata
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.reading.pieces import FOR_TERMINALS, cuts, is_flag_half, passages, printable, split_pieces
from reading.readings import make_reading


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a 👩‍🍳 b", ["a", "👩‍🍳", "b"]),  # two emoji and a joiner
        ("👍🏽!", ["👍🏽", "!"]),  # a skin tone
        ("🇫🇷🇩🇪", ["🇫🇷", "🇩🇪"]),  # two flags of two halves each
        ("a🇫🇷b", ["a", "🇫🇷", "b"]),
        ("e\u0301 ü", ["e\u0301", "ü"]),  # an accent of its own
        ("1\ufe0f\u20e3 x", ["1\ufe0f\u20e3", "x"]),  # a keycap
        ("🏴\U000e0067\U000e0062\U000e007f!", ["🏴\U000e0067\U000e0062\U000e007f", "!"]),  # a flag with tags
    ],
)
def test_words_never_end_inside_a_visible_character(text: str, words: list[str]):
    assert split_pieces(make_reading(text, pattern=r"\S")).words == words  # every code point a word


RANGES = {"skin tones": (0x1F3FB, 0x1F3FF), "tags": (0xE0020, 0xE007F)}


@pytest.mark.parametrize("name", RANGES)
def test_skin_tones_and_tags_from_the_first_to_the_last_belong_to_what_they_follow(name):
    first, last = RANGES[name]
    for code in (first, first + 1, last - 1, last):
        assert cuts(f"a{chr(code)}b") == [0, 2, 3]
    for code in (first - 1, last + 1):
        assert cuts(f"a{chr(code)}b") == [0, 1, 2, 3]


def test_two_letters_of_flags_from_the_first_to_the_last_are_one():
    first, last = chr(0x1F1E6), chr(0x1F1FF)
    assert [is_flag_half(chr(code)) for code in (0x1F1E5, 0x1F1E6, 0x1F1FF, 0x1F200)] == [
        False, True, True, False
    ]  # fmt: skip
    assert cuts(f"{first}{last}{last}{first}{first}") == [0, 2, 4, 5]
    assert cuts(f"{first}a{last}{first}") == [0, 1, 2, 4]


def test_marks_and_joiners_belong_to_what_they_follow_but_not_to_blanks():
    for mark in ("\u0301", "\u20dd", "\u0903", "\u200d"):  # Mn, Me, Mc and the joiner
        assert cuts(f"a{mark}b") == ([0, 3] if mark == "\u200d" else [0, 2, 3])
        assert cuts(f" {mark}b")[:2] == [0, 1]
    assert cuts("a\u200d b") == [0, 2, 3, 4]
    assert (cuts(""), cuts("a")) == ([0], [0, 1])


def test_a_visible_character_belongs_to_one_word_whole():
    pieces = split_pieces(make_reading("👩‍🍳 ok", pattern="👩|ok"))  # the joiner and the pan are no words
    assert (pieces.words, pieces.gaps) == (["👩‍🍳", "ok"], ["", " ", ""])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I can't, won’t.", ["I", "can't", ",", "won’t", "."]),
        ("It's they'll", ["It's", "they'll"]),
        ("ca n't", ["ca", "n't"]),  # as it is written
        ("'s 'd", ["'s", "'d"]),  # the end of no word
        ("5's", ["5", "'s"]),
    ],
)
def test_a_contraction_is_one_piece(text: str, words: list[str]):
    pattern = r"[nN]['’]t|['’]\w+|\w+?(?=n['’]t)|\w+|[^\w\s]"
    assert split_pieces(make_reading(text, pattern=pattern)).words == words


def test_the_end_of_a_contraction_whose_beginning_is_no_word_stands_alone():
    assert split_pieces(make_reading("ab's", pattern="a|'s")).words == ["a", "'s"]


def test_a_piece_is_known_if_all_its_words_are():
    pattern, know = r"\w+?(?=n't)|n't|\w+", np.array([True, False, True, True, True, False])
    reading = replace(make_reading("can't won't so no", pattern=pattern), known=know)
    assert split_pieces(reading).known == (False, True, True, False)


def test_a_text_without_words_has_no_pieces():
    pieces = split_pieces(make_reading("", np.zeros((1, 0))))
    assert (pieces.words, pieces.gaps, pieces.known) == ([], [""], ())
    assert pieces.weights(np.zeros((3, 2))[pieces.firsts]).shape == (0, 2)


def test_the_weights_of_joined_words_are_added():
    reading = make_reading("a 👩‍🍳", [[0.1, 0.5, 0.1, 0.3]], pattern=r"\S")
    pieces = split_pieces(reading)
    assert pieces.words == ["a", "👩‍🍳"]
    assert pieces.weights(reading.attention[0]).tolist() == pytest.approx([0.1, 0.9])
    each = np.arange(8).reshape(4, 2)
    assert pieces.weights(each).tolist() == [[0, 1], [2 + 4 + 6, 3 + 5 + 7]]


def test_control_characters_get_visible_stand_ins_of_the_same_length():
    assert printable("a\x00b\x1b[31m\x1f\x20\x7f\n\t\r") == "a␀b␛[31m␟ ␡\n\t\r"
    assert printable("\x80\x9f\ud800\udfff\ufffe\uffff") == "\ufffd" * 6
    assert printable("\xa0\ud7ff\ue000\ufffd") == "\xa0\ud7ff\ue000\ufffd"


def test_in_a_terminal_nothing_overwrites_a_line_or_turns_its_order_around():
    around = "\u2029\u202f\u2065\u206a"  # these do no harm
    turns = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    assert f"\r{turns}{around}".translate(FOR_TERMINALS) == "␍" + "\ufffd" * 9 + around


def test_passages_join_where_they_meet():
    levels = np.zeros(60, dtype=int)
    levels[[10, 15, 40]] = [9, -5, 3]
    assert passages(levels) == [(7, 19), (37, 44)]
    assert passages(levels, most=1) == [(7, 14)]
    assert passages(np.zeros(60, dtype=int)) == [(0, 4)]
    assert len(passages(np.arange(400) % 20 // 19)) == 16


@examples(150)
@given(st.text(alphabet=st.sampled_from("ab é\u0301👩\u200d🍳🏽🇫🇷שع\n\ufe0f汤"), max_size=20))
def test_pieces_and_gaps_make_the_text(text: str):
    pieces = split_pieces(make_reading(text, pattern=r"\S\S?"))
    joined = "".join(gap + word for gap, word in zip(pieces.gaps, [*pieces.words, ""], strict=True))
    assert joined == text
    assert pieces.weights(np.ones(len(make_reading(text, pattern=r"\S\S?").offsets))).shape == (
        len(pieces.words),
    )
    for start, _ in pieces.spans[1:]:
        assert not (unicodedata.combining(text[start]) and not text[start - 1].isspace())
