"""Approximate search: nearly what exact search finds, with its scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from limelight.search import approximate
from limelight.search.approximate import ApproximateSearch, build_approximate
from limelight.search.exact import ExactSearch
from refusing import refuses
from search.vectors import shards_of

pytest.importorskip("faiss", reason="faiss is an extra: pip install '.[search]'")


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    """Around 200 centres, as texts have topics."""
    rng = np.random.default_rng(0)
    V = rng.normal(size=(200, 16))[rng.integers(200, size=12_000)] + 0.5 * rng.normal(size=(12_000, 16))
    return (V / np.linalg.norm(V, axis=1, keepdims=True)).astype(np.float32)


def test_it_finds_nearly_what_exact_search_finds(tmp_path, vectors):
    shards = shards_of(vectors, 5000)
    entry = build_approximate(tmp_path, shards, 16, threads=1)
    scores, places = ApproximateSearch.open(tmp_path, entry, 1).search(shards, vectors[:50], 10)
    exact_scores, exact_places = ExactSearch(1).search(shards, vectors[:50], 10)
    recall = np.mean(
        [len({*a} & {*b}) / 10 for a, b in zip(places.tolist(), exact_places.tolist(), strict=True)]
    )
    assert recall > 0.95
    same = places == exact_places
    np.testing.assert_allclose(scores[same], exact_scores[same], atol=1e-4)
    assert (np.diff(scores, axis=1) <= 0).all()


def test_the_same_index_gives_the_same_file(tmp_path, vectors):
    shards = shards_of(vectors, 5000)
    first = build_approximate(tmp_path, shards, 16, threads=1)
    assert build_approximate(tmp_path, shards, 16, threads=1) == first


def test_a_damaged_file_is_not_used(tmp_path, vectors):
    entry = build_approximate(tmp_path, shards_of(vectors, 5000), 16, threads=1)
    path = tmp_path / "approximate.faiss"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.warns(UserWarning, match=r"approximate\.faiss.*in full"):
        assert ApproximateSearch.open(tmp_path, entry, 1) is None


def test_few_texts_need_none(tmp_path):
    with refuses("too-few-texts"):
        build_approximate(tmp_path, shards_of(np.eye(3), 3), 3, threads=1)


def test_an_index_uses_it_until_texts_are_added(tmp_path: Path, monkeypatch):
    from limelight import Index

    monkeypatch.setattr(approximate, "MIN_APPROXIMATE_TEXTS", 1)
    texts = [
        f"{what} {dish}"
        for what in ("cold", "warm", "old")
        for dish in ("soup", "tea", "bread", "fish", "rice", "ham")
    ]
    index = Index.create(tmp_path / "index", texts)
    index.build_approximate()
    again = Index.open(tmp_path / "index")
    assert again._approximate is not None
    for each in (index, again):
        found, exact = each.search("cold broth", 3), each.search("cold broth", 3, exact=True)
        assert [hit.text for hit in found] == [hit.text for hit in exact]
    again.add(["a late train"])
    assert again._approximate is None
    assert sorted(path.suffix for path in again.folder.iterdir()) == [".json", ".safetensors", ".safetensors"]
