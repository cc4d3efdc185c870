"""Pictures of a comparison: the words, the lines between them, and the numbers that add up."""

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.reading import (
    ComparedText,
    Comparison,
    save_picture,
    to_html,
    to_json,
    to_page,
    to_svg,
    to_terminal,
)
from limelight.reading.picture import make_picture
from reading.parse import Parsed
from reading.readings import make_comparison

SVG = "{http://www.w3.org/2000/svg}"
MATRIX = [[0.06, -0.10, 0.01], [0.02, 0.50, 0.03]]
SOUP = make_comparison(
    "Cold soup", "The soup!", MATRIX, ([-0.05, 0.4], [0.05, 0.3, 0.0]),
    together=[[0.1, 0.9, 0.1], [0.1, 0.9, 0.1]],
)  # fmt: skip


def test_contributions_add_up_by_word_and_top_pairs_are_the_largest():
    first, second = SOUP.contributions
    np.testing.assert_allclose(first, [-0.03, 0.55])
    np.testing.assert_allclose(second, [0.08, 0.40, 0.04])
    assert SOUP.top_pairs(2) == [("soup", "soup", 0.50), ("Cold", "The", 0.06)]
    assert len(SOUP.top_pairs(100)) == 6
    even = replace(SOUP, matrix=np.array([[0.1, 0.2, 0.2], [0.2, 0.1, 0.2]]))
    found = [pair[:2] for pair in even.top_pairs()]  # five; of equal ones the first
    assert found == [("Cold", "soup"), ("Cold", "!"), ("soup", "The"), ("soup", "!"), ("Cold", "The")]
    assert repr(SOUP) == "Comparison('Cold soup', 'The soup!', similarity=0.520, matrix=(2, 3))"


def test_html_colours_the_words_by_what_they_do_and_tells_every_number():
    found = Parsed(to_html(SOUP))
    assert [each.text for each in found.maps] == ["Cold soup", "The soup!"]
    assert found.maps[0].titles() == [("Cold", "-0.050"), ("soup", "+0.400")]
    assert [attributes.get("class") for _, attributes in found.maps[0].words] == ["c1", "h9"]
    for words in ("Similarity 0.520", "Without an orange word", "nearest words", "−0.100"):
        assert words in found.all_text
    assert found.tags["td"] == 6
    assert "script" not in found.tags


def test_the_lines_join_words_that_belong_together():
    root = ET.fromstring(to_svg(SOUP))
    lines = {
        path.find(f"{SVG}title").text: path
        for path in root.iter(f"{SVG}path")
        if "stroke-width" in path.attrib
    }
    assert set(lines) == {"soup – soup: 0.500", "Cold – soup: −0.100"}
    assert lines["soup – soup: 0.500"].get("class") == "binds"
    assert lines["Cold – soup: −0.100"].get("class") == "apart"
    assert float(lines["soup – soup: 0.500"].get("stroke-width")) == 5 * float(
        lines["Cold – soup: −0.100"].get("stroke-width")
    )


def test_a_strong_word_is_joined_to_its_nearest_word_alone():
    strong = np.array([[0.02, 0.02, 0.02], [0.10, 0.08, 0.09], [0.02, 0.02, 0.02]])
    together = [[0.1, 0.2, 0.8], [0.3, 0.9, 0.2], [0.2, 0.8, 0.7]]
    found = make_comparison("a b c", "d e f", strong, together=together)
    assert np.argwhere(found.nearest).tolist() == [[0, 2], [1, 1]]
    assert make_picture(found).links.pairs == [(1, 1, 0.08), (0, 2, 0.02)]


def test_words_drawn_as_one_piece_count_together():
    text = "👩‍🍳 soup"
    offsets = np.array([[0, 1], [1, 3], [4, 8]])
    side = ComparedText(text, offsets, np.ones(3, bool), np.array([0.1, 0.2, 0.3]))
    other = ComparedText("Soup", np.array([[0, 4]]), np.ones(1, bool), np.array([0.6]))
    matrix = np.array([[0.1], [0.2], [0.3]])
    picture = make_picture(Comparison(side, other, 0.6, matrix, together=matrix[[0, 2, 1]]))
    np.testing.assert_allclose(picture.links.matrix, [[0.3], [0.3]])
    assert picture.links.nearest.tolist() == [[True], [False]]
    np.testing.assert_allclose(picture.first.weights[0], [0.3, 0.3])


def test_the_terminal_lists_the_pairs_with_bars():
    assert to_terminal(SOUP, colour=False, width=80).splitlines() == [
        "Similarity 0.520  (1: the same meaning, 0: nothing in common)",
        "",
        "What binds the texts, and what keeps them apart",
        "Cold soup",
        "The soup!",
        "  soup  +0.400",
        "  Cold  -0.050",
        "  soup  +0.300",
        "  The   +0.050",
        "A word's number: how much less similar the texts would be without it.",
        "",
        "Words that belong together",
        "  soup  soup  ████████████████████  0.500",
        "  Cold  soup  ░░░░                 −0.100",
        "These 2 pairs add up to 0.400, the other 4 to 0.120: 0.520 in all.",
    ]
    painted = to_terminal(SOUP, colour=True, width=80)
    assert re.sub(r"\x1b\[[\d;]*m", "", painted).count("soup") == 7
    assert "orange" in painted


def test_json_has_every_number():
    found = json.loads(to_json(SOUP))
    assert found["matrix"] == SOUP.matrix.tolist()
    assert found["together"] == SOUP.together.tolist()
    assert found["similarity"] == SOUP.similarity
    assert found["first"]["words"] == ["Cold", "soup"]
    assert found["second"]["effects"] == [0.05, 0.3, 0.0]
    np.testing.assert_allclose(found["second"]["contributions"], [0.08, 0.40, 0.04])


def test_saved_in_every_format_and_many_on_a_page(tmp_path: Path):
    for name in ("a.html", "a.svg", "a.json", "a.txt"):
        save_picture(SOUP, tmp_path / name)
    assert (tmp_path / "a.html").read_text("utf-8").startswith("<!doctype html>")
    assert (tmp_path / "a.svg").read_text("utf-8") == to_svg(SOUP)
    assert (tmp_path / "a.txt").read_text("utf-8") == to_terminal(SOUP, colour=False, width=80) + "\n"
    assert Parsed(to_page([SOUP, SOUP])).all_text.count("Similarity 0.520") == 2
    assert SOUP._repr_html_() == to_html(SOUP)


def test_png(tmp_path: Path):
    pytest.importorskip("resvg_py", reason="PNG pictures need the extra 'pictures'")
    save_picture(SOUP, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_an_empty_text_and_nothing_in_common():
    nothing = ComparedText("", np.array([[0, 0]]), np.zeros(1, bool), np.zeros(1))
    found = Comparison(nothing, SOUP.first, 0.0, np.zeros((1, 2)), np.zeros((1, 2)))
    for picture in (
        to_html(found),
        to_svg(found),
        to_terminal(found, colour=True),
        to_terminal(found, colour=False),
    ):
        assert "Similarity 0.000" in picture
        assert "empty text" in picture


def test_long_texts_are_shown_as_passages_and_their_table_is_short():
    text = "soup " * 200
    found = make_comparison(text, text, np.random.default_rng(0).normal(size=(200, 200)))
    parsed = Parsed(to_html(found))
    assert all(len(each.words) < 200 for each in parsed.maps)
    assert parsed.tags["td"] < 100


@examples(40)
@given(st.text(max_size=30), st.text(max_size=30), st.integers(0, 9))
def test_any_text_is_drawn_as_it_is(a: str, b: str, seed: int):
    found = make_comparison(a, b, seed=seed)
    ET.fromstring(to_svg(found))
    parsed = Parsed(to_html(found))
    pieces = make_picture(found).texts
    assert [each.text for each in parsed.maps] == [each.text for each in pieces if each.text]
    for colour in (False, True):
        text = re.sub(r"\x1b\[[\d;]*m", "", to_terminal(found, colour=colour, width=40))
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text.replace("\t", ""))
