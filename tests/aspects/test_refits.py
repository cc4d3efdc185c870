"""Heads refitted to resampled training texts, and where a model keeps them."""

from typing import Any

import numpy as np
import pytest

from limelight.aspects.refits import REFITS, fit_refits, refits_to_json, saved_refits
from limelight.network.parts import state_size
from limelight.runtime.model import Model
from refusing import refuses
from trained import network_of, recipe_of, tokenizer, weights_of


def model_with(refits: Any) -> Model:
    recipe = recipe_of({"rows": 2, "task": "ordinal"})
    weights = weights_of(network_of(recipe, classes=3))
    facts = {} if refits is None else {"refits": refits}
    given: dict[str, Any] = {"weights": weights, "labels": [1, 3, 5], "facts": facts}
    return Model.from_parts(recipe=recipe, tokenizer=tokenizer(), threads=1, **given)


def test_the_spread_of_the_heads_is_that_of_resampling():
    """Of many resamples, the weights vary as theory says: noise / (sqrt(n) spread)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)) * [1.0, 2.0, 0.5]
    y = X @ [0.5, -1.0, 2.0] + rng.normal(0, 0.7, 2000)
    found = np.concatenate([fit_refits(X, y, seed) for seed in range(30)])
    assert found.mean(axis=0) == pytest.approx([0.5, -1.0, 2.0], abs=0.2)
    assert found.std(axis=0) == pytest.approx(0.7 / np.sqrt(2000) / np.array([1.0, 2.0, 0.5]), rel=0.35)


def test_the_shares_of_the_words_add_up_to_what_the_heads_say_of_the_text():
    size = state_size(model_with(None).recipe.model)
    W = np.random.default_rng(1).normal(size=(REFITS, size))
    model = model_with(refits_to_json(W)).with_aspects({"even": ["w0", "w2"], "odd": ["w1"]})
    reading = model.read("w0 w5, w1 and w2. w7")
    mean_row = reading.embedding[:2].astype(float).mean(axis=0)
    sums = reading.aspect_sum.refits
    assert sums.shape == (3, REFITS)
    assert sums[-1] == pytest.approx(W @ mean_row, rel=1e-3, abs=1e-4)
    places = {word: k for k, word in enumerate(reading.words)}
    first, shared = [places["w0"], places["w5"]], [places["w1"], places["w2"], places["and"]]
    assert sums[0] == pytest.approx(
        reading.refits[first].sum(axis=0) + reading.refits[shared].sum(axis=0) / 2
    )


def test_a_model_without_them_has_none_and_damaged_ones_are_refused():
    model = model_with(None).with_aspects({"even": ["w0"]})
    assert model.refits is None
    assert model.read("w0 w5").aspect_sum.refits is None
    size = state_size(model.recipe.model)
    for damaged in (
        [],
        [[1.0] * size],
        [[1.0]] * 8,
        "8",
        [[float("nan")] * size] * 8,
        [[1.0] * size, None],
        {},
    ):
        with refuses("file-damaged"):
            saved_refits(damaged, model.recipe.model)
