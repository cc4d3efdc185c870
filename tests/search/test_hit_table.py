"""What searches found as a table: a row for each hit, with its types."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from limelight.search.hit import Hit, HitWords
from limelight.search.hit_table import write_hits
from refusing import refuses

PAIRS = HitWords((("cold", "Cold", 0.5), ("cold", "soup", -0.125)), None, lambda: pytest.fail("compared"))
FIRST = Hit(
    0.75, "Cold soup", "menu.csv", 0, 3, None, {"price": 4, "city": "Ghent"}, PAIRS, cosine=0.5,
    meaning_weight=0.5, matches=(("broth", 0.25), ("cold", 0.5)), key=3,
)  # fmt: skip
SECOND = Hit(0.5, "=Soup", "list", 1, 12, 0, {"price": 4.5}, key=12)
QUERIES, RESULTS = ["cold broth", "tea", "soup"], [[FIRST, SECOND], [], [SECOND]]


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
