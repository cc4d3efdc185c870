"""The rules of `check` on given vectors: who is suspect, what is a duplicate, which classes are confused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from limelight.labelling.health import _Found, check
from limelight.labelling.left_out import Judged, find_neighbours, judge


class WordReader:
    """Every word of a text has its own vector, by its letters."""

    def word_parts(self, texts: list[str]) -> list[Any]:
        return [self._parts(text) for text in texts]

    def _parts(self, text: str) -> Any:
        words = text.split()
        places = [(text.index(word), text.index(word) + len(word)) for word in words]
        return SimpleNamespace(
            parts=np.array([self.vector(word) for word in words]), offsets=np.array(places)
        )

    @staticmethod
    def vector(word: str) -> np.ndarray:
        return np.random.default_rng([ord(letter) for letter in word]).normal(size=4)


class EvenReader(WordReader):
    """Every word has the same vector of two numbers."""

    @staticmethod
    def vector(word: str) -> np.ndarray:
        return np.ones(2)


def table(seed: int, n: int = 40) -> tuple[list[str], list[str], np.ndarray]:
    """Texts of three classes, some of them like another."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, 3, n)
    X = draw.normal(size=(n, 4)) * 0.6 + np.eye(4)[y]
    texts = [f"w{row} one two three four five six !" for row in range(n)]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    return texts, ["abc"[k] for k in y], unit.astype(np.float32)


def judged(labels: list[str], X: np.ndarray) -> tuple[np.ndarray, np.ndarray, Judged]:
    y = np.array(["abc".index(label) for label in labels])
    near = find_neighbours(X)
    return y, near.rows, judge(X, y, 3, near)


def with_wrong_labels(seed: int) -> tuple[list[str], list[str], np.ndarray]:
    """Two hundred texts whose classes are apart; the first ten have the label of another."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, 3, 200)
    X = draw.normal(size=(200, 4)) * draw.uniform(0.02, 0.3, (200, 1)) + np.eye(4)[y]
    y[:10] = (y[:10] + 1) % 3
    texts = [f"w{row} one two three four five six !" for row in range(200)]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    return texts, ["abc"[k] for k in y], unit.astype(np.float32)


def test_suspects_are_those_of_the_rule_the_least_probable_first():
    """Hardly more likely than wrong labels alone make it, by both opinions."""
    count = 0
    for seed in range(4):
        texts, labels, X = with_wrong_labels(seed)
        y, near, said = judged(labels, X)
        expected, right = [], {}
        for k, own in enumerate(y):
            right[k] = said.P[k, own]
            opinions = (said.by_class[k], said.P[k])
            if all(2 * P[own] < (0.1 if P.max() >= 0.8 else 0.03) for P in opinions):
                others = [c for c in range(3) if c != own]
                best = max(others, key=lambda c: (said.P[k, c], -c))
                around = [labels[row] for row in near[k, :10]]
                most = max("abc", key=lambda name: (around.count(name), -ord(name)))
                expected.append((k, labels[k], "abc"[best], most, around.count(most) / 10))
        found = check(texts, labels, reader=WordReader(), vectors=X)
        assert [each[:3] + each[4:6] for each in found.suspects] == sorted(
            expected, key=lambda e: right[e[0]]
        )
        assert [each.chance for each in found.suspects] == pytest.approx(
            sorted(right[e[0]] for e in expected)
        )
        assert found.quality == pytest.approx(right)
        assert found.counts == {name: labels.count(name) for name in "abc"}
        count += len(expected)
        assert all(each.row < 10 for each in found.suspects)
    assert count > 20


@pytest.mark.parametrize(("labels", "suspected"), [(4, False), (5, True)])
def test_the_labels_of_a_class_are_suspected_from_five_texts_on(labels, suspected):
    X = np.repeat(np.eye(2, dtype=np.float32), [300, 300], axis=0)
    given = np.array(["a"] * 300 + ["b"] * 300, object)
    given[300 : 300 + labels] = "c"
    found = check(["x"] * 600, given.tolist(), reader=EvenReader(), vectors=X)
    assert {each.label for each in found.suspects} == ({"c"} if suspected else set())


def test_where_vectors_do_not_tell_the_labels_none_is_suspected():
    for seed in range(6):
        texts, labels, X = table(seed)
        X = X[np.random.default_rng(seed).permutation(len(X))]
        found = check(texts, labels, reader=WordReader(), vectors=X)
        assert not found.suspects
        assert "None of 40 labels is suspected" in found.about_suspects


def test_the_words_of_a_suspect_speak_for_the_other_class_the_strongest_four():
    texts, labels, X = with_wrong_labels(0)
    W = judged(labels, X)[2].W
    found = check(texts, labels, reader=WordReader(), vectors=X).suspects
    for each in found:
        direction = W["abc".index(each.suggested)] - W["abc".index(each.label)]
        words = [(word, float(WordReader.vector(word) @ direction)) for word in texts[each.row].split()]
        expected = sorted(
            (pair for pair in words if pair[1] > 0 and pair[0] != "!"), key=lambda pair: -pair[1]
        )
        assert [word for word, _ in each.words] == [word for word, _ in expected[:4]]
        np.testing.assert_allclose([w for _, w in each.words], [w for _, w in expected[:4]], rtol=1e-5)
    assert max(len(each.words) for each in found) == 4


def test_around_a_text_of_a_small_table_are_all_others():
    X = np.repeat(np.eye(2, dtype=np.float32), [6, 3], axis=0)
    rule = _Found(["x"] * 9, list(range(9)), np.array([0] * 5 + [1] * 4), ["a", "b"], find_neighbours(X),
                  Suspicious(), EvenReader())  # fmt: skip
    (suspect,) = rule.suspects()
    assert (suspect.row, suspect.label, suspect.around, suspect.share) == (5, "b", "a", 0.625)


class Suspicious:
    """Of every text the first class is likely; the sixth label is suspected."""

    P, W = np.tile([0.9, 0.1], (9, 1)), np.eye(2)

    def suspected(self, y: np.ndarray) -> np.ndarray:
        return np.arange(len(y)) == 5


@pytest.mark.parametrize(("cosine", "pairs"), [(0.9499, []), (0.9501, [(0, 1)])])
def test_two_texts_are_near_duplicates_from_a_cosine_of_095(cosine, pairs):
    turned = [cosine, np.sqrt(1 - cosine**2), 0, 0]
    X = np.array([[1, 0, 0, 0], turned, [0, 0, 1, 0], [0, 0, 0.6, 0.8]], np.float32)
    found = check(["one", "two", "three", "four"], list("abab"), reader=WordReader(), vectors=X)
    assert [(each.row, each.row2) for each in found.duplicates] == pairs
    assert [each.similarity for each in found.duplicates] == pytest.approx([cosine] * len(pairs), abs=1e-6)


def test_duplicates_are_pairs_with_different_labels_the_nearest_first():
    X = np.array([[1, 0.3], [1, 0.3], [1, 0.2], [1, 0.0], [0, 1], [0, 1]], np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    found = check(list("qrstuv"), list("abaaaa"), reader=EvenReader(), vectors=X).duplicates
    assert [(each.row, each.row2, each.label, each.label2) for each in found] == [
        (0, 1, "a", "b"),
        (1, 2, "b", "a"),
        (1, 3, "b", "a"),
    ]
    assert found[0].similarity <= 1


def test_confused_classes_are_those_whose_texts_go_to_each_other():
    for seed in range(6):
        texts, labels, X = table(seed)
        y, _, said = judged(labels, X)
        P = said.P
        taken, expected = P.argmax(axis=1), []
        for a, b in ((0, 1), (0, 2), (1, 2)):
            both = [k for k in range(len(y)) if y[k] in (a, b)]
            mixed = [k for k in both if taken[k] in (a, b) and taken[k] != y[k]]
            if len(mixed) / len(both) >= 0.15:
                expected.append((-len(mixed) / len(both), "abc"[a], "abc"[b], len(both)))
        found = check(texts, labels, reader=WordReader(), vectors=X).confused
        assert [(-each.share, each.label, each.label2, each.texts) for each in found] == sorted(expected)
