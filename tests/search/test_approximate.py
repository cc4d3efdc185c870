"""Approximate search: nearly what exact search finds, with its scores."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from limelight.search import approximate
from limelight.search.approximate import ApproximateSearch, build_approximate, open_approximate
from limelight.search.exact import ExactSearch
from limelight.search.index_folder import OLD_APPROXIMATE, ApproximateEntry, IndexConfig, Source
from limelight.search.shards import ShardEntry
from limelight.storage.array_files import safetensors_pieces
from refusing import refuses
from search.vectors import shards_of

faiss = pytest.importorskip("faiss", reason="faiss is an extra: pip install '.[search]'")


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    """Around 200 centres, as texts have topics."""
    rng = np.random.default_rng(0)
    V = rng.normal(size=(200, 16))[rng.integers(200, size=12_000)] + 0.5 * rng.normal(size=(12_000, 16))
    return (V / np.linalg.norm(V, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, vectors: np.ndarray) -> tuple[Path, ApproximateEntry]:
    folder = tmp_path_factory.mktemp("built")
    return folder, build_approximate(folder, shards_of(vectors, 5000), 16, threads=1)


@pytest.fixture
def copied(tmp_path: Path, built: tuple[Path, ApproximateEntry]) -> tuple[Path, ApproximateEntry]:
    shutil.copy(built[0] / built[1].file, tmp_path)
    return tmp_path, built[1]


def opened(folder: Path, entry: ApproximateEntry, rows: int = 12_000) -> ApproximateSearch | None:
    config = IndexConfig("reader", "", 16, False, "int8", [Source("a", "", None, True, rows)], entry)
    config.shards = [ShardEntry("a", rows, 0, "")]
    return open_approximate(folder, config, 1)


def test_it_finds_nearly_what_exact_search_finds(built, vectors):
    shards = shards_of(vectors, 5000)
    scores, places = opened(*built).search(shards, vectors[:50], 10)
    exact_scores, exact_places = ExactSearch(1).search(shards, vectors[:50], 10)
    recall = np.mean(
        [len({*a} & {*b}) / 10 for a, b in zip(places.tolist(), exact_places.tolist(), strict=True)]
    )
    assert recall > 0.95
    same = places == exact_places
    np.testing.assert_allclose(scores[same], exact_scores[same], atol=1e-4)
    assert (np.diff(scores, axis=1) <= 0).all()


def test_what_is_added_to_a_score_makes_its_texts_candidates(built, vectors):
    shards, far = shards_of(vectors, 5000), 11_999
    extra = np.zeros((2, 12_000), np.float32)
    extra[0, far], extra[1, :3] = 2, 3
    scores, places = opened(*built).search(shards, vectors[:2], 3, extra)
    expected_scores, expected_places = ExactSearch(1).search(shards, vectors[:2], 3, extra)
    assert places[0, 0] == far
    assert places.tolist() == expected_places.tolist()
    np.testing.assert_allclose(scores, expected_scores, atol=1e-4)


def test_the_same_index_gives_the_same_file(tmp_path, built, vectors):
    assert build_approximate(tmp_path, shards_of(vectors, 5000), 16, threads=1) == built[1]


def test_a_damaged_file_is_not_used(copied):
    path = copied[0] / copied[1].file
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.warns(UserWarning, match="checksum.*in full"):
        assert opened(*copied) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("places", 12_000), ("places", -1), ("ends", -1), ("ends", 10**9), ("centres", np.inf)],
)
def test_a_crafted_file_is_not_used(copied, name, value):
    arrays = load_file(copied[0] / copied[1].file)
    arrays[name].reshape(-1)[7] = value
    content = b"".join(safetensors_pieces(arrays))
    (copied[0] / copied[1].file).write_bytes(content)
    entry = replace(copied[1], bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    with pytest.warns(UserWarning, match="is damaged.*in full"):
        assert opened(copied[0], entry) is None


def test_an_array_that_is_one_number_is_not_used(copied):
    arrays = load_file(copied[0] / copied[1].file)
    content = b"".join(safetensors_pieces({**arrays, "centres": np.float32(1).reshape(())}))
    (copied[0] / copied[1].file).write_bytes(content)
    entry = replace(copied[1], bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    with pytest.warns(UserWarning, match="in full"):
        assert opened(copied[0], entry) is None


def test_a_file_of_other_texts_is_not_used(copied):
    with pytest.warns(UserWarning, match="does not fit.*in full"):
        assert opened(*copied, rows=11_999) is None


def test_faiss_never_opens_a_file(copied, monkeypatch):
    for name in ("read_index", "deserialize_index"):
        monkeypatch.setattr(faiss, name, lambda *_: pytest.fail("faiss has opened a file"))
    assert opened(*copied) is not None
    (copied[0] / copied[1].file).rename(copied[0] / OLD_APPROXIMATE)
    with pytest.warns(UserWarning, match="earlier version.*in full"):
        assert opened(*copied) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "approximate.safetensors")
    with pytest.warns(UserWarning, match="not a regular file.*in full"):
        assert opened(tmp_path, ApproximateEntry(12_000, 0, "")) is None


def test_few_texts_need_none(tmp_path):
    with refuses("too-few-texts"):
        build_approximate(tmp_path, shards_of(np.eye(3), 3), 3, threads=1)


def test_an_index_uses_it(tmp_path: Path, monkeypatch):
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
    for each, by in ((index, "both"), (again, "both"), (again, "meaning"), (again, "words")):
        found, exact = (each.search("cold broth", 3, by=by, exact=exact) for exact in (False, True))
        assert [(hit.text, hit.matches) for hit in found] == [(hit.text, hit.matches) for hit in exact]
        assert len(each.search("cold broth", 10**20, words=False)) == len(texts)  # in full
    again.verify()
    file = again.folder / again.config.approximate.file
    content = file.read_bytes()
    file.write_bytes(content[:-1] + b"x")
    with refuses("file-damaged"):
        again.verify()
    file.write_bytes(content)
    again.add(["a late train", "cold broth"])  # they are searched in full, the others as before
    for by in ("both", "meaning", "words"):
        found, exact = (again.search("cold broth", 3, by=by, exact=exact) for exact in (False, True))
        assert [(hit.text, hit.matches) for hit in found] == [(hit.text, hit.matches) for hit in exact]
        assert found[0].text == "cold broth"
    assert again._approximate is not None


def test_deleted_texts_are_not_found_and_leave_the_clusters(tmp_path: Path, monkeypatch):
    from limelight import Index

    monkeypatch.setattr(approximate, "MIN_APPROXIMATE_TEXTS", 1)
    dishes = ("soup", "tea", "ham", "rice", "fish", "bread")
    texts = [f"{what} {dish}" for what in ("cold", "warm", "old") for dish in dishes]
    index = Index.create(tmp_path / "index", texts)
    index.build_approximate()
    index.add(["cold broth", "warm broth"])
    assert index.delete([1, 2, 19]) == 3  # cold soup, cold tea, cold broth
    for _ in "ab":  # with the bits, then without the texts
        assert index._approximate is not None
        assert index._approximate.finds(2)
        for by in ("both", "meaning"):
            found, exact = (index.search("cold broth", 2, by=by, exact=exact) for exact in (False, True))
            assert [hit.text for hit in found] == [hit.text for hit in exact]
            assert not {hit.text for hit in found} & {"cold soup", "cold tea", "cold broth"}
        index.compact()
    index.verify()
    assert (len(index), index.config.approximate.rows) == (17, 16)
