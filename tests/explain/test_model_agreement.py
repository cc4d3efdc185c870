"""How alike two models read: against SciPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import spearmanr

from limelight.explain import agreement
from limelight.explain.model_agreement import jensen_shannon, spearman
from reading.readings import make_reading
from refusing import refuses


def test_ranks_and_divergences_are_those_of_scipy():
    rng = np.random.default_rng(0)
    for n in (2, 5, 40):
        a, b = rng.integers(0, 4, n) + 1.0, rng.random(n)
        if len(set(a)) > 1:
            assert spearman(a, b) == pytest.approx(spearmanr(a, b).statistic)
        p, q = a / a.sum(), b / b.sum()
        assert jensen_shannon(p, q) == pytest.approx(jensenshannon(p, q, base=2) ** 2)


def test_agreement_needs_the_same_words():
    one, other = make_reading("Good soup", [[0.9, 0.1]]), make_reading("Good soup", [[0.1, 0.9]])
    found = agreement([one, one], [one, other])
    assert found.spearman == pytest.approx(0.0)
    assert found.divergence == pytest.approx(jensenshannon([0.9, 0.1], [0.1, 0.9], base=2) ** 2 / 2, abs=1e-6)
    assert found.decided is None  # these readings do not say what decided
    with refuses("models-differ"):
        agreement([one], [make_reading("Good soup", pattern=r"\w")])
    with refuses("length-mismatch"):
        agreement([one, one], [one])


def test_what_decided_is_compared_where_both_answer_alike():
    plain = make_reading("Good hot soup", [[0.5, 0.3, 0.2]])
    one, other = (replace(plain, decided=np.array(d)) for d in ([3.0, 2.0, 1.0], [3.0, 1.0, 2.0]))
    elsewhere = replace(other, probabilities=plain.probabilities[::-1].copy())
    assert elsewhere.label != one.label
    found = agreement([one, one], [other, elsewhere])
    assert found.decided == pytest.approx(spearmanr([3, 2, 1], [3, 1, 2]).statistic)
