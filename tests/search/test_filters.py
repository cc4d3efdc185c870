"""Filters by column: what passes, and that they change no score."""

from __future__ import annotations

import operator
from pathlib import Path

import numpy as np
import pytest

from limelight import Index
from limelight.search import index_folder, ranking
from limelight.search.filters import MAX_CONDITIONS, Condition, make_conditions, parse_conditions, shown
from limelight.search.shards import Shard
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
@pytest.mark.parametrize("by", ranking.SCORERS)
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
    [
        ["city"], ["=Ghent"], ["stars<many"], {"stars": ("~", 2)}, {"stars": (">", None)}, {"stars": (">",)},
        5, 0, [5], "", b"stars=1", {5: 1}, {"stars": 10**5000}, {"stars": (">", -(10**5000))},
        {"stars": None}, {"stars": ("=", [1])}, {"stars": {"a": 1}}, {"stars": ([">"], 1)},
        {"stars": ("<", float("nan"))}, {"stars": (">", 1, 2)}, {"stars": ()}, [" " * 100_000],
        {"stars": "9" * 20_000},
        [f"stars!={k}" for k in range(33)],
    ],
)  # fmt: skip
def test_what_is_not_a_condition_is_refused(built, where):
    with refuses("option-value") as error:
        Index.open(built).search("soup", where=where)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("k", ["3", 0, -1, 2.5, float("nan"), None, [3], True])
def test_what_is_not_a_number_of_hits_is_refused(built, k):
    index = Index.open(built)
    with refuses("option-value"):
        index.search("soup", k=k)
    with refuses("option-value"):
        index.search_vectors(np.eye(1, index.config.size, dtype=np.float32), k)


@pytest.mark.parametrize("query", [5, None, [5], b"soup"])
def test_what_is_not_a_query_is_refused(built, query):
    with refuses("text-type"):
        Index.open(built).search(query)


@pytest.fixture(scope="module")
def flags(tmp_path_factory: pytest.TempPathFactory) -> Path:
    values = [True, 1, "1", False, 0, "true", None]
    rows = [{"text": "Cold soup.", "flag": value} for value in values]
    return Index.create(tmp_path_factory.mktemp("flags") / "index", rows).folder


def test_a_filter_is_not_that_of_the_client_before(flags):
    """In Python True == 1, so that one filter could be taken for the other."""
    index = Index.open(flags)
    true, one, false, zero = {1, 6}, {2, 3}, {4}, {5}
    for value, rows in [
        (True, true), (1, one), (1.0, one), ("true", true), (False, false), (0, zero), (np.True_, true),
        (1, one), (True, true), (0, zero), (False, false), (np.int64(1), one),
    ]:  # fmt: skip
        assert {hit.row for hit in index.search("soup", where={"flag": value}, words=False)} == rows


def test_what_a_filter_gives_belongs_to_its_search(flags):
    index = Index.open(flags)
    first = index._allowed({"flag": 1})
    first[:] = True
    assert index._allowed({"flag": 1}).tolist() == [False, True, True, False, False, False, False]


BIG = 2**53  # the first whole number after which a float has only every second


@pytest.mark.parametrize("given", [BIG + 1, str(BIG + 1), f"{BIG + 1}.0", f" {BIG + 1} "])
@pytest.mark.parametrize("stored", [int, str, "{}.0".format, float])
def test_whole_numbers_are_compared_exactly(given, stored):
    for sign, compare in {"=": operator.eq, "!=": operator.ne, "<": operator.lt, ">=": operator.ge}.items():
        (condition,) = make_conditions({"id": (sign, given)})
        for number in (BIG - 1, BIG, BIG + 1, BIG + 2):
            value = stored(number)
            exact = int(value) if isinstance(value, float) else number
            assert condition.holds(value) == compare(exact, BIG + 1), (sign, value)


def test_fractions_are_equal_as_written():
    (condition,) = make_conditions({"price": 0.1})
    assert [condition.holds(value) for value in (0.1, "0.10", "1e-1", 0.11)] == [True, True, True, False]
    assert Condition("n", "<", "inf").holds(10**400)
    assert not Condition("n", ">", "5").holds("nan")


def test_a_name_with_an_underscore_is_no_number():
    (condition,) = make_conditions({"id": "12_3"})
    assert [condition.holds(value) for value in ("12_3", 123, "123", "1_23")] == [True, False, False, False]
    with refuses("option-value"):
        make_conditions({"id": ("<", "12_3")})


# ---------------------------------------------------------------- what is kept


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts each reading of a shard's columns was of."""
    found, columns = [], Shard.columns
    monkeypatch.setattr(Shard, "columns", lambda shard: found.append(len(shard)) or columns(shard))
    return found


def rows_of(index: Index, where: object) -> list[int]:
    return sorted(hit.key for hit in index.search("soup", where=where, words=False))


def test_a_change_reads_the_columns_of_new_shards_alone(tmp_path, monkeypatch, reads):
    monkeypatch.setattr(index_folder, "SHARD_TEXTS", 2)
    rows = [{"text": f"Soup {k}.", "stars": k} for k in range(5)]
    index = Index.create(tmp_path / "index", rows)
    where = {"stars": [("!=", 1), ("<", 4)]}
    assert (rows_of(index, where), reads) == ([1, 3, 4], [2, 2, 1])
    index.add([{"text": "More soup.", "stars": 3}])
    assert (rows_of(index, where), reads) == ([1, 3, 4, 6], [2, 2, 1, 1])
    index.delete([1, 4])
    assert (rows_of(index, where), reads) == ([3, 6], [2, 2, 1, 1])
    assert (rows_of(index, ["stars<4"]), reads) == ([2, 3, 6], [2, 2, 1, 1])  # half of the filter before


def test_filters_that_are_not_used_are_forgotten(built, reads):
    index = Index.open(built)
    for number in range(2 * MAX_CONDITIONS):
        rows_of(index, {"stars": ("!=", number)})
    assert len(reads) == 2 * MAX_CONDITIONS
    rows_of(index, {"stars": ("!=", number)})
    assert len(reads) == 2 * MAX_CONDITIONS
    rows_of(index, {"stars": ("!=", 0)})
    assert len(reads) == 2 * MAX_CONDITIONS + 1


@pytest.mark.parametrize("by", ranking.SCORERS)
def test_a_deleted_text_passes_no_filter(tmp_path, by):
    rows = [{"text": "Cold soup.", "city": city} for city in ("Ghent", "Bonn", "Rome")]
    index = Index.create(tmp_path / "index", rows)
    for first in (True, False):  # before and after the shard's columns are read
        if not first:
            index.delete([2])
        found = index.search("cold soup", by=by, where=["city!=Ghent"], words=False)
        assert [hit.row for hit in found] == ([2, 3] if first else [3])
    again = Index.open(index.folder)
    assert [hit.row for hit in again.search("cold soup", by=by, where=["city!=Ghent"])] == [3]
    Index.create(index.folder, rows, overwrite=True)  # the same shard, of which nothing is deleted
    again._reopen()
    assert [hit.row for hit in again.search("cold soup", by=by, where=["city!=Ghent"])] == [2, 3]


def test_values_of_any_kind_are_compared():
    assert parse_conditions(["a b >= 1"]) == [Condition("a b", ">=", "1")]
    assert parse_conditions(["x=1=2"]) == [Condition("x", "=", "1=2")]
    assert Condition("open", "=", "true").holds(True)
    assert not Condition("open", "=", "1").holds(True)
    assert not Condition("n", "<", "3").holds(None)
    assert not Condition("n", "=", "nan").holds(None)
    assert Condition("tags", "=", "['a']").holds(["a"])


def test_what_is_wrong_is_shown_as_it_is_if_it_is_short():
    plain = (None, 2.5, float("nan"), 7, True, -(10**40) + 1)
    assert [shown(value) for value in plain] == [repr(value) for value in plain]
    assert (shown("x" * 40), shown("x" * 41)) == (repr("x" * 40), repr("x" * 40))
    assert [shown(value) for value in (10**40, [1], b"x")] == [
        f"a value of type {kind}" for kind in ("int", "list", "bytes")
    ]
