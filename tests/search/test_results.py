"""What a search found: its page, whole and escaped, with the words of each match; and its typed table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from limelight.reading.comparison import ComparedText, Comparison
from limelight.search.hit_words import Hit, HitWords
from limelight.search.results import results_page, write_hits
from reading.parse import Parsed
from refusing import refuses

PAIRS = HitWords((("cold", "Cold", 0.5), ("cold", "soup", -0.125)), None, lambda: pytest.fail("compared"))
FIRST = Hit(
    0.75, "Cold soup", "menu.csv", 0, 3, None, {"price": 4, "city": "Ghent"}, PAIRS, cosine=0.5,
    meaning_weight=0.5, matches=(("broth", 0.25), ("cold", 0.5)), key=3,
)  # fmt: skip
SECOND = Hit(0.5, "=Soup", "list", 1, 12, 0, {"price": 4.5}, key=12)
QUERIES, RESULTS = ["cold broth", "tea", "soup"], [[FIRST, SECOND], [], [SECOND]]


def compared(text: str, effects: list[float]) -> ComparedText:
    ends = np.cumsum([len(word) + 1 for word in text.split()])
    starts = [0, *ends[:-1]]
    return ComparedText(text, np.stack([starts, ends - 1], 1), np.ones(len(ends), bool), np.array(effects))


def hit(text: str, effects: list[float]) -> Hit:
    matrix = np.array([effects])
    comparison = Comparison(compared("broth", [0.5]), compared(text, effects), 0.5, matrix, together=matrix)
    words = HitWords(tuple(comparison.top_pairs()), comparison.second, lambda: comparison)
    return Hit(0.5, text, "menu <1>.csv", 0, 7, None, {"city": "<Ghent>", "none": None}, words)


def test_words_are_lit_by_their_effects_on_one_scale():
    page = results_page(["broth"], [[hit("cold soup", [-0.1, 0.4]), hit("soup", [0.2])]], "menu")
    assert "<b class=h9 title=+0.400>soup</b>" in page
    assert '<b class="c2" title="-0.100">cold</b>' in page
    assert "title=+0.200>soup</b>" in page
    assert page.count("row 7") == 2


def test_everything_from_outside_is_escaped():
    bad = "<script>alert(1)</script>"
    page = results_page([bad], [[hit(bad, [0.3])]], bad)
    assert "<script" not in page
    assert "menu &lt;1&gt;.csv" in page
    assert "&lt;Ghent&gt;" in page
    assert "none:" not in page
    assert bad in Parsed(page).maps[0].text


def test_a_hit_without_words_shows_its_text():
    page = results_page(["broth", "tea"], [[Hit(0.5, "cold soup", "menu.csv", 0, 7, None, {})], []], "menu")
    assert "cold soup" in page
    assert "orange" not in page


def test_matching_words_are_lit_and_listed():
    found = hit("cold soup", [0.1, 0.4])
    both = replace(found, score=0.75, cosine=0.5, meaning_weight=0.5, matches=(("Soups", 0.5),))
    page = results_page(["Soups"], [[both]], "menu")
    assert "<b class=h9 title=+0.700>soup</b>" in page  # half of 0.4, and 0.5
    assert "meaning 0.25: <bdi>broth</bdi> – <bdi>soup</bdi> 0.20" in page
    assert "</bdi> 0.05 · words" in page  # all pairs are shown
    more = results_page(["Soups"], [[replace(both, cosine=0.7)]], "menu")
    assert "meaning 0.35: " in more
    assert "</bdi> 0.05, others 0.10 · words" in more
    assert "words 0.50: <bdi>Soups</bdi> 0.50" in page
    words = Hit(0.5, "cold soup", "menu.csv", 0, 7, None, {}, meaning_weight=0, matches=(("soup", 0.5),))
    page = results_page(["soup"], [[words]], "menu")
    assert "<b class=h9 title=+0.500>soup</b>" in page
    assert "meaning 0" not in page


def test_every_hit_has_a_row_with_its_query_rank_and_columns(tmp_path: Path):
    write_hits(tmp_path / "hits.csv", "csv", QUERIES, RESULTS)
    assert (tmp_path / "hits.csv").read_text().splitlines() == [
        "query,rank,score,text,source,row,key,matches,pairs,price,city",
        'cold broth,1,0.75,Cold soup,menu.csv,3,3,"cold +0.500, broth +0.250",'
        '"cold – Cold +0.250, cold – soup -0.062",4,Ghent',
        "cold broth,2,0.5,=Soup,list,12,12,,,4.5,",
        "soup,1,0.5,=Soup,list,12,12,,,4.5,",
    ]
    with refuses("exists"):
        write_hits(tmp_path / "hits.csv", "csv", QUERIES, RESULTS)
    write_hits(tmp_path / "hits.csv", "csv", QUERIES, RESULTS, overwrite=True, escaped=True)
    assert "cold broth,2,0.5,'=Soup" in (tmp_path / "hits.csv").read_text()


def test_columns_have_types(tmp_path: Path):
    write_hits(tmp_path / "hits.parquet", "parquet", QUERIES, RESULTS)
    found = pq.read_table(tmp_path / "hits.parquet")
    assert {field.name: str(field.type) for field in found.schema} == {
        "query": "string", "rank": "int64", "score": "float", "text": "string", "source": "string",
        "row": "int64", "key": "int64", "price": "double", "city": "string",
        **dict.fromkeys(("matches", "pairs"), "list<element: struct<word: string, weight: float>>"),
    }  # fmt: skip
    assert found["rank"].to_pylist() == [1, 2, 1]
    write_hits(tmp_path / "hits.jsonl", "jsonl", QUERIES, RESULTS)
    first = json.loads((tmp_path / "hits.jsonl").read_text().splitlines()[0])
    assert first["matches"] == [["cold", 0.5], ["broth", 0.25]]
    assert (first["score"], first["key"], first["price"]) == (0.75, 3, 4)


def test_without_a_hit_there_is_the_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write_hits(None, "tsv", ["tea"], [[]])
    assert capsys.readouterr().out == "query\trank\tscore\ttext\tsource\trow\tkey\tmatches\tpairs\n"
