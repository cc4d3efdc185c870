"""Exact search is brute force, in any shards, blocks and threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.search import nearest
from limelight.search.nearest import ExactSearch, split_query
from limelight.search.shards import ZERO, quantise
from search.vectors import brute_force, shards_of


def random_vectors(seed: int, n: int, size: int, distinct: int) -> np.ndarray:
    """Unit vectors, many of them the same, as sentences of reviews are."""
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(distinct, size))[rng.integers(distinct, size=n)]
    return V / np.linalg.norm(V, axis=1, keepdims=True)


@examples(40)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 300),
    size=st.sampled_from([1, 3, 16, 384]),
    k=st.integers(1, 20),
    shard=st.integers(1, 120),
    block=st.sampled_from([64, 1000, 2**22]),
    threads=st.integers(1, 3),
    queries=st.integers(1, 5),
)
def test_search_is_brute_force(seed, n, size, k, shard, block, threads, queries):
    V, Q = random_vectors(seed, n, size, 40), random_vectors(seed + 1, queries, size, 40)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "BLOCK_BYTES", block)
        scores, places = ExactSearch(threads).search(shards_of(V, shard), Q, k)
    expected_scores, expected_places = brute_force(V, Q, k)
    assert places.tolist() == expected_places.tolist()
    np.testing.assert_allclose(scores, expected_scores, rtol=1e-6, atol=1e-7)


def test_scores_are_cosines_up_to_the_rounding_to_bytes():
    V, Q = random_vectors(0, 500, 384, 500), random_vectors(1, 3, 384, 3)
    scores, places = ExactSearch(2).search(shards_of(V, 200), Q, 500)
    cosines = np.take_along_axis(Q @ V.T, places, 1)
    assert np.abs(scores - cosines).max() < 2e-3


def test_many_queries_are_those_one_by_one():
    V, Q = random_vectors(0, 100, 16, 100), random_vectors(1, nearest.QUERIES + 3, 16, 80)
    search, shards = ExactSearch(2), shards_of(V, 30)
    together = search.search(shards, Q, 4)
    for at, q in enumerate(Q):
        alone = search.search(shards, q[None], 4)
        assert all((both[at] == one[0]).all() for both, one in zip(together, alone, strict=True))


def test_long_vectors_do_not_overflow():
    """The largest sums there can be, of vectors longer than 32-bit sums can hold."""
    V = np.ones((2, 20_000)) / np.sqrt(20_000)
    scores, _ = ExactSearch(1).search(shards_of(V, 2), V[:1], 1)
    assert scores[0, 0] == pytest.approx(1, abs=1e-5)


def test_the_planes_of_a_query_have_7_bits_and_add_up():
    Q = random_vectors(0, 20, 384, 20)
    planes, steps = split_query(Q)
    assert np.abs(planes).max() <= 63  # 2 * 255 * 63 fits the 16 bits in which older processors add
    high, low = np.split(planes.astype(float), 2, axis=1)
    np.testing.assert_allclose((high * 127 + low).T * steps[:, None], Q, atol=steps.max() / 2 * 1.001)


def test_a_vector_is_its_bytes_times_its_scale():
    V = random_vectors(3, 10, 384, 10)
    found, scales = quantise(V)
    assert np.abs((found.astype(float) - ZERO) * scales[:, None] - V).max() <= scales.max() / 2 * 1.001
    zero, scale = quantise(np.zeros((1, 4)))
    assert (zero == ZERO).all()
    assert scale[0] == 0


def test_of_equal_scores_the_first_places_count_whichever_block_comes_first():
    best = nearest._Best(1, 2)
    for first in (6, 0, 3):  # as threads may end
        best.add(first, np.array([[0.5, 0.25, 0.5]], np.float32))
    assert best.sorted()[1].tolist() == [[0, 2]]
