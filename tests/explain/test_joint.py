"""Words that are read together, in a model that answers by two neighbours and in one that adds words up."""

from __future__ import annotations

from html import unescape
from math import exp

import numpy as np
import pytest

from explain.models import HIGH, LOW, negation_spotter, random_model, word_spotter
from limelight.explain import joint, joint_words
from limelight.reading import to_html, to_svg, to_terminal
from limelight.reading.reading import JointWords, PairReading
from refusing import refuses


def test_a_negation_and_its_word_are_read_together():
    model = negation_spotter()
    reading = joint_words(model, model.read("The soup was not good"))
    (found,) = reading.joint
    assert (found.first, found.second) == ((3, 4), (4, 5))
    alone = [found.without_first, found.without_second, found.without_both]
    assert alone == pytest.approx([HIGH - LOW] * 3, abs=1e-5)
    assert found.together == pytest.approx(LOW - HIGH, abs=1e-5)
    assert reading.to_dict()["joint"] == [found._asdict()]


def test_a_contraction_is_one_word_here_and_in_every_picture():
    model = negation_spotter()
    reading = joint_words(model, model.read("It can't good"))
    assert reading.words == ("It", "ca", "n't", "good")
    assert [(each.first, each.second) for each in reading.joint] == [((1, 3), (3, 4))]
    said = "Read together: “can't good” (without both −76 points; without “can't” −76, without “good” −76)."
    for drawn in (to_terminal(reading, colour=False, width=200), to_html(reading), to_svg(reading)):
        assert said in unescape(drawn).replace("</text>", " ").replace("  ", " ")


def test_words_that_only_add_up_are_not_told():
    model = word_spotter()
    for text in ("good bad soup", "soup", "", "...", "bad"):
        assert joint_words(model, model.read(text)).joint == ()


def test_without_is_what_the_model_says_of_the_shorter_text(monkeypatch):
    monkeypatch.setattr(joint, "MIN_JOINT", 0.0)
    monkeypatch.setattr(joint, "MIN_TIMES", 0.0)
    model, text = random_model(), "w1 w2 w3 w4 w5 w2"
    reading, words = model.read(text), text.split()
    found = joint_words(model, reading).joint
    assert len(found) == joint.MAX_JOINT
    for each in found:
        gone = [each.first, each.second]
        for left_out, fall in zip([gone[:1], gone[1:], gone], each[2:], strict=True):
            kept = [word for k, word in enumerate(words) if not any(a <= k < b for a, b in left_out)]
            P = model.predict_proba([" ".join(kept)])[0]
            assert fall == pytest.approx(reading.confidence - P[reading.target], abs=1e-6)


def test_against_another_class_it_is_about_these_two_alone(monkeypatch):
    monkeypatch.setattr(joint, "MIN_JOINT", 0.0)
    monkeypatch.setattr(joint, "MIN_TIMES", 0.0)
    model = random_model()
    k, other = np.argsort(-model.predict_proba(["w1 w2"])[0])[:2]
    (found,) = joint_words(model, model.read("w1 w2", against=model.labels[other])).joint
    before, after = (P[k] / (P[k] + P[other]) for P in model.predict_proba(["w1 w2", "w2"]))
    assert found.without_first == pytest.approx(before - after, abs=1e-6)


@pytest.mark.parametrize("task", ["classification", "ordinal"])
def test_of_a_class_that_was_asked_for_it_is_about_that_one(monkeypatch, task):
    monkeypatch.setattr(joint, "MIN_JOINT", 0.0)
    monkeypatch.setattr(joint, "MIN_TIMES", 0.0)
    model = random_model(task=task)
    before, after = model.predict_proba(["w1 w2", "w2"])
    for k, label in enumerate(model.labels):
        (found,) = joint_words(model, model.read("w1 w2", label=label)).joint
        assert found.without_first == pytest.approx(before[k] - after[k], abs=1e-6)


def test_each_text_of_a_pair_has_its_own(monkeypatch):
    monkeypatch.setattr(joint, "MIN_JOINT", 0.0)
    monkeypatch.setattr(joint, "MIN_TIMES", 0.0)
    model = random_model("concat")
    reading = joint_words(model, model.read("w1 w2 w3", "w4 w5"))
    assert isinstance(reading, PairReading)
    assert [len(side.joint) for side in reading.sides] == [1, 1]
    found = reading.second.joint[0]
    P = model.predict_proba(["w1 w2 w3"], ["w5"])[0]
    assert (found.first, found.second) == ((0, 1), (1, 2))
    assert found.without_first == pytest.approx(reading.confidence - P[reading.target], abs=1e-6)


def test_ordered_classes_are_told_as_a_mean():
    model = negation_spotter("ordinal", (1, 5))
    reading = joint_words(model, model.read("Not good"))
    (found,) = reading.joint
    p = 1 / (1 + exp(-2))
    assert found.without_first == pytest.approx(-4 * (p - (1 - p)), abs=1e-5)  # the mean rises without "not"
    assert "without both +3.05; without “Not” +3.05" in to_terminal(reading, colour=False, width=200)


def test_what_decided_against_another_class_begins_anew():
    model = negation_spotter()
    reading = joint_words(model, model.read("not good"))
    assert reading.joint
    assert reading.against("+").joint == ()


def test_only_a_model_can_be_asked():
    with refuses("argument-type"):
        joint_words("model", negation_spotter().read("not good"))  # type: ignore[arg-type]


def test_each_word_is_told_once():
    pairs = [JointWords((k, k + 1), (k + 1, k + 2), 0.0, 0.0, 0.5 - k / 10) for k in range(4)]
    assert joint._strongest(pairs, 0.1) == (pairs[0], pairs[2])
