"""TF-IDF and logistic regression: as scikit-learn has it, and as a baseline of what is trained."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from limelight.text.dataset import Split
from limelight.training import tf_idf
from limelight.training.tf_idf import fit_tf_idf

WORDS, CLASSES = 12, 3


def some_rows(rows: int, seed: int, pair: bool = False) -> Split:
    """Rows whose class shows in their words, but not always; the first has a single word."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(CLASSES, size=rows)
    lengths = [np.r_[1, rng.integers(2, 9, size=rows - 1)] for _ in range(1 + pair)]
    ids = [2 + (rng.integers(7, size=n.sum()) + 2 * np.repeat(labels, n)) % (WORDS - 2) for n in lengths]
    weights = rng.random(rows) + 0.5
    second = (ids[1], lengths[1]) if pair else (None, None)
    return Split(ids[0], lengths[0], labels, weights, *second)


def terms(split: Split) -> list[list[tuple]]:
    found = []
    for k in range(len(split)):
        sides = [ids.tolist() for ids in split.row(k)]
        words = [(side, word) for side, ids in enumerate(sides) for word in ids]
        found.append(words + [(side, *two) for side, ids in enumerate(sides) for two in pairwise(ids)])
    return found


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("balanced", [False, True])
def test_it_is_that_of_scikit_learn(pair: bool, balanced: bool, monkeypatch: pytest.MonkeyPatch):
    for name, value in (("FLAT", 1e-6), ("STRENGTH", 3.0), ("MIN_PAIRS", 1)):
        monkeypatch.setattr(tf_idf, name, value)
    train, test = some_rows(80, 0, pair), some_rows(60, 1, pair)
    words = TfidfVectorizer(analyzer=lambda row: row, sublinear_tf=True)
    X, y = words.fit_transform(terms(train)), np.asarray(train.labels)
    theirs = LogisticRegression(C=3.0, max_iter=1000, tol=1e-8, class_weight="balanced" if balanced else None)
    theirs.fit(X, y, sample_weight=train.weights)
    ours = fit_tf_idf(train, WORDS, CLASSES, np.arange(len(train)), balanced)
    order = [words.vocabulary_[key(code)] for code in ours.codes.tolist()]
    np.testing.assert_allclose(ours.idf, words.idf_[order], rtol=1e-6)
    np.testing.assert_allclose(ours.W.numpy(), theirs.coef_.T[order], atol=2e-3)
    assert ours.accuracy(test) == pytest.approx(theirs.score(words.transform(terms(test)), test.labels))


def key(code: int) -> tuple[int, ...]:
    """A term as `terms` gives it: its side, and the ids of its word, or of two neighbours."""
    side, rest = divmod(code, WORDS * (WORDS + 1))
    first, second = divmod(rest, WORDS)
    return (side, second) if first == 0 else (side, first - 1, second)


def test_many_rows_are_read_some_at_a_time(monkeypatch: pytest.MonkeyPatch):
    train, test = some_rows(80, 0), some_rows(60, 1)
    fitted = fit_tf_idf(train, WORDS, CLASSES, np.arange(len(train)), False)
    whole = fitted.predict(test)
    monkeypatch.setattr(tf_idf, "_WORDS_AT_ONCE", 20)
    np.testing.assert_array_equal(fitted.predict(test), whole)


def test_a_row_of_unknown_terms_gets_the_commonest_class():
    train = Split(np.array([2, 3, 4, 3]), np.ones(4, int), np.array([0, 1, 2, 1]))
    fitted = fit_tf_idf(train, 9, 3, np.arange(4), False)
    assert fitted.predict(Split(np.array([8]), np.array([1]))).tolist() == [1]


def test_a_sample_is_bounded_by_rows_words_and_classes(monkeypatch: pytest.MonkeyPatch):
    split = Split(np.ones(40, int), np.full(20, 2))
    assert tf_idf.sample_rows(split, 2).tolist() == list(range(20))
    monkeypatch.setattr(tf_idf, "BASELINE_ROWS", 12)
    assert len(tf_idf.sample_rows(split, 2)) == 12
    monkeypatch.setattr(tf_idf, "BASELINE_WORDS", 10)
    assert len(tf_idf.sample_rows(split, 2)) == 5
    monkeypatch.setattr(tf_idf, "BASELINE_WORK", 40)
    assert len(tf_idf.sample_rows(split, 20)) == 1
