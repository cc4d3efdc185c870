import dataclasses
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.reading import pieces, to_svg
from limelight.reading.pieces import split_pieces
from limelight.reading.reading import PairReading
from limelight.reading.wrap import cells, ems, is_right_to_left, shorten, visual_order, wrap
from reading.readings import SOUP, focused, make_reading

SVG = "{http://www.w3.org/2000/svg}"


def words_of(svg: str) -> list[tuple[str, str]]:
    """Every word with its tooltip, in the order drawn."""
    root = ET.fromstring(svg)
    return [(g.find(f"{SVG}text").text, g.find(f"{SVG}title").text) for g in root.iter(f"{SVG}g")]


def test_every_word_is_drawn_with_its_weight():
    svg = to_svg(make_reading("Good <soup>", [[0.5, 0.0, 0.25, 0.25]]))
    assert words_of(svg)[:4] == [("Good", "0.500"), ("<", "0.000"), ("soup", "0.250"), (">", "0.250")]
    assert svg.count('<rect class="h') == 2 * 3 + 2 * 5  # two maps of three coloured words; two legends


def test_it_says_what_it_shows():
    root = ET.fromstring(to_svg(make_reading("Good soup", [[0.75, 0.25]])))
    assert root.get("role") == "img"
    assert root.get("aria-label") == "bad, 0.800"
    assert root.find(f"{SVG}desc").text == "Good soup — All rows together: Good 0.750, soup 0.250"


def test_words_stay_inside_the_picture_and_apart():
    root = ET.fromstring(to_svg(make_reading(SOUP * 4, r=3)))
    width, height = float(root.get("width")), float(root.get("height"))
    places = [
        (float(t.get("y")), float(t.get("x")), float(t.get("textLength")))
        for t in root.iter(f"{SVG}text")
        if t.get("class") == "big"
    ]
    assert all(x >= 0 and x + wide <= width and 0 < y < height for y, x, wide in places)
    for (y, x, wide), (next_y, next_x, _) in pairwise(places):
        assert next_y > y or next_x >= x + wide - 0.11


ONE_TOO_MANY = ("cold", "cold", "rude", "joke", "left", "bill", "not", "waiter", "a", "and")


def test_groups_and_what_is_left_out():
    svg = to_svg(make_reading(SOUP, focused(SOUP, *ONE_TOO_MANY)))
    assert ">Rows 1–2</text>" in svg
    assert ">1 more row is not shown.</text>" in svg


def test_a_pair_and_an_empty_text():
    pair = PairReading(make_reading("A dog"), make_reading("An animal"))
    words = [word for word, _ in words_of(to_svg(pair))]
    assert words[:4] == ["A", "dog", "An", "animal"]
    assert ">empty text</text>" in to_svg(make_reading(""))


def test_rows_are_drawn_when_asked_for():
    rows = focused(SOUP, "soup", "bill", "rude", "cold")
    reading = make_reading(SOUP, rows, decided=np.ones(23), row_weights=np.arange(4.0))
    folded, whole = to_svg(reading), to_svg(reading, rows=True)
    said = "What each row read: 4 rows; most for this answer: row 4 (here “cold”), row 3 (here “rude”)."
    assert (said in folded, said in whole) == (True, False)
    assert folded.count(">soup</text>") == 1 < whole.count(">soup</text>")
    assert to_svg(dataclasses.replace(reading, decided=None)).count(">soup</text>") > 1


def test_signed_weights():
    reading = make_reading(
        "Good soup",
        decided=np.array([1.0, -1.0]),
        truth="good",
        trust="A little.",
        row_names=("", "soup") * 2,
    )
    svg = to_svg(reading, rows=True)
    assert words_of(svg)[:2] == [("Good", "+1.000"), ("soup", "-1.000")]
    assert '<rect class="c9"' in svg
    said = ["True label: good (wrong)", ">What decided<", "Orange words support “bad”", "What each row read"]
    places = [svg.index(each) for each in [*said, "How far to trust it: A little."]]
    assert places == sorted(places)
    assert ">no clear aspect</text>" in svg


def test_right_to_left_words_start_at_the_right():
    root = ET.fromstring(to_svg(make_reading("שלום עולם", [[0.5, 0.5]])))
    first, second = [float(t.get("x")) for t in root.iter(f"{SVG}text") if t.get("class") == "big"]
    assert first < second  # drawn from left to right: the second word, then the first
    assert [t.text for t in root.iter(f"{SVG}text") if t.get("class") == "big"] == ["עולם", "שלום"]


@pytest.mark.parametrize(
    ("words", "right_to_left", "expected"),
    [
        (["a", " ", "b"], False, "a b"),
        (["אב", " ", "גד"], True, "גד אב"),
        (["אב", " ", "ok", " ", "12"], True, "ok 12 אב"),
        (["see", " ", "אב", " ", "גד", "."], False, "see גד אב."),
        (["אב", " ", "(", "x", ")"], True, "(x) אב"),
    ],
)
def test_visual_order(words: list[str], right_to_left: bool, expected: str):
    assert "".join(word for _, word in visual_order(words, right_to_left)) == expected
    assert is_right_to_left(words[0]) == right_to_left


def test_widths():
    assert ems("soup") == pytest.approx(2.168)
    assert ems("é") == ems("e") == ems("e\u0301")
    assert ems("👩‍🍳") == ems("🇫🇷") == ems("👍🏽") == 1.2
    assert (cells("汤"), cells("é"), cells("👍🏽"), cells("🇫🇷")) == (2, 1, 2, 2)


@examples(150)
@given(
    text=st.text(alphabet=st.sampled_from("abc d\n\t汤é👩\u200d🍳ש"), max_size=60), width=st.integers(4, 20)
)
def test_lines_fit_and_keep_every_word(text: str, width: int):
    pieces = split_pieces(make_reading(text, pattern=r"\S+"))
    lines = wrap(pieces, 0, len(pieces.words), width, cells)
    assert all(sum(atom.width for atom in line) <= width for line in lines if len(line) > 1)
    drawn = "".join(atom.text for line in lines for atom in line)
    assert re.sub(r"\s", "", drawn) == re.sub(r"\s", "", pieces.text)


@examples(60)
@given(text=st.text(max_size=30))
def test_any_text_gives_well_formed_xml(text: str):
    ET.fromstring(to_svg(make_reading(text)))


def test_long_labels_leave_room_for_their_numbers():
    P = np.array([0.3, 0.5, 0.2])
    labels = tuple(
        f"a very long label with number {k} that goes on and on and never ends at all" for k in range(3)
    )
    svg = to_svg(dataclasses.replace(make_reading("Good soup", [[0.9, 0.1]]), labels=labels, probabilities=P))
    words = re.findall(r'<text class="(\S+)[^"]*" x="([\d.]+)"[^>]*>([^<]*)</text>', svg)
    places = {
        text: float(x) for kind, x, text in words if kind == "percent" or re.fullmatch(r"0\.[235]00", text)
    }
    assert places.keys() == {"50.0%", "0.300", "0.500", "0.200"}
    assert max(places.values()) < 700, "of 760"
    shown = [text for kind, _, text in words if kind == "note" and text.startswith("a very")]
    assert len(set(shown)) == 3
    assert all(text.endswith("…") for text in shown)


@given(st.text(max_size=60), st.floats(0.5, 20))
def test_shortened_texts_fit_and_no_more_than_needed_goes(text: str, width: float):
    found = shorten(text, width, ems)
    if found != text:
        assert text.startswith(found[:-1])
        assert len(found) == 1 or ems(found) <= width
        assert ems(text[: len(found)] + "…") > width


@examples(50)
@given(text=st.text(min_size=1), label=st.text(), name=st.text())
def test_it_is_well_formed_whatever_is_in_it(text: str, label: str, name: str):
    reading = make_reading(f"good {text}")
    more = {"row_names": (name,) * 4, "trust": name, "truth": name, "decided": np.ones(len(reading.words))}
    reading = dataclasses.replace(reading, labels=(label, f"{label}b"), **more)
    ET.fromstring(to_svg(reading).encode(errors="replace"))


@pytest.mark.parametrize("character", [*map(chr, range(0x20)), "\x7f", "\x9b", "\ud800", "\ufffe"])
def test_control_characters_leave_it_well_formed(character: str):
    reading = make_reading(f"good{character} soup")
    more = {"row_names": (f"w{character}",) * 4, "trust": character, "truth": character}
    reading = dataclasses.replace(reading, labels=(f"a{character}", "b"), **more)
    ET.fromstring(to_svg(dataclasses.replace(reading, decided=np.ones(len(reading.words)))).encode())


@pytest.mark.parametrize("character", ["a", "\U0001f1e9", "\u0301", "\u200b", "a\u0301"])
def test_a_long_word_is_cut_in_one_pass(character: str, monkeypatch: pytest.MonkeyPatch):
    """Each character is looked at a few times, however long the word."""
    looked, word = [0], character * 3000
    is_half = pieces.is_flag_half

    def counting(one: str) -> bool:
        looked[0] += 1
        return is_half(one)

    def measure(part: str) -> float:
        looked[0] += len(part)
        return ems(part)

    monkeypatch.setattr(pieces, "is_flag_half", counting)
    drawn = split_pieces(make_reading(word, pattern=r"(?s).+"))
    lines = wrap(drawn, 0, 1, 40.0, measure)
    assert "".join(atom.text for line in lines for atom in line) == word
    assert looked[0] < 10 * len(word)


def test_numbers_stand_where_unicode_puts_them_beside_hebrew():
    """As python-bidi orders the same lines."""
    for words, right_to_left, expected in (
        ("soup שלום 10", False, ["soup", "10", "שלום"]),
        ("שלום 10 3.5", True, ["3.5", "10", "שלום"]),
        ("שלום 10 good מרק", True, ["מרק", "good", "10", "שלום"]),
        ("10 good שלום", False, ["10", "good", "שלום"]),
    ):
        line = re.split("( )", words)
        assert [word for _, word in visual_order(line, right_to_left) if word != " "] == expected
