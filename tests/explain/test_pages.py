"""The page of `limelight trust`."""

from __future__ import annotations

from explain.models import random_model
from limelight.explain import measure_trust
from limelight.explain.pages import trust_page


def test_trust_in_a_model_whose_rows_have_no_names():
    model = random_model()
    assert model.row_names == ()
    page = trust_page(measure_trust(model, ["w1 w2 w3", "w2 w4"]), model, name="soup", data="test.csv")
    assert "How far to trust soup on test.csv" in page
    assert '<th scope="row">3</th>' in page
