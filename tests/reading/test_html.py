import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.reading import to_html, to_page
from limelight.reading.captions import METHODS, MORE
from limelight.reading.picture import MAX_GROUPS_DRAWN
from limelight.reading.reading import PairReading
from reading.parse import Parsed
from reading.readings import SOUP, focused, make_reading
from refusing import refuses


def test_every_word_has_its_weight_and_its_colour():
    reading = make_reading("Good  soup!", [[0.9, 0.1, 0.0], [0.5, 0.25, 0.25]])
    overall = Parsed(to_html(reading)).maps[0]
    assert overall.titles() == [("Good", "0.700"), ("soup", "0.175"), ("!", "0.125")]
    assert [attributes.get("class") for _, attributes in overall.words] == ["h6", "h2", "h1"]


def test_rows_have_maps_of_their_own_most_telling_first():
    reading = make_reading("Good  soup!", [[0.4, 0.3, 0.3], [0.0, 1.0, 0.0]])
    _, first, second = Parsed(to_html(reading)).maps
    assert first.titles() == [("Good", "0.000"), ("soup", "1.000"), ("!", "0.000")]
    assert second.titles() == [("Good", "0.400"), ("soup", "0.300"), ("!", "0.300")]


def test_rows_that_read_the_same_words_are_shown_together_and_each_one_click_away():
    rows = focused(SOUP, "cold", "rude", "cold", "cold")
    html = to_html(make_reading(SOUP, rows))
    shown, folded = html.split("<summary>All 4 rows</summary>")
    assert len(Parsed(shown).maps) == 1 + 2
    assert ">Rows 1, 3–4<" in shown
    assert ">Row 2<" in shown
    assert len(Parsed(folded).maps) == 4
    assert re.findall(r"<bdi>(Row \d)<", folded) == ["Row 1", "Row 3", "Row 4", "Row 2"]


def test_thirty_rows_do_not_bury_the_reader():
    html = to_html(make_reading(SOUP, r=30))
    shown, folded = html.split("<summary>All 30 rows</summary>")
    assert len(Parsed(shown).maps) == 1 + MAX_GROUPS_DRAWN
    assert len(Parsed(folded).maps) == 30


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert('x')</script> & \"quotes\"",
        "  two  spaces\tand a tab\n\n  and lines \r\n with returns ",
        "Emoji 👩‍🍳👍🏽🇫🇷 and 汤",
        "السلام عليكم (hello) שלום",
        "one",
        "&amp; &lt;b&gt; </p></div></style>",
    ],
)
def test_every_map_holds_the_text_exactly(text: str):
    parsed = Parsed(to_html(make_reading(text)))
    assert {found.text for found in parsed.maps} == {text}
    assert "script" not in parsed.tags


@examples(100)
@given(
    text=st.text(
        st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\uffff\ufffe"), max_size=40
    )
)
def test_any_text_is_kept(text: str):
    parsed = Parsed(to_html(make_reading(text)))
    assert all(found.text == text for found in parsed.maps)
    assert bool(parsed.maps) == bool(text)


def test_labels_and_names_are_escaped():
    reading = make_reading("Soup", labels=("<i>x", "'\"&"), probabilities=(0.3, 0.7))
    named = replace(reading, row_names=("<u>",) * 4, truth="<u>", trust="<u>", decided=np.ones(1))
    for html in (to_html(named), to_page([named, "<u>"], about=["<u>"])):
        assert "<i>x" not in html
        assert "<u>" not in html
        assert "<bdi>&#39;&#34;&amp;</bdi>" in html


def test_an_empty_text_and_a_text_without_words():
    assert "empty text" in to_html(make_reading(""))
    assert [found.text for found in Parsed(to_html(make_reading(" \n "))).maps] == [" \n "]


def test_all_classes_have_their_probability():
    html = to_html(make_reading("Soup", labels=(1, 2, 3), probabilities=(0.1, 0.25, 0.65)))
    found = re.findall(r"<bdi>(\d)</bdi><i><s style=\"width:([\d.]+)%\"></s></i><span>([\d.]+)</span>", html)
    assert found == [("1", "10.0", "0.100"), ("2", "25.0", "0.250"), ("3", "65.0", "0.650")]


def test_many_classes_start_with_the_likeliest_and_all_are_there():
    probabilities = np.arange(1, 13) / 78
    html = to_html(make_reading("Soup", labels=tuple(range(12)), probabilities=probabilities))
    shown, folded = html.split("<summary>7 more classes</summary>")
    assert re.findall(r"<bdi>(\d+)</bdi><i>", shown) == ["11", "10", "9", "8", "7"]
    assert re.findall(r"<bdi>(\d+)</bdi><i>", folded) == ["6", "5", "4", "3", "2", "1", "0"]


def test_unknown_words_are_marked():
    html = to_html(make_reading("Good zorb", [[0.5, 0.5]], unknown=["zorb"]))
    word, attributes = Parsed(html).maps[0].words[1]
    assert (word, attributes) == ("zorb", {"class": "h4 u", "title": "0.500, not in the vocabulary"})
    assert "not in the model's vocabulary" in html
    assert "not in the model's vocabulary" not in to_html(make_reading("Good soup"))


def test_even_attention_looks_pale():
    html = to_html(make_reading(SOUP, np.full((1, 23), 1 / 23)))
    assert {attributes["class"] for _, attributes in Parsed(html).maps[0].words} == {"h3"}


def test_what_decided_comes_first_and_is_signed():
    html = to_html(make_reading("Good cold soup", decided=np.array([0.5, -1.0, 0.0]), decided_by="sum"))
    first = Parsed(html).maps[0]
    assert first.titles() == [("Good", "+0.500"), ("cold", "-1.000"), ("soup", "+0.000")]
    assert [attributes.get("class") for _, attributes in first.words] == ["h4", "c9", None]
    assert html.index("What decided") < html.index("What each row read")
    assert "Orange words support “bad”, blue words speak against it." in html
    assert "All rows together" not in html
    assert METHODS["sum"] in html


def test_a_reading_without_labels_shows_what_was_read_alone():
    html = to_html(make_reading("Good soup", labels=(), probabilities=(), decided=np.ones(2)))
    assert "What decided" not in html
    assert html.index("All rows together") < html.index("What each row read")


def test_rows_have_names_and_those_without_a_clear_aspect_come_last():
    names = ("", "articles: the, a", "food: soup, bill", "", "people: waiter")
    rows = focused(SOUP, "We", "The", "soup", "We", "waiter")
    html = to_html(make_reading(SOUP, rows, row_names=names)).split("<summary>All")[0]
    found = re.findall(r"<bdi>([^<]*)</bdi><small>([^<]*)</small>", html)
    assert [name for name, _ in found] == [
        "food: soup, bill", "people: waiter", "articles: the, a", "no clear aspect",
    ]  # fmt: skip
    assert dict(found)["no clear aspect"] == "rows 1, 4"


def test_the_true_label_and_how_far_to_trust_it_are_said():
    reading = make_reading("Good soup", decided=np.ones(2), truth="good", trust="Not at all.")
    html = to_html(reading)
    assert "True label: good (wrong)" in html
    assert "(right)" in to_html(replace(reading, truth="bad"))
    assert "True label" not in to_html(replace(reading, truth=None))
    assert "How far to trust it.</b> Not at all." in html
    assert "not measured" in to_html(replace(reading, trust=""))


def test_rows_are_folded_away_below_what_decided():
    reading = make_reading(
        "Good soup", [[0.9, 0.1], [0.1, 0.9]], decided=np.ones(2), row_names=("praise", ""),
        row_weights=np.array([0.1, 0.4]),
    )  # fmt: skip
    line = "What each row read: 2 rows; most for this answer: row 2 (here “soup”), “praise”"
    summary = f"<details><summary>{line}</summary>"
    assert summary in to_html(reading)
    assert summary.replace("details", "details open", 1) in to_html(reading, rows=True)
    assert "praise" in to_page([reading])
    assert "most for" not in to_html(replace(reading, row_weights=np.array([-0.1, 0.0])))
    assert "<summary>What each row read" not in to_html(replace(reading, decided=None))  # all there is to see


def test_the_rows_that_count_most_come_first():
    rows = focused(SOUP, "cold", "rude", "joke")
    reading = make_reading(SOUP, rows, decided=np.ones(23), row_weights=np.array([0.1, -0.3, 0.2]))
    html = to_html(reading)
    places = [html.index(f"<bdi>Row {row}</bdi>") for row in (2, 3, 1)]
    assert places == sorted(places)


def test_a_page_explains_itself_once():
    reading = make_reading("Good soup", decided=np.ones(2), decided_by="sum", trust="Not at all.")
    page = to_page(["Right", reading, "Wrong", reading], about=["Two readings."])
    for once in (METHODS["sum"], "Not at all.", "Two readings.", "<h2>Wrong</h2>", "each reading is a row"):
        assert page.count(once) == 1, once
    assert page.count("Orange words support “bad”") == 2
    assert page.index("Two readings.") < page.index("<h2>Right</h2>") < page.index("Not at all.")
    many = to_page(["Right", *[reading] * 4])  # of which the explanation would be far below
    assert many.count("Not at all.") == 1
    assert many.index("Not at all.") < many.index("<h2>Right</h2>")


@pytest.mark.parametrize("wrong", [[1.0], [[1.0, 2.0, 3.0]], [1.0, 2.0, float("nan")]])
def test_wrong_weights_are_refused(wrong: list):
    with refuses("weights-shape"):
        to_html(make_reading("Good cold soup", decided=np.array(wrong)))


def test_every_weight_is_in_the_table():
    html = to_html(make_reading("Good <b>", [[0.5, 0.25, 0.125, 0.125]]))
    table = html.split("<table>")[1].split("</table>")[0]
    assert re.findall(r"<th scope=row dir=auto>(.*?)<td>(.*?)<td>(.*)", table) == [
        ("Good", "0.500", "0.500"),
        ("&lt;", "0.250", "0.250"),
        ("b", "0.125", "0.125"),
        ("&gt;", "0.125", "0.125"),
    ]


def test_a_screen_reader_hears_the_strongest_words():
    assert "Strongest: soup 0.700, Good 0.300." in to_html(make_reading("Good soup", [[0.3, 0.7]]))


def test_a_pair_is_side_by_side_with_its_rows_matched():
    first = make_reading("A dog", [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    second = make_reading("An animal", [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    maps = Parsed(to_html(PairReading(first, second)).split("<summary>All")[0]).maps
    assert [found.text for found in maps] == ["A dog", "An animal"] * 3
    assert maps[2].titles() + maps[3].titles() == [
        ("A", "0.000"), ("dog", "1.000"), ("An", "1.000"), ("animal", "0.000"),
    ]  # fmt: skip
    assert maps[4].titles()[0] == ("A", "1.000")
    sides = replace(first, decided=np.array([1, -1])), replace(second, decided=np.array([0.5, 0]))
    assert Parsed(to_html(PairReading(*sides))).maps[1].titles() == [("An", "+0.500"), ("animal", "+0.000")]


def test_a_pair_with_an_empty_sentence():
    reading = PairReading(make_reading(SOUP, r=3), make_reading("", r=3))
    html = to_html(reading)
    assert {found.text for found in Parsed(html).maps} == {SOUP}
    assert html.count("empty text") == len(Parsed(html).maps)


def test_a_page_is_whole_and_needs_nothing_from_outside():
    reading = make_reading("Soup")
    page = to_page([reading] * 3, title="Two & more")
    parsed = Parsed(page)
    assert page.startswith("<!doctype html>")
    assert "<title>Two &amp; more</title>" in page
    assert page.count("<style>") == 1
    assert page.count('<div class="limelight"') == 3
    assert re.findall(r'\bhref="([^"]*)"', page) == [MORE]
    assert not re.search(r"https?:|//|url\(|@import|\bsrc=", page.replace(MORE, ""))
    assert "script" not in parsed.tags
    with refuses("no-rows"):
        to_page([])


def test_a_long_text_stays_small_and_whole():
    text = " ".join(f"word{k}" for k in range(5_000))
    rows = np.random.default_rng(0).dirichlet(np.full(5_000, 0.002), size=30)
    html = to_html(make_reading(text, rows))
    maps = Parsed(html).maps
    assert maps[0].text == text
    assert len(maps[0].words) == 5_000
    assert len(html.encode()) < 400_000
    strongest = int(np.argmax(rows[0]))
    in_rows = {dict(found.titles()).get(f"word{strongest}") for found in maps[1:]}
    assert f"{np.float32(rows[0, strongest]):.6f}" in in_rows
    assert re.search(r'<i title="[\d,]+ words, 0\.\d{6} together">…</i>', html)


def test_naming_a_reading_in_a_notebook_draws_it():
    reading = make_reading("Good soup")
    assert reading._repr_html_() == to_html(reading)
    assert PairReading(reading, reading)._repr_html_() == to_html(PairReading(reading, reading))


def test_both_modes_and_notebook_themes_have_their_colours():
    html = to_html(make_reading("Soup"))
    for selector in ("@media (prefers-color-scheme:dark)", "[data-jp-theme-light=false]", ".vscode-dark"):
        assert selector in html


@pytest.mark.parametrize("text", ["", " \n "])
def test_a_text_without_words_is_drawn_as_such(text: str):
    """A model reads it as one unknown word of no length, with a weight."""
    reading = make_reading(
        text, [[1.0]], pattern="^", unknown=[""], decided=np.array([0.5]), row_names=("food: soup",)
    )
    html = to_html(reading)
    assert "What each row read</figcaption>" not in html
    assert "Dotted words" not in html
    assert "<b" not in html.split("<figure>")[1].split("</figure>")[0]
