"""Filters by column: what passes, and that they change no score."""

from __future__ import annotations

from pathlib import Path

import pytest

from limelight import Index
from limelight.search import ranking
from limelight.search.filters import Condition, make_conditions, parse_conditions
from refusing import refuses
from reviews import write_csv
from shared_reader import share_reader

TEXTS = ["Cold soup.", "Cold soup again.", "A cold room.", "Warm soup.", "Cold soup, late train."]


@pytest.fixture(autouse=True)
def one_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    share_reader(monkeypatch)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    columns = {"stars": [1, 2, 3, 10, ""], "city": ["Ghent", "Bonn", "Ghent", "New York", "Ghent"]}
    return Index.create(folder / "index", write_csv(folder / "texts.csv", text=TEXTS, **columns)).folder


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ({"city": "Ghent"}, {1, 3, 5}),
        ({"city": "Ghent", "stars": (">=", 2)}, {3}),
        ({"stars": [(">", 1), ("<", 10)]}, {2, 3}),  # numbers, not text
        ({"stars": 2.0}, {2}),
        ({"stars": ("<=", "3")}, {1, 2, 3}),
        ({"city": "nowhere"}, set()),
        (["city=New York"], {4}),
        (["city != Ghent"], {2, 4}),
        ({"stars": ("!=", 1), "city": "Ghent"}, {3, 5}),  # also where there is none
        (["city=Ghent", "stars<3"], {1}),
        ({}, {1, 2, 3, 4, 5}),
    ],
)
@pytest.mark.parametrize("by", ranking.WAYS)
def test_only_rows_that_pass_are_found_and_scores_stay(built, where, rows, by):
    index = Index.open(built)
    everything = {hit.row: hit.score for hit in index.search("cold soup", by=by)}
    found = {hit.row: hit.score for hit in index.search("cold soup", by=by, where=where)}
    assert found == {row: everything[row] for row in rows if row in everything}
    first = index.search("cold soup", 1, by=by, where=where, words=False)
    assert [hit.score for hit in first] == sorted(found.values(), reverse=True)[:1]


def test_the_next_filter_replaces_the_last(built):
    index = Index.open(built)
    for city, count in (("Ghent", 3), ("Bonn", 1), ("Ghent", 3)):
        assert len(index.search(["soup", "tea"], where={"city": city})[1]) == count
    index.search("soup", where={"city": "Ghent"})
    assert len(index.search("soup")) == 5


def test_a_column_that_is_not_there_is_refused(built):
    with refuses("column-missing") as error:
        Index.open(built).search("soup", where={"hotel": "Ritz"})
    assert "'city'" in str(error.value)


def test_a_column_without_a_number_is_not_compared(built):
    with refuses("option-value") as error:
        Index.open(built).search("soup", where=["stars>1", "city>=3"])
    assert "column 'city' holds no number" in str(error.value)


@pytest.mark.parametrize(
    "where",
    [["city"], ["=Ghent"], ["stars<many"], {"stars": ("~", 2)}, {"stars": (">", None)}, {"stars": (">",)}],
)
def test_what_is_not_a_condition_is_refused(where):
    with refuses("option-value"):
        make_conditions(where)


def test_values_of_any_kind_are_compared():
    assert parse_conditions(["a b >= 1"]) == [Condition("a b", ">=", "1")]
    assert parse_conditions(["x=1=2"]) == [Condition("x", "=", "1=2")]
    assert Condition("open", "=", "true").holds(True)
    assert not Condition("open", "=", "1").holds(True)
    assert not Condition("n", "<", 3).holds(None)
    assert not Condition("n", "=", "nan").holds(None)
    assert Condition("tags", "=", "['a']").holds(["a"])
