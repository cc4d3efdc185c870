"""How alike two models read: against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import spearmanr

from limelight.errors import LimelightError
from limelight.explain import agreement
from limelight.explain.model_agreement import jensen_shannon, spearman
from reading.readings import make_reading


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
    with pytest.raises(LimelightError, match="split a text differently"):
        agreement([one], [make_reading("Good soup", pattern=r"\w")])
    with pytest.raises(LimelightError, match="got 2 and 1 readings"):
        agreement([one, one], [one])
