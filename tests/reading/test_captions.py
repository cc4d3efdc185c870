"""What pictures say in words, sentence by sentence."""

from __future__ import annotations

import pytest

from limelight.reading.captions import (
    aspect_effects,
    colours_line,
    joint_line,
    median_line,
    method,
    row_in_line,
    rows_line,
    sum_line,
    trust_sentence,
)
from limelight.reading.links import signed
from limelight.reading.reading import JointWords

JOINT = [("not", "good", JointWords((1, 2), (2, 3), 0.04, -0.09, 0.31))]
MEASURED = {"texts": 100, "data": "held-out texts", "without": 0.314, "random": 0.062}


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            method("left out of attention", "regression"),
            "Each weight is how far the value falls when no row reads the word. The weights do not add up to"
            " it.",
        ),
        (
            method("leave-one-out", versus="4"),
            "Each weight is how far the probability of this class if only these two are possible falls"
            " without the word.",
        ),
        (method("another way"), ""),
        (
            median_line("3", "2", 0.407),
            "The answer is the median: added up in order, the probabilities reach 50% at “3”. The most"
            " probable is “2”, with 40.7%.",
        ),
        (
            median_line("3", "3", 0.5),
            "The answer is the median: added up in order, the probabilities reach 50% at “3”.",
        ),
        (sum_line(0.59, 0.22), "Without a word the probability would be 22%; the words bring it to 81%."),
        (
            sum_line(-1.2, 3.4, "ordinal"),
            "Without a word the mean would be 3.40; the words bring it to 2.20.",
        ),
        (
            sum_line(0.1, 0.2, "ordinal", versus="4", label="2"),
            "Without a word the probability of “2” beside “4” alone would be 20%; the words bring it to 30%.",
        ),
        (
            joint_line(JOINT),
            "Read together: “not good” (without both −31 points; without “not” −4, without “good” +9).",
        ),
        (joint_line([]), ""),
        (colours_line("good"), "Orange words support “good”, blue words speak against it."),
        (
            colours_line("4", task="ordinal", without_colours=True),
            "Words above 0 raise the mean, words below 0 lower it.",
        ),
        (colours_line("3", versus="5"), "Orange words speak for “3” rather than “5”, blue words for “5”."),
        (
            rows_line(24),
            "The model reads the text 24 times at once; each reading is a row. The stronger a word's colour,"
            " the more the row read it. What was read is not always what decided.",
        ),
        (row_in_line(6, "", "not"), "row 7 (here “not”)"),
        (row_in_line(6, "soup, broth", "not"), "“soup, broth”"),
        (
            trust_sentence(MEASURED),
            "On 100 held-out texts, the probability of the predicted class fell by 31 points without the"
            " words that support it most, and by 6 without as many words chosen at random.",
        ),
        (trust_sentence({"texts": 100, "data": "held-out texts"}), ""),
        (trust_sentence(None), ""),
    ],
)
def test_what_is_said(said: str, sentence: str):
    assert said == sentence


def test_numbers_have_their_sign():
    assert [signed(x) for x in (0.25, -0.0514, -1e-9)] == ["0.250", "−0.051", "0.000"]
    assert aspect_effects([-0.404, -0.404, 0.0], "stars") == ["−0.40", "−0.41", "0.00"]
    assert aspect_effects([0.25], "points") == ["+25.0"]
