"""Groups of texts that are alike, their words, and what is new in a batch: against plain versions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from limelight.labelling.groups import distinguishing_words, find_centres, group_count
from limelight.labelling.news import find_news

WORDS = ["soup", "bread", "bed", "lamp", "staff", "pool", "the", "of", "x"]


def reference_words(texts: list[str], own: list[int], count: int) -> list[tuple[str, ...]]:
    """The z-score of the log-odds ratio, with the whole table as the prior; the three best words."""
    bags = [set(text.split()) for text in texts]
    found = []
    for k in range(count):
        inside = [bag for bag, group in zip(bags, own, strict=True) if group == k]
        scores = {}
        for word in set().union(*inside):
            both, here = sum(word in bag for bag in bags), sum(word in bag for bag in inside)
            if here < 2 and len(inside) >= 5:
                continue
            a, b = here + both / len(texts), both - here + both / len(texts)
            rest, rest2 = len(inside) + 1 - a, len(texts) - len(inside) + 1 - b
            odds = math.log(a / (rest + 1e-9)) - math.log(b / (rest2 + 1e-9))
            scores[word] = odds / math.sqrt(1 / a + 1 / b)
        ranked = sorted(scores, key=lambda word: (-round(scores[word], 9), word))
        meaning = [word for word in ranked if word not in ("the", "of", "x")]  # small words, a letter
        found.append(tuple((meaning or ranked)[:3]))
    return found


def test_words_are_those_of_the_formula():
    for seed in range(60):
        draw = np.random.default_rng(seed)
        chances = draw.random((2, len(WORDS)))
        own = draw.integers(0, 2, 14)
        texts = [" ".join(np.array(WORDS)[draw.random(len(WORDS)) < chances[group]]) or "x" for group in own]
        assert distinguishing_words(texts, own, 2) == reference_words(texts, own.tolist(), 2), seed


def test_a_group_without_words_that_mean_something_is_named_by_the_others():
    assert distinguishing_words(["the of x"] * 5 + ["soup"] * 5, np.repeat([0, 1], 5), 2)[0] == (
        "of",
        "the",
        "x",
    )


def reference_centres(X: np.ndarray, count: int) -> np.ndarray:
    """k-means on the sphere, from starts that are dense and far from each other."""
    n = len(X)
    near = [np.mean(sorted((X @ x).tolist())[-15:]) for x in X]
    density = [max(each, 0.0) ** 2 for each in near]
    starts = [max(range(n), key=lambda k: (density[k], -k))]
    while len(starts) < count:
        far = [(1 - max(X[k] @ X[s] for s in starts)) * density[k] for k in range(n)]
        starts.append(max(range(n), key=lambda k: (far[k], -k)))
    centres = [X[k] for k in starts]
    for _ in range(12):
        own = [max(range(count), key=lambda k: (x @ centres[k], -k)) for x in X]
        for k in range(count):
            total = sum((x for x, group in zip(X, own, strict=True) if group == k), np.zeros(X.shape[1]))
            if np.linalg.norm(total) > 0:
                centres[k] = total / np.linalg.norm(total)
    return np.array(centres)


@pytest.mark.parametrize("n", [8, 40])
def test_centres_are_those_of_the_plain_version(n):
    for seed in range(10):
        X = np.random.default_rng(seed).normal(0.1, 1.0, (n, 3))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        np.testing.assert_allclose(find_centres(X, 4), reference_centres(X, 4), atol=1e-9)


def test_how_many_groups():
    assert [group_count(n) for n in (1, 2, 8, 9, 39_999, 50_000)] == [1, 2, 3, 3, 200, 200]


# ---------------------------------------------------------------- news


def batch(*counts: int) -> tuple[list[str], np.ndarray]:
    """Texts about food, rooms and pools, so many of each, with a vector each."""
    words = ["soup egg", "bed lamp", "pool swim"]
    texts = [words[k] for k, count in enumerate(counts) for _ in range(count)]
    return texts, np.eye(3, dtype=np.float32)[[k for k, count in enumerate(counts) for _ in range(count)]]


def test_what_is_new_in_a_batch():
    news = find_news(*batch(12, 8, 0), *batch(4, 8, 12))
    (group,) = news.groups
    assert (group.before, group.now, group.rows) == (0.0, 0.5, list(range(12, 24)))
    assert group.name == "pool, swim"
    assert news.strange == [(row, 0.0) for row in range(12, 22)]
    assert news.words[:2] == ("pool", "swim")
    assert news.gone[:2] == ("egg", "soup")


@pytest.mark.parametrize(
    ("new", "grew"),
    [((8, 8, 3), ["pool, swim"]), ((8, 8, 2), []), ((4, 16, 0), ["bed, lamp"]), ((5, 15, 0), [])],
)
def test_a_group_is_news_from_three_texts_and_more_than_half_as_many_again(new, grew):
    seen, X_seen = batch(10, 10, 0)
    assert [group.name for group in find_news(seen, X_seen, *batch(*new)).groups] == grew


def test_texts_of_a_new_group_are_in_the_order_of_their_likeness():
    seen, X_seen = batch(6, 6, 0)
    X = np.array([[0, 0.6, 0.8], [0, 0, 1], [0, 0.28, 0.96], [0, 0, 1]], np.float32)
    (group,) = find_news(seen, X_seen, ["pool", "pool", "pool", "pool"], X).groups
    assert group.rows == [1, 3, 2]  # the first text is a group of its own


def test_the_groups_that_grew_most_come_first_eight_of_them():
    X = np.eye(20, dtype=np.float32)
    new = [k for k in range(9) for _ in range(3 + k)]
    found = find_news(["old"] * 40, X[[19] * 40], [f"w{k}" for k in new], X[new]).groups
    assert [group.name for group in found] == ["w8", "w7", "w6", "w5", "w4", "w3", "w2", "w1"]
    assert found[0].now == 11 / 63
