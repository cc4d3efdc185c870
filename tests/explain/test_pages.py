"""The page of a comparison, and what it says is the best."""

from __future__ import annotations

import re

import pytest

from explain.models import random_model
from limelight.explain import measure_trust
from limelight.explain.pages import compare_page, trust_page, verdict
from limelight.training.compare import TF_IDF, Contestant, compare, compare_tf_idf
from training import toys


def contestants() -> list[Contestant]:
    return [
        Contestant("self-attention", 1000, [0, 1], [0.8, 0.82], [0.9, 0.92], [9.0, 11.0], 2_000_000),
        Contestant(TF_IDF, 500, [0], [0.7], [0.8], [0.5], 90_000),
    ]


@pytest.mark.parametrize(
    ("rows", "said"), [(10_000, "the others are behind"), (20, "cannot be told from it")]
)
def test_the_best_is_only_called_so_if_it_is_clearly_ahead(rows, said):
    best, sentence = verdict(contestants(), {"dev": rows, "test": rows})
    assert best.name in sentence
    assert "test set, with 91.0%" in sentence
    assert said in sentence
    assert "development set, with 81.0%" in verdict(contestants(), {"dev": rows})[1]


def test_two_models_without_an_error_are_level():
    found = [Contestant("max", 10, test=[1.0]), Contestant("cnn", 10, test=[1.0])]
    assert "cannot be told from it" in verdict(found, {"test": 100})[1]


def test_the_page_has_every_figure():
    page = compare_page(contestants(), {"train": 100, "dev": 50, "test": 50}, "<b>.csv")
    for shown in ("91.0 ± 1.4", "80.0", "10 s", "0.5 s", "2.0 MB", "0.1 MB", "1,000", "&lt;b&gt;.csv"):
        assert shown in page, shown
    assert "<b>.csv" not in page
    assert "test accuracy" not in compare_page(contestants(), {"train": 100, "dev": 50}, "data")
    assert not re.search(r"https?://(?!www\.w3)", page.replace("https://arxiv.org", ""))


@pytest.mark.parametrize("pair", [False, True])
def test_tf_idf_learns_and_is_small(pair):
    data = toys.dataset(rows=200, dev=60, pair=pair)
    found = compare_tf_idf(data, toys.recipe())
    assert found.dev[0] > 0.8
    assert found.test == []
    assert 0 < found.bytes < 10**6
    assert found.name == "TF-IDF + logistic regression"
    alone = compare_tf_idf(toys.dataset(rows=60, dev=0, pair=pair), toys.recipe(class_weight="balanced"))
    assert (alone.dev, alone.test) == ([], [])


def test_a_comparison_of_the_paper_has_no_tf_idf():
    found = compare(toys.dataset(), toys.recipe(epochs=1), seeds=[0])
    assert [one.embedding for one in found] == ["max", "cnn", "self-attention"]


def test_trust_in_a_model_whose_rows_have_no_names():
    model = random_model()
    assert model.row_names == ()
    page = trust_page(measure_trust(model, ["w1 w2 w3", "w2 w4"]), model, name="soup", data="test.csv")
    assert "How far to trust soup on test.csv" in page
    assert '<th scope="row">3</th>' in page
