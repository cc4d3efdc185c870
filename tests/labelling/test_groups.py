"""Groups of texts that are alike, their words, and what is new in a batch: against plain versions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from limelight.labelling.groups import distinguishing_words, find_centres, group_count

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
