"""The classifier against a plain float64 version, and its left-out scores against fits without each text."""

from __future__ import annotations

from math import lgamma

import numpy as np
import pytest

from limelight.labelling.refit import Space, describe, fit, is_correct, to_probabilities

SIZE, CLASSES = 6, 3
SHRINK, SMOOTH = 2.0, 10.0
EVENNESS = np.geomspace(0.3, 300, 13)


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


def reference_evenness(counts):
    """By the likelihood of counts, with gamma functions."""

    def likelihood(a):
        each = sum(lgamma(n + a) - lgamma(a) for n in counts)
        return each + lgamma(a * len(counts)) - lgamma(a * len(counts) + sum(counts))

    return max(EVENNESS, key=likelihood)


def usual(Y, a, several):
    """(classes,): the logarithm of how frequent classes are, which is left out where there are several."""
    counts = Y.sum(axis=0)
    return 0 if several else np.log((counts + a) / (counts + a).sum())


@pytest.mark.parametrize("several", [False, True])
def test_scores_are_those_of_the_formula(made, several):
    table, rows, Y = made
    Y = Y + np.roll(Y, 1, axis=0) > 0 if several else Y
    fitted = fit(table[rows], np.asarray(Y, float), Space.of(table), several=several)
    expected = [reference_scores(table, table[rows], Y, x, several) for x in table]
    logits = fitted.logits(table) - usual(Y, reference_evenness(Y.sum(axis=0)), several)
    np.testing.assert_allclose(logits * fitted.temperature, expected, atol=1e-5)


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
        assert_same_scores(fitted, k, Y, without, X[k], several)


def assert_same_scores(fitted, k, Y, without, x, several=False):
    """Those of the text left out in `fitted`, in which it still helps to say how even the classes are."""
    rest = np.delete(Y, k, axis=0)
    a, a_rest = (reference_evenness(each.sum(axis=0)) for each in (Y, rest))
    found = (fitted.left_out[k] - usual(rest, a, several)) * fitted.temperature
    expected = (without.logits(x[None])[0] - usual(rest, a_rest, several)) * without.temperature
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_marked_words_are_left_out_with_their_text(made):
    table, rows, Y = made
    X, space = table[rows], Space.of(table)
    marked = table[30:33]
    fitted = fit(X, Y, space, more=(np.array([0, 0, 5]), marked, 0.5))
    rest = np.arange(len(X)) != 0
    without = fit(X[rest], Y[rest], space, more=(np.array([4]), marked[2:], 0.5))
    assert_same_scores(fitted, 0, Y, without, X[0])


def test_a_text_counted_twice_is_one_with_twice_the_weight(made):
    table, rows, Y = made
    X, space = table[rows], Space.of(table)
    twice = fit(np.concatenate([X, X]), np.concatenate([Y, Y]), space)
    heavy = fit(X, Y, space, weights=np.full(len(X), 2.0))
    np.testing.assert_allclose(twice.W, heavy.W, atol=1e-6)


def test_a_class_without_texts_has_the_score_zero_everywhere(made):
    table, rows, Y = made
    Y = np.pad(Y, ((0, 0), (0, 1)))
    fitted = fit(table[rows], Y, Space.of(table))
    logits = fitted.logits(table) - usual(Y, reference_evenness(Y.sum(axis=0)), several=False)
    np.testing.assert_allclose(logits[:, -1], 0, atol=1e-5)


@pytest.mark.parametrize(("first", "a"), [(20, 0.3), (11, 300.0)])
def test_a_frequent_class_is_preferred_but_not_for_what_chance_gives(first, a):
    Y, centre = np.eye(2)[[0] * first + [1] * (20 - first)], np.full((20, 2), 0.5)
    fitted = fit(centre, Y, Space.of(np.eye(2)))
    expected = np.log((20 - first + a) / (first + a))
    np.testing.assert_allclose(np.diff(fitted.logits(centre[:1]))[0, 0], expected, rtol=1e-4)


@pytest.mark.parametrize("alone", [0, 5, 20])
def test_where_texts_were_accepted_together_counts_say_nothing(alone):
    """Single labels of one class do not outweigh those that another was given at once."""
    Y, centre = np.eye(2)[[0] * 18 + [1] * (18 + alone)], np.full((36 + alone, 2), 0.5)
    weights = np.where(np.arange(len(Y)) < 36, 1.5 / 18, 1.0)
    fitted = fit(centre, Y, Space.of(np.eye(2)), weights=weights)
    np.testing.assert_allclose(np.diff(fitted.logits(centre[:1])), 0, atol=1e-6)


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


# ---------------------------------------------------------------- the temperature


def labelled(n: int, seed: int, several: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Texts with labels that follow their vectors more or less."""
    draw = np.random.default_rng(seed)
    Y = np.eye(3)[draw.integers(0, 3, n)]
    if several:
        Y = np.maximum(Y, np.eye(3)[draw.integers(0, 3, n)])
    X = draw.normal(size=(n, 5)) * draw.choice([0.1, 0.4, 1.5]) + Y @ np.eye(3, 5)
    return X / np.linalg.norm(X, axis=1, keepdims=True), Y


def loss_of(logits: np.ndarray, Y: np.ndarray, several: bool) -> float:
    """The mean negative logarithm of the probability of the truth, by each class where there are several."""
    with np.errstate(over="ignore"):
        if several:
            P = 1 / (1 + np.exp(-logits))
            return float(-np.log(np.maximum(np.where(Y > 0, P, 1 - P), 1e-6)).mean())
        P = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return float(-np.log(np.maximum(P[Y > 0], 1e-6)).mean())


@pytest.mark.parametrize("several", [False, True])
def test_the_temperature_has_the_least_loss_on_texts_left_out(several):
    chosen = set()
    for seed in range(12):
        X, Y = labelled(40, seed, several)
        fitted = fit(X, Y, Space.of(X), several=several)
        a = 0 if several else reference_evenness(Y.sum(axis=0))
        often = np.array([usual(np.delete(Y, k, axis=0), a, several) for k in range(len(Y))])
        often = often.reshape(len(Y), -1)
        scores = (fitted.left_out.astype(np.float64) - often) * fitted.temperature
        T = min(np.geomspace(0.01, 0.3, 12), key=lambda T: loss_of(scores / T + often, Y, several))
        assert fitted.temperature == pytest.approx(T)
        chosen.add(round(T, 3))
    assert len(chosen) > 3


def test_with_four_labels_the_temperature_is_the_usual_one():
    X, Y = labelled(40, 0)
    assert fit(X[:4], Y[:4], Space.of(X)).temperature == 0.07
    assert fit(X[:5], Y[:5], Space.of(X)).temperature in np.geomspace(0.01, 0.3, 12).astype(np.float32)


@pytest.mark.parametrize(("n", "every"), [(799, 1), (800, 2), (1300, 3)])
def test_of_many_labels_some_hundreds_choose_the_temperature(monkeypatch, n, every):
    judged = []
    monkeypatch.setattr("limelight.labelling.refit._loss", lambda S, Y, several: judged.append(len(S)) or 1.0)
    X, Y = labelled(n, 0)
    fit(X, Y, Space.of(X))
    assert set(judged) == {-(-n // every)}


@pytest.mark.parametrize("several", [False, True])
def test_skill_is_one_less_the_loss_by_that_of_knowing_nothing(several):
    X, Y = labelled(30, 1, several)
    fitted = fit(X, Y, Space.of(X), several=several)
    p = Y.mean(axis=0)
    nothing = np.log(2) if several else -(p * np.log(p)).sum()
    expected = 1 - loss_of(fitted.left_out.astype(np.float64), Y, several) / nothing
    assert fitted.skill(Y) == pytest.approx(expected, rel=1e-4)
    assert fit(X, Y[:, :1] * 0 + 1, Space.of(X)).skill(Y[:, :1] * 0 + 1) == 0


def test_a_space_is_its_formula():
    X = np.random.default_rng(0).normal(size=(20, 3)) * [1, 2, 5]
    D = X - X.mean(axis=0)
    C = sum(np.outer(d, d) for d in D) / 20
    space = Space.of(X)
    np.testing.assert_allclose(space.centre, X.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(
        space.A, 10 * np.linalg.inv(C / (np.trace(C) / 3) + 10 * np.eye(3)), rtol=1e-5, atol=1e-7
    )
    np.testing.assert_allclose(space.norms(X), [d @ space.A @ d for d in D], rtol=1e-5)
    np.testing.assert_allclose(Space.of(X[:1]).A, np.eye(3), rtol=1e-6)


def test_sentences_are_described_by_how_they_differ():
    vectors = np.array([[1.0, 0.0, 3.0], [0.0, 1.0, 3.0], [0.0, 0.0, 0.0]])
    sums, counts = describe(vectors, np.array([9.0, 9.0, 9.0]))
    assert counts.tolist() == [1, 1, 0]
    assert sums.tolist() == [[0.5, -0.5, 0], [-0.5, 0.5, 0], [0, 0, 0]]
    alone, counts = describe(vectors[[0, 2]], np.array([0.5, 0.0, 1.0]), weight=2.0)
    assert (alone.tolist(), counts.tolist()) == ([[1, 0, 4], [0, 0, 0]], [2, 0])
