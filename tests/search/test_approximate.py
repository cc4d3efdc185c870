"""Approximate search: nearly what exact search finds, with its scores."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight import Index
from limelight.search import nearest, ranking
from limelight.search.nearest import ApproximateSearch, ExactSearch, split_query
from limelight.search.shards import ZERO, quantise
from search.first_format import write_first_format
from search.vectors import shards_of
from shared_reader import share_reader

TEXTS = [
    f"{what} {dish}"
    for what in ("cold", "warm", "old")
    for dish in ("soup", "tea", "bread", "fish", "rice", "ham")
]


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    """Around 200 centres, as texts have topics."""
    rng = np.random.default_rng(0)
    V = rng.normal(size=(200, 130))[rng.integers(200, size=12_000)] + rng.normal(size=(12_000, 130))
    return (V / np.linalg.norm(V, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handful of texts is searched as many are."""
    share_reader(monkeypatch)
    for name, value in {"MIN_CANDIDATES": 6, "CANDIDATES_PER_HIT": 2, "TEXTS_PER_CANDIDATE": 1}.items():
        monkeypatch.setattr(nearest, name, value)
    monkeypatch.setattr(ranking.ExactSearch, "search", lambda *_: pytest.fail("searched in full"))


def test_it_finds_nearly_what_exact_search_finds(vectors):
    shards = shards_of(vectors, 5000)
    scores, places = ApproximateSearch(shards, 2).search(vectors[:100], 10)
    exact_scores, exact_places = ExactSearch(1).search(shards, vectors[:100], 10)
    pairs = zip(places.tolist(), exact_places.tolist(), strict=True)
    assert np.mean([len({*a} & {*b}) / 10 for a, b in pairs]) > 0.98
    same = places == exact_places
    assert (scores[same] == exact_scores[same]).all()
    assert (np.diff(scores, axis=1) <= 0).all()


@pytest.mark.parametrize("size", [130, nearest.MOST_TURNED + 8])
def test_vectors_of_many_numbers_are_not_turned_and_others_by_one_rotation(size, monkeypatch):
    """An index of a classifier holds M, of 10,000 numbers and more: to turn it would take an hour."""
    made, rotation = [], nearest.rotation.__wrapped__
    monkeypatch.setattr(nearest, "rotation", functools.cache(lambda n: made.append(n) or rotation(n)))
    V = np.random.default_rng(1).normal(size=(1200, size)).astype(np.float32)
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    _, places = ApproximateSearch(shards_of(V, 300), 4).search(V[:20], 1)
    assert places[:, 0].tolist() == list(range(20))
    assert made == ([size] if size <= nearest.MOST_TURNED else [])


def by_definition(V, q, k, count, extra, allowed):
    """Scores and places of a query, of the texts whose signs differ least and those with most of `extra`."""
    codes, scales = quantise(V)
    R = nearest.rotation(len(q)).astype(np.int64)
    differing = (((codes.astype(np.int64) - ZERO) @ R >= 0) != (q @ R >= 0)).sum(axis=1)
    places = np.flatnonzero(allowed).tolist()
    near = sorted(places, key=lambda at: (differing[at], at))[:count]
    matching = sorted((at for at in places if extra[at]), key=lambda at: (-extra[at], at))[:count]
    planes, steps = split_query(q[None])
    whole = planes[:, 0].astype(np.int64) * 127 + planes[:, 1]
    products = ((codes.astype(np.int64) - ZERO) @ whole).astype(np.float32)
    scores = (products * scales + extra / steps[0]) * steps[0]
    best = sorted({*near, *matching}, key=lambda at: (-scores[at], at))[:k]
    fill = k - len(best)
    return scores[best].tolist() + [-np.inf] * fill, best + [-1] * fill


@examples(60)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 200),
    size=st.sampled_from([1, 7, 64, 65, 300]),
    k=st.integers(1, 30),
    count=st.integers(1, 60),
    shard=st.integers(1, 120),
    threads=st.integers(1, 3),
    share=st.sampled_from([0.0, 0.1, 1.0]),
    words=st.booleans(),
)
def test_search_is_its_definition_in_any_shards_and_threads(
    seed, n, size, k, count, shard, threads, share, words
):
    rng = np.random.default_rng(seed)
    V, Q = rng.normal(size=(40, size))[rng.integers(40, size=n)], rng.normal(size=(2, size))
    extra = (rng.integers(4, size=(2, n)) * (rng.random((2, n)) < 0.3) / 8 * words).astype(np.float32)
    allowed = rng.random(n) < share
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "MIN_CANDIDATES", count)
        patch.setattr(nearest, "CANDIDATES_PER_HIT", 0)
        scores, places = ApproximateSearch(shards_of(V, shard), threads).search(
            Q, k, extra if words else None, None if share == 1 else allowed
        )
    for at, q in enumerate(Q):
        expected = by_definition(V, q, k, count, extra[at], allowed)
        assert (scores[at].tolist(), places[at].tolist()) == expected


def test_if_every_text_is_a_candidate_it_is_exact_search(vectors):
    shards, rng = shards_of(vectors[:900], 200), np.random.default_rng(1)
    extra, allowed = rng.random((3, 900), np.float32), rng.random(900) < 0.5
    for how in ((None, None), (extra, None), (None, allowed), (extra, allowed)):
        found = ApproximateSearch(shards, 1).search(vectors[:3], 400, *how)
        expected = ExactSearch(1).search(shards, vectors[:3], 400, *how)
        assert [each.tolist() for each in found] == [each.tolist() for each in expected]


def test_what_is_added_to_a_score_makes_its_texts_candidates(vectors):
    extra = np.zeros((1, 12_000), np.float32)
    extra[0, 11_999] = 2
    _, places = ApproximateSearch(shards_of(vectors, 5000), 1).search(vectors[:1], 2, extra)
    assert places.tolist() == [[11_999, 0]]


def test_a_vector_of_zeros_is_like_none(vectors):
    scores, places = ApproximateSearch(shards_of(vectors, 12_000), 1).search(np.zeros((1, 130)), 3)
    assert (scores == 0).all()
    assert (places >= 0).all()


def test_many_hits_and_few_texts_are_searched_in_full():
    assert nearest.is_worthwhile(10, 10_000)
    assert not nearest.is_worthwhile(1, 9_999)
    assert not nearest.is_worthwhile(100, 99_999)


def texts_of(hits) -> list[str]:
    return [hit.text for hit in hits]


def test_an_index_finds_what_is_added_and_not_what_is_deleted(tmp_path: Path, few_candidates):
    rows = [{"text": text, "stars": len(text) % 5} for text in TEXTS]
    index = Index.create(tmp_path / "index", rows)
    for by in ("meaning", "both"):
        assert index.search("cold soup", 3, by=by, approximate=True)[0].text == "cold soup"
    index.add(["cold broth"])
    assert texts_of(index.search("cold broth", 1, approximate=True)) == ["cold broth"]
    index.delete([1, 19])  # cold soup, cold broth
    for _ in "ab":  # marked, then gone from the files
        for by in ("meaning", "both"):
            found = texts_of(index.search("cold soup", 3, by=by, approximate=True))
            assert len(found) == 3
            assert not {*found} & {"cold soup", "cold broth"}
        index.compact()
    found = index.search("warm tea", 2, where={"stars": len("warm rice") % 5}, approximate=True)
    assert len(found) == 2
    assert {hit.columns["stars"] for hit in found} == {4}
    assert index.search_vectors(np.eye(384)[:2], 3, approximate=True)[1].shape == (2, 3)


def test_only_the_signs_of_new_shards_are_packed(tmp_path: Path, few_candidates, monkeypatch):
    index, packed = Index.create(tmp_path / "index", TEXTS), []

    def count_packed(positive: np.ndarray) -> np.ndarray:
        packed.append(len(positive))
        return pack(positive)

    pack = nearest.pack_signs
    monkeypatch.setattr(nearest, "pack_signs", count_packed)

    def search() -> list[int]:
        """The texts that were packed; the query is one of them."""
        packed.clear()
        found = index.search("cold soup", 3, approximate=True)
        again = Index.open(tmp_path / "index").search("cold soup", 3, approximate=True)
        assert [(hit.text, hit.score) for hit in found] == [(hit.text, hit.score) for hit in again]
        return packed[: -1 - len(index._shards)]

    assert search() == [18, 1]
    index.add(["cold broth", "hot broth"])
    assert search() == [2, 1]
    index.delete([1])
    assert search() == [1]
    index.add(["warm broth"])  # not searched before the next change
    index.delete([2])
    assert search() == [1, 1]
    index.compact()
    assert search() == [19, 1]


def test_a_small_index_is_searched_in_full(tmp_path: Path, monkeypatch):
    share_reader(monkeypatch)
    index = Index.create(tmp_path / "index", TEXTS)
    monkeypatch.setattr(nearest.ApproximateSearch, "search", lambda *_: pytest.fail("not in full"))
    assert texts_of(index.search("cold soup", approximate=True)) == texts_of(index.search("cold soup"))
    assert len(index.search("cold soup", 10**20, approximate=True)) == len(TEXTS)


def test_the_file_of_an_earlier_version_is_never_opened(tmp_path: Path, monkeypatch):
    share_reader(monkeypatch)
    entry = {"rows": 18, "bytes": 5, "sha256": ""}
    index = write_first_format(tmp_path / "index", [TEXTS], approximate=entry)
    old = index.folder / "approximate.faiss"
    old.write_bytes(b"wrong")
    index.verify()
    assert texts_of(index.search("cold soup", approximate=True)) == texts_of(index.search("cold soup"))
