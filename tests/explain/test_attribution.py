"""Attributions, held against plain loops and a model whose answers are known."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from explain.models import attribute, random_model
from limelight.explain import attribution, measure_trust
from limelight.explain.attribution import METHODS, ReadTexts, explain_by
from limelight.reading import to_html
from limelight.reading.captions import METHODS as METHODS_IN_WORDS
from refusing import refuses


def test_words_are_left_out_of_the_sequence_and_not_zeroed():
    model = random_model()
    text = "w1 w2 w3 w4"
    read = ReadTexts(model, [model.read(text)])
    mask = np.array([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]], bool)
    expected = model.predict_proba([text, "w1 w3", ""])
    np.testing.assert_allclose(read.predict([mask], "")[0], expected, atol=1e-6)


def test_leaving_one_out_is_what_a_plain_loop_finds():
    model, text = random_model(), "w1 w2 w3 w4 w5 w2"
    P = model.predict_proba([text])[0]
    words = text.split()
    without = model.predict_proba([" ".join(words[:k] + words[k + 1 :]) for k in range(6)])
    found = attribute(model, [text], by="leave-one-out")[0]
    np.testing.assert_allclose(found, P.max() - without[:, P.argmax()], atol=1e-6)


def test_leaving_one_out_explains_the_class_that_was_asked_for():
    model = random_model(task="ordinal")
    before, after = model.predict_proba(["w1 w2", "w2"])
    for k, label in enumerate(model.labels):
        reading = explain_by(model, model.read("w1 w2", label=label), "leave-one-out")
        assert reading.decided[0] == pytest.approx(before[k] - after[k], abs=1e-6)


def test_few_texts_at_once_change_nothing(monkeypatch: pytest.MonkeyPatch):
    model, texts = random_model(), ["w1 w2 w3", "w2", "w4 w5 w1 w2", "w3 w3"]
    together = attribute(model, texts, by="leave-one-out")
    monkeypatch.setattr(attribution, "_MAX_WORDS", 10)
    for found, expected in zip(attribute(model, texts, by="leave-one-out"), together, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_bar_moves_from_group_to_group_of_texts(monkeypatch: pytest.MonkeyPatch):
    seen: list[float] = []

    class Bar(contextlib.nullcontext):
        n = 0

        def __enter__(self):
            return self

        def update(self, texts: int) -> None:
            self.n += texts
            seen.append(self.n)

    monkeypatch.setattr(attribution, "progress_bar", lambda total, **how: Bar())
    monkeypatch.setattr(attribution, "_MAX_WORDS", 25)
    attribute(random_model(), ["w1 w2 w3 w4 w5", "w2 w3 w1 w5 w4", "w4 w5 w1 w2 w3"], by="leave-one-out")
    assert seen == [1, 2, 3]


def test_pairs_leave_words_out_of_either_text():
    model = random_model(pair="concat")
    first, second = "w1 w2 w3", "w4 w5"
    P = model.predict_proba([first], [second])[0]
    found = attribute(model, [first], [second], by="leave-one-out")[0]
    without = model.predict_proba(["w1 w2", first], [second, "w5"])[:, P.argmax()]
    assert found[0][2] == pytest.approx(P.max() - without[0], abs=1e-6)
    assert found[1][0] == pytest.approx(P.max() - without[1], abs=1e-6)
    assert measure_trust(model, [first], [second]).texts == 1


@pytest.mark.parametrize("by", METHODS)
@pytest.mark.parametrize("pair", [None, "gated"])
def test_every_attribution_can_be_drawn(by: str, pair: str | None):
    model, texts, second = random_model(pair), ["w1 w2 w3", "", "w4 unheard"], ["w5", "w6 w7", ""]
    found = attribute(model, texts, second if pair else None, by=by)
    for k, weights in enumerate(found):
        reading = model.read(texts[k], second[k]) if pair else model.read(texts[k])
        explained = explain_by(model, reading, by)
        if by != "attention":
            assert METHODS_IN_WORDS[explained.sides[0].decided_by] in to_html(explained)
            for side, part in zip(explained.sides, weights if pair else (weights,), strict=True):
                np.testing.assert_allclose(side.decided, part, atol=1e-5)
    alone = attribute(model, texts[:1], second[:1] if pair else None, by=by)[0]
    np.testing.assert_allclose(
        np.concatenate([*alone] if pair else [alone]),
        np.concatenate([*found[0]] if pair else [found[0]]),
        atol=1e-5,
    )


def test_a_phrase_has_the_sum_of_its_words_in_equal_parts():
    model = random_model(head="linear")
    reading = model.read("w1 w2 w3, w4 but w5 w1!")
    found = explain_by(model, reading, "phrase")
    assert reading.words == ("w1", "w2", "w3", ",", "w4", "but", "w5", "w1", "!")
    for clause in (slice(0, 3), slice(6, 8)):
        np.testing.assert_allclose(found.decided[clause], reading.decided[clause].mean(), atol=1e-12)
    np.testing.assert_array_equal(found.decided[[3, 4, 5, 8]], reading.decided[[3, 4, 5, 8]])
    assert found.bias + found.decided.sum() == pytest.approx(float(found.confidence), abs=1e-6)
    assert METHODS_IN_WORDS["phrase"] in to_html(found)


def test_each_text_of_a_pair_has_phrases_of_its_own():
    model = random_model("gated")
    reading = model.read("w1 w2", "w3 w4, w5")
    found = explain_by(model, reading, "phrase")
    for side, before in zip(found.sides, reading.sides, strict=True):
        np.testing.assert_allclose(side.decided[:2], before.decided[:2].mean(), atol=1e-12)
    assert found.sides[1].decided[3] == reading.sides[1].decided[3]


def test_an_unknown_attribution_is_an_error():
    with refuses("option-value"):
        attribute(random_model(), ["w1"], by="magic")
    with refuses("no-rows"):
        measure_trust(random_model(), [])


def test_attention_leaves_out_the_max_pooled_row():
    model, texts = random_model(max_row=True), ["w1 w2 w3", "w4 w5"]
    for weights, reading in zip(attribute(model, texts, by="attention"), model.read_many(texts), strict=True):
        A = reading.attention[:-1]
        np.testing.assert_allclose(weights, A.sum(axis=0) / A.sum(), atol=1e-6)
        assert not np.allclose(weights, reading.attention.mean(axis=0), atol=1e-4)
