"""Faithfulness, held against plain loops and models whose answers are known."""

from __future__ import annotations

import sys
from math import ceil

import numpy as np
import pytest

from explain.models import HIGH, LOW, attribute, random_model, word_spotter
from limelight.explain import measure_trust
from limelight.explain.attribution import ReadTexts
from limelight.explain.trust import SHARES, measure_faithfulness
from limelight.runtime.model import Model
from refusing import refuses
from trained import LABELS, network_of, recipe_of, texts_of, tokenizer, weights_of


def test_a_model_that_spots_one_word_is_explained_exactly():
    model, text = word_spotter(), "soup bad good soup"
    assert model.read(text).confidence == pytest.approx(HIGH, abs=1e-6)
    found = attribute(model, [text], by="leave-one-out")[0]
    np.testing.assert_allclose(found, [0, 0, HIGH - LOW, 0], atol=1e-6)
    trust = measure_trust(model, [text] * 3)
    for name in ("Leave one out", "What decided"):
        assert trust[name].comprehensiveness == pytest.approx(HIGH - LOW, abs=1e-6), name
        assert trust[name].sufficiency == pytest.approx(0, abs=1e-6), name
    # in reading order the word is never among the first 1 to 50 % of four words
    assert trust["Uniform"].comprehensiveness == pytest.approx(0, abs=1e-6)
    assert trust["Uniform"].sufficiency == pytest.approx(HIGH - LOW, abs=1e-6)


def test_where_words_mean_nothing_every_attribution_is_worth_nothing():
    recipe = recipe_of({"rows": 2})
    weights = weights_of(network_of(recipe))
    weights["head.W_2"] = np.zeros_like(weights["head.W_2"])
    model = Model.from_parts(weights=weights, recipe=recipe, tokenizer=tokenizer(), labels=LABELS, threads=1)
    trust = measure_trust(model, texts_of(12, seed=3))
    for each in trust.attributions:
        np.testing.assert_allclose(each.drop_without, 0, atol=1e-6)
        np.testing.assert_allclose(each.drop_with_only, 0, atol=1e-6)


def naive_scores(model: Model, text: str, weights: np.ndarray) -> tuple[list[float], list[float]]:
    words, P = text.split(), model.predict_proba([text])[0]
    answer = int(P.argmax())
    needed, enough = [], []
    for share in SHARES:
        top = sorted(range(len(words)), key=lambda k: (-weights[k], k))[: ceil(round(share * len(words), 6))]
        without = " ".join(word for k, word in enumerate(words) if k not in top)
        only = " ".join(word for k, word in enumerate(words) if k in top)
        needed.append(P[answer] - model.predict_proba([without])[0][answer])
        enough.append(P[answer] - model.predict_proba([only])[0][answer])
    return needed, enough


@pytest.mark.parametrize("options", [{}, {"pooling": "max"}, {"head": "pruned"}])
def test_scores_are_those_of_a_plain_loop(options: dict):
    model = random_model(**options)
    texts = [text for text in texts_of(12, seed=1) if text] + ["w1 " * 20]
    readings = model.read_many(texts)
    read = ReadTexts(model, readings)
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=len(text)).round(1) for text in read.ids]  # rounded: there are equal ones
    found = measure_faithfulness(read, {"some": weights, "none": [w * 0 for w in weights]})[0]
    for k, text in enumerate(texts):
        needed, enough = naive_scores(model, text, weights[k])
        np.testing.assert_allclose(found.drop_without[k], needed, atol=1e-6)
        np.testing.assert_allclose(found.drop_with_only[k], enough, atol=1e-6)


def test_bars_count_the_texts_where_they_are_asked_for(capsys: pytest.CaptureFixture[str]):
    model, texts = random_model(), ["w1 w2 w3", "w2", "w4 w5 w1 w2"]
    quiet = measure_trust(model, texts).to_dict()
    assert capsys.readouterr().err == ""
    assert measure_trust(model, texts, progress=True).to_dict() == quiet
    shown = capsys.readouterr().err
    for name in ("Leave one out", "Faithfulness"):
        assert f"{name}:   0%" in shown
    assert "3/3" in shown


def test_very_long_texts_are_left_out_and_counted():
    model, long = random_model(), "w1 " * 2001
    with pytest.warns(UserWarning, match="skipped 1 of 3 texts.*2,000 words"):
        some = measure_trust(model, ["w1 w2", long, "w3 w4"])
    assert some.to_dict() == measure_trust(model, ["w1 w2", "w3 w4"]).to_dict()
    with refuses("text-too-long"):
        measure_trust(model, [long])


def test_trust_is_measured_without_pytorch(monkeypatch: pytest.MonkeyPatch):
    model = random_model()
    monkeypatch.setitem(sys.modules, "torch", None)
    trust = measure_trust(model, ["w1 w2 w3"])
    names = {each.name for each in trust.attributions}
    assert {"What decided", "Overall attention", "Leave one out"} == names - {"Uniform", "Random"}
