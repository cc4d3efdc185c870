"""The classifier against a plain float64 version, and its left-out scores against fits without each text."""

from __future__ import annotations

from math import lgamma

import numpy as np
import pytest

from limelight.labelling.refit import Space, _Scores, _Texts, describe, fit, is_correct, task_of

SIZE, CLASSES = 6, 3
SHRINK, EVEN_TEXTS = 2.0, 1000.0
EVENNESS = np.geomspace(0.3, 300, 13)


@pytest.fixture
def made() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A table of 60 texts, 12 of them with labels."""
    draw = np.random.default_rng(0)
    table = draw.normal(size=(60, SIZE)) * np.arange(1, SIZE + 1)
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    return table, np.arange(12), np.eye(CLASSES)[draw.integers(0, CLASSES, 12)]


def reference_metric(table, D, m, y, prior):
    """A of linear discriminant analysis, written as in the module's first lines."""
    v = ((table - table.mean(axis=0)) ** 2).mean()
    S = sum(np.outer(d - m[c], d - m[c]) for d, c in zip(D, y, strict=True))
    S = S + SHRINK * sum(np.outer(each, each) for each in m)  # texts at the centre
    if prior:
        S = S + sum(
            n * np.outer(s / n - each, s / n - each) for s, n, each in zip(*prior, m, strict=True) if n
        )
    return v * (EVEN_TEXTS + len(D)) * np.linalg.inv(EVEN_TEXTS * v * np.eye(table.shape[1]) + S)


def reference_scores(table, X, Y, x, several=False, prior=None, scatter=False):
    """(classes,): the scores of one text, by means and a metric."""
    g = table.mean(axis=0)
    sums, counts = prior if prior else (np.zeros((Y.shape[1], table.shape[1])), np.zeros(Y.shape[1]))

    def mean(c, own):
        return (sums[c] + (X[own] - g).sum(axis=0)) / (counts[c] + own.sum() + SHRINK)

    means = [mean(c, Y[:, c] > 0) for c in range(Y.shape[1])]
    A = reference_metric(table, X - g, means, Y.argmax(axis=1), prior) if scatter else np.eye(len(g))
    found = np.array([(x - g) @ A @ m - m @ A @ m / 2 for m in means])
    if several:
        rest = [
            (X[Y[:, c] == 0] - g).sum(axis=0) / ((Y[:, c] == 0).sum() + SHRINK) for c in range(Y.shape[1])
        ]
        found -= [(x - g) @ m - m @ m / 2 for m in rest]
    return found


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


@pytest.mark.parametrize(("several", "scatter"), [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize("described", [False, True])
def test_scores_are_those_of_the_formula_and_those_left_out_of_a_fit_without_the_text(
    made, several, scatter, described
):
    table, rows, Y = made
    Y = np.asarray(Y + np.roll(Y, 1, axis=0) > 0, np.float32) if several else Y.astype(np.float32)
    X, space = table[rows], Space.of(table)
    prior = describe(table[20 : 20 + CLASSES], space.centre) if described else None
    found = scores_of(X, Y, space, prior, several, scatter)
    expected = [reference_scores(table, X, Y, x, several, prior, scatter) for x in table]
    np.testing.assert_allclose((table - space.centre) @ found.W.T + found.b, expected, atol=1e-5)
    for k, x in enumerate(X):
        rest = np.arange(len(X)) != k
        without = reference_scores(table, X[rest], Y[rest], x, several, prior, scatter)
        np.testing.assert_allclose(found.left_out[k], without, atol=1e-5)


def scores_of(X, Y, space, prior, several, scatter):
    D = (X - space.centre).astype(np.float32)
    texts = _Texts(D, D, np.ones(len(D), np.float32))
    if scatter:
        return _Scores.by_scatter(texts, Y, prior, space.variance)
    return _Scores.alike(texts, Y, prior, several)


@pytest.mark.parametrize("narrow", [False, True])
def test_directions_count_less_where_the_texts_of_a_class_differ_in_them_if_that_helps(narrow):
    """Four hundred texts whose classes differ in one direction of six: as much as in the others, or less."""
    draw = np.random.default_rng(0)
    Y = np.eye(2)[np.arange(400) % 2]
    X = draw.normal(size=(400, SIZE)) * (np.array([0.1, *[1.0] * 5]) if narrow else 1.0)
    X[:, 0] += 0.15 * (Y[:, 0] - Y[:, 1]) * (1 if narrow else 5)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    space = Space.of(X)
    fitted = fit(X, Y, space)
    losses = {}
    for scatter in (False, True):
        each = scores_of(X, Y.astype(np.float32), space, None, False, scatter)
        often = np.array([usual(np.delete(Y, k, axis=0), 300.0, False) for k in range(400)])
        losses[scatter] = min(
            loss_of(each.left_out / T + often, Y, False) for T in np.geomspace(0.01, 0.3, 12)
        )
    assert loss_of(fitted.left_out, Y, False) == pytest.approx(min(losses.values()), rel=1e-3)
    assert (losses[True] < losses[False]) == narrow


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


@pytest.mark.parametrize("scatter", [False, True])
def test_a_text_counted_twice_is_one_with_twice_the_weight(made, scatter):
    table, rows, Y = made
    space, Y = Space.of(table), Y.astype(np.float32)
    D = (table[rows] - space.centre).astype(np.float32)
    twice = scores_of(np.repeat(table[rows], 2, axis=0), np.repeat(Y, 2, axis=0), space, None, False, scatter)
    texts = _Texts(D, 2 * D, np.full(len(D), 2, np.float32))
    heavy = (
        _Scores.by_scatter(texts, Y, None, space.variance)
        if scatter
        else _Scores.alike(texts, Y, None, False)
    )
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
    P = task_of(False).activate(logits)
    np.testing.assert_allclose(P[0], [np.exp(2) / (np.exp(2) + 1), 1 / (np.exp(2) + 1)])
    np.testing.assert_allclose(task_of(True).activate(logits)[1], [0.5, 1 / (1 + np.exp(-1))])
    assert is_correct(logits, np.array([[1, 0], [1, 0]])).tolist() == [True, False]
    assert is_correct(logits, np.array([[1, 0], [1, 1]]), several=True).tolist() == [True, False]


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
    assert set(judged) == {-(-n // every), n}  # all of them say which metric is better


def test_a_space_is_the_centre_and_the_mean_variance():
    X = np.random.default_rng(0).normal(size=(20, 3)) * [1, 2, 5]
    space = Space.of(X)
    np.testing.assert_allclose(space.centre, X.mean(axis=0), rtol=1e-6)
    assert space.variance == pytest.approx(X.var(axis=0).mean())
    assert Space.of(X[:1]).variance > 0


def test_sentences_are_described_by_how_they_differ():
    vectors = np.array([[1.0, 0.0, 3.0], [0.0, 1.0, 3.0], [0.0, 0.0, 0.0]])
    sums, counts = describe(vectors, np.array([9.0, 9.0, 9.0]))
    assert counts.tolist() == [1, 1, 0]
    assert sums.tolist() == [[0.5, -0.5, 0], [-0.5, 0.5, 0], [0, 0, 0]]
    alone, counts = describe(vectors[[0, 2]], np.array([0.5, 0.0, 1.0]), weight=2.0)
    assert (alone.tolist(), counts.tolist()) == ([[1, 0, 4], [0, 0, 0]], [2, 0])
