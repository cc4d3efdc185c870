"""Figures over labelled rows, beside those of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, log_loss, precision_recall_fscore_support

from limelight.text.metrics import Metrics


@pytest.mark.parametrize("true", [[0, 1, 2, 3], [1, 2], [2]])  # the classes that occur; others are predicted
def test_figures_are_those_of_scikit_learn(true: list[int]) -> None:
    rng = np.random.default_rng(len(true))
    P, truth = rng.dirichlet(np.ones(4), 90), rng.choice(true, 90)
    predicted = P.argmax(axis=1)
    found = Metrics.of(P, truth, predicted)
    assert found.accuracy == pytest.approx(accuracy_score(truth, predicted))
    assert found.macro_f1 == pytest.approx(f1_score(truth, predicted, average="macro", zero_division=0))
    assert found.loss == pytest.approx(log_loss(truth, P, labels=range(4)))
    each = precision_recall_fscore_support(truth, predicted, labels=range(4), zero_division=0)
    np.testing.assert_allclose(found.per_class, np.transpose(each[:3]))


def test_a_class_that_neither_is_nor_is_predicted_does_not_count() -> None:
    found = Metrics.of(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.array([0, 1]), np.array([0, 1]))
    assert (found.macro_f1, str(found.loss)) == (1.0, "0.0")
