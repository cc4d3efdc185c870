"""The classifier against a plain float64 version, and its left-out scores against fits without each text."""

from __future__ import annotations

import numpy as np
import pytest

from limelight.labelling.refit import SHRINK, SMOOTH, Space, describe, fit, is_correct, to_probabilities

SIZE, CLASSES = 6, 3


@pytest.fixture
def made() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A table of 60 texts, 12 of them with labels."""
    draw = np.random.default_rng(0)
    table = draw.normal(size=(60, SIZE)) * np.arange(1, SIZE + 1)
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    return table, np.arange(12), np.eye(CLASSES)[draw.integers(0, CLASSES, 12)]


def reference_scores(table, X, Y, x, several=False, prior=None):
    """(classes,): the scores of one text, written as in the module's first lines."""
    g = table.mean(axis=0)
    C = np.cov(table.T, bias=True)
    A = SMOOTH * np.linalg.inv(C / (np.trace(C) / len(C)) + SMOOTH * np.eye(len(C)))
    sums, counts = prior if prior else (np.zeros((Y.shape[1], table.shape[1])), np.zeros(Y.shape[1]))

    def score(s, n):
        m = s / (n + SHRINK)
        return (x - g) @ A @ m - m @ A @ m / 2

    found = []
    for c in range(Y.shape[1]):
        own = Y[:, c] > 0
        found.append(score(sums[c] + (X[own] - g).sum(axis=0), counts[c] + own.sum()))
        if several:
            found[-1] -= score((X[~own] - g).sum(axis=0), (~own).sum())
    return np.array(found)


@pytest.mark.parametrize("several", [False, True])
def test_scores_are_those_of_the_formula(made, several):
    table, rows, Y = made
    Y = Y + np.roll(Y, 1, axis=0) > 0 if several else Y
    fitted = fit(table[rows], np.asarray(Y, float), Space.of(table), several=several)
    expected = [reference_scores(table, table[rows], Y, x, several) for x in table]
    np.testing.assert_allclose(fitted.logits(table) * fitted.temperature, expected, atol=1e-5)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("described", [False, True])
def test_left_out_scores_are_those_of_a_fit_without_the_text(made, several, described):
    table, rows, Y = made
    Y = np.asarray(Y + np.roll(Y, 1, axis=0) > 0, float) if several else Y
    X, space = table[rows], Space.of(table)
    prior = describe(table[20 : 20 + CLASSES], space.centre) if described else None
    fitted = fit(X, Y, space, several=several, prior=prior)
    for k in range(len(X)):
        rest = np.arange(len(X)) != k
        without = fit(X[rest], Y[rest], space, several=several, prior=prior)
        expected = without.logits(X[k : k + 1])[0] * without.temperature
        np.testing.assert_allclose(fitted.left_out[k] * fitted.temperature, expected, atol=1e-5)


def test_marked_words_are_left_out_with_their_text(made):
    table, rows, Y = made
    X, space = table[rows], Space.of(table)
    marked = table[30:33]
    fitted = fit(X, Y, space, more=(np.array([0, 0, 5]), marked, 0.5))
    rest = np.arange(len(X)) != 0
    without = fit(X[rest], Y[rest], space, more=(np.array([4]), marked[2:], 0.5))
    expected = without.logits(X[:1])[0] * without.temperature
    np.testing.assert_allclose(fitted.left_out[0] * fitted.temperature, expected, atol=1e-5)


def test_a_text_counted_twice_is_one_with_twice_the_weight(made):
    table, rows, Y = made
    X, space = table[rows], Space.of(table)
    twice = fit(np.concatenate([X, X]), np.concatenate([Y, Y]), space)
    heavy = fit(X, Y, space, weights=np.full(len(X), 2.0))
    np.testing.assert_allclose(twice.W, heavy.W, atol=1e-6)
    np.testing.assert_allclose(twice.b, heavy.b, atol=1e-6)


def test_a_class_without_texts_has_the_score_zero_everywhere(made):
    table, rows, Y = made
    fitted = fit(table[rows], np.pad(Y, ((0, 0), (0, 1))), Space.of(table))
    np.testing.assert_allclose(fitted.logits(table)[:, -1], 0, atol=1e-6)


def test_descriptions_alone_give_a_first_guess():
    table = np.concatenate([np.eye(4)[[0] * 10], np.eye(4)[[1] * 10]]) + 0.01
    space = Space.of(table)
    prior = describe(np.eye(4)[:2], space.centre)
    fitted = fit(np.zeros((0, 4)), np.zeros((0, 2)), space, prior=prior)
    assert fitted.logits(table).argmax(axis=1).tolist() == [0] * 10 + [1] * 10


def test_probabilities_and_correctness():
    logits = np.array([[2.0, 0.0], [0.0, 1.0]])
    P = to_probabilities(logits, several=False)
    np.testing.assert_allclose(P[0], [np.exp(2) / (np.exp(2) + 1), 1 / (np.exp(2) + 1)])
    np.testing.assert_allclose(to_probabilities(logits, several=True)[1], [0.5, 1 / (1 + np.exp(-1))])
    assert is_correct(logits, np.array([[1, 0], [1, 0]])).tolist() == [True, False]
    assert is_correct(logits, np.array([[1, 0], [1, 1]]), several=True).tolist() == [True, False]


def test_skill_is_none_for_noise_and_much_for_what_is_apart():
    draw = np.random.default_rng(1)
    noise, truth = draw.normal(size=(80, 8)), np.eye(2)[np.arange(80) % 2]
    apart = noise * 0.1 + 3 * np.pad(truth, ((0, 0), (0, 6)))
    assert fit(noise, truth, Space.of(noise)).skill(truth) < 0.05
    assert fit(apart, truth, Space.of(apart)).skill(truth) > 0.9
