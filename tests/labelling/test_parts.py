"""Choosing, estimating, grouping, reading and agreeing, each by itself."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from labelling.test_session import WORDS, ToyReader, make_texts, start
from limelight.labelling.groups import Grouping, distinguishing_words, find_centres
from limelight.labelling.learner import (
    NOISE,
    Estimate,
    Surroundings,
    advise,
    estimate,
    pick,
    uncertain,
    wilson,
)
from limelight.labelling.people import alpha, measure_agreement
from limelight.labelling.state import Said
from limelight.labelling.vectors import HEADER, TextVectors, VectorCache, reading_order


def unit(X: np.ndarray) -> np.ndarray:
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


# ---------------------------------------------------------------- choosing


def test_the_least_sure_is_the_most_uncertain():
    logits = np.array([[2.0, 1.9, -5.0], [9.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert uncertain(logits, several=False).argsort().tolist() == [1, 2, 0]
    assert uncertain(np.array([[3.0, -0.1], [2.0, -2.0]]), several=True).argsort().tolist() == [1, 0]


def test_what_is_picked_with_others_is_unlike_them():
    X = unit(np.array([[1.0, 0.0], [1.0, 0.01], [0.0, 1.0], [1.0, 1.0]]))
    assert pick(np.array([1.0, 0.99, 0.5, 0.6]), X, 2) == [0, 2]
    assert sorted(pick(np.ones(4), X, 9)) == [0, 1, 2, 3]
    assert pick(np.array([1.0, 0.99, 0.01]), X[[0, 0, 2]], 3) == [0, 2, 1]
    assert pick(np.array([1.0, 0.9, 0.5]), -X[[0, 0, 0]] * [[-1], [1], [1]], 2) == [
        0,
        1,
    ]  # the opposite is new


def test_gain_is_the_fall_of_the_variance_by_the_plain_formula():
    X = unit(np.random.default_rng(0).normal(size=(30, 5)))
    rows, labelled, weights = np.arange(10), np.arange(20, 24), np.linspace(0.5, 1, 10)
    D = X.astype(np.float64) - X.mean(axis=0)

    def variance(known: list[int]) -> np.ndarray:
        return np.linalg.inv(np.eye(5) + D[known].T @ D[known] / NOISE)

    def total(V: np.ndarray) -> float:
        return float(weights @ np.einsum("ij,jk,ik->i", D[rows], V, D[rows]))

    before = total(variance([*labelled]))
    expected = [before - total(variance([*labelled, row])) for row in rows]
    found = Surroundings(X, np.arange(30)).gain(rows, weights, labelled)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


# ---------------------------------------------------------------- the estimate


def test_wilson_agrees_with_the_published_example():
    assert wilson(0.8, 10) == pytest.approx((0.4901625, 0.9433178), abs=1e-6)


def test_the_estimate_is_the_share_that_is_right_and_wilsons_interval():
    found = estimate(np.array([True] * 42 + [False] * 18))
    assert found == (42, 60, *wilson(0.7, 60))
    assert found.accuracy == 0.7
    assert str(found) == "accuracy 70%, 57% to 80% with 95% confidence, from 60 texts drawn at random"


@pytest.mark.parametrize(("n", "shown"), [(9, None), (10, False), (49, False), (50, True)])
def test_of_fewer_than_fifty_texts_there_is_a_range_without_a_share(n, shown):
    found = estimate(np.arange(n) % 2 == 0)
    assert (found is None) == (shown is None)
    if found is not None:
        assert (found.accuracy is not None) == shown
        assert str(found).startswith("accuracy 50%" if shown else f"accuracy {found.low:.0%} to")


def test_few_texts_and_a_wide_interval_ask_for_random_texts():
    assert advise(None, 3) == "Go on: 7 more texts drawn at random give a first estimate."
    assert advise(None, 9) == "Go on: 1 more text drawn at random gives a first estimate."
    few, wide, narrow = (Estimate(56, n, low, 0.8) for n, low in ((40, 0.7), (80, 0.59), (80, 0.61)))
    assert "more texts drawn at random" in advise(few, 40)
    assert "more texts drawn at random" in advise(wide, 80)
    assert "drawn at random" not in advise(narrow, 80)


# ---------------------------------------------------------------- groups


def test_groups_are_what_lies_together_named_by_their_words_and_the_same_in_any_order():
    labels = [name for name in WORDS for _ in range(20)]
    texts = [" ".join(np.roll(WORDS[name], k % 3)[: 2 + k % 2]) for k, name in enumerate(labels)]
    X = ToyReader().encode(texts)
    rows = np.random.default_rng(0).permutation(60)
    found = Grouping.of(X, rows, texts, 3)
    most = [Counter(labels[row] for row in members).most_common(1)[0] for members in found.members]
    assert {name for name, _ in most} == set(labels)
    assert sum(count for _, count in most) == 60
    for members, words in zip(found.members, found.words, strict=True):
        assert words
        assert all(sum(word in texts[row] for row in members) > 1 for word in words[:2])
        centre = X[members].mean(axis=0)
        likeness = X[members] @ centre / np.linalg.norm(centre)
        assert likeness[0] == pytest.approx(likeness.max(), abs=1e-3)
    assert Grouping.of(X, rows, texts, 3) == found


def test_centres_of_clusters_far_apart_are_found():
    draw = np.random.default_rng(0)
    truth = np.eye(6)[np.arange(60) % 4]
    X = unit(truth + 0.05 * draw.normal(size=(60, 6)))
    assert sorted((find_centres(X, 4) @ np.eye(6)[:4].T).argmax(axis=1).tolist()) == [0, 1, 2, 3]


def test_words_that_all_groups_have_name_none():
    texts = ["the red car"] * 5 + ["the blue boat"] * 5
    own = np.array([0] * 5 + [1] * 5)
    found = distinguishing_words(texts, own, 2)
    assert [set(words[:2]) for words in found] == [{"car", "red"}, {"blue", "boat"}]


# ---------------------------------------------------------------- vectors


def test_what_was_read_is_not_read_again_even_after_a_torn_write(tmp_path):
    texts, _ = make_texts(20)
    order, path = reading_order(texts, 0), tmp_path / "vectors"
    first = TextVectors(texts, order, ToyReader(), path, background=False)
    with path.open("ab") as file:
        file.write(b"torn")
    reader = ToyReader()
    again = TextVectors([*texts[::-1], "a new one"], np.arange(21), reader, path, background=False)
    assert reader.read == 1
    np.testing.assert_array_equal(again.matrix[:20], first.matrix[::-1])
    assert len(VectorCache(path, reader)._places) == 21
    np.testing.assert_allclose(first.matrix, ToyReader().encode(texts), atol=1e-3)


def test_a_damaged_vector_is_read_again_and_the_file_mended(tmp_path):
    texts, _ = make_texts(4)
    path, sound = tmp_path / "vectors", ToyReader().encode(texts).astype(np.float16)
    VectorCache(path, ToyReader()).encode(texts)
    content = path.read_bytes()
    record = (len(content) - len(HEADER)) // 4
    for at in range(len(content)):
        damaged = bytearray(content)
        damaged[at] ^= 0x7C
        path.write_bytes(damaged)
        reader = ToyReader()
        for again in (False, True):
            np.testing.assert_array_equal(VectorCache(path, reader).encode(texts), sound)
            assert reader.read == (4 if at < len(HEADER) else 1), (at, again)
        assert len(path.read_bytes()) in (len(content), len(content) + record)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_number_that_is_not_finite_is_never_believed(tmp_path, value):
    class Broken(ToyReader):
        def encode(self, texts: list[str]) -> np.ndarray:
            return np.where(np.arange(10) == 3, value, super().encode(texts))

    texts, labels = make_texts(30)
    VectorCache(tmp_path / "vectors", Broken()).encode(texts[:1])
    session = start(texts, cache=tmp_path / "vectors")
    for row in range(10):
        session.label(row, labels[row])
    assert np.isfinite(session.answers().probabilities(range(30))).all()


def test_vectors_of_an_older_version_give_way(tmp_path):
    path, texts = tmp_path / "vectors", make_texts(5)[0]
    path.write_bytes(b"\x7e" * 3333)
    for _ in range(2):
        reader = ToyReader()
        cache = VectorCache(path, reader)
        np.testing.assert_array_equal(cache.encode(texts), ToyReader().encode(texts).astype(np.float16))
    assert reader.read == 0
    assert path.stat().st_size == len(HEADER) + 5 * cache.record.itemsize


def test_two_who_extend_one_file_keep_each_others_vectors(tmp_path):
    path, texts = tmp_path / "vectors", make_texts(6)[0]
    one, other = VectorCache(path, ToyReader()), VectorCache(path, ToyReader())
    for cache, some in ((one, texts[:2]), (other, texts[2:4]), (one, texts[4:])):
        cache.encode(some)
    reader = ToyReader()
    VectorCache(path, reader).encode(texts)
    assert reader.read == 0


def test_texts_are_read_in_the_background_and_an_error_there_is_a_warning():
    texts, _ = make_texts(600)
    vectors = TextVectors(texts, np.arange(600), ToyReader())
    vectors.wait()
    assert vectors.ready == 600
    np.testing.assert_allclose(vectors.matrix, ToyReader().encode(texts))
    vectors.close()

    class Broken(ToyReader):
        def encode(self, texts: list[str]) -> np.ndarray:
            raise RuntimeError("the disk is gone")

    with pytest.warns(UserWarning, match="no more texts are read: the disk is gone"):
        TextVectors(texts, np.arange(600), Broken()).wait()
    with pytest.raises(RuntimeError, match="the disk is gone"):
        TextVectors(texts, np.arange(600), Broken(), background=False)


# ---------------------------------------------------------------- agreement


def test_alpha_of_krippendorffs_own_example():
    """Nominal 0.743 and ordinal 0.815: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, C."""
    a = [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None]
    b = [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3]
    c = [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None]
    d = [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None]
    units = [[(str(x),) for x in unit if x is not None] for unit in zip(a, b, c, d, strict=True)]
    units = [unit for unit in units if len(unit) > 1]
    assert alpha(units) == pytest.approx(0.743, abs=5e-4)
    assert alpha(units, {(str(k),): k for k in range(1, 6)}) == pytest.approx(0.815, abs=5e-4)


def test_agreement_by_chance_alone_counts_for_nothing():
    assert alpha([[("a",), ("a",)]] * 3) is None
    assert alpha([]) is None
    assert alpha([[("a", "b"), ("b", "a")], [("a",), ("a",)]]) == 1


def test_of_two_people_alpha_is_that_of_the_pair():
    said = {
        text: {"ann": Said((text[0],), "ann", ""), "bob": Said((text[1],), "bob", "")}
        for text in ("aa", "ab", "bb", "cc")
    }
    for ordered in (False, True):
        found = measure_agreement(said, ordered, "abc")
        assert found.pairs == {("ann", "bob"): (4, 0.75, found.alpha)}
        assert 0 < found.alpha < 1
