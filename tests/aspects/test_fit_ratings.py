"""Ratings of aspects: the regression against numpy, the sum over words, folders and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from limelight.aspects.facts import facts_of_training
from limelight.aspects.fit_ratings import OWN, Sums, collect_ratings
from limelight.aspects.rating import Rating
from limelight.aspects.seeds import Aspects
from limelight.runtime.model import Model
from limelight.runtime.saved_aspects import read_aspects, write_aspects
from limelight.tables.rows import Row
from refusing import refuses
from trained import network_of, recipe_of, tokenizer, weights_of

ASPECTS = {"even": ["w0", "w10", "w12"], "odd": ["w1", "w3"]}
RNG = np.random.default_rng(5)
TEXTS = [
    ", ".join(" ".join(f"w{k}" for k in RNG.integers(0, 16, 3)) for _ in range(RNG.integers(1, 4)))
    for _ in range(90)
]


def model_of(labels: tuple = (1, 3, 5), task: str = "ordinal") -> Model:
    recipe = recipe_of({"rows": 2, "task": task})
    network = network_of(recipe, classes=len(labels) if task != "regression" else 1)
    parts = {"weights": weights_of(network), "recipe": recipe, "tokenizer": tokenizer(), "labels": labels}
    return Model.from_parts(**parts).with_aspects(ASPECTS)


def ratings_by_words() -> dict[str, list[float | None]]:
    """An aspect is rated by its own words alone, and not at all in every fourth text."""
    even = [None if k % 4 == 3 else 5.0 if "w0" in text.split() else 2.0 for k, text in enumerate(TEXTS)]
    return {"even": even, "odd": [3.0 + (k % 3 - 1) for k in range(len(TEXTS))]}


def test_sums_are_those_of_ridge_regression():
    X, y = RNG.standard_normal((40, 5)), RNG.standard_normal(40)
    sums = Sums.of(X[:15], y[:15]).add(Sums.of(X[15:], y[15:]))
    W, b = sums.fit(2.0)
    centred = X - X.mean(axis=0)
    ridge = 2.0 * (centred**2).sum() / 40
    expected = np.linalg.solve(centred.T @ centred + ridge * np.eye(5), centred.T @ (y - y.mean()))
    np.testing.assert_allclose(W, expected, rtol=1e-9)
    assert b == pytest.approx(y.mean() - X.mean(axis=0) @ expected)
    assert sums.squared_error(W, b) == pytest.approx(((X @ W + b - y) ** 2).sum())


def test_an_estimate_is_the_rating_of_the_words_and_the_effect():
    model = model_of().rate_aspects(TEXTS, ratings_by_words())
    rating = model.aspects.find("even").rating
    assert rating is not None
    assert (rating.texts, rating.low, rating.high) == (68, 2.0, 5.0)
    text = "w0 w4, w1 w1"
    reading, encoded = model.read(text), model._runner.encode_texts([text])[0]
    even = reading.aspects[0]
    H = encoded.H * encoded.A.mean(axis=0)[:, None]
    own = H[:2].sum(axis=0)  # the first clause
    words = float(rating.text @ H.sum(axis=0) + rating.own @ own)
    moved = 0.3 * 1.5 * np.tanh(4 * even.effect / 1.5)
    assert even.estimated == pytest.approx(np.clip(rating.bias + words + moved, 2, 5), abs=1e-4)


def test_ratings_teach_and_change_no_answer():
    plain, ratings = model_of(), ratings_by_words()
    model = plain.rate_aspects(TEXTS, ratings)
    np.testing.assert_array_equal(plain.predict_proba(TEXTS), model.predict_proba(TEXTS))
    known = [k for k, each in enumerate(ratings["even"]) if each is not None]
    truth = [ratings["even"][k] for k in known]
    found = [[m.read(TEXTS[k]).aspects[0].estimated or 3.5 for k in known] for m in (plain, model)]
    before, after = (np.corrcoef(each, truth)[0, 1] for each in found)
    assert after > max(before, 0) + 0.2


def test_saved_edited_and_read_again(tmp_path: Path):
    model = model_of().rate_aspects(TEXTS, ratings_by_words())
    model.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model")
    expected, found = (m.read(TEXTS[0]).aspects[0].estimated for m in (model, loaded))
    assert found == pytest.approx(expected, abs=1e-3)
    write_aspects(tmp_path / "model", lambda a: a.rename("even", "both").enable("odd", False), "rename")
    renamed = read_aspects(tmp_path / "model")
    assert [each.rating is not None for each in renamed] == [True, True]
    assert Model.load(tmp_path / "model").read(TEXTS[0]).aspects[0].estimated == pytest.approx(found)
    merged = renamed.merge(["both", "odd"], "all")
    assert merged.find("all").rating is None  # what was learnt of two is of neither
    assert Aspects.of(json.loads(json.dumps(renamed.to_dict()))).to_dict() == renamed.to_dict()
    with refuses("aspects"):  # of a model with states of another size
        write_aspects(tmp_path / "model", lambda a: a.with_ratings({"odd": _rating(3)}), "set", rated=True)


def _rating(size: int) -> Rating:
    return Rating(40, 1.0, 5.0, 3.0, np.ones(size, np.float32), OWN * np.ones(size, np.float32))


@pytest.mark.parametrize(
    "change", [{"text": [1.0]}, {"own": []}, {"bias": float("nan")}, {"texts": True}, {"more": 1}]
)
def test_a_rating_from_outside_is_checked(change: dict):
    about = {"seeds": ["w0"], "rating": {**_rating(2).to_json(), **change}}
    with refuses("aspects"):
        Aspects.of({"even": about})


def test_ratings_of_every_fifth_text_are_enough():
    texts = TEXTS * 2
    ratings = [1.0 + k % 3 if k % 5 == 0 else None for k in range(len(texts))]
    rating = model_of().rate_aspects(texts, {"even": ratings}).aspects.find("even").rating
    assert rating.texts == 36
    assert np.isfinite([rating.bias, *rating.text, *rating.own]).all()


def test_refusals():
    model = model_of()
    with refuses("length-mismatch"):
        model.rate_aspects(TEXTS, {"even": [1]})
    with refuses("aspect-unknown"):
        model.rate_aspects(TEXTS, {"none": [1] * len(TEXTS)})
    with refuses("too-few-ratings"):
        model.rate_aspects(TEXTS, {"even": [0] * len(TEXTS)})  # outside the scale: missing
    with refuses("too-few-ratings"):
        model.rate_aspects(TEXTS, {"even": [4] * len(TEXTS)})  # all the same
    with refuses("aspects"):
        model.with_aspects(model.aspects.enable("even", False)).rate_aspects(TEXTS, ratings_by_words())
    with refuses("rating-scale"):
        model.rate_aspects(TEXTS, {"even": [k % 10 for k in range(len(TEXTS))]})
    with refuses("option-twice"):
        model.rate_aspects(TEXTS, {"even": ratings_by_words()["odd"], "Even": ratings_by_words()["odd"]})
    with refuses("no-aspects"):
        model.with_aspects({}).rate_aspects(TEXTS, ratings_by_words())


def test_ratings_stay_with_their_network():
    model = model_of().rate_aspects(TEXTS, ratings_by_words())
    kept = model.with_aspects(model.aspects.rename("even", "both"))
    assert [each.rating is not None for each in kept.aspects] == [True, True]
    for other in (model_of().with_aspects(model.aspects), model.with_aspects(model.aspects.to_dict())):
        assert [each.rating for each in other.aspects] == [None, None]
    gone_on = facts_of_training(Aspects(), model.facts, "ordinal", pair=False)
    assert gone_on["aspects"]["definition"] == ASPECTS


@pytest.mark.parametrize(
    ("task", "labels"), [("regression", ("value",)), ("classification", ("bad", "good"))]
)
def test_without_classes_that_are_numbers_any_rating_counts(task, labels):
    model = model_of(labels, task)
    rated = model.rate_aspects(TEXTS, {"even": [10.0 * (k % 7) for k in range(len(TEXTS))]})
    rating = rated.aspects.find("even").rating
    assert rating is not None
    assert (rating.texts, rating.low, rating.high) == (len(TEXTS), 0.0, 60.0)
    even, odd = rated.read(TEXTS[0]).aspects
    assert 0 <= even.estimated <= 60
    assert odd.estimated is None


def test_texts_without_a_rating_are_left_out():
    rows = [Row("a", None, None, ["4", ""]), Row("b", None, None, [None, 0]), Row("c", None, None, [5, -1])]
    found = collect_ratings(rows, ["rooms", "staff"], (1, 5))
    assert found == (["a", "c"], {"rooms": [4.0, 5.0], "staff": [None, None]})
