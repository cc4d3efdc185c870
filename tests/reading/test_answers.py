"""Pictures of several labels and of numbers, drawn from readings made by hand."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from limelight.reading import captions, to_html, to_json, to_page, to_svg, to_terminal
from limelight.reading.picture import make_picture
from reading.parse import Parsed
from reading.readings import make_reading

TEXT = "cold soup rude waiter"
WEIGHTS = np.array([0.45, 0.2, -0.05, 0.0])
SEVERAL = {
    "labels": ("food", "service", "price"), "probabilities": (0.9, 0.7, 0.2), "task": "multi-label",
    "decided": WEIGHTS, "decided_by": "sum", "decided_further": ((1, WEIGHTS[::-1]),),
    "bias": 0.25, "bias_further": (0.1,),
}  # fmt: skip


def test_each_predicted_label_is_drawn():
    reading = make_reading(TEXT, **SEVERAL)
    assert reading.answer == ("food", "service")
    assert reading.label == "food"
    picture = make_picture(reading)
    assert picture.answer == "food, service"
    assert [label for label, _ in picture.further] == ["service"]
    assert [predicted for *_, predicted in picture.classes] == [True, True, False]
    for draw in (to_html, to_svg, lambda each: to_terminal(each, colour=False, width=80)):
        drawn = draw(reading)
        assert drawn.count("What decided") >= 2
        assert "support “food”" in drawn
        assert "support “service”" in drawn
        assert "support “price”" not in drawn
        assert " 90.0%" not in drawn


def test_every_picture_says_what_the_words_add_up_to():
    reading = make_reading(TEXT, **SEVERAL)
    for draw in (to_html, to_svg, lambda each: to_terminal(each, colour=False, width=80)):
        drawn = draw(reading)
        assert "Without a word the probability would be 25%; the words bring it to 85%." in drawn
        assert "Without a word the probability would be 10%; the words bring it to 70%." in drawn
    assert "<tr><th scope=row>without a word<td>+0.250<td>" in to_html(reading)
    assert reading.to_dict()["bias"] == 0.25
    assert "bias" not in to_svg(make_reading(TEXT, decided=WEIGHTS, decided_by="leave-one-out"))


def test_no_label_is_an_answer_too():
    reading = make_reading(
        TEXT, **{**SEVERAL, "decided_further": (), "bias_further": ()}, thresholds=np.array([0.95] * 3)
    )
    assert reading.answer == ()
    shown = to_terminal(reading, colour=False, width=80)
    assert shown.startswith("no label\n")
    assert "support “food”" in shown  # the nearest to its threshold


@pytest.mark.parametrize(
    ("truth", "said"),
    [(("service", "food"), "food, service (right)"), (("price",), "price (wrong)"), ((), "no label (wrong)")],
)
def test_true_labels(truth, said):
    assert make_picture(make_reading(TEXT, **SEVERAL, truth=truth)).true_label == f"True label: {said}"


def test_a_true_label_with_separate_accents_is_right():
    reading = make_reading(TEXT, labels=("caf\u00e9", "tea"), truth="cafe\u0301")
    assert make_picture(reading).true_label.endswith("(right)")


def test_a_number_is_drawn_without_classes():
    reading = make_reading(
        TEXT, labels=("value",), probabilities=(3.71828,), task="regression", decided=WEIGHTS,
        decided_by="linear part", truth=4.0,
    )  # fmt: skip
    assert reading.answer == 3.71828
    picture = make_picture(reading)
    assert (picture.answer, picture.certainty, picture.classes) == ("3.718", "", [])
    assert picture.true_label == "True value: 4.0"
    assert picture.method.startswith("Each weight is about what the word adds to the value.")
    for draw in (to_html, to_svg, lambda each: to_terminal(each, colour=False, width=80)):
        assert "raise the value" in draw(reading)


def test_the_median_is_the_answer_of_ordered_classes():
    reading = make_reading(
        TEXT, labels=(1, 2, 3), probabilities=(0.4, 0.3, 0.3), task="ordinal", decided=WEIGHTS
    )
    assert (reading.label, reading.confidence) == (2, 0.3)
    assert make_picture(reading).certainty == "30.0%"
    line = captions.median_line("2", "1", 0.4)
    assert line.endswith("at “2”. The most probable is “1”, with 40.0%.")
    assert Parsed(to_html(reading)).all_text.count(line) == 1
    assert line in " ".join(to_terminal(reading, colour=False, width=40).split())
    assert line in " ".join(ET.fromstring(to_svg(reading)).itertext()).replace("\n", " ")
    assert json.loads(to_json(reading))["label_is"] == "median"
    assert "median" not in to_html(replace(reading, task="classification"))
    sure = replace(reading, probabilities=np.array([0.1, 0.8, 0.1]))
    assert make_picture(sure).median == line[: line.index(" The most")]


def test_a_class_that_was_asked_for_is_not_the_answer():
    asked = {"about": 0, "versus": 3, "bias": 0.25, "decided_by": "sum"}
    reading = make_reading(
        TEXT, labels=(1, 2, 3), probabilities=(0.4, 0.3, 0.3), task="ordinal", decided=WEIGHTS, **asked
    )
    picture = make_picture(reading)
    assert (picture.answer, picture.certainty, picture.label) == ("2", "30.0%", "1")
    assert [label for label, _, predicted in picture.classes if predicted] == ["2"]
    lines = [
        "Orange words speak for “1” rather than “3”, blue words for “3”.",
        captions.sum_line(sum(WEIGHTS), 0.25, versus="3", label="1"),
    ]
    shown = Parsed(to_page([reading])).all_text
    assert all(line in shown for line in [*lines, captions.method("sum", "ordinal", "3")])
    assert "of this class if only these two are possible" in picture.method
    drawn = " ".join(ET.fromstring(to_svg(reading)).itertext())
    assert all(line in drawn.replace("\n", " ") for line in lines)
    found = json.loads(to_json(reading))
    assert (found["label"], found["about"], found["versus"]) == (2, 1, 3)
    assert repr(reading).startswith("Reading('" + TEXT[:3])
    assert "label=2 (0.300)" in repr(reading)
